//! Synthetic runs whose figures can be computed by hand.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod pairs;
mod transport;

use std::path::Path;
use std::sync::Arc;

use fadelab_path::counters::LinkCounters;
use fadelab_path::histogram::Histogram;
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, RouterSpec};
use fadelab_path::trace::{Trace, TraceRules};
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model};
use fadelab_results::picture::{Axis, Curve, Mark, Panel, Picture};
use fadelab_results::report::paper::{Choice, Drawn, Figures, Request};
use fadelab_results::{Experiment, Host, Origin, Provenance, Run, SIM, Specs, Summary};
use fadelab_run::app::{App, Span};
use fadelab_run::classes::{Classes, Groups};
use fadelab_run::flow::{FlowKind, FlowSpec};
use fadelab_run::network::NetworkSpec;
use fadelab_run::record::{AnswersOf, Completion, Delays, DroppedOf, FlowCounters, OfGroup, RunRecord, Series, Waits};
use fadelab_run::spec::RunSpec;
use fadelab_run::tunnel::TunnelRecord;

pub use transport::transport;

pub const SECOND: u64 = 1_000_000_000;

/// Packets of 1000 bytes, 8 Mbit/s: the link can send 1000 packets a second.
const PACKET_BYTES: u64 = 1000;
const LINK_PKTS_PER_S: u64 = 1000;

pub fn link(name: &str, shown: bool, channel: Option<ChannelSpec>) -> LinkSpec {
    let (law, capacity) = (
        fadelab_laws::router("droptail").unwrap(),
        fadelab_laws::capacity("configured").unwrap(),
    );
    LinkSpec::new(
        name,
        shown,
        LinkKind {
            channel,
            ..LinkKind::new(
                CapacitySpec::Constant { rate_bps: 8_000_000 },
                1,
                Buffer {
                    packets: Some(100),
                    bytes: None,
                },
                RouterSpec {
                    law,
                    params: law.default_params(),
                    capacity,
                    capacity_params: capacity.default_params(),
                },
            )
        },
    )
}

/// A flow over one of the links of [`spec`], with ACKs over the other.
pub fn flow(name: &str, group: &str, link: u32) -> FlowSpec {
    let sender = fadelab_laws::sender("reno").unwrap();
    let kind = FlowKind {
        group: group.to_owned(),
        sender: Some(sender),
        params: sender.default_params(),
        onlookers: Vec::new(),
        receiver: None,
        app: App::Greedy {
            start: Span::Fixed { ns: 0 },
        },
        transport: transport(),
    };
    FlowSpec {
        name: name.into(),
        from: link,
        to: 1 - link,
        route: vec![link],
        route_back: vec![1 - link],
        kind: kind.into(),
    }
}

/// Two flows over `bottleneck` (which loses 2 % of data packets on the air), one over the hidden link `back` only.
pub fn spec(seed: u64, duration_s: u64) -> RunSpec {
    let channel = ChannelSpec {
        model: Model::Random { data: 0.02, ack: 0.0 },
        code: CodeSpec::NONE,
    };
    let mut network = NetworkSpec::default();
    let [here, there] = ["here", "there"].map(|name| network.host(name));
    network.join(here, there, link("bottleneck", true, Some(channel)));
    network.join(there, here, link("back", false, None));
    RunSpec {
        seed,
        duration_ns: duration_s * SECOND,
        warmup_ns: 10 * SECOND,
        record_interval_ns: Some(SECOND),
        network,
        flows: vec![
            flow("down.0", "down", 0),
            flow("down.1", "down", 0),
            flow("up.0", "up", 1),
        ],
    }
}

/// The same with a recorded trace as capacity.
pub fn trace_spec(seed: u64, duration_s: u64) -> RunSpec {
    let mut spec = spec(seed, duration_s);
    spec.network.links[0].capacity = CapacitySpec::Trace(Arc::new(Trace {
        opportunities_ms: vec![1, 2, 3],
        opportunity_bytes: 1504,
        rules: TraceRules::Plain,
    }));
    spec
}

/// Numbers that tell value and sample apart, for a law that declares so many values; below 0 where it has signs.
fn watched(values: usize, seconds: u64) -> Vec<u64> {
    let samples = seconds as usize + 1;
    (0..samples * values).map(|place| u64::MAX - place as u64).collect()
}

