//! The idle path: transmission and propagation of a packet and its ACK, to the nanosecond.

use crate::lab::Lab;
use crate::section::{Row, Section, Tolerance};

/// A link: its rate in bit/s and its delay in ns.
type Hop = (f64, f64);

/// A case: its packet in bytes, what it overrides in the scenario, and the links that the packet crosses.
type Case = (&'static str, f64, &'static [&'static str], &'static [Hop]);

const CASES: [Case; 3] = [
    (
        "54 Mbit/s, 80 ms, 1040 B",
        1040.0,
        &[],
        &[(108e6, 8e6), (54e6, 80e6), (108e6, 8e6)],
    ),
    (
        "2 Mbit/s, 500 ms, 1500 B",
        1500.0,
        &[
            "topology.bottleneck.rate=2 Mbit/s",
            "topology.bottleneck.delay=500 ms",
            "transport.packet=1500 B",
            "flow.size=1460 B",
        ],
        &[(108e6, 8e6), (2e6, 500e6), (108e6, 8e6)],
    ),
    (
        "7 Gbit/s, 1 us, 9000 B",
        9000.0,
        &[
            "topology.bottleneck.rate=7 Gbit/s",
            "topology.bottleneck.delay=1 us",
            "topology.access.rate=9 Gbit/s",
            "topology.access.delay=333 ns",
            "transport.packet=9000 B",
            "flow.size=8960 B",
        ],
        &[(9e9, 333.0), (7e9, 1e3), (9e9, 333.0)],
    ),
];

/// The section.
///
/// # Errors
/// A run that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let mut rows = Vec::new();
    for (case, packet_bytes, sets, hops) in CASES {
        let measured = lab.simulate("path", &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>())?;
        let ours = measured.stat(|run| {
            let end = run.record.completions.first()?;
            Some((end.end_ns - end.start_ns) as f64)
        })?;
        let reference = one_way_ns(packet_bytes, hops) + one_way_ns(40.0, hops);
        let reason = "each of the six transmissions ends within a nanosecond of its exact time";
        let tolerance = Tolerance::within(6.0, reason);
        rows.push(Row::new(case, "round trip", "ns", reference, ours, tolerance).by(&measured.command));
    }
    Ok(Section {
        name: "path",
        title: "Idle path".to_owned(),
        intro: "A transfer of one packet over an idle path of three links lasts the sum of the transmission times and \
                the\npropagation delays of the packet and of its ACK of 40 bytes, to the nanosecond."
            .to_owned(),
        rows,
        pictures: Vec::new(),
    })
}

/// Sum of transmission times and delays.
fn one_way_ns(bytes: f64, hops: &[Hop]) -> f64 {
    hops.iter()
        .map(|&(rate_bps, delay_ns)| bytes * 8e9 / rate_bps + delay_ns)
        .sum()
}
