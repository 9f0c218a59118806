//! Replays of links, in words.

use std::fmt::Write;

use fadelab_lab::Failure;
use fadelab_lab::replay::link::Made;

use crate::output;

/// Says what came of a recording.
///
/// # Errors
/// Packets that come out otherwise, or a recording that is not whole.
pub fn told(made: &Made) -> Result<(), Failure> {
    let again = &made.again;
    let names: Vec<&str> = made.ways.iter().map(|way| &*way.link.name).collect();
    let [delivered, lost, dropped] = again.same_pkts;
    let mut text = format!("{}: {} packets came\n", names.join(" and "), again.arrived_pkts);
    let _ = writeln!(
        text,
        "as recorded: {delivered} arrived, {lost} were lost, {dropped} were dropped; otherwise: {}",
        again.different_pkts
    );
    for difference in &again.shown {
        let _ = writeln!(text, "  {difference}");
    }
    let more = again.different_pkts - again.shown.len() as u64;
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
    output::print(&text)?;
    match &again.damage {
        Some(damage) => Err(Failure::Failed(format!("the recording is damaged: {damage}"))),
        None if again.different_pkts > 0 => Err(Failure::Failed(
            "the link comes to something else now than when it was recorded".to_owned(),
        )),
        None => Ok(()),
    }
}