/// A record of `spec` in which `load(second)` packets of the possible 1000 are sent in each second. Of the packets sent
/// one in fifty is lost, one in ten marked; one in a hundred more arrive and are dropped; ten packets always wait.
/// The first flow gets three quarters of what is delivered (960 B of payload per packet), with RTTs of 100 ms.
pub fn record(spec: &RunSpec, load: impl Fn(u64) -> u64) -> RunRecord {
    let seconds = spec.duration_ns / SECOND;
    let (mut link, mut flows) = (LinkCounters::default(), [FlowCounters::default(); 3]);
    let mut series = Series {
        time_ns: (0..=seconds).map(|s| s * SECOND).collect(),
        link_ids: vec![0],
        links: vec![vec![link]],
        flows: flows.iter().map(|flow| vec![*flow]).collect(),
        links_watched: vec![watched(spec.network.links[0].router.law.watch().len(), seconds)],
        flows_watched: (0..flows.len())
            .map(|flow| spec.flows.get(flow).and_then(|flow| flow.sender))
            .map(|law| watched(law.map_or(0, |law| law.watch().len()), seconds))
            .collect(),
    };
    for second in 0..seconds {
        advance(&mut link, &mut flows, load(second));
        series.links[0].push(link);
        for (samples, flow) in series.flows.iter_mut().zip(&flows) {
            samples.push(*flow);
        }
    }
    let warmup = (spec.warmup_ns / SECOND) as usize;
    let shown = (0..).zip(&spec.network.links).filter(|(_, link)| link.shown);
    let link_ids: Vec<u32> = shown.map(|(id, _)| id).collect();
    let mut links_warmup = vec![LinkCounters::default(); link_ids.len()];
    let mut links_end = links_warmup.clone();
    (links_warmup[0], links_end[0]) = (series.links[0][warmup], link);
    RunRecord {
        link_ids,
        links_warmup,
        links_end,
        flows_warmup: series.flows.iter().map(|samples| samples[warmup]).collect(),
        flows_end: flows.to_vec(),
        completions: vec![
            Completion {
                flow: 1,
                start_ns: SECOND,
                end_ns: 9 * SECOND,
                bytes: 5000,
            },
            Completion {
                flow: 0,
                start_ns: 5 * SECOND,
                end_ns: 15 * SECOND,
                bytes: 1000,
            },
            Completion {
                flow: 2,
                start_ns: 5 * SECOND,
                end_ns: 16 * SECOND,
                bytes: 1000,
            },
            Completion {
                flow: 1,
                start_ns: 10 * SECOND,
                end_ns: 30 * SECOND,
                bytes: 2000,
            },
        ],
        delays: delays(spec),
        dropped: vec![dropped()],
        answers: [false, true].map(answers).to_vec(),
        tunnels: vec![tunnel()],
        series,
        events: 12_345,
        ..RunRecord::default()
    }
}

fn answers(after_drop: bool) -> AnswersOf {
    AnswersOf {
        group: "flow".to_owned(),
        after_drop,
        recoveries: 5,
        reduced: if after_drop { 4 } else { 1 },
        cwnd_pkts_before: 50,
        cwnd_pkts_after: 40,
    }
}

fn dropped() -> DroppedOf {
    DroppedOf {
        link: 0,
        group: "down".to_owned(),
        dropped_pkts: 7,
    }
}

fn tunnel() -> TunnelRecord {
    TunnelRecord {
        name: "wan".to_owned(),
        entered_pkts: 9,
        left_pkts: 6,
        dropped_pkts: 2,
        no_sa_entering_pkts: 3,
        no_sa_leaving_pkts: 1,
    }
}

/// Round trips of 1, 2, ... 100 ms in each group, and as long waits of its data at each shown link, once each.
fn delays(spec: &RunSpec) -> Delays {
    let hundred = |unit: u64| {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|k| histogram.add(k * unit, 1));
        histogram
    };
    let shown = (0..).zip(&spec.network.links).filter(|(_, link)| link.shown);
    let (groups, links) = (Groups::of(&spec.flows), shown.map(|(id, _)| id).collect::<Vec<_>>());
    let of_group = |name: &String, unit| OfGroup {
        group: name.clone(),
        histogram: hundred(unit),
    };
    let waits = |classes: Classes| {
        let told = classes.groups.iter();
        let told: Vec<OfGroup> = told
            .map(|&group| of_group(&groups.names[group as usize], 1_000_000))
            .collect();
        let mut all = Histogram::default();
        for group in &told {
            all.add_all(&group.histogram);
        }
        Waits { all, groups: told }
    };
    Delays {
        rtts_us: groups.names.iter().map(|name| of_group(name, 1000)).collect(),
        waits_ns: Classes::of(spec, &groups, &links).into_iter().map(waits).collect(),
    }
}

