//! The event loop.

use fadelab_laws::guard::{self, Fault};
use fadelab_laws::{Router, Sender};
use fadelab_path::counters::LinkCounters;
use fadelab_path::packet::PacketId;
use fadelab_path::violation::{Checked, Violation, violated};
use fadelab_run::record::{FlowCounters, RunRecord, Series};
use fadelab_run::spec::{Misfit, RunSpec};

use crate::delays::Delays;
use crate::ends::Ends;
use crate::flow::Flow;
use crate::network::Network;
use crate::network::ahead::Batch;
use crate::network::fetch::Upcoming;
use crate::schedule::SourceId;
use crate::tap::{Sighting, Tap};

#[cfg(feature = "fault-injection")]
pub mod fault;

/// Why a run gave no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// An invariant did not hold.
    #[error("{violation} (seed {seed} replays it)")]
    Violation {
        /// What happened.
        violation: Box<Violation>,
        /// Seed of the run.
        seed: u64,
    },
    /// Time and source of an event share one number, and together they do not fit.
    #[error("a run with so many links and flows can last {time_s_max} s at most; shorten it or simulate fewer flows")]
    TooLong {
        /// The longest possible.
        time_s_max: u64,
    },
    /// A law trapped, did not come back, or returned nonsense.
    #[error("{0}")]
    Law(Box<Fault>),
    /// A flow without a way through the network.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// A law that only a kernel has.
    #[error("`{name}` is a law of a kernel, which the simulator does not have; `fadelab testbed run` runs it")]
    OfHost { name: &'static str },
    /// Whoever watches the run asked for its end.
    #[error("the run was stopped")]
    Stopped,
}

/// How often [`run`] reports, per run.
const REPORTS: u64 = 200;

/// The engine's own events; they come after all others of the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Own {
    WarmUp,
    Sample,
    Report,
}

const OWN_EVENTS: usize = 3;

/// Runs a spec to its end. `report` is told the virtual time now and then, and says whether to go on.
///
/// # Errors
/// A broken invariant with its seed, a law at fault, or a stop that `report` asked for.
pub fn run(spec: &RunSpec, report: impl FnMut(u64) -> bool) -> Result<RunRecord, RunError> {
    check(spec)?;
    let engine = guard::catch(|| Engine::new(spec)).map_err(|fault| RunError::Law(Box::new(fault)))?;
    run_to_end(engine, report)
}

/// Refuses laws of a kernel, and flows that the network does not join, as [`run`] does.
///
/// # Errors
/// [`RunError::OfHost`] and [`RunError::Misfit`], each with the first of them.
pub fn check(spec: &RunSpec) -> Result<(), RunError> {
    spec.check()?;
    let senders = spec.flows.iter().filter_map(|flow| flow.sender);
    let sender = senders.filter(|law| law.is_of_host()).map(Sender::name).next();
    let routers = spec.network.links.iter().map(|link| link.router.law);
    let router = routers.filter(|law| law.is_of_host()).map(Router::name).next();
    sender.or(router).map_or(Ok(()), |name| Err(RunError::OfHost { name }))
}

/// As [`run`], with the same record, and shows `sink` what the senders' hosts of `flows` see and what arrives over
/// `links` (indices). Where there are links it sees what passes all hosts, and the record counts more events.
///
/// # Errors
/// As [`run`].
pub fn run_tapped(
    spec: &RunSpec,
    flows: &[u32],
    links: &[u32],
    sink: Box<dyn FnMut(&Sighting)>,
    report: impl FnMut(u64) -> bool,
) -> Result<RunRecord, RunError> {
    run_to_end(
        Engine::with_tap(spec, Some(Tap::new(&spec.flows, flows, links, sink))),
        report,
    )
}

