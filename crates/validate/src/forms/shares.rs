//! What flows get of the links they share.

use fadelab_results::Run;
use fadelab_results::interval::Stat;

use crate::chart::{Axis, Chart};
use crate::lab::Measured;
use crate::section::{Picture, Row};

/// A full packet and its payload, bytes.
const PACKET_BYTES: f64 = 1040.0;
const PAYLOAD_BYTES: f64 = 1000.0;

/// Mean rate of the flows of `group` in on-air bit/s; absent if there is no such group.
pub fn rate_bps(run: &Run, group: &str) -> Option<f64> {
    let (mut bytes, mut flows) = (0, 0);
    for (place, _) in run
        .spec
        .flows
        .iter()
        .enumerate()
        .filter(|(_, flow)| flow.group.as_ref() == group)
    {
        bytes += run.record.flows_end[place].delivered_bytes - run.record.flows_warmup[place].delivered_bytes;
        flows += 1;
    }
    let on_air_bits = bytes as f64 * 8.0 * PACKET_BYTES / PAYLOAD_BYTES;
    (flows > 0).then(|| on_air_bits * 1e9 / run.measured_ns() as f64 / f64::from(flows))
}

/// Over the seeds, in Mbit/s.
///
/// # Errors
/// There is no such group.
pub fn rate_mbps(measured: &Measured, group: &str) -> Result<Stat, String> {
    measured.stat(|run| rate_bps(run, group).map(|rate| rate / 1e6))
}

/// Mean rate of a group's flows over the mean of all `groups`, which have equally many flows.
///
/// # Errors
/// There is no such group.
pub fn share(measured: &Measured, group: &str, groups: &[&str]) -> Result<Stat, String> {
    measured.stat(|run| {
        let rates: Option<Vec<f64>> = groups.iter().map(|group| rate_bps(run, group)).collect();
        let rates = rates?;
        Some(rate_bps(run, group)? * rates.len() as f64 / rates.iter().sum::<f64>())
    })
}

/// The rates of a parking lot: what max-min gives, what the law's equilibrium is and what was measured, for the long
/// flows and the local flows of each hop, in this order.
///
/// # Errors
/// The drawing library's.
pub fn parking_lot_picture(law: &str, fair: &[f64], rows: &[&Row]) -> Result<Picture, String> {
    // Side by side, lest they cover each other.
    let places = |offset: f64| (0..rows.len()).map(move |place| place as f64 + offset);
    let svg = Chart::new(
        &format!("{law} in the parking lot"),
        Axis::linear("0: long flows; 1 to 4: local flows of the hop", -0.5, 4.5),
        Axis::linear("rate of a flow, Mbit/s", 0.0, 16.0),
    )
    .points("max-min", places(-0.12).zip(fair).map(|(x, rate)| (x, *rate, 0.0)))
    .points(
        "equilibrium",
        places(0.0).zip(rows).map(|(x, row)| (x, row.reference, 0.0)),
    )
    .points(
        "fadelab",
        places(0.12)
            .zip(rows)
            .map(|(x, row)| (x, row.ours, row.ours_interval.unwrap_or(0.0))),
    )
    .svg()?;
    Ok(Picture {
        name: format!("parking-lot-{}", law.to_lowercase()),
        caption: format!("Rates of long and local flows under {law} beside max-min"),
        svg,
    })
}
