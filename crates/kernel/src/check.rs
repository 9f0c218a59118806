//! What this machine can do with laws in its kernel, in plain words.

use std::fs;
use std::io;
use std::path::Path;

use crate::Version;
use crate::cgroup::cgroup_root;
use crate::compile;
use crate::device::Device;
use crate::gateway::ipsec::{Outgoing, outgoing};
use crate::object::{LoadError, load};
use crate::process::is_root;
use crate::router::{self, Claim};
use crate::sender::Unit;
use crate::spaces;
use crate::stack::Stacks;
use crate::tunnel::RoleFrom;

/// How an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is as it should be.
    Good,
    /// Something works otherwise, or not at all.
    Limited,
    /// Nothing can be loaded.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub standing: Standing,
    /// What was looked at, in a word or two.
    pub what: &'static str,
    /// What was found.
    pub found: String,
    /// What to do; empty where nothing is.
    pub remedy: String,
}

impl Item {
    fn new(standing: Standing, what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            standing,
            what,
            found: found.into(),
            remedy: remedy.into(),
        }
    }

    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self::new(Standing::Good, what, found, "")
    }
}

/// Looks at everything, and loads a law to see that it is taken. Nothing is attached, and nothing is left.
pub fn check() -> Vec<Item> {
    let mut items = vec![kernel(), types(), root(), compiler()];
    items.push(group());
    items.extend([links(), lockdown(), tools()]);
    if items.iter().all(|item| item.standing != Standing::Missing) {
        items.push(trial());
    }
    items
}

/// Looks at the stack of a device: on which others it lies, which lie on it, and by which of them marks may leave.
///
/// # Errors
/// When the device or its namespace is not there, or there is no `ip`.
pub fn stack(device: &Device) -> io::Result<Item> {
    let netns = device.netns.as_deref();
    device.look()?;
    let stacks = Stacks::read(netns)?;
    let name = device.name.as_str();
    let mut lines = vec![stacks.described(name)];
    let above: Vec<String> = stacks.above(name).map(|upper| stacks.described(upper)).collect();
    if !above.is_empty() {
        lines.push(format!("on it: {}", above.join(", ")));
    }
    let inode = spaces::inode(netns)?;
    let routers: Vec<Claim> = router::claims()
        .into_iter()
        .filter(|claim| claim.is_in(inode) && claim.is_alive())
        .collect();
    let layers = || [name].into_iter().chain(stacks.all_below(name));
    for claim in &routers {
        let named: Vec<&str> = layers()
            .filter(|layer| claim.inside.iter().any(|inside| inside == layer))
            .collect();
        let by = if named.is_empty() {
            "none of them"
        } else {
            &named.join(", ")
        };
        let Claim { law, owner, .. } = claim;
        lines.push(format!("named for router law {law} of process {}: {by}", owner.pid));
    }
    let is_carried_elsewhere = |layer: &str| stacks.get(layer).is_some_and(|layer| layer.is_carried_elsewhere);
    Ok(match layers().find(|layer| is_carried_elsewhere(layer)) {
        Some(layer) => Item::new(
            Standing::Limited,
            "stack",
            lines.join("\n"),
            format!(
                "{layer} lies on a device of another namespace: where a router closes its domain there, name that \
                 device with --inside, or no mark gets through"
            ),
        ),
        None => Item::good("stack", lines.join("\n")),
    })
}

/// Looks at the IPsec tunnels that go out from a namespace, at which a gateway's law may stand; nothing where there is
/// none, or where `ip` does not tell.
pub fn tunnels(netns: Option<&Path>) -> Vec<Item> {
    outgoing(netns).unwrap_or_default().iter().map(tunnel).collect()
}

fn tunnel(tunnel: &Outgoing) -> Item {
    let roles = [
        (RoleFrom::Sequence, "sequence"),
        (RoleFrom::Id, "id"),
        (RoleFrom::Written, "written"),
    ];
    if let Some(why) = tunnel.obstacle(RoleFrom::Sequence) {
        let (found, remedy) = why.rsplit_once("; ").unwrap_or((&why, ""));
        return Item::new(Standing::Limited, "ipsec", found, remedy);
    }
    let possible = roles.iter().filter(|(role, _)| tunnel.obstacle(*role).is_none());
    let possible: Vec<&str> = possible.map(|(_, name)| *name).collect();
    let found = format!(
        "tunnel {}: a gateway can stand here, with --role {}",
        tunnel.way,
        possible.join(" or ")
    );
    match tunnel.remarks()[..] {
        [] => Item::good("ipsec", found),
        ref remarks => Item::new(Standing::Limited, "ipsec", found, remarks.join("\n")),
    }
}

