//! What is compared: the same network in both simulators, and how much faster we must be.

use crate::row::Bound;

/// A dumbbell of which both simulators run the same flows.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What stands in the table.
    pub name: &'static str,
    /// Law and queue of ns-2, as its script names them.
    pub ns2: (&'static str, &'static str),
    /// What else its script is told, in pairs.
    pub ns2_more: &'static str,
    /// `flow.law` of the scenario.
    pub law: &'static str,
    /// What else the scenario is told.
    pub settings: &'static [&'static str],
    pub flows: u32,
    /// Rate of the bottleneck; access links have twice that.
    pub rate_mbps: u32,
    /// The two lengths of the run, in virtual seconds.
    pub seconds: [u32; 2],
    /// The same for counting instructions, which is fifty times slower.
    pub seconds_counted: [u32; 2],
    /// On the ratio of the rates.
    pub bound: Bound,
    /// On the instructions of a packet.
    pub bound_counted: Bound,
}

const fn ten(name: &'static str, ns2: (&'static str, &'static str), law: &'static str, least: f64, aim: f64) -> Case {
    Case {
        name,
        ns2,
        ns2_more: "",
        law,
        settings: &[],
        flows: 10,
        rate_mbps: 54,
        seconds: [100, 600],
        seconds_counted: [10, 20],
        bound: Bound::AtLeast(least, aim),
        bound_counted: Bound::None,
    }
}

/// One transfer beside the flows of the first of [`BESIDE_NS2`].
pub const AND_ONE_TRANSFER: [&str; 4] = [
    "flow.long.count=10",
    "flow.short.app=transfer",
    "flow.short.size=1 kB",
    "flow.short.count=1",
];

/// What Linux calls Westwood is Westwood+, and so is what ns-2 takes of it.
pub const WESTWOOD: Case = ten(
    "10 Westwood+ flows (ns-2: TCP/Linux)",
    ("westwood", "droptail"),
    "westwood_plus",
    7.0,
    10.0,
);

/// ns-2 has no VCP: its XCP is the nearest, a law with a router of its own.
pub const BESIDE_NS2: [Case; 11] = [
    ten("10 SACK flows, drop-tail", ("sack", "droptail"), "reno", 8.0, 10.0),
    ten("10 SACK flows, RED/ECN", ("sack", "red"), "reno+red", 8.0, 10.0),
    ten("10 SACK flows, REM/ECN", ("sack", "rem"), "reno+rem", 8.0, 10.0),
    ten("10 XCP flows", ("xcp", "xcp"), "xcp", 6.0, 8.0),
    ten("10 VCP flows (ns-2: XCP)", ("xcp", "xcp"), "vcp", 8.0, 10.0),
    Case {
        flows: 1000,
        rate_mbps: 1000,
        seconds: [10, 30],
        seconds_counted: [2, 3],
        ..ten("1,000 SACK flows, 1 Gbit/s", ("sack", "droptail"), "reno", 6.0, 8.0)
    },
    // Where Linux has RACK and slow reductions ns-2 has SACK; both acknowledge every second segment.
    Case {
        ns2_more: "delayed_ack_s 0.04",
        settings: &["transport.preset=linux"],
        // 85 % of what they took when delayed ACKs shut flows out of what is done ahead of time.
        bound_counted: Bound::AtMost(1500.0),
        ..ten("10 flows, preset linux", ("sack", "droptail"), "reno", 8.0, 12.0)
    },
    // 64.9 transfers of 20 packets in a second are a fifth of the link. To set one up takes ns-2 four milliseconds.
    Case {
        seconds: [20, 100],
        ns2_more: "transfers 6490 transfer_pkts 20 transfer_span_s 100",
        settings: &[
            "flow.long.count=10",
            "flow.short.app=transfer",
            "flow.short.size=20 kB",
            "flow.short.count=6490",
            "flow.short.start=uniform 0 s..100 s",
        ],
        ..ten("10 flows and short transfers", ("sack", "droptail"), "reno", 8.0, 12.0)
    },
    Case {
        ns2_more: "session_s 10 pause_s 5",
        settings: &[
            "flow.app=sessions",
            "flow.on=exponential 10 s",
            "flow.off=exponential 5 s",
        ],
        flows: 200,
        ..ten("200 sessions", ("sack", "droptail"), "reno", 8.0, 12.0)
    },
    ten("10 DPCP flows (ns-2: XCP)", ("xcp", "xcp"), "dpcp", 7.0, 10.0),
    ten("10 DCP-EW flows (ns-2: XCP)", ("xcp", "xcp"), "dcp_ew", 7.0, 10.0),
];
