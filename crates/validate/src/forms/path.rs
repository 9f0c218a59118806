//! The idle path: transmission and propagation of a packet and its ACK, to the nanosecond.

use crate::lab::Lab;
use crate::section::{Row, Section, Tolerance};

/// A link: its rate in bit/s and its delay in ns.
type Hop = (f64, f64);

/// The section.
///
/// # Errors
/// A run that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let hops: [Hop; 3] = [(108e6, 8e6), (54e6, 80e6), (108e6, 8e6)];
    let measured = lab.simulate("path", &[])?;
    let ours = measured.stat(|run| {
        let end = run.record.completions.first()?;
        Some((end.end_ns - end.start_ns) as f64)
    })?;
    let reference = one_way_ns(1040.0, &hops) + one_way_ns(40.0, &hops);
    let tolerance = Tolerance::within(
        6.0,
        "each of the six transmissions ends within a nanosecond of its exact time",
    );
    Ok(Section {
        name: "path",
        title: "Idle path".to_owned(),
        intro: "A transfer of one packet over an idle path lasts the sum of the transmission times and the \
                propagation delays of the packet and of its ACK."
            .to_owned(),
        rows: vec![
            Row::new(
                "1040 B there, 40 B back",
                "round trip",
                "ns",
                reference,
                ours,
                tolerance,
            )
            .by(&measured.command),
        ],
        pictures: Vec::new(),
    })
}

/// Sum of transmission times and delays.
fn one_way_ns(bytes: f64, hops: &[Hop]) -> f64 {
    hops.iter()
        .map(|&(rate_bps, delay_ns)| bytes * 8e9 / rate_bps + delay_ns)
        .sum()
}
