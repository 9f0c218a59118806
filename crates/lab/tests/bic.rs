//! How long a cycle of BIC is between two losses: a sum over the windows that it passes.

use std::path::Path;

use fadelab_scenario::{Options, parse};
use fadelab_sim::run;

const BETA: f64 = 819.0 / 1024.0;

/// Packets to be acknowledged for one of growth: the law's equations, in whole packets as Linux divides them.
fn count(window: u64, w_max: u64, has_ratio: bool) -> u64 {
    let (part, b, most) = (20, 4, 16);
    let near = window * part / b;
    let count = if window < w_max {
        match (w_max - window) / b {
            distance if distance > most => window / most,
            distance if distance <= 1 => near,
            distance => window / distance,
        }
    } else {
        match window - w_max {
            beyond if beyond < b => near,
            beyond if beyond < most * (b - 1) => window * (b - 1) / beyond,
            _ => window / most,
        }
    };
    // Linux's filter of packets per ACK stays at 31/16 where each packet is acknowledged.
    if has_ratio { count * 16 / 31 } else { count }.max(1)
}

/// When losses came after the first third of a run, and the window at each.
fn losses(rate: &str, has_ratio: bool, converges: bool) -> Vec<(f64, u64)> {
    let text = format!(
        "[run]\nduration = '200 s'\nrecord = '20 ms'\n[topology.bottleneck]\nrate = '{rate}'\ndelay = '34 ms'\n\
         [transport]\npreset = 'ns2'\n[flow]\nlaw = 'bic'\n\
         [law.bic]\nack_ratio = {has_ratio}\nfast_convergence = {converges}\n"
    );
    let plan = parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default());
    let record = run(&plan.unwrap_or_else(|refusal| panic!("{refusal}")).runs[0].spec, |_| {
        true
    })
    .expect("a sound run");
    let (times_ns, flow) = (&record.series.time_ns, &record.series.flows[0]);
    // The overshoot of the first slow start ends with a timeout; none follows.
    assert_eq!(flow[flow.len() / 3].timeouts, flow[flow.len() - 1].timeouts, "{text}");
    let mut losses = Vec::new();
    for (pair, &time_ns) in flow.windows(2).zip(&times_ns[1..]) {
        if pair[1].recoveries > pair[0].recoveries {
            losses.push((time_ns as f64 / 1e9, pair[0].cwnd_pkts.into()));
        }
    }
    losses.split_off(losses.len() / 3)
}

#[test]
fn a_cycle_is_a_sum_over_its_windows() {
    // Goal: the link is always full, so a cycle takes as many packets as its windows ask for, and two round trips (with
    // the queue full, 0.2 s) until a loss is heard of and repaired. With whole packets, ACK ratio and fast convergence
    // one at a time and together the measured mean is that. Tolerance: samples are 20 ms apart and a loss is heard of
    // up to a round trip of growth late, a few windows of each end: 2 % of the mean.
    for (rate, rate_bps) in [("10 Mbit/s", 10e6), ("54 Mbit/s", 54e6)] {
        let packets_per_s = rate_bps / 8.0 / 1040.0;
        for (has_ratio, converges) in [(false, false), (true, false), (false, true), (true, true)] {
            let losses = losses(rate, has_ratio, converges);
            let (mut w_max, mut known, mut form_s, mut measured_s) = (0, 0, 0.0, 0.0);
            for pair in losses.windows(2) {
                let [(from_s, before), (to_s, window)] = [pair[0], pair[1]];
                w_max = if converges && before < w_max {
                    (before as f64 * (1.0 + BETA) / 2.0) as u64
                } else {
                    before
                };
                // What W_max was before the first of these losses is not known: two cycles later it is.
                known += 1;
                if known > 2 {
                    let lowest = (before as f64 * BETA) as u64;
                    let packets: u64 = (lowest..window).map(|window| count(window, w_max, has_ratio)).sum();
                    form_s += packets as f64 / packets_per_s + 0.2 * 2.0;
                    measured_s += to_s - from_s;
                }
            }
            let ratio = form_s / measured_s;
            assert!(
                known > 8 && (ratio - 1.0).abs() < 0.02,
                "{rate} {has_ratio} {converges}: {ratio}"
            );
        }
    }
}