fn advance(link: &mut LinkCounters, flows: &mut [FlowCounters; 3], pkts: u64) {
    link.arrived_pkts += pkts + pkts / 100;
    link.arrived_bytes += (pkts + pkts / 100) * PACKET_BYTES;
    link.sent_pkts += pkts;
    link.sent_bytes += pkts * PACKET_BYTES;
    link.offered_bytes += LINK_PKTS_PER_S * PACKET_BYTES;
    link.dropped_full_pkts += pkts / 100;
    link.lost_air_pkts += pkts / 50;
    link.sent_data_pkts += pkts;
    link.lost_air_data_pkts += pkts / 50;
    link.marked_pkts += pkts / 10;
    link.queue_pkts = 10;
    link.queue_bytes = 10 * PACKET_BYTES;
    link.queue_pkt_ns += 10 * u128::from(SECOND);
    link.queue_byte_ns += 10 * u128::from(PACKET_BYTES * SECOND);
    for (place, quarters) in [(0, 3), (1, 1)] {
        let flow = &mut flows[place];
        let mine = pkts * quarters / 4;
        flow.sent_pkts += mine;
        flow.retransmitted_pkts += mine / 20;
        flow.delivered_bytes += mine * 960;
        flow.rtt_samples += 2;
        flow.rtt_us_sum += 200_000;
        flow.cwnd_pkts = mine as u32 / 10;
        flow.srtt_us = 100_000;
    }
}

/// A figure with a curve of three points, one of them missing, a published level from 10 s on, and an event.
pub fn picture() -> Picture {
    Picture {
        id: "fig1".to_owned(),
        title: "Figure 1: <shares>".to_owned(),
        caption: "Published: two thirds & no more.".to_owned(),
        columns: 1,
        panels: vec![Panel {
            title: "over one link".to_owned(),
            x: Axis {
                label: "Time (s)".to_owned(),
                ..Axis::default()
            },
            y: Axis {
                label: "Share".to_owned(),
                min: Some(0.0),
                max: Some(1.0),
                ..Axis::default()
            },
            curves: vec![Curve {
                label: "ours".to_owned(),
                colour: 1,
                dashed: false,
                joined: true,
                points: true,
                x: vec![0.0, 10.0, 20.0],
                y: vec![Some(0.1 + 0.2), None, Some(2.0 / 3.0)],
                low: vec![Some(0.25), None, None],
                high: vec![Some(0.35), None, None],
            }],
            marks: vec![
                Mark {
                    label: "published 2 to 1".to_owned(),
                    y: Some(0.667),
                    from: Some(10.0),
                    ..Mark::default()
                },
                Mark {
                    label: "it begins".to_owned(),
                    x: Some(10.0),
                    ..Mark::default()
                },
            ],
        }],
    }
}

/// Runs that become an [`Experiment`].
#[derive(Default)]
pub struct Lab {
    pub runs: Vec<Run>,
    pub claims: Vec<fadelab_results::Claim>,
    pub pictures: Vec<fadelab_results::Picture>,
    specs: Specs,
}

impl Lab {
    pub fn add(&mut self, law: &str, spec: RunSpec, load: impl Fn(u64) -> u64) {
        self.add_at(law, Vec::new(), spec, load);
    }

    #[allow(clippy::needless_pass_by_value, reason = "tests write the spec where they need it")]
    pub fn add_at(&mut self, law: &str, point: Vec<(String, String)>, spec: RunSpec, load: impl Fn(u64) -> u64) {
        self.runs.push(Run {
            ground: SIM.to_owned(),
            law: law.to_owned(),
            point,
            seed: spec.seed,
            spec: self.specs.of(&spec),
            record: record(&spec, load),
        });
    }

