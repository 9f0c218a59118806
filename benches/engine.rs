//! The engine alone on the dumbbell of `make bench`, without scenarios and results: its instructions are counted.
//!
//! `engine FLOWS RATE_MBPS SECONDS [LAW[+ROUTER] [fading]]` prints the packets that the bottleneck delivered and the
//! events that took. The law is Reno by default, the router the law's own or drop-tail; `fading` puts a channel on the
//! bottleneck that loses one packet in a hundred thousand.

use std::process::ExitCode;
use std::sync::Arc;

use fadelab_laws::{capacity, receiver, router, sender};
use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, Queues, RouterSpec};
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model};
use fadelab_run::app::{App, Span};
use fadelab_run::flow::{FlowKind, FlowSpec};
use fadelab_run::network::{LinkId, NetworkSpec};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::{
    FeedbackForm, IpId, Pacing, PartialAcks, Recovery, RecoveryExit, RtoVariance, RttSamples, Transport,
};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
const PACKET_BYTES: u32 = 1040;

/// The defaults of ns-2's TCP, see the preset `ns2` of scenarios.
const TRANSPORT: Transport = Transport {
    packet_bytes: PACKET_BYTES,
    header_bytes: 40,
    ack_bytes: 40,
    sack_on_wire: false,
    cwnd_pkts_initial: 2,
    ssthresh_pkts_initial: 100_000,
    rwnd_pkts: 100_000,
    rwnd_grows: false,
    send_buffer: false,
    recovery: Recovery::Sack,
    dupthresh: 3,
    limited_transmit: true,
    delayed_ack_ns: None,
    rto_ns_min: 200 * MS,
    rto_min_over_srtt: false,
    rto_whole_ticks: false,
    timer_tick_ns: 0,
    rto_ns_max: 60 * S,
    rto_ns_initial: 3 * S,
    ts_tick_ns: 10 * MS,
    rto_variance: RtoVariance::Sample,
    rtt_samples: RttSamples::PerRoundTrip,
    timestamps: true,
    recovery_exit: RecoveryExit::Act,
    partial_acks: PartialAcks::First,
    pacing: Pacing::Rate,
    ecn: true,
    small_queue: false,
    ecn_after_recovery: false,
    keeps_recovery_point: false,
    handshake: false,
    quick_acks_pkts: 0,
    option_space: false,
    feedback: FeedbackForm::Exact,
    rate_reduction: false,
    undo: false,
    frto: false,
    dsack: false,
    ip_id: IpId::Counting,
};

fn link(rate_bps: u64, delay_ns: u64, packets: u32) -> LinkKind {
    let law = router("droptail").expect("droptail is registered");
    let part = capacity("configured").expect("configured is registered");
    LinkKind {
        capacity: CapacitySpec::Constant { rate_bps },
        delay_ns,
        buffer: Buffer {
            packets: Some(packets),
            bytes: None,
        },
        router: RouterSpec {
            law,
            params: law.default_params(),
            capacity: part,
            capacity_params: part.default_params(),
        },
        told_bps: None,
        queues: Queues::One,
        channel: None,
        layer: LinkLayer::default(),
    }
}

/// What stands at the bottleneck.
struct Bottleneck {
    router: String,
    is_fading: bool,
}

/// Links 0 and 1 are the bottleneck, there and back; each flow has two hosts with four access links of its own.
fn dumbbell(flows: u32, rate_bps: u64, seconds: u64, law: &str, bottleneck: &Bottleneck) -> RunSpec {
    let rtt_ms = 2 * (8 + 80 + 8);
    let buffer_pkts = (rate_bps * rtt_ms / 1000 / 8 / u64::from(PACKET_BYTES)) as u32;
    let mut network = NetworkSpec::default();
    let [left, right] = ["left", "right"].map(|name| network.router(name));
    for (name, from, to) in [("there", left, right), ("back", right, left)] {
        let link = LinkSpec::new(name, true, link(rate_bps, 80 * MS, buffer_pkts));
        network.join(from, to, link);
    }
    for link in &mut network.links {
        link.router.law = router(&bottleneck.router).expect("a registered router");
        link.router.params = link.router.law.default_params();
        link.channel = bottleneck.is_fading.then_some(ChannelSpec {
            model: Model::Random { data: 1e-5, ack: 1e-5 },
            code: CodeSpec::NONE,
        });
    }
    let law = sender(law).expect("a registered law");
    let access = Arc::new(link(2 * rate_bps, 8 * MS, 100_000));
    let kind = Arc::new(FlowKind {
        group: "flow".to_owned(),
        sender: Some(law),
        params: law.default_params(),
        onlookers: Vec::new(),
        receiver: receiver(law.name()),
        app: App::Greedy {
            start: Span::Uniform { min_ns: 0, max_ns: S },
        },
        transport: TRANSPORT,
    });
    let flows = (0..flows).map(|index| {
        let first = network.links.len() as LinkId;
        let [from, to] = ["sender", "receiver"].map(|end| network.host(format!("{end}.{index}")));
        for (side, (from, to)) in [(from, left), (right, to), (to, right), (left, from)]
            .into_iter()
            .enumerate()
        {
            let link = LinkSpec {
                name: format!("access.{index}.{side}").into(),
                shown: false,
                kind: Arc::clone(&access),
            };
            network.join(from, to, link);
        }
        FlowSpec {
            name: format!("flow.{index}").into(),
            from,
            to,
            kind: Arc::clone(&kind),
            route: vec![first, 0, first + 1],
            route_back: vec![first + 2, 1, first + 3],
        }
    });
    let flows = flows.collect();
    RunSpec {
        seed: 1,
        duration_ns: seconds * S,
        warmup_ns: 0,
        record_interval_ns: None,
        network,
        flows,
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = words.iter().take(3).map_while(|word| word.parse().ok()).collect();
    let &[flows, rate_mbps, seconds] = numbers.as_slice() else {
        eprintln!("usage: engine FLOWS RATE_MBPS SECONDS [LAW[+ROUTER] [fading]], the first three whole numbers");
        return ExitCode::from(2);
    };
    let label = words.get(3).map_or("reno", String::as_str);
    let (law, router_name) = label.split_once('+').unwrap_or((label, label));
    let bottleneck = Bottleneck {
        router: router(router_name).map_or("droptail", |_| router_name).to_owned(),
        is_fading: words.get(4).is_some_and(|word| word == "fading"),
    };
    let spec = dumbbell(flows as u32, rate_mbps * 1_000_000, seconds, law, &bottleneck);
    match fadelab_sim::run(&spec, |_| true) {
        Ok(record) => {
            println!(
                "sent_pkts_all {}\nevents {}",
                record.links_end[0].sent_pkts, record.events
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("engine: {error}");
            ExitCode::FAILURE
        }
    }
}
