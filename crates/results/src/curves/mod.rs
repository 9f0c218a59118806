//! The curves of the page: per point of the sweep and link, each law over time, and how its flows and times spread.
//!
//! Everything is cut into bins in which the mean is exact (rates and integrals come from counters). The script joins
//! bins further where more would fall on a pixel than can be seen. [`budget`] says how fine a page may be.

mod budget;
mod flow;
mod link;
pub mod sizes;
pub mod spread;
mod watched;

use serde::Serialize;

pub use budget::Budget;
use sizes::Transfers;
use spread::{GroupQuantiles, Quantiles};
use watched::{Limits, Watched};

use crate::contender::{Contender, contenders, sender_looks};
use crate::distinct::in_order;
use crate::pack::Packed;
use crate::{Experiment, Run, measure};

/// All curves of an experiment.
#[derive(Debug, Serialize)]
pub struct Curves {
    /// In the order of points, then links.
    pub panels: Vec<Panel>,
    /// Panels that found no room.
    pub panels_left_out: usize,
}

/// What happens at one link at one point of the sweep, law by law.
#[derive(Debug, Serialize)]
pub struct Panel {
    /// The point: its place among those of the experiment.
    pub point: usize,
    /// Name of the link.
    pub link: String,
    /// Totals and figures leave out what is before.
    pub warmup_s: f64,
    /// End of the time axis.
    pub duration_s: f64,
    /// Distance of the samples.
    pub sample_s: f64,
    /// Width of the bins of the link's curves.
    pub bin_s: f64,
    /// How many there are.
    pub bins_n: usize,
    /// On a link with a recorded trace: what could have been sent, and then `used` is in Mbit/s too.
    pub capacity_mbps: Option<Packed>,
    /// Width of the bins of the flows' curves.
    pub flow_bin_s: f64,
    /// How many there are.
    pub flow_bins_n: usize,
    /// Names of the flows that have curves: of those with a law whose data cross the link, the first.
    pub flows: Vec<String>,
    /// How many there are in all.
    pub flows_n: usize,
    /// Whether they are so many transfers that a line for each would show nothing.
    pub is_crowd: bool,
    /// Laws that have runs here.
    pub laws: Vec<LawCurves>,
    /// What laws declare as worth watching, at the link and at the flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<Watched>,
}

/// One law in a panel. Tables are row after row, a row is a curve.
#[derive(Debug, Serialize)]
pub struct LawCurves {
    /// Its place among the laws of the experiment.
    pub law: usize,
    /// Where several laws share the links: each of them, with its look; `flow_senders` says whose is which flow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub senders: Vec<SenderLook>,
    /// Per flow of the panel the place of its law among `senders`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flow_senders: Vec<usize>,
    /// Its seeds, as text because a script's numbers end at 2^53.
    pub seeds: Vec<String>,
    /// A row per seed: utilisation, or Mbit/s sent if the panel has a capacity.
    pub used: Packed,
    /// A row per seed: packets waiting, mean over the bin.
    pub queue_pkts: Packed,
    /// A row per seed: RTT in ms, mean over the samples in the bin.
    pub rtt_ms: Packed,
    /// How many of the seeds have curves of their flows: the first.
    pub flow_seeds_n: usize,
    /// A row per such seed and flow: congestion window in packets, mean of the samples in the bin.
    pub cwnd_pkts: Packed,
    /// The lowest and the highest sample of the window in the bin, where a bin has several samples.
    pub cwnd_pkts_range: Option<[Packed; 2]>,
    /// A row per such seed and flow: payload delivered in the bin, in Mbit/s.
    pub goodput_mbps: Packed,
    /// A row per such seed and flow: RTT in ms, mean over the flow's samples in the bin.
    pub flow_rtt_ms: Packed,
    /// A row per seed, a column per flow: payload delivered in the measured interval, in Mbit/s.
    pub share_mbps: Packed,
    /// Times of the transfers that ended in the measured interval, of all seeds.
    pub completion_s: Option<Quantiles>,
    /// The same by size, where there are several sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Transfers>,
    /// RTTs in ms in the measured interval, of each group of flows, over all seeds.
    pub rtt_spread_ms: Vec<GroupQuantiles>,
    /// Waits in the queue of the link, the same way.
    pub wait_spread_ms: Vec<GroupQuantiles>,
}

/// A law of senders that share links with others.
#[derive(Debug, Serialize)]
pub struct SenderLook {
    /// Its name.
    pub law: String,
    /// Its colour, and for each round through the colours another kind of line.
    pub look: usize,
}

