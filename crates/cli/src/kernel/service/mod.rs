//! `fadelab kernel run`: laws, routers and gateways of a file, kept in the kernel until the process ends.
//!
//! A device that is not there yet is waited for, and so are a gateway's tunnels; one that went and came back is taken
//! up again. When the process ends the laws go, and the edges of its domains stay closed and the ends of its tunnels
//! guarded, as when it is killed: the next start takes them over without a gap, `fadelab kernel clean` removes them.

mod config;
mod gates;
mod metrics;
mod notify;
mod planned;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use fadelab_kernel::device::Device;
use fadelab_kernel::hurry::Hurry;
use fadelab_kernel::router::{Router, StillClosed};
use fadelab_kernel::store::{self, Entry};
use fadelab_lab::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::config::{Config, Loaded, Routed, is_own};
use self::gates::Gates;
use self::metrics::Metrics;
use self::notify::Manager;
use super::{load, router};
use crate::output;

/// How often the loop looks whether it is to end.
const TURN: Duration = Duration::from_millis(100);
/// How often it looks for devices that it waits for, and tries what could not be done.
const AGAIN: Duration = Duration::from_millis(250);

/// Arguments of `fadelab kernel run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to keep: [[law]], [[router]] and [[gateway]] with the options of `kernel load`, `router` and `gateway`
    /// (docs/service.md)
    pub file: PathBuf,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// A law of the file, and what is known of it once it is loaded.
struct KeptLaw {
    law: Loaded,
    entry: Option<Entry>,
    complaint: Option<String>,
}

/// A router of the file, and the one at work.
struct KeptRouter {
    routed: Routed,
    router: Option<Router>,
    complaint: Option<String>,
}

/// Everything that is kept.
#[derive(Default)]
struct Service {
    laws: Vec<KeptLaw>,
    routers: Vec<KeptRouter>,
    /// Domains of routers that ended, until all that are wanted are at work: whatever cannot begin leaves none open.
    closed: Vec<StillClosed>,
    gates: Gates,
}

/// Keeps what the file says until Ctrl-C or SIGTERM; SIGHUP reads it anew.
///
/// # Errors
/// What the file, a law or the machine do not allow at the start; later ones are told and tried again.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let config = Config::read(&args.file)?;
    if args.dry_run {
        return output::print(&planned::told(&config)?);
    }
    let [stop, reload] = [&[SIGINT, SIGTERM][..], &[SIGHUP]].map(flag_of);
    let (stop, reload) = (stop?, reload?);
    let mut manager = Manager::from_environment();
    for name in store::remove_leftovers().map_err(Failure::failed)? {
        output::warn(&[format!("removed {name}, which a killed process had left half loaded")]);
    }
    for name in store::remove_of_killed_services().map_err(Failure::failed)? {
        output::warn(&[format!("removed {name}, which a killed service had kept")]);
    }
    let mut metrics = Metrics::open(config.metrics.as_ref())?;
    let mut service = Service::default();
    if let Err(error) = service.become_as(&config, true) {
        service.unload();
        return Err(error);
    }
    manager.ready(&service.status());
    output::note(&[service.status()]);
    let mut looked = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if reload.swap(false, Ordering::Relaxed) {
            manager.reloading();
            service.reload(args, &mut metrics);
            manager.ready(&service.status());
        }
        service.tend(TURN);
        if looked.elapsed() >= AGAIN {
            looked = Instant::now();
            let before = service.status();
            service.try_again();
            if service.status() != before {
                manager.status(&service.status());
            }
        }
        metrics.serve(|| service.measured());
        manager.alive();
    }
    manager.stopping();
    service.end();
    Ok(())
}

/// A flag that signals set from now on.
fn flag_of(signals: &[i32]) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in signals {
        signal_hook::flag::register(*signal, Arc::clone(&flag)).map_err(Failure::failed)?;
    }
    Ok(flag)
}

/// Tells a complaint, unless it is known already, or what is missing still was missed before.
fn complain(known: &mut Option<String>, new: String, is_missing: bool) {
    let is_known = known.as_ref().is_some_and(|known| is_missing || *known == new);
    if !is_known {
        output::warn(std::slice::from_ref(&new));
        *known = Some(new);
    }
}