    pub fn experiment(&self) -> Experiment {
        Experiment {
            version: "0.0.0-test".to_owned(),
            title: "Two laws & one <link>".to_owned(),
            about: "Shows that the arithmetic is right.".to_owned(),
            scenario: "# everything filled in\nduration = \"60 s\"\n".to_owned(),
            runs: self.runs.clone(),
            claims: self.claims.clone(),
            pictures: self.pictures.clone(),
            ..Experiment::default()
        }
    }
}

/// Two laws, three seeds, 60 s: `steady` always sends 900 of 1000 packets a second and 10 less per seed; `swinging`
/// alternates between 1000 and 500 every 10 s.
pub fn two_laws() -> Lab {
    let mut lab = Lab::default();
    for seed in 1..=3 {
        lab.add("steady", spec(seed, 60), |_| 900 - 10 * (seed - 1));
    }
    for seed in 1..=3 {
        lab.add("swinging", spec(seed, 60), |second| {
            if second / 10 % 2 == 0 { 1000 } else { 500 }
        });
    }
    lab
}

/// Two laws whose senders and routers declare values to watch. At sample `s` of `vcp` its router's load factor is
/// s / 64 and its code one of three, the next one every 20 samples; each sender's window is 2 s packets and 100 more
/// for the second flow. At `xcp` F is s - 30 bytes per second. All else is 0.
pub fn watched_laws(seeds: u64, flows: usize) -> Lab {
    let mut lab = Lab::default();
    for (law, seed) in ["vcp", "xcp"]
        .iter()
        .flat_map(|law| (1..=seeds).map(move |seed| (law, seed)))
    {
        let mut spec = spec(seed, 60);
        let router = fadelab_laws::router(law).unwrap();
        spec.network.links[0].router.law = router;
        spec.network.links[0].router.params = router.default_params();
        let sender = fadelab_laws::sender(law).unwrap();
        spec.flows = (0..flows).map(|k| flow(&format!("down.{k}"), "down", 0)).collect();
        for flow in &mut spec.flows {
            (flow.sender, flow.params) = (Some(sender), sender.default_params());
        }
        lab.add(law, spec.clone(), |_| 900);
        let run = lab.runs.last_mut().unwrap();
        let counters = run.record.series.flows[0].clone();
        let samples = counters.len() as u64;
        let (of_link, of_flow) = (router.watch().len(), sender.watch().len());
        let at_link = |sample: u64| match *law {
            "vcp" => vec![sample << 26, 1 + sample / 20 % 3],
            _ => vec![sample.wrapping_sub(30)],
        };
        let padded = |mut values: Vec<u64>, n: usize| {
            values.resize(n, 0);
            values
        };
        let at_flow = |flow: usize, sample: u64| padded(vec![(2 * sample + 100 * flow as u64) << 32], of_flow);
        let record = &mut run.record;
        record.series.links_watched = vec![(0..samples).flat_map(|s| padded(at_link(s), of_link)).collect()];
        let watched = |flow: usize| (0..samples).flat_map(|s| at_flow(flow, s)).collect();
        record.series.flows_watched = (0..flows).map(watched).collect();
        record.series.flows = vec![counters; flows];
        (record.flows_warmup, record.flows_end) =
            (vec![record.flows_warmup[0]; flows], vec![record.flows_end[0]; flows]);
        record.completions.clear();
    }
    lab
}

pub fn provenance() -> Provenance {
    Provenance {
        origin: Origin::of_process(),
        guest: None,
        wall_time_s: 1.5,
        threads: 2,
        sharing: None,
        host: Host::read(),
    }
}

/// Compares a text with a file of the tree; with `FADELAB_BLESS=1` writes the file instead.
#[track_caller]
pub fn assert_golden(path_in_tree: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path_in_tree);
    if std::env::var_os("FADELAB_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{path_in_tree} is out of date; FADELAB_BLESS=1 rewrites it. Now it would read:\n{text}"
    );
}

/// A figure as wide as both columns of a paper; none where it has nothing to show.
pub fn drawn(lab: &Lab, name: &str, state: Choice) -> Option<Drawn> {
    let experiment = lab.experiment();
    let figures = Figures::of(&experiment, &Summary::of(&experiment)).unwrap();
    let request = Request {
        name: name.to_owned(),
        width: 182.0,
        state,
        ..Request::default()
    };
    figures.draw(&request).unwrap()
}
