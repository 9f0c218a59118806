//! `fadelab kernel load`.

use std::path::{Path, PathBuf};

use clap::Args;
use fadelab_kernel::Version;
use fadelab_kernel::cgroup::{Group, cgroup_root};
use fadelab_kernel::check::stack_remarks;
use fadelab_kernel::device::Device;
use fadelab_kernel::loading::{Loading, LoadingError, OFFLOADED_PKTS, opens_slowly};
use fadelab_kernel::sender::{ALLOWED_MAX, Unit, default_name};
use fadelab_kernel::spaces::described;
use fadelab_kernel::store::{self, Entry};
use fadelab_kernel::tunnel::Way;
use fadelab_lab::{Failure, parameters};
use fadelab_laws::abi::ECN_MODE_CLASSIC;
use nix::unistd::User;

use super::build::law_named;
use super::record;
use crate::output;

/// Arguments of `fadelab kernel load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// A law by name (fadelab laws lists them), a header of your own, ./mine.h, or what `fadelab kernel build` made
    pub law: String,
    /// Interfaces through which marked packets may leave, NAME or NETNS:NAME; nothing is marked elsewhere
    #[arg(long = "dev", value_name = "DEV", value_delimiter = ',')]
    pub devices: Vec<String>,
    /// Hosts between which IPsec in transport mode encrypts, FROM-TO with their addresses: data that go this way are
    /// marked too, and routers are to be told of it (`fadelab kernel router --tunnel FROM-TO --role id`); repeatable
    #[arg(long = "tunnel", value_name = "FROM-TO")]
    pub tunnels: Vec<Way>,
    /// Whose sockets carry feedback: a folder of a cgroup v2 [default: all]
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// Name of the congestion control [default: `fade_LAW`]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Make it the default of new sockets in this network namespace, or in NETNS; unloading takes that back
    #[arg(long, value_name = "NETNS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub default: Option<String>,
    /// Who may choose it for their sockets beside root and the cgroup: users by name or number, cgroups by their
    /// folders, or `all`
    #[arg(long, value_name = "WHO", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Set a parameter of the law, as scenarios do: --set law.vcp.kappa=0.3; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Stay in the foreground and write each call of the law into FILE, for fadelab replay
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// Loads a law and leaves it in the kernel; with `--record` it goes when the command ends.
///
/// # Errors
/// What the machine, the law or the devices do not allow.
pub fn load(args: &LoadArgs) -> Result<(), Failure> {
    for name in store::remove_leftovers().map_err(Failure::failed)? {
        output::warn(&[format!("removed {name}, which a killed process had left half loaded")]);
    }
    let loading = loading(args)?;
    if let Some(file) = &args.record {
        return loading
            .hold(|sender, unit| record::record(sender, unit, file).map_err(Held::Recording))
            .map_err(|held| match held {
                Held::Loading(error) => refused(error),
                Held::Recording(failure) => failure,
            });
    }
    let entry = loading.keep().map_err(refused)?;
    output::note(&slow_opening(&entry));
    output::note(&without_marks(&entry));
    let devices: Vec<Device> = entry.devices.iter().map(|name| Device::named(name)).collect();
    output::note(&stack_remarks(&devices));
    output::print_told(&format!(
        "{} is loaded; {}\n`fadelab kernel list` shows its flows, `fadelab kernel unload {}` takes it away\n",
        entry.name,
        chosen(&entry),
        entry.name
    ))
}

/// The law with all that goes with it, not yet loaded.
///
/// # Errors
/// What the law, the machine or the devices do not allow.
pub fn loading(args: &LoadArgs) -> Result<Loading<'static>, Failure> {
    if args.record.is_none() && !store::is_lasting() {
        return Err(Failure::Invalid(
            "mounts made here go when the command around ends (`ip netns exec`, a private unit): load the law outside \
             and name the device with its namespace, for example --dev red:eth0"
                .to_owned(),
        ));
    }
    let unit = unit(args)?;
    let loading = Loading::of(unit, &args.devices, args.cgroup.clone()).map_err(refused)?;
    let loading = loading.sealed(&args.tunnels).map_err(refused)?;
    match &args.default {
        Some(netns) => loading.as_default(netns).map_err(refused),
        None => Ok(loading),
    }
}

