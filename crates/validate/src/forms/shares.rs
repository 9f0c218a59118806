//! What flows get of the links they share.

use fadelab_results::Run;
use fadelab_results::interval::Stat;

use crate::lab::Measured;

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
        .filter(|(_, flow)| flow.group == group)
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