/// A link at a point of the sweep, with the runs that recorded it.
struct Place<'a> {
    point: usize,
    link: usize,
    runs: Vec<&'a Run>,
    /// The run of which most flows cross the link: a law alone has fewer than one beside another.
    fullest: &'a Run,
    /// Its flows that have a law and whose data cross the link.
    flows: Vec<usize>,
    is_crowd: bool,
}

/// A run and its flows at a place.
pub struct Member<'a> {
    run: &'a Run,
    /// Index of the link.
    link: usize,
    /// All that have a law and whose data cross the link.
    flows: Vec<usize>,
    /// Of the flows that have curves in the panel, those of the same names here.
    shown: Vec<Option<usize>>,
}

/// Flows of a run that have a law and whose data cross a link.
fn flows_with_law(run: &Run, link: usize) -> Vec<usize> {
    let mut flows = measure::crossing_flows(run, link);
    flows.retain(|&flow| run.spec.flows[flow].law.is_some());
    flows
}

/// Beyond so many flows that are one transfer each, their times are drawn by size.
const CROWD_MIN: usize = 24;
/// Flows of a crowd that can be looked at as lines: the first.
const CROWD_LINES_MAX: usize = 50;

/// Whether most of `flows` are one transfer each, and there are many.
fn is_crowd(run: &Run, flows: &[usize]) -> bool {
    let is_transfer = |flow: &&usize| run.spec.flows[**flow].sends.is_transfer();
    flows.len() > CROWD_MIN && 2 * flows.iter().filter(is_transfer).count() > flows.len()
}

impl Curves {
    /// Computes the curves of the runs that recorded a series.
    pub fn of(experiment: &Experiment) -> Self {
        let laws = contenders(&experiment.runs);
        let looks = sender_looks(&experiment.runs, &laws);
        let mut places = places(experiment);
        let shapes: Vec<budget::Shape> = places.iter().map(Place::shape).collect();
        let budget = Budget::of(&shapes);
        let panels_left_out = places.len().saturating_sub(budget.panels_max);
        places.truncate(budget.panels_max);
        let with_grids: Vec<_> = places.iter().map(|place| (place, place.grids(&budget))).collect();
        let limits = Limits::of(&with_grids, budget.seeds_max, budget.flows_max);
        Self {
            panels: places
                .iter()
                .map(|place| panel(place, &laws, &looks, &budget, limits))
                .collect(),
            panels_left_out,
        }
    }
}

impl Curves {
    /// How many values that laws declare have curves.
    pub fn watched_n(&self) -> usize {
        let values = self.panels.iter().flat_map(|panel| &panel.watched);
        in_order(values.map(Watched::key)).len()
    }
}

fn places(experiment: &Experiment) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    for (point, coordinates) in in_order(experiment.runs.iter().map(|run| &run.point))
        .into_iter()
        .enumerate()
    {
        let recorded = |run: &&Run| run.point == *coordinates && run.record.series.time_ns.len() > 1;
        let runs: Vec<&Run> = experiment.runs.iter().filter(recorded).collect();
        let Some(first) = runs.first() else { continue };
        for link in measure::shown_links(first) {
            // Of equals the first.
            let crossing = |run: &&Run| measure::crossing_flows(run, link).len();
            let fullest = runs.iter().copied().rev().max_by_key(crossing).unwrap_or(first);
            if crossing(&fullest) == 0 {
                continue;
            }
            let flows = flows_with_law(fullest, link);
            places.push(Place {
                point,
                link,
                runs: runs.clone(),
                fullest,
                is_crowd: is_crowd(fullest, &flows),
                flows,
            });
        }
    }
    places
}

impl<'a> Place<'a> {
    fn shape(&self) -> budget::Shape {
        budget::Shape {
            runs: self.runs.len(),
            seeds: in_order(self.runs.iter().map(|run| run.seed)).len(),
            flows: self.lines_max(),
        }
    }

    /// The bins of the curves of the link and of the flows.
    fn grids(&self, budget: &Budget) -> [link::Grid; 2] {
        let bins = |bins_max| link::Grid::new(self.fullest.spec.duration_ns, self.sample_ns(), bins_max);
        [bins(budget.link_bins_max), bins(budget.flow_bins_max)]
    }

    /// Distance of the samples.
    fn sample_ns(&self) -> u64 {
        let time_ns = &self.fullest.record.series.time_ns;
        time_ns[1] - time_ns[0]
    }

    /// Flows that may have curves.
    fn lines_max(&self) -> usize {
        let most = if self.is_crowd { CROWD_LINES_MAX } else { usize::MAX };
        self.flows.len().min(most)
    }