/// Runs what stands at its beginning.
pub(crate) fn run_to_end(mut engine: Engine<'_>, report: impl FnMut(u64) -> bool) -> Result<RunRecord, RunError> {
    let seed = engine.spec.seed;
    let failed = |violation| RunError::Violation { violation, seed };
    let time_ns_max = engine.net.time_ns_max();
    if engine.spec.duration_ns > time_ns_max {
        return Err(RunError::TooLong {
            time_s_max: time_ns_max / 1_000_000_000,
        });
    }
    match guard::catch(|| engine.run(report)) {
        Ok(Ok(true)) => Ok(engine.record),
        Ok(Ok(false)) => Err(RunError::Stopped),
        Ok(Err(violation)) => Err(failed(violation)),
        Err(mut fault) => {
            engine.locate(&mut fault);
            Err(RunError::Law(Box::new(fault)))
        }
    }
}

pub(crate) struct Engine<'a> {
    spec: &'a RunSpec,
    pub(crate) net: Network,
    pub(crate) flows: Vec<Flow>,
    pub(crate) now_ns: u64,
    record: RunRecord,
    ends: Ends,
    delays: Delays,
    #[cfg(feature = "fault-injection")]
    pub(crate) fault: Option<fault::Fault>,
}

impl<'a> Engine<'a> {
    pub fn new(spec: &'a RunSpec) -> Self {
        Self::with_tap(spec, None)
    }

    fn with_tap(spec: &'a RunSpec, tap: Option<Tap>) -> Self {
        let mut net = Network::new(spec, OWN_EVENTS);
        if let Some(tap) = tap {
            net.set_tap(tap);
        }
        let delays = Delays::of(&net);
        let flows = Flow::all(spec, &mut net, delays.round_trips());
        let mut engine = Self {
            spec,
            net,
            flows,
            now_ns: 0,
            record: RunRecord {
                link_ids: shown_links(spec),
                ..RunRecord::default()
            },
            ends: Ends::default(),
            delays,
            #[cfg(feature = "fault-injection")]
            fault: None,
        };
        for (index, flow) in engine.flows.iter_mut().enumerate() {
            engine.net.schedule_flow(index, flow.next_event_ns());
        }
        if spec.warmup_ns > 0 {
            engine.schedule_own(Own::WarmUp as usize, spec.warmup_ns);
        }
        if spec.record_interval_ns.is_some() {
            engine.begin_series();
        }
        engine.schedule_own(Own::Report as usize, spec.duration_ns / REPORTS + 1);
        engine
    }