/// What to mind of the stacks of devices through which marks are to leave; nothing where nothing is.
pub fn stack_remarks(devices: &[Device]) -> Vec<String> {
    let stacks = devices.iter().filter_map(|device| stack(device).ok());
    stacks
        .map(|item| item.remedy)
        .filter(|remedy| !remedy.is_empty())
        .collect()
}

fn kernel() -> Item {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    match Version::parse(release) {
        Some(version) if version >= Version::OLDEST => Item::good("kernel", format!("Linux {release}")),
        _ => Item::new(
            Standing::Missing,
            "kernel",
            format!("Linux {release}, which is older than {}", Version::OLDEST),
            format!(
                "run Linux {} or later, or use the virtual ground (fadelab testbed)",
                Version::OLDEST
            ),
        ),
    }
}

fn types() -> Item {
    if Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Item::good("types (BTF)", "the kernel describes them");
    }
    Item::new(
        Standing::Missing,
        "types (BTF)",
        "the kernel does not describe them: /sys/kernel/btf/vmlinux is not there",
        "run a kernel built with CONFIG_DEBUG_INFO_BTF=y (those of Debian and Ubuntu are), or use the virtual ground",
    )
}

fn root() -> Item {
    if is_root() {
        Item::good("rights", "root")
    } else {
        Item::new(
            Standing::Missing,
            "rights",
            "not root",
            "run it with sudo; the virtual ground needs no root",
        )
    }
}

fn compiler() -> Item {
    match compile::afresh("empty.bpf.c", "int empty;\n", &[]) {
        Ok(_) => Item::good("compiler", "clang compiles for BPF"),
        Err(error) => Item::new(
            Standing::Missing,
            "compiler",
            error.to_string(),
            "apt-get install clang",
        ),
    }
}

fn group() -> Item {
    match cgroup_root() {
        Some(path) => Item::good("cgroup v2", format!("mounted at {}", path.display())),
        None => Item::new(
            Standing::Limited,
            "cgroup v2",
            "not mounted: laws with feedback (vcp, xcp) cannot be loaded",
            "mount -t cgroup2 none /sys/fs/cgroup/unified, or boot with systemd.unified_cgroup_hierarchy=1",
        ),
    }
}

fn links() -> Item {
    match Version::running() {
        Some(version) if version >= Version::LINKS => {
            Item::good("links", "programs at devices go with the process that attached them")
        }
        _ => Item::new(
            Standing::Limited,
            "links",
            format!(
                "this kernel is older than {}: a killed `fadelab kernel router` leaves filters",
                Version::LINKS
            ),
            "the next start of `fadelab kernel` removes them",
        ),
    }
}

fn lockdown() -> Item {
    let text = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    match text.split('[').nth(1).and_then(|rest| rest.split(']').next()) {
        Some("confidentiality") => Item::new(
            Standing::Limited,
            "lockdown",
            "the kernel is locked down (confidentiality): tracing programs are refused",
            "nothing; laws and routers do not need them on Linux 6.2 or later",
        ),
        Some(mode) => Item::good("lockdown", mode),
        None => Item::good("lockdown", "none"),
    }
}

fn tools() -> Item {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    let missing: Vec<&str> = ["ip", "tc"].into_iter().filter(|name| !is_there(name)).collect();
    if missing.is_empty() {
        Item::good("tools", "ip and tc")
    } else {
        Item::new(
            Standing::Limited,
            "tools",
            format!(
                "no {}: routers and laws like xcp cannot set up devices",
                missing.join(" and no ")
            ),
            "apt-get install iproute2",
        )
    }
}

/// The law `reno` with everything around it, loaded and dropped.
fn trial() -> Item {
    let what = "trial";
    let failed = |found: String, remedy: &str| Item::new(Standing::Missing, what, found, remedy);
    let (Some(law), Some(version)) = (fadelab_laws::sender("reno"), Version::of_hooks()) else {
        return failed("the law reno is not built in".to_owned(), "");
    };
    let object = match Unit::new(law, version).compile() {
        Ok(object) => object,
        Err(error) => return failed(error.to_string(), "apt-get install clang"),
    };
    match load(&object, |_| Ok(())) {
        Ok(_) => Item::good(what, "the law reno passes the verifier"),
        Err(error @ LoadError::NotAllowed { .. }) => failed(
            error.to_string(),
            "a container needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, or run it outside",
        ),
        Err(error) => failed(
            error.to_string(),
            "the kernel may lack CONFIG_BPF_JIT=y or CONFIG_BPF_SYSCALL=y",
        ),
    }
}
