//! Scenarios of chance: from one number a network, its channels, its laws and what flows through it, short enough to be
//! simulated by the thousand.
//!
//! Laws come from the registry and are taken in turn, so that so many scenarios as there are pairs have each of them;
//! all else is drawn. Values are of any order of magnitude, and what they amount to is bounded: the duration follows
//! the rates, so that a run has some thousand packets, whether it takes a microsecond of virtual time or an hour.

use fadelab_laws::{Capacity, ParamInfo, Router, Sender, capacities, routers, senders};

use super::channel;
use super::draw::{Draw, Text};
use super::flows;
use super::network::{self, Network};
use super::{transport, tunnels};

/// Most packets that a run may be expected to have.
pub const PACKETS_MAX: u64 = 30_000;

/// Longest run: laws have timers of some milliseconds.
const DURATION_NS_MAX: u64 = 4_000_000_000_000;

/// A scenario and the traces beside its file.
pub struct Scenario {
    pub seed: u64,
    pub text: String,
    /// Names and contents.
    pub traces: Vec<(String, String)>,
    /// `SENDER+ROUTER` of the run.
    pub law: String,
}

/// What the parts of a scenario must know of each other.
pub struct Frame {
    /// End of the run.
    pub duration_ns: u64,
    /// IP bytes of a full data packet.
    pub packet_bytes: u64,
    /// All flows together.
    pub flows: u64,
    /// Whether the fastest link could carry many more packets than a run shall have.
    pub is_idle: bool,
    /// Whether windows may grow without an end where a law does not find its router.
    pub is_guided: bool,
}

/// The scenario of a number, always the same.
pub fn scenario(seed: u64) -> Scenario {
    let mut draw = Draw::new(seed);
    let (sender, router) = laws(seed);
    let is_fair = is_sometimes_fair(router) && draw.one_in(2);
    let law = format!(
        "{}+{}{}",
        sender.name(),
        if is_fair { "fq_" } else { "" },
        router.name()
    );
    let packet_bytes = transport::packet_bytes(&mut draw);
    let network = network::network(&mut draw);
    let plan = flows::Plan::of(&mut draw);
    let frame = Frame {
        is_guided: plan.is_guided(sender),
        ..frame(&mut draw, &network, packet_bytes, plan.flows())
    };

    let mut text = Text(format!("title = \"random scenario {seed}\"\n"));
    run(&mut draw, &mut text, &frame);
    network.write(&mut draw, &mut text);
    channel::write(&mut draw, &mut text, &network, &frame);
    transport::write(&mut draw, &mut text, &network, &frame);
    plan.write(&mut draw, &mut text, &law, &network, &frame);
    router_keys(&mut draw, &mut text, &network, is_fair);
    params(&mut draw, &mut text, sender, router, &frame);
    tunnels::write(&mut draw, &mut text, &network);
    Scenario {
        seed,
        text: text.0,
        traces: network.traces,
        law,
    }
}

/// How many pairs of a sender and a router there are.
pub fn pairs() -> u64 {
    (senders().len() * routers().len()) as u64
}

fn laws(seed: u64) -> (&'static Sender, &'static Router) {
    let pair = (seed % pairs()) as usize;
    (&senders()[pair % senders().len()], &routers()[pair / senders().len()])
}

/// Whether fair queues with this router are worth a try; laws that cannot stand there are refused, once in a while.
fn is_sometimes_fair(router: &Router) -> bool {
    router.timers() == 0
}

/// The duration in which the fastest link carries some thousand packets, or in which a few round trips pass: as long as
/// a window of one packet for each flow does not come to too many over the shortest path.
fn frame(draw: &mut Draw, network: &Network, packet_bytes: u64, flows: u64) -> Frame {
    let packets = draw.magnitude(300, PACKETS_MAX);
    let bits_ns = u128::from(packets * packet_bytes * 8) * 1_000_000_000;
    let of_packets = u64::try_from(bits_ns / u128::from(network.rate_bps_max)).unwrap_or(u64::MAX);
    let of_round_trips = draw.between(2, 12) * network.round_trip_ns;
    let of_windows = (PACKETS_MAX / flows).max(1) * network.round_trip_ns_min;
    let duration_ns = of_packets
        .max(of_round_trips.min(of_windows))
        .clamp(1_000, DURATION_NS_MAX);
    Frame {
        duration_ns,
        packet_bytes,
        flows,
        is_idle: duration_ns / 2 > of_packets,
        is_guided: false,
    }
}

fn run(draw: &mut Draw, text: &mut Text, frame: &Frame) {
    text.table("run");
    text.time("duration", frame.duration_ns);
    if draw.one_in(2) {
        text.time("warmup", draw.between(0, frame.duration_ns * 3 / 4));
    }
    text.bare("seeds", draw.magnitude(1, u32::MAX.into()));
    if draw.one_in(8) {
        text.bare("record", false);
    } else {
        text.time("record", frame.duration_ns / draw.between(2, 60));
    }
}

fn router_keys(draw: &mut Draw, text: &mut Text, network: &Network, is_fair: bool) {
    text.table("router");
    // Not every part goes with a trace.
    if draw.one_in(if network.traces.is_empty() { 4 } else { 20 }) {
        let parts: Vec<&str> = capacities().iter().map(Capacity::name).collect();
        text.text("capacity", draw.pick(&parts));
    }
    if is_fair && draw.one_in(2) {
        match draw.below(2) {
            0 => text.text("queues", "per flow"),
            _ => text.bare("queues", draw.magnitude(1, 65_536)),
        }
    }
    if draw.one_in(4) {
        text.text("quantum", format_args!("{} B", draw.magnitude(64, 1_000_000)));
    }
}

/// Some parameters of the laws in use, anywhere in their range.
fn params(draw: &mut Draw, text: &mut Text, sender: &Sender, router: &Router, frame: &Frame) {
    let capacity = draw.pick(&[0, capacities().len() - 1]);
    let part = &capacities()[capacity];
    let laws = [
        ("law", sender.name(), sender.params()),
        ("router", router.name(), router.params()),
        ("capacity", part.name(), part.params()),
    ];
    for (table, name, infos) in laws {
        if infos.is_empty() || !draw.one_in(3) {
            continue;
        }
        text.table(&format!("{table}.{name}"));
        // A law that exists to be at fault is so where a test asks for it.
        for info in infos.iter().filter(|info| info.name != "fault") {
            if draw.one_in(3) {
                let value = param(draw, info, frame);
                if info.unit == "1" || info.unit == "bool" {
                    text.bare(info.name, info.written(value));
                } else {
                    text.text(info.name, info.written(value));
                }
            }
        }
    }
}

/// A time is not so short that a timer with it would be all that a run has.
fn param(draw: &mut Draw, info: &ParamInfo, frame: &Frame) -> u64 {
    let min = match info.unit {
        "us" => (frame.duration_ns / 1000 / PACKETS_MAX).clamp(info.min, info.max),
        _ => info.min,
    };
    match draw.below(4) {
        0 => min,
        1 => info.max,
        _ => draw.magnitude(min, info.max).clamp(min, info.max),
    }
}
