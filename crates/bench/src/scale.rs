//! A hundred thousand flows, and peak memory.

use crate::measure::{self, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::{Bench, Fadelab, RESULT};

const FLOWS: u32 = 100_000;
const SECONDS: u32 = 5;

fn dumbbell(flows: u32, rate_mbps: u32) -> Fadelab {
    Fadelab::of(&crate::cases::Case {
        flows,
        rate_mbps,
        ..crate::cases::BESIDE_NS2[0]
    })
}

/// The whole run is timed here, its start included: over five seconds the start is what users wait for.
///
/// # Errors
/// In words, where a run fails.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    eprintln!("bench: 100,000 flows");
    let many = dumbbell(FLOWS, 10_000);
    let mut rates = Vec::new();
    for _ in 0..bench.rounds {
        let spent_s = measure::cpu_s(|| many.run(bench, SECONDS))?;
        rates.push(bench.sent_pkts(RESULT)? / spent_s);
    }
    let speed = Row {
        case: "100,000 flows, 10 Gbit/s, 5 s".to_owned(),
        quantity: "M packets per CPU second",
        value: median(rates) / 1e6,
        digits: 2,
        bound: Bound::AtLeast(0.8, 1.3),
        basis: "start and end included".to_owned(),
    };
    let mut rows = vec![speed];
    let memory = [
        ("100,000 flows, 10 Gbit/s, 5 s", FLOWS, 10_000, SECONDS, 400.0),
        ("1,000 flows, 1 Gbit/s, 20 s", 1000, 1000, 20, 40.0),
        ("10 flows, 54 Mbit/s, 100 s", 10, 54, 100, 20.0),
    ];
    for (case, flows, rate_mbps, seconds, most) in memory {
        bench.clear(RESULT)?;
        let words = dumbbell(flows, rate_mbps).words(bench, seconds);
        rows.push(Row {
            case: case.to_owned(),
            quantity: "MB at its peak",
            value: measure::peak_mb(bench.core, &words, bench.scratch())?,
            digits: 1,
            bound: Bound::AtMost(most),
            basis: String::new(),
        });
    }
    Ok(Section {
        name: "scale",
        about: "Many flows: speed of the whole run, and largest resident memory".to_owned(),
        rows,
    })
}