/// What is to be loaded, as far as nobody has to look at the machine.
///
/// # Errors
/// A law, parameter or user that does not exist.
pub(super) fn unit(args: &LoadArgs) -> Result<Unit<'static>, Failure> {
    let law_name = law_named(&args.law)?;
    let nothing = || Failure::Invalid(format!("{law_name} is no congestion control: there is nothing to load"));
    if law_name == "udp" {
        return Err(nothing());
    }
    if fadelab_laws::sender(&law_name).is_none() {
        let known: Vec<&str> = fadelab_laws::senders().iter().map(fadelab_laws::Sender::name).collect();
        return Err(Failure::Invalid(format!(
            "no sender's law is called {law_name}; known are {}, a header of your own, \
             ./mine.h, and a container, mine.fade",
            known.join(", ")
        )));
    }
    let run = parameters::of_law(&law_name, &args.sets)?;
    let flow = &run.spec.flows[0];
    let law = flow.sender.ok_or_else(nothing)?;
    let version =
        Version::of_hooks().ok_or_else(|| Failure::Failed("the kernel's version cannot be read".to_owned()))?;
    let (allowed_users, allowed_groups) = (allowed_users(&args.allow)?, allowed_groups(args)?);
    let most = allowed_users.as_ref().map_or(0, Vec::len).max(allowed_groups.len());
    if most > ALLOWED_MAX {
        return Err(Failure::Invalid(format!(
            "--allow: {most} users or groups; allowed are {ALLOWED_MAX} of each, or a group that has them all"
        )));
    }
    Ok(Unit {
        params: flow.params.clone(),
        name: args.name.clone().unwrap_or_else(|| default_name(&law_name)),
        record: args.record.is_some(),
        allowed_users,
        allowed_groups,
        ..Unit::new(law, version)
    })
}

/// How sockets come to the law.
fn chosen(entry: &Entry) -> String {
    let name = &entry.name;
    match &entry.default {
        Some(default) => {
            let place = default.netns.as_deref().map_or("this namespace".to_owned(), described);
            let before = &default.before;
            format!("new sockets of {place} have it, which had {before}; unloading takes that back")
        }
        None => {
            format!("choose it for one program, for example\n  iperf3 -c HOST -C {name}\nor for all with --default")
        }
    }
}

/// The numbers of users who may choose a law, root always; nothing for everybody.
fn allowed_users(given: &[String]) -> Result<Option<Vec<u32>>, Failure> {
    if given.iter().any(|who| who == "all") {
        return Ok(None);
    }
    let number = |user: &String| {
        let known = user
            .parse()
            .ok()
            .or_else(|| Some(User::from_name(user).ok()??.uid.as_raw()));
        known.ok_or_else(|| {
            Failure::Invalid(format!(
                "--allow {user}: there is no such user; allowed are names and numbers of users, folders of cgroups, \
                 and `all` for everybody"
            ))
        })
    };
    let users = given.iter().filter(|who| !who.starts_with('/'));
    let users = users.map(number).collect::<Result<Vec<u32>, _>>()?;
    Ok(Some(
        [0].into_iter()
            .chain(users.into_iter().filter(|user| *user != 0))
            .collect(),
    ))
}

/// Groups of processes who may choose a law: the one whose sockets carry feedback, and those that are named.
fn allowed_groups(args: &LoadArgs) -> Result<Vec<Group>, Failure> {
    let given = args.allow.iter().filter(|who| who.starts_with('/'));
    let mut groups = Vec::new();
    for path in given.map(Path::new) {
        let group = Group::at(path).map_err(|error| {
            Failure::Invalid(format!(
                "--allow {}: {error}; allowed are folders of cgroups, as below {}",
                path.display(),
                cgroup_root()
                    .unwrap_or_else(|| PathBuf::from("/sys/fs/cgroup"))
                    .display()
            ))
        })?;
        groups.push(group);
    }
    // What is wrong with this one is told where it is used.
    groups.extend(args.cgroup.as_deref().and_then(|path| Group::at(path).ok()));
    Ok(groups)
}

/// What ended a recording.
enum Held {
    Loading(LoadingError),
    Recording(Failure),
}

impl From<LoadingError> for Held {
    fn from(error: LoadingError) -> Self {
        Self::Loading(error)
    }
}

pub fn refused(error: LoadingError) -> Failure {
    if error.is_invalid_input() {
        Failure::invalid(error)
    } else {
        Failure::failed(error)
    }
}

/// A law that in slow start adds so many packets per ACK as RFC 5681 says, although with offload ACKs are few.
fn slow_opening(entry: &Entry) -> Vec<String> {
    let remark = |pkts| {
        format!(
            "{0} adds at most {pkts} pkt per ACK in slow start (RFC 5681), and with segmentation offload an ACK stands \
             for up to {OFFLOADED_PKTS}: on fast networks windows open slowly; Linux's own laws know no limit, and \
             --set law.{0}.limit_pkts='65535 pkt' lifts it",
            entry.law
        )
    };
    opens_slowly(entry).map(remark).into_iter().collect()
}

/// A law that goes by the marks of its routers, where connections do not ask for ECN.
fn without_marks(entry: &Entry) -> Vec<String> {
    let law = fadelab_laws::sender(&entry.law).filter(|law| law.ecn_mode() == ECN_MODE_CLASSIC);
    let router = law.and_then(fadelab_laws::Sender::router);
    let mode = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap_or_default();
    let remark = |router| {
        format!(
            "{} goes by the marks of routers ({router}), and connections from here do not ask for ECN \
             (net.ipv4.tcp_ecn = {}): without it the law does without marks; sysctl -w net.ipv4.tcp_ecn=1 asks",
            entry.law,
            mode.trim()
        )
    };
    router.filter(|_| mode.trim() != "1").map(remark).into_iter().collect()
}