/// What cannot be is told and tried again later. At the start it is an error, unless it may come: a device that is not
/// there.
fn forgive(
    error: Failure,
    at_start: bool,
    known: &mut Option<String>,
    place: &str,
    is_missing: bool,
) -> Result<(), Failure> {
    if at_start && !is_missing {
        return Err(error);
    }
    complain(known, format!("{place}: {error}"), is_missing);
    Ok(())
}

impl KeptLaw {
    /// Loads it, unless it is loaded or waits.
    fn fill(&mut self, at_start: bool) -> Result<(), Failure> {
        if self.entry.is_some() || self.waits() {
            return Ok(());
        }
        let done = self.load();
        let is_missing = self.misses_device();
        let place = format!("law {}", self.law.law);
        done.or_else(|error| forgive(error, at_start, &mut self.complaint, &place, is_missing))
    }

    fn load(&mut self) -> Result<(), Failure> {
        let loading = load::loading(&self.law.args())?;
        self.entry = Some(loading.kept().keep().map_err(load::refused)?);
        self.complaint = None;
        Ok(())
    }

    fn unload(&mut self) {
        if let Some(entry) = self.entry.take()
            && let Err(error) = store::remove(&entry)
        {
            output::warn(&[error.to_string()]);
        }
    }

    fn misses_device(&self) -> bool {
        self.law.devices.iter().any(|name| is_missing(&Device::named(name)))
    }

    /// For a device, which was told.
    fn waits(&self) -> bool {
        self.complaint.is_some() && self.misses_device()
    }

    /// Whether a device where it marked went, and one of that name is there now.
    fn has_device_back(&self) -> bool {
        let lost = self.entry.iter().flat_map(store::lost_devices);
        lost.into_iter().any(|name| Device::named(name).look().is_ok())
    }
}

impl KeptRouter {
    /// Lets it begin, unless it is at work or waits.
    fn fill(&mut self, at_start: bool) -> Result<(), Failure> {
        if self.router.is_some() || self.waits() {
            return Ok(());
        }
        let done = self.begin();
        let (is_missing, place) = (self.misses_device(), self.place());
        done.or_else(|error| forgive(error, at_start, &mut self.complaint, &place, is_missing))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let (router, _) = router::begin(&self.routed.args())?;
        let remarks = router::remarks(&self.routed.args(), &router);
        output::note(&remarks);
        self.router = Some(router);
        self.complaint = None;
        Ok(())
    }

    fn misses_device(&self) -> bool {
        self.routed.named().iter().any(is_missing)
    }

    /// For a device, which was told.
    fn waits(&self) -> bool {
        self.complaint.is_some() && self.misses_device()
    }

    fn place(&self) -> String {
        format!("router {} at {}", self.routed.law, self.routed.device)
    }
}

impl Service {
    /// Makes of what is kept what the file says; what is in both stays untouched. At the start what cannot be is an
    /// error, unless it may come: a device that is not there.
    fn become_as(&mut self, config: &Config, at_start: bool) -> Result<(), Failure> {
        let is_wanted = |law: &KeptLaw| config.laws.contains(&law.law) && !is_own(&law.law.law);
        for law in self.laws.iter_mut().filter(|law| !is_wanted(law)) {
            law.unload();
        }
        self.laws.retain(is_wanted);
        let is_wanted = |kept: &KeptRouter| config.routers.contains(&kept.routed) && !is_own(&kept.routed.law);
        let gone = self.routers.extract_if(.., |kept| !is_wanted(kept));
        let gone = gone.filter_map(|kept| kept.router);
        self.closed.extend(gone.map(Router::into_closed));
        self.gates.become_as(&config.gateways);
        for law in &config.laws {
            if self.laws.iter().all(|kept| kept.law != *law) {
                self.laws.push(KeptLaw {
                    law: law.clone(),
                    entry: None,
                    complaint: None,
                });
            }
        }
        for routed in &config.routers {
            if self.routers.iter().all(|kept| kept.routed != *routed) {
                self.routers.push(KeptRouter {
                    routed: routed.clone(),
                    router: None,
                    complaint: None,
                });
            }
        }
        self.fill(at_start)
    }

