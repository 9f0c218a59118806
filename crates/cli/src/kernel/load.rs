//! `fadelab kernel load`.

use std::path::PathBuf;

use clap::Args;
use fadelab_kernel::Version;
use fadelab_kernel::check::cgroup_root;
use fadelab_kernel::device::Device;
use fadelab_kernel::process::Owner;
use fadelab_kernel::segments::Segments;
use fadelab_kernel::sender::{NAME_BYTES_MAX, Sender, Unit, default_name};
use fadelab_kernel::store::{self, Entry};
use fadelab_lab::Failure;

use super::{params, record};
use crate::output;

/// Arguments of `fadelab kernel load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// A law by name (fadelab laws lists them), or a header of your own: ./mine.h
    pub law: String,
    /// Interfaces through which marked packets may leave, NAME or NETNS:NAME; nothing is marked elsewhere
    #[arg(long = "dev", value_name = "DEV", value_delimiter = ',')]
    pub devices: Vec<String>,
    /// Whose sockets carry feedback: a folder of a cgroup v2 [default: all]
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// Name of the congestion control [default: `fade_LAW`]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
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
    let law_name = params::law_name(&args.law)?;
    if args.record.is_none() && !store::is_lasting() {
        return Err(Failure::Invalid(
            "mounts made here go when the command around ends (`ip netns exec`, a private unit): load the law outside \
             and name the device with its namespace, for example --dev red:eth0"
                .to_owned(),
        ));
    }
    let nothing = || Failure::Invalid(format!("{law_name} is no congestion control: there is nothing to load"));
    if law_name == "udp" {
        return Err(nothing());
    }
    let run = params::run(&law_name, &args.sets)?;
    let flow = &run.spec.flows[0];
    let law = flow.sender.ok_or_else(nothing)?;
    let version =
        Version::running().ok_or_else(|| Failure::Failed("the kernel's version cannot be read".to_owned()))?;
    let unit = Unit {
        params: flow.params.clone(),
        name: control_name(args, &law_name)?,
        record: args.record.is_some(),
        ..Unit::new(law, version)
    };
    let devices = devices(args, &unit)?;
    let cgroup = args.cgroup.clone().or_else(cgroup_root);
    let cgroup = match cgroup {
        Some(cgroup) => cgroup,
        None if unit.carries_feedback() => {
            let message =
                format!("{law_name} needs a cgroup v2, and none is mounted; `fadelab kernel check` says more");
            return Err(Failure::Failed(message));
        }
        None => PathBuf::from("/"),
    };
    let object = unit.compile().map_err(Failure::failed)?;
    let infos = law.params().iter().zip(unit.params.values());
    let mut entry = Entry {
        name: unit.name.clone(),
        law: law_name,
        params: infos.map(|(info, value)| (info.name.to_owned(), *value)).collect(),
        cgroup,
        devices: args.devices.clone(),
        owner: Owner::this(),
        filters: Vec::new(),
        segments: Vec::new(),
        is_complete: false,
    };
    store::claim(&entry).map_err(Failure::failed)?;
    let done = fill(&mut entry, &object, &unit, &devices, args);
    if done.is_err() || args.record.is_some() {
        store::remove(&entry).map_err(Failure::failed)?;
    }
    done
}

/// What is done between the claim of a name and its end.
fn fill(entry: &mut Entry, object: &[u8], unit: &Unit<'_>, devices: &[Device], args: &LoadArgs) -> Result<(), Failure> {
    if unit.law.feedback_bytes() > 0 {
        for device in devices {
            let segments = Segments::of(device).map_err(Failure::failed)?;
            // Noted first: what is noted is undone, whenever the process is killed.
            entry.segments.push(segments.clone());
            store::write(entry).map_err(Failure::failed)?;
            segments.limit().map_err(Failure::failed)?;
        }
    }
    let sender = Sender::load(object, &entry.cgroup, devices).map_err(Failure::failed)?;
    if let Some(file) = &args.record {
        return record::record(&sender, unit, file);
    }
    store::keep(sender, entry).map_err(Failure::failed)?;
    output::note(&opens_slowly(entry));
    output::print(&format!(
        "{} is loaded; choose it with\n  sysctl net.ipv4.tcp_congestion_control={}\nor for one program, for example\n  \
         iperf3 -c HOST -C {}\n`fadelab kernel list` shows its flows, `fadelab kernel unload {}` takes it away\n",
        entry.name, entry.name, entry.name, entry.name
    ))
}

/// Segments of a packet as large as IP allows: what an ACK may stand for with offload.
const OFFLOADED_PKTS: u64 = 44;

/// A law that in slow start adds so many packets per ACK as RFC 5681 says, although with offload ACKs are few.
fn opens_slowly(entry: &Entry) -> Vec<String> {
    let limit = entry.params.iter().find(|(name, _)| name.as_str() == "limit_pkts");
    let Some((_, pkts)) = limit.filter(|(_, pkts)| *pkts < OFFLOADED_PKTS) else {
        return Vec::new();
    };
    vec![format!(
        "{0} adds at most {pkts} pkt per ACK in slow start (RFC 5681), and with segmentation offload an ACK stands for \
         up to {OFFLOADED_PKTS}: on fast networks windows open slowly; Linux's own laws know no limit, and \
         --set law.{0}.limit_pkts='65535 pkt' lifts it",
        entry.law
    )]
}

fn control_name(args: &LoadArgs, law: &str) -> Result<String, Failure> {
    let name = args.name.clone().unwrap_or_else(|| default_name(law));
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_plain && (1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(name);
    }
    Err(Failure::Invalid(format!(
        "the name `{name}` of the congestion control: allowed are 1 to {NAME_BYTES_MAX} letters, digits, `_` and `-`; \
         give one with --as NAME"
    )))
}

fn devices(args: &LoadArgs, unit: &Unit<'_>) -> Result<Vec<Device>, Failure> {
    if unit.marks() && args.devices.is_empty() {
        return Err(Failure::Invalid(format!(
            "{} writes into the ECN field, which other networks read otherwise: name the interfaces through which its \
             packets may leave, for example --dev eth0",
            unit.law.name()
        )));
    }
    let mut devices = Vec::new();
    for given in &args.devices {
        let device = Device::named(given);
        device
            .look()
            .map_err(|error| Failure::Invalid(format!("--dev {given}: {error}; `ip link` lists the devices")))?;
        devices.push(device);
    }
    Ok(devices)
}