    /// Where a flow of the fullest run is in another: flows are the same by their names.
    fn place_in(&self, run: &Run, flow: usize) -> Option<usize> {
        let flows = &run.spec.flows;
        let is_it = |at: &usize| {
            flows
                .get(*at)
                .is_some_and(|other| other.name == self.fullest.spec.flows[flow].name)
        };
        Some(flow).filter(is_it).or_else(|| (0..flows.len()).find(is_it))
    }

    fn member(&self, run: &'a Run, shown: &[usize]) -> Member<'a> {
        Member {
            run,
            link: self.link,
            flows: flows_with_law(run, self.link),
            shown: shown.iter().map(|&flow| self.place_in(run, flow)).collect(),
        }
    }
}

fn panel(place: &Place, laws: &[Contender], looks: &[(String, usize)], budget: &Budget, limits: Limits) -> Panel {
    let spec = &place.fullest.spec;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let sample_ns = place.sample_ns();
    let grids @ [bins, flow_bins] = place.grids(budget);
    let shown = &place.flows[..place.lines_max().min(budget.flows_max)];
    let varies = spec.links[place.link].varies;
    let of_law = |(law, contender): (usize, &Contender)| {
        let runs: Vec<&Run> = place.runs.iter().copied().filter(|run| contender.has(run)).collect();
        let members: Vec<Member> = runs.iter().map(|run| place.member(run, shown)).collect();
        let with_flows = &members[..runs.len().min(budget.seeds_max)];
        let (senders, flow_senders) = members
            .first()
            .map_or_else(Default::default, |member| senders(member, looks));
        (!runs.is_empty()).then(|| LawCurves {
            law,
            senders,
            flow_senders,
            seeds: runs.iter().map(|run| run.seed.to_string()).collect(),
            used: link::used(&runs, place.link, bins, varies),
            queue_pkts: link::queue_pkts(&runs, place.link, bins),
            rtt_ms: link::rtt_ms(&members, bins),
            flow_seeds_n: with_flows.len(),
            cwnd_pkts: flow::cwnd_pkts(with_flows, flow_bins, flow::mean),
            cwnd_pkts_range: (flow_bins.width_ns > sample_ns).then(|| {
                let table = |pick| flow::cwnd_pkts(with_flows, flow_bins, pick);
                [table(flow::lowest), table(flow::highest)]
            }),
            goodput_mbps: flow::goodput_mbps(with_flows, flow_bins),
            flow_rtt_ms: flow::rtt_ms(with_flows, flow_bins),
            share_mbps: flow::share_mbps(&members),
            completion_s: spread::completions_s(&members),
            transfers: sizes::transfers(&members),
            rtt_spread_ms: spread::rtt_ms(&members, looks),
            wait_spread_ms: spread::wait_ms(&members, looks),
        })
    };
    Panel {
        point: place.point,
        link: spec.links[place.link].name.to_string(),
        warmup_s: seconds(spec.warmup_ns),
        duration_s: seconds(spec.duration_ns),
        sample_s: seconds(sample_ns),
        bin_s: seconds(bins.width_ns),
        bins_n: bins.count(),
        capacity_mbps: varies.then(|| link::capacity_mbps(place.fullest, place.link, bins)),
        flow_bin_s: seconds(flow_bins.width_ns),
        flow_bins_n: flow_bins.count(),
        flows: shown.iter().map(|&flow| spec.flows[flow].name.to_string()).collect(),
        flows_n: place.flows.len(),
        is_crowd: place.is_crowd,
        laws: laws.iter().enumerate().filter_map(of_law).collect(),
        watched: watched::watched(place, shown, laws, grids, limits),
    }
}

/// The laws of the shown flows of a run, and whose is which flow; nothing where all have one law.
fn senders(member: &Member, looks: &[(String, usize)]) -> (Vec<SenderLook>, Vec<usize>) {
    let sender = |flow: usize| member.run.spec.flows[flow].sender();
    let laws = in_order(member.shown.iter().flatten().map(|&flow| sender(flow)));
    if laws.len() < 2 {
        return Default::default();
    }
    let look = |law: &str| looks.iter().find(|(name, _)| name == law).map_or(0, |(_, look)| *look);
    let place = |sender: &str| laws.iter().position(|law| *law == sender).unwrap_or_default();
    let shown = member.shown.iter();
    let of_flows = shown.map(|flow| flow.map_or(0, |flow| place(sender(flow)))).collect();
    let senders = laws.iter().map(|&law| SenderLook {
        law: law.to_owned(),
        look: look(law),
    });
    (senders.collect(), of_flows)
}
