//! What laws cost beside those they are compared with: instructions of a packet, and speed beside ns-2's TCP/Linux.

use crate::cases::{BESIDE_NS2, Case, WESTWOOD};
use crate::row::{Bound, Row, Section};
use crate::simulators::{Bench, Fadelab, instructions_per_pkt};
use crate::speed;

/// A law, with what it is held against, and how many times the instructions it may take.
const BESIDE: [(&str, &str, f64); 6] = [
    ("veno", "reno", 1.15),
    ("westwood", "reno", 1.15),
    ("westwood_plus", "reno", 1.15),
    ("jersey", "reno+cw", 1.3),
    ("new_jersey", "reno+cw", 1.3),
    ("reno+cw", "reno+red", 1.0),
];

/// The table.
///
/// # Errors
/// In words, where a run fails.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    let mut rows = speed::compare(bench, &WESTWOOD)?.to_vec();
    for (law, other, most) in BESIDE {
        let [with, without] = [law, other].map(|law| counted(bench, law));
        let (with, without) = (with?, without?);
        rows.push(Row {
            case: format!("{law} beside {other}"),
            quantity: "x the instructions",
            value: with / without,
            digits: 3,
            bound: Bound::AtMost(most),
            basis: format!("{with:.0} against {without:.0} per packet"),
        });
    }
    for row in &rows {
        eprintln!("bench: {row}");
    }
    Ok(Section {
        name: "laws",
        about: "Laws beside those they are compared with, ten flows over a link of 54 Mbit/s".to_owned(),
        rows,
    })
}

/// Instructions per delivered packet of ten flows under a law.
fn counted(bench: &Bench, law: &'static str) -> Result<f64, String> {
    let case = Case { law, ..BESIDE_NS2[0] };
    instructions_per_pkt(bench, &Fadelab::of(&case), case.seconds_counted)
}