    /// An engine in which something goes wrong.
    #[cfg(feature = "fault-injection")]
    pub fn with_fault(spec: &'a RunSpec, fault: fault::Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::new(spec)
        }
    }

    /// The engine's own events are numbered after the links and the flows.
    fn schedule_own(&mut self, event: usize, due_ns: u64) {
        let source = self.spec.network.links.len() + self.spec.flows.len() + event;
        self.net.schedule_own(event, source as SourceId, due_ns);
    }

    /// Returns whether the run came to its end.
    pub fn run(&mut self, mut report: impl FnMut(u64) -> bool) -> Checked<bool> {
        let (links, flows, end_ns) = (
            self.spec.network.links.len(),
            self.spec.flows.len(),
            self.spec.duration_ns,
        );
        if self.spec.warmup_ns == 0 {
            // Totals include what leaves at time 0, and what a trace offers then: counters are as before the run.
            self.record.links_warmup = vec![LinkCounters::default(); self.record.link_ids.len()];
            self.record.flows_warmup = self.flows.iter().map(Flow::snapshot).collect();
        }
        loop {
            let (key, time_ns, source) = self.net.next_event();
            if time_ns > end_ns {
                break;
            }
            if time_ns < self.now_ns {
                return self.broken_time(time_ns);
            }
            self.now_ns = time_ns;
            self.record.events += 1;
            let source = source as usize;
            if source < links {
                self.on_link(key, source)?;
            } else if source < links + flows {
                let index = self.net.flow_at(source - links);
                let flow = &mut self.flows[index];
                flow.on_event(time_ns, source as SourceId, &mut self.net, &mut self.ends)?;
                self.net.schedule_flow(index, flow.next_event_ns());
            } else if !self.on_own(source - links - flows, &mut report)? {
                return Ok(false);
            }
            #[cfg(feature = "fault-injection")]
            if self.fault.is_some() {
                fault::inject(self);
            }
        }
        self.now_ns = self.spec.duration_ns;
        self.record.events += self.net.events_more();
        self.record.completions = std::mem::take(&mut self.ends).in_order();
        (self.record.links_end, self.record.flows_end) = self.snapshot()?;
        self.record.delays = self.delays.record(&self.record, &mut self.net);
        self.record.dropped = self.net.drops();
        self.record.answers = self.net.answers();
        self.record.tunnels = self.net.tunnels.record();
        self.net.check_conservation(self.now_ns)?;
        Ok(true)
    }

    #[cold]
    fn broken_time<T>(&self, time_ns: u64) -> Checked<T> {
        let detail = format!("event at {time_ns} ns");
        violated("time never goes back", "engine", self.now_ns, detail)
    }

    /// Says whose law is at fault: the instance whose state was in use.
    fn locate(&self, fault: &mut Fault) {
        let address = fault.state_address;
        let flow = self
            .flows
            .iter()
            .position(|flow| flow.state_addresses().contains(&Some(address)));
        if let Some(flow) = flow {
            fault.record.place = format!("flow {} ({})", flow + 1, self.spec.flows[flow].name);
        } else if let Some(link) = self.net.holder_of_state(address) {
            fault.record.place = format!("link {}", self.spec.network.links[link].name);
        } else if let Some(place) = self.net.tunnels.place_of_state(address) {
            place.clone_into(&mut fault.record.place);
        }
        if fault.record.time_ns == 0 {
            fault.record.time_ns = self.now_ns;
        }
    }

    #[inline]
    fn on_link(&mut self, key: u64, link: usize) -> Checked<()> {
        match self.net.batch(key, self.now_ns, link) {
            Some(batch) if batch.has_hosts => self.on_batch(batch),
            Some(batch) => self.net.pass_on_all(batch),
            None => match self.net.service_link(self.now_ns, link)? {
                Some(id) => self.on_arrived_alone(link, id),
                None => Ok(()),
            },
        }
    }

    /// As [`Self::on_arrived`], out of a link that has events of its own.
    #[inline(never)]
    fn on_arrived_alone(&mut self, link: usize, id: PacketId) -> Checked<()> {
        self.on_arrived(link, id)
    }

    /// Packets come out where hosts are, until something else has its turn.
    #[inline(never)]
    fn on_batch(&mut self, mut batch: Batch) -> Checked<()> {
        let began_ns = self.now_ns;
        loop {
            let arrived = self.net.take(&batch)?;
            if arrived.at_ns < self.now_ns {
                return self.broken_time(arrived.at_ns);
            }
            self.now_ns = arrived.at_ns;
            self.net.tell_horizon(&batch);
            if let Some(id) = self.net.come_out(arrived.at_ns, arrived.parcel)? {
                self.on_arrived(arrived.link, id)?;
            }
            let waits = batch.reopens && self.is_next_closing(&batch);
            if !self.net.goes_on(&mut batch, waits) {
                self.now_ns = began_ns;
                return Ok(());
            }
        }
    }

    /// Whether what comes out next is of a flow that may begin anew before.
    #[inline(never)]
    fn is_next_closing(&self, batch: &Batch) -> bool {
        let next = self.net.next_of(batch);
        next.is_some_and(|id| self.flows[self.net.slab.get(id).flow as usize].is_closing())
    }

    /// A packet is at its end.
    #[inline(always)]
    fn on_arrived(&mut self, link: usize, id: PacketId) -> Checked<()> {
        if let Some(upcoming) = self.net.upcoming(link) {
            self.fetch(upcoming);
        }
        let flow = self.net.slab.get(id).flow as usize;
        self.flows[flow].on_packet(self.now_ns, link as SourceId, id, &mut self.net, &mut self.ends)
    }

    /// Asks for the memory of flows whose packets come soon.
    #[inline]
    fn fetch(&self, upcoming: Upcoming) {
        if let Some(flow) = upcoming.far {
            self.flows[flow as usize].fetch(upcoming.exits);
        }
        if let Some(flow) = upcoming.near {
            self.flows[flow as usize].fetch_behind(upcoming.exits, &self.net);
        }
    }

    #[cold]
    fn on_own(&mut self, event: usize, report: &mut impl FnMut(u64) -> bool) -> Checked<bool> {
        self.schedule_own(event, u64::MAX);
        if event == Own::WarmUp as usize {
            (self.record.links_warmup, self.record.flows_warmup) = self.snapshot()?;
            self.delays.forget(&mut self.net);
            self.net.forget_drops();
            self.net.forget_answers();
            self.net.tunnels.forget();
        } else if event == Own::Sample as usize {
            self.take_sample()?;
        } else {
            self.net.check_conservation(self.now_ns)?;
            let next_ns = self.now_ns + self.spec.duration_ns / REPORTS + 1;
            self.schedule_own(Own::Report as usize, next_ns);
            return Ok(report(self.now_ns));
        }
        Ok(true)
    }

    fn snapshot(&mut self) -> Checked<(Vec<LinkCounters>, Vec<FlowCounters>)> {
        let links = self.net.snapshot_of_all(&self.record.link_ids, self.now_ns)?;
        Ok((links, self.flows.iter().map(Flow::snapshot).collect()))
    }
}

