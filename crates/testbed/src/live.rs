//! A run on this machine, in real time: in network namespaces of its own, over links that the emulator drives.
//!
//! Nothing of it has a name that stays: namespaces, devices and laws go with this process, however that ends, and
//! outside its namespaces it changes nothing.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use fadelab_kernel::Version;
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;
use nix::unistd::geteuid;

use crate::need;
use crate::objects;
use crate::stage::{self, Host, Outcome, Recorded, failed};
use crate::translate::{self, Place};
use crate::{Applications, Error, Recordings, Sysctl, recorded};

/// Name of the ground in results.
pub const LIVE: &str = "live";

/// What the stage says when whoever watches wants no more.
const STOPPED: &str = "the run was stopped";

/// Runs a spec to its end, with such applications and such settings in each namespace. `report` is told the time of the
/// run now and then, and says whether to go on.
///
/// # Errors
/// A spec that has no counterpart, a right or a program that is missing, what goes wrong on the way, or a stop that
/// `report` asked for.
pub fn run(
    spec: &RunSpec,
    applications: Applications,
    sysctls: &[Sysctl],
    recordings: &Recordings,
    report: &mut dyn FnMut(u64) -> bool,
) -> Result<RunRecord, Error> {
    check_machine(applications)?;
    let version = Version::of_hooks().ok_or_else(|| Error::Tool {
        what: "reading the kernel's release".to_owned(),
        why: "/proc/sys/kernel/osrelease says none".to_owned(),
    })?;
    let mut draft = translate::draft(spec, &Place::Live { run: name() })?;
    recorded(&mut draft, recordings, &kernel())?;
    let mut host = Live {
        objects: objects::compiled(&draft, version)?.into_iter().collect(),
        recordings,
        report,
    };
    let mut plan = draft.plan;
    plan.iperf3 = applications.iperf3;
    plan.sysctls = sysctls.to_vec();
    plan.packets = recordings.interfaces();
    stage::run(&plan, &mut host).map_err(|why| match why.as_str() {
        STOPPED => Error::Stopped,
        _ => Error::OnMachine(why),
    })
}

/// Says whether this machine can run anything.
///
/// # Errors
/// A right or a program that is missing.
pub fn check_machine(applications: Applications) -> Result<(), Error> {
    if !geteuid().is_root() {
        return Err(Error::NoRoot);
    }
    for need in [
        ("ip", "builds the network", "iproute2"),
        ("tc", "builds its queues", "iproute2"),
    ] {
        need::find(&need)?;
    }
    applications.find().map(drop)
}

/// The kernel of this machine, as results have it.
pub fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {} of this machine", release.trim())
}

/// Four letters that hardly another run here has: with them end the names of its laws. Where one has, the kernel
/// refuses the name.
fn name() -> String {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    // An odd multiple spreads the numbers of processes, which follow one another.
    let run = std::process::id().wrapping_mul(0x9e37).wrapping_add(number) & 0xffff;
    format!("{run:04x}")
}

/// This machine as the host of a stage.
struct Live<'a> {
    objects: HashMap<String, Vec<u8>>,
    recordings: &'a Recordings,
    report: &'a mut dyn FnMut(u64) -> bool,
}

impl Host for Live<'_> {
    fn object(&self, path: &str) -> Outcome<Vec<u8>> {
        self.objects
            .get(path)
            .cloned()
            .ok_or_else(|| format!("{path}: no law was compiled under this name"))
    }

    fn recording(&self, which: Recorded) -> Outcome<Box<dyn Write>> {
        let path = match which {
            Recorded::Sender => self.recordings.sender.as_ref(),
            Recorded::Router => self.recordings.router.as_ref(),
            Recorded::Gateway => self.recordings.gateway.as_ref(),
            Recorded::Packets => self.recordings.packets.as_ref().map(|packets| &packets.path),
        };
        let path = path.ok_or("nothing was to be recorded")?;
        let file = File::create(path).map_err(failed(path.display()))?;
        Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
    }

    fn links_file(&self) -> Option<&Path> {
        self.recordings.links.as_deref()
    }

    fn is_virtual(&self) -> bool {
        false
    }

    fn reached(&mut self, time_ns: u64) -> Outcome<()> {
        if (self.report)(time_ns) {
            Ok(())
        } else {
            Err(STOPPED.to_owned())
        }
    }
}
