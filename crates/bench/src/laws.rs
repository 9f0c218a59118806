//! What laws cost beside those they are compared with: instructions of a packet, and speed beside ns-2's TCP/Linux.

use crate::cases::{BESIDE_NS2, Case, WESTWOOD};
use crate::row::{Bound, Row, Section};
use crate::simulators::{BESIDE as BESIDE_RESULT, Bench, Fadelab, instructions_per_pkt};
use crate::speed;

/// A law, with what it is held against, and how many times the instructions it may take.
const BESIDE: [(&str, &str, f64); 8] = [
    ("veno", "reno", 1.15),
    ("westwood", "reno", 1.15),
    ("westwood_plus", "reno", 1.15),
    ("jersey", "reno+cw", 1.3),
    ("new_jersey", "reno+cw", 1.3),
    ("reno+cw", "reno+red", 1.0),
    ("dpcp", "vcp", 1.15),
    ("dcp_ew", "vcp", 1.15),
];

/// A network of which the middle link may be in a tunnel, and what puts it into one, with gateways.
const ROW: &str = "benches/row.toml";
const TUNNEL: [&str; 4] = [
    "tunnel.vpn.from=entry",
    "tunnel.vpn.to=exit",
    "tunnel.vpn.routers=auto",
    "tunnel.vpn.law=auto",
];

/// The table.
///
/// # Errors
/// In words, where a run fails.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    let mut rows = speed::compare(bench, &WESTWOOD)?.to_vec();
    for (law, other, most) in BESIDE {
        let case = |law| Fadelab::of(&Case { law, ..BESIDE_NS2[0] });
        rows.push(ratio(
            bench,
            format!("{law} beside {other}"),
            [law, other].map(case),
            most,
        )?);
    }
    let row = |settings: &[&str]| Fadelab {
        scenario: ROW.to_owned(),
        settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
        folder: BESIDE_RESULT,
    };
    let name = "dcp_ew through a tunnel beside none";
    rows.push(ratio(bench, name.to_owned(), [row(&TUNNEL), row(&[])], 1.15)?);
    for row in &rows {
        eprintln!("bench: {row}");
    }
    Ok(Section {
        name: "laws",
        about: "Laws beside those they are compared with, ten flows over a link of 54 Mbit/s".to_owned(),
        rows,
    })
}

/// Instructions per delivered packet of the first, as a multiple of those of the second.
fn ratio(bench: &Bench, case: String, sides: [Fadelab; 2], most: f64) -> Result<Row, String> {
    let [with, without] = sides.map(|side| instructions_per_pkt(bench, &side, BESIDE_NS2[0].seconds_counted));
    let (with, without) = (with?, without?);
    Ok(Row {
        case,
        quantity: "x the instructions",
        value: with / without,
        digits: 3,
        bound: Bound::AtMost(most),
        basis: format!("{with:.0} against {without:.0} per packet"),
    })
}