    /// Does what is not done yet. Nearly all of the time the kernel checks programs, on the processor of whoever loads
    /// them: routers therefore begin beside the laws. Laws come one after the other, since they share a map of which
    /// the first one makes the only copy.
    fn fill(&mut self, at_start: bool) -> Result<(), Failure> {
        let Self {
            laws, routers, gates, ..
        } = self;
        let _hurry = Hurry::begin();
        let (of_laws, of_routers) = std::thread::scope(|scope| {
            let of_laws = scope.spawn(|| laws.iter_mut().try_for_each(|law| law.fill(at_start)));
            let of_routers = routers.iter_mut().try_for_each(|kept| kept.fill(at_start));
            (of_laws.join().expect("loading a law does not panic"), of_routers)
        });
        of_laws.and(of_routers).and_then(|()| gates.fill(at_start))?;
        if self.routers.iter().all(|kept| kept.router.is_some()) {
            self.closed.clear();
        }
        Ok(())
    }

    /// Reads the file anew. One that cannot be read changes nothing.
    fn reload(&mut self, args: &RunArgs, metrics: &mut Metrics) {
        let read = Config::read(&args.file).and_then(|config| {
            metrics.reopen(config.metrics.as_ref())?;
            Ok(config)
        });
        let done = read.and_then(|config| self.become_as(&config, false));
        match done {
            Ok(()) => output::note(&[format!("read {} anew; {}", args.file.display(), self.status())]),
            Err(error) => output::warn(&[format!("all stays as it was: {error}")]),
        }
    }

    /// Waits that long for devices to come or go; sees to it that domains are closed.
    fn tend(&mut self, timeout: Duration) {
        let mut waited = false;
        for kept in &mut self.routers {
            let Some(router) = &mut kept.router else { continue };
            let timeout = if waited { Duration::ZERO } else { timeout };
            waited = true;
            if let Err(error) = router.tend(timeout) {
                let complaint = format!("{}: {error}; it is taken up again when it can be", kept.place());
                complain(&mut kept.complaint, complaint, false);
                self.closed.extend(kept.router.take().map(Router::into_closed));
            }
        }
        self.gates.tend();
        if !waited {
            std::thread::sleep(timeout);
        }
    }

    fn try_again(&mut self) {
        for law in self.laws.iter_mut().filter(|law| law.has_device_back()) {
            output::note(&[format!("law {}: a device is back, and it is loaded again", law.law.law)]);
            law.unload();
        }
        // Whatever cannot be done is told where it is new.
        let _ = self.fill(false);
    }

    /// In a line: how much of it is at work, and what is waited for.
    fn status(&self) -> String {
        let laws_n = self.laws.iter().filter(|law| law.entry.is_some()).count();
        let routers_n = self.routers.iter().filter(|kept| kept.router.is_some()).count();
        format!(
            "{laws_n} of {} laws and {routers_n} of {} routers{} are at work",
            self.laws.len(),
            self.routers.len(),
            self.gates.status()
        )
    }

    fn measured(&mut self) -> String {
        let laws: Vec<&Entry> = self.laws.iter().filter_map(|law| law.entry.as_ref()).collect();
        let routers = self.routers.iter_mut().map(|kept| (&kept.routed, kept.router.as_mut()));
        metrics::text(&laws, routers, self.gates.counted())
    }

    /// Takes the laws away.
    fn unload(&mut self) {
        for law in &mut self.laws {
            law.unload();
        }
    }

    /// Undoes all but the edges.
    fn end(mut self) {
        self.unload();
        let routers: Vec<Router> = self.routers.into_iter().filter_map(|kept| kept.router).collect();
        if routers.iter().any(|router| !router.edges().is_empty()) {
            output::note(&["marks stay cleared at the edges; `fadelab kernel clean` ends that".to_owned()]);
        }
        self.gates.leave();
        let now = routers.into_iter().map(Router::into_closed);
        for closed in self.closed.into_iter().chain(now) {
            closed.leave();
        }
    }
}

fn is_missing(device: &Device) -> bool {
    device.look().is_err()
}
