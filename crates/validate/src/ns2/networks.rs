//! The networks in which senders are compared: where buffers, flows, rates and round trips are small or large.

/// A network in both simulators.
#[derive(Clone, Debug)]
pub struct Network {
    /// In the table.
    pub name: &'static str,
    /// Arguments of dumbbell.tcl beside length and seed, a word each.
    pub arguments: String,
    /// Our scenario, below the package's folder of them.
    pub scenario: &'static str,
    /// Keys laid over it.
    pub sets: Vec<String>,
    pub figures: &'static [Figure],
    /// Length of a run and of its warm-up.
    pub seconds: (u32, u32),
    /// Seeds 1 to this one, in both.
    pub seeds: u32,
}

/// What is compared in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Of the bottleneck.
    Utilisation,
    /// Waiting packets there.
    Queue,
    /// Drops of those that arrive there.
    Drops,
    /// Retransmissions of those that arrive there.
    Retransmissions,
    /// Timeouts of all flows in a run.
    Timeouts,
    /// Jain's index of the flows.
    Jain,
    /// What the flows with the longer round trip have of the link.
    Far,
    /// What the first flows have of it beside datagrams.
    Share,
    /// Utilisation of the way back.
    Back,
    /// Mean time of a transfer.
    Completion,
}

use Figure::{Back, Completion, Drops, Far, Jain, Queue, Retransmissions, Share, Timeouts, Utilisation};

const ALL: &[Figure] = &[Utilisation, Queue, Drops, Retransmissions, Timeouts];
const SHARED: &[Figure] = &[Utilisation, Queue, Drops, Retransmissions, Timeouts, Jain];
const LOSSY: &[Figure] = &[Utilisation, Retransmissions, Timeouts];
const UNEQUAL: &[Figure] = &[Utilisation, Queue, Drops, Retransmissions, Timeouts, Far];
const BESIDE: &[Figure] = &[Utilisation, Queue, Drops, Retransmissions, Timeouts, Share];
const TWO_WAY: &[Figure] = &[Utilisation, Queue, Drops, Retransmissions, Timeouts, Back];
const TRANSFERS: &[Figure] = &[Utilisation, Drops, Retransmissions, Timeouts, Completion];

/// One with our default scenario, 120 s and ten seeds.
fn network(name: &'static str, recovery: &'static str, arguments: &str, sets: &[&str]) -> Network {
    let mut sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    sets.push(format!("transport.recovery={recovery}"));
    Network {
        name,
        arguments: format!("law {recovery} {arguments}"),
        scenario: "sender",
        sets,
        figures: ALL,
        seconds: (120, 20),
        seeds: 10,
    }
}

impl Network {
    fn of(mut self, figures: &'static [Figure]) -> Self {
        self.figures = figures;
        self
    }

    fn lasting(mut self, seconds: u32, warmup: u32, seeds: u32) -> Self {
        (self.seconds, self.seeds) = ((seconds, warmup), seeds);
        self
    }

    fn in_scenario(mut self, scenario: &'static str) -> Self {
        self.scenario = scenario;
        self
    }
}

/// Arguments of the rate and the round trip that most networks have.
const BASE: &str = "rate_mbps 8 delay_ms 20";

/// One with a buffer of `pkts`, and so many flows.
fn plain(name: &'static str, recovery: &'static str, pkts: u32, flows: u32) -> Network {
    let arguments = format!("{BASE} flows {flows} buffer_pkts {pkts}");
    let sets = [
        format!("topology.bottleneck.buffer={pkts} pkt"),
        format!("flow.count={flows}"),
    ];
    network(name, recovery, &arguments, &[&sets[0], &sets[1]])
}

/// All of them, in the order of the page.
pub fn all() -> Vec<Network> {
    [buffers(), rates(), paths(), losses(), transfers()].concat()
}

/// Small and large buffers, few and many flows.
fn buffers() -> Vec<Network> {
    vec![
        plain("SACK, 1 flow, 0.1 BDP", "sack", 7, 1),
        plain("NewReno, 1 flow, 0.1 BDP", "newreno", 7, 1),
        plain("SACK, 1 flow, 0.5 BDP", "sack", 34, 1),
        plain("Reno, 2 flows, 0.5 BDP", "reno", 34, 2).of(SHARED),
        plain("SACK, 2 flows, 2 BDP", "sack", 138, 2).of(SHARED),
        plain("SACK, 10 flows, 0.1 BDP", "sack", 7, 10).of(SHARED),
        plain("NewReno, 10 flows, 0.5 BDP", "newreno", 34, 10).of(SHARED),
        plain("SACK, 50 flows, 2 BDP", "sack", 138, 50).of(SHARED),
        plain("NewReno, 50 flows, 2 BDP", "newreno", 138, 50).of(SHARED),
        plain("SACK, 50 flows, 10 BDP", "sack", 690, 50).of(SHARED),
    ]
}