/// Indices of the links that results show.
fn shown_links(spec: &RunSpec) -> Vec<u32> {
    let shown = spec.network.links.iter().enumerate().filter(|(_, link)| link.shown);
    shown.map(|(id, _)| id as u32).collect()
}

/// The recorder: an event source of its own, so that a run that records nothing has none of it.
#[cfg(feature = "recorder")]
impl Engine<'_> {
    fn begin_series(&mut self) {
        let link_ids = self.record.link_ids.clone();
        self.record.series = Series {
            time_ns: Vec::new(),
            links: vec![Vec::new(); link_ids.len()],
            link_ids,
            flows: vec![Vec::new(); self.flows.len()],
            links_watched: vec![Vec::new(); self.record.link_ids.len()],
            flows_watched: vec![Vec::new(); self.flows.len()],
        };
        self.schedule_own(Own::Sample as usize, 0);
    }

    fn take_sample(&mut self) -> Checked<()> {
        let series = &mut self.record.series;
        series.time_ns.push(self.now_ns);
        let links = self.net.snapshot(&series.link_ids, self.now_ns)?;
        for (counters, samples) in links.into_iter().zip(&mut series.links) {
            samples.push(counters);
        }
        for (flow, samples) in self.flows.iter().zip(&mut series.flows) {
            samples.push(flow.snapshot());
        }
        for (&link, values) in series.link_ids.iter().zip(&mut series.links_watched) {
            self.net.watch(link, values);
        }
        for (flow, values) in self.flows.iter().zip(&mut series.flows_watched) {
            flow.watch(values);
        }
        if let Some(interval_ns) = self.spec.record_interval_ns {
            self.schedule_own(Own::Sample as usize, self.now_ns + interval_ns);
        }
        Ok(())
    }
}

/// Built without the recorder, to measure what it costs when it is off.
#[cfg(not(feature = "recorder"))]
impl Engine<'_> {
    #[expect(clippy::unused_self, reason = "the signature of the recorder that is built in")]
    fn begin_series(&mut self) {}

    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the signature of the recorder that is built in"
    )]
    fn take_sample(&mut self) -> Checked<()> {
        Ok(())
    }
}