/// Low and high rates, a long round trip.
fn rates() -> Vec<Network> {
    vec![
        network(
            "SACK, 2 flows, 0.5 Mbit/s",
            "sack",
            "rate_mbps 0.5 delay_ms 20 flows 2 buffer_pkts 10",
            &[
                "topology.bottleneck.rate=0.5 Mbit/s",
                "topology.bottleneck.buffer=10 pkt",
                "flow.count=2",
            ],
        )
        .of(SHARED)
        .lasting(620, 20, 10),
        network(
            "SACK, 2 flows, 500 Mbit/s, 10 ms",
            "sack",
            "rate_mbps 500 delay_ms 3 access_delay_ms 1 flows 2 buffer_pkts 300",
            &[
                "topology.bottleneck.rate=500 Mbit/s",
                "topology.bottleneck.delay=3 ms",
                "topology.bottleneck.buffer=300 pkt",
                "topology.access.delay=1 ms",
                "flow.count=2",
            ],
        )
        .of(SHARED)
        .lasting(25, 5, 4),
        network(
            "SACK, 2 flows, 600 ms",
            "sack",
            "rate_mbps 8 delay_ms 284 flows 2 buffer_pkts 288",
            &[
                "topology.bottleneck.delay=284 ms",
                "topology.bottleneck.buffer=288 pkt",
                "flow.count=2",
            ],
        )
        .of(SHARED)
        .lasting(420, 20, 10),
    ]
}

/// Unequal round trips, datagrams beside TCP, data both ways, delayed ACKs.
fn paths() -> Vec<Network> {
    vec![
        network(
            "SACK, 72 and 192 ms",
            "sack",
            &format!("{BASE} flows 1 far 1 far_delay_ms 38 buffer_pkts 69"),
            &[],
        )
        .of(UNEQUAL)
        .in_scenario("sender-unequal"),
        network(
            "NewReno beside 4 Mbit/s of CBR",
            "newreno",
            &format!("{BASE} flows 2 buffer_pkts 69 cbr_mbps 4"),
            &["flow.flow.count=2", "flow.cbr.app=cbr", "flow.cbr.rate=3892308 bit/s"],
        )
        .of(BESIDE),
        network(
            "SACK, 5 flows each way",
            "sack",
            &format!("{BASE} flows 5 reverse 5 buffer_pkts 69"),
            &["flow.count=5", "flow.direction=both"],
        )
        .of(TWO_WAY),
        network(
            "SACK, 5 flows each way, RED/ECN",
            "sack",
            &format!("{BASE} flows 5 reverse 5 buffer_pkts 69 queue red"),
            &[
                "flow.count=5",
                "flow.direction=both",
                "flow.law=reno+red",
                "router.red.thresholds=limit",
                "router.red.q_w=0.002",
                "router.red.max_p=0.1",
                "router.red.bytes=false",
                "router.red.mean_bytes=1040 B",
            ],
        )
        .of(TWO_WAY),
        network(
            "SACK, delayed ACKs, 0.5 BDP",
            "sack",
            &format!("{BASE} flows 1 buffer_pkts 34 delayed_ack_s 0.1"),
            &["topology.bottleneck.buffer=34 pkt", "transport.delayed_ack=100 ms"],
        ),
    ]
}

/// Random losses, over two round trips.
fn losses() -> Vec<Network> {
    let mut networks = Vec::new();
    for (name, recovery, loss) in [
        ("SACK, 0.1 % loss", "sack", "0.001"),
        ("SACK, 1 % loss", "sack", "0.01"),
        ("SACK, 5 % loss", "sack", "0.05"),
        ("NewReno, 0.1 % loss", "newreno", "0.001"),
        ("NewReno, 1 % loss", "newreno", "0.01"),
        ("NewReno, 5 % loss", "newreno", "0.05"),
        ("Reno, 1 % loss", "reno", "0.01"),
        ("Reno, 5 % loss", "reno", "0.05"),
    ] {
        let sets = [
            "topology.bottleneck.buffer=1000 pkt".to_owned(),
            format!("channel.loss_data={loss}"),
        ];
        let arguments = format!("{BASE} flows 1 buffer_pkts 1000 loss {loss}");
        let network = network(
            name,
            recovery,
            &arguments,
            &["channel.model=random", &sets[0], &sets[1]],
        );
        networks.push(network.of(LOSSY).lasting(320, 20, 10));
    }
    for (name, recovery) in [("SACK, 5 % loss, 10 ms", "sack"), ("Reno, 5 % loss, 10 ms", "reno")] {
        let arguments = "rate_mbps 8 delay_ms 3 access_delay_ms 1 flows 1 buffer_pkts 1000 loss 0.05";
        let sets = [
            "topology.bottleneck.delay=3 ms",
            "topology.access.delay=1 ms",
            "topology.bottleneck.buffer=1000 pkt",
            "channel.model=random",
            "channel.loss_data=0.05",
        ];
        networks.push(network(name, recovery, arguments, &sets).of(LOSSY).lasting(320, 20, 10));
    }
    networks
}

/// Transfers that come at random.
fn transfers() -> Vec<Network> {
    let mut networks = Vec::new();
    for (name, count, pkts) in [
        ("transfers at 60 % load", 692, 100),
        ("transfers at 90 % load", 1038, 100),
    ] {
        let arguments = format!("{BASE} flows 0 buffer_pkts 69 transfers {count} transfer_pkts {pkts}");
        let sets = [format!("flow.count={count}"), format!("flow.size={pkts} kB")];
        let network = network(
            name,
            "sack",
            &arguments,
            &[
                "flow.app=transfer",
                "flow.start=uniform 0 s..120 s",
                "topology.pairs=1",
                "transport.handshake=true",
                &sets[0],
                &sets[1],
            ],
        );
        networks.push(network.of(TRANSFERS));
    }
    networks
}
