//! VCP's equilibrium: the sawtooth of its load, equal rates, and what a parking lot makes of it.

use fadelab_results::measure::Metric;

use crate::chart::{Axis, Chart, Corner};
use crate::forms::shares::{parking_lot_picture, rate_mbps, share};
use crate::forms::xcp::{LOCAL_FLOWS, LONG_FLOWS, parking_lot_capacities, parking_lot_max_min};
use crate::lab::Lab;
use crate::section::{Picture, Row, Section, Tolerance, number};

/// The router aims at this share of the capacity, and speaks of overload from 99 % of that on (rounding up).
const GAMMA: f64 = 0.98;
const OVERLOAD: f64 = 0.99;
/// Interval of the load factor, s.
const T_RHO_S: f64 = 0.2;
/// What a decrease leaves of the window.
const BETA: f64 = 0.875;
/// Additive increase of a flow in packets per second, per second: alpha per 100 ms and 100 ms, at round trips from 20
/// to 500 ms.
const GROWTH_PPS2: f64 = 100.0;
const PACKET_BITS: f64 = 8320.0;
/// A tenth of the increase in the parking lot, so that a cycle is long against `t_rho` and a round trip.
const PARKING_LOT_ALPHA: f64 = 0.1;

const INTRO: &str = "\
A VCP router says *overload* for the next 200 ms when the load of the last 200 ms was 99 % of its target, which is 98 %
of the capacity. Every sender then takes an eighth off its window, stands still until the 200 ms are over, and adds; the
rate of each flow grows by 100 packets/s per second, whatever its round trip between 20 and 500 ms.

- *One link.* The load is a sawtooth. It grows by g = 100 N 8320 / (0.98 C) per second. Overload is noticed half an
  interval late on average, since the load is a mean over it and its end comes somewhere in the next; another half
  passes from the middle of the interval to its end, and a round trip R until the senders' answer is at the router: the
  load turns at L = 0.99 + g (0.2 s + R), falls to 0.875 L, rests for 0.2 s and climbs for 0.125 L / g. The queue is
  empty as long as 0.98 L is below 1. Additive increase and a decrease in common make rates equal (Chiu and Jain 1989),
  whatever the round trips.
- *Parking lot.* VCP is not max-min: a packet carries the worst code of its path, so a long flow decreases at every
  overload of each of its hops. With overloads at frequency f a flow's rate x before one satisfies
  growth (1 - 0.2 f) / f = x / 8: a local flow sees the overloads of its hop, a long one those of all hops, and the sum
  of the rates at a hop's overload is 0.99 x 0.98 C. The five unknown rates follow; nothing is fitted. The increase is a
  tenth of the default here (`law.vcp.alpha`), so that overloads of different hops rarely coincide.
";

/// The section.
///
/// # Errors
/// A run that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let mut rows = Vec::new();
    let mut points = Vec::new();
    for flows in [1.0, 2.0, 5.0] {
        let sets = ["flow.law=vcp".to_owned(), format!("flow.count={flows}")];
        let measured = lab.simulate("shared", &sets)?;
        let case = format!("{flows} flow{}, 50 ms", if flows > 1.0 { "s" } else { "" });
        let used = measured.metric("bottleneck", Metric::Utilisation)?;
        points.push((flows, used.mean, used.ci95_half_width.unwrap_or(0.0)));
        let reason = "windows are whole packets, of which half of one in 60 is missing with five flows; 60 s hold \
                      eight cycles of one flow";
        let tolerance = Tolerance::within(0.01, reason);
        rows.push(Row::new(&case, "utilisation", "1", mean_utilisation(flows), used, tolerance).by(&measured.command));
        let queue = measured.metric("bottleneck", Metric::QueuePkts)?;
        let tolerance = Tolerance::within(
            flows,
            "packets of N flows meet in a queue below N while the load is below 1",
        );
        rows.push(Row::new(&case, "mean queue", "pkt", 0.0, queue, tolerance).by(&measured.command));
    }
    let unequal = lab.simulate("round-trips", &["flow.law=vcp".to_owned()])?;
    let groups = ["a", "b", "c", "d"];
    for (group, rtt_ms) in groups.into_iter().zip([40, 80, 120, 160]) {
        let ours = share(&unequal, group, &groups)?;
        let reason = "the growth that replaces an eighth lasts 2 s; a decrease that comes up to 160 ms later than \
                      others' shifts a rate by up to a tenth of it";
        let case = format!("flows with {rtt_ms} ms");
        let tolerance = Tolerance::within(0.1, reason);
        rows.push(Row::new(case, "rate over the mean rate", "1", 1.0, ours, tolerance).by(&unequal.command));
    }
    let lot = parking_lot(lab)?;
    let lot_picture = parking_lot_picture("VCP", &parking_lot_max_min(), &lot.iter().collect::<Vec<_>>())?;
    rows.extend(lot);
    Ok(Section {
        name: "vcp",
        title: "VCP's equilibrium".to_owned(),
        intro: INTRO.to_owned(),
        rows,
        pictures: vec![picture(&points)?, lot_picture],
    })
}

/// Mean utilisation of `flows` flows over 54 Mbit/s with a round trip of 50 ms.
fn mean_utilisation(flows: f64) -> f64 {
    let (rate_bps, rtt_s) = (54e6, 0.05);
    let growth = flows * GROWTH_PPS2 * PACKET_BITS / (GAMMA * rate_bps);
    let top = OVERLOAD + growth * (T_RHO_S + rtt_s);
    let climb_s = (1.0 - BETA) * top / growth;
    let mean = (climb_s * top * (1.0 + BETA) / 2.0 + T_RHO_S * BETA * top) / (climb_s + T_RHO_S);
    GAMMA * mean
}

fn parking_lot(lab: &Lab) -> Result<Vec<Row>, String> {
    let sets = ["flow.law=vcp".to_owned(), format!("law.vcp.alpha={PARKING_LOT_ALPHA}")];
    let measured = lab.simulate("parking-lot", &sets)?;
    let fair = parking_lot_max_min();
    let expected = parking_lot_rates();
    let reason = "a time average lies up to 6 % below the rate before a decrease, less for a flow with decreases at \
                  odd times; two hops' overloads that fall within 0.3 s of each other count once for a long flow";
    let mut rows = Vec::new();
    for (place, group) in ["long", "local1", "local2", "local3", "local4"].into_iter().enumerate() {
        let ours = rate_mbps(&measured, group)?;
        let case = match place {
            0 => "long flows".to_owned(),
            hop => format!("local flows of hop {hop}"),
        };
        let note = format!("max-min: {}", number(fair[place]));
        let tolerance = Tolerance::part(0.1, reason);
        rows.push(
            Row::new(case, "rate", "Mbit/s", expected[place], ours, tolerance)
                .with_note(note)
                .by(&measured.command),
        );
    }
    Ok(rows)
}

/// Rates of a long flow and of a local flow of each hop in Mbit/s, averaged over a cycle.
fn parking_lot_rates() -> Vec<f64> {
    let per_second = PARKING_LOT_ALPHA * GROWTH_PPS2 * PACKET_BITS / 1e6;
    // growth (1 - t f) / f = x (1 - beta): the frequency at which a flow of rate x before each decrease rests there.
    let frequency = |rate: f64| per_second / (rate * (1.0 - BETA) + per_second * T_RHO_S);
    let local = |long: f64, capacity: f64| (OVERLOAD * GAMMA * capacity - LONG_FLOWS * long) / LOCAL_FLOWS;
    let capacities = parking_lot_capacities();
    let missing = |long: f64| {
        let overloads: f64 = capacities
            .iter()
            .map(|&capacity| frequency(local(long, capacity)))
            .sum();
        overloads - frequency(long)
    };
    // The more the long flows have, the fewer decreases they can do with, and the more the local flows make.
    let (mut low, mut high) = (0.0, OVERLOAD * GAMMA * 50.0 / (LONG_FLOWS + LOCAL_FLOWS));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if missing(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    // A rate that climbs steadily to x from beta x has the mean (1 + beta) x / 2; one that is hit at odd times is hit
    // at its mean.
    let mut rates = vec![low];
    rates.extend(
        capacities
            .iter()
            .map(|&capacity| local(low, capacity) * f64::midpoint(1.0, BETA)),
    );
    rates
}

fn picture(points: &[(f64, f64, f64)]) -> Result<Picture, String> {
    let svg = Chart::new(
        "VCP over 54 Mbit/s with 50 ms",
        Axis::linear("flows", 0.0, 6.0),
        Axis::linear("utilisation", 0.85, 1.0),
    )
    .legend(Corner::UpperLeft)
    .line(
        "sawtooth between overloads",
        (5..=60).map(|n| f64::from(n) / 10.0).map(|n| (n, mean_utilisation(n))),
    )
    .points("fadelab, five seeds", points.iter().copied())
    .svg()?;
    Ok(Picture {
        name: "vcp".to_owned(),
        caption: "Utilisation under VCP against the number of flows".to_owned(),
        svg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sawtooth_of_vcp_is_that_of_one_played_out() {
        // Goal: the mean load of two flows equals that of a load stepped by a millisecond through many cycles, whose
        // overload is noticed with every delay of the text, averaged over the phase of the interval.
        let growth = 2.0 * GROWTH_PPS2 * PACKET_BITS / (GAMMA * 54e6);
        let (mut sum, mut steps) = (0.0, 0.0);
        for phase in 0..200 {
            // The load crosses 0.99 in the middle of no interval: the next middle comes within 200 ms.
            let top = OVERLOAD + growth * (f64::from(phase) / 1000.0 + T_RHO_S / 2.0 + 0.05);
            let mut load = BETA * top;
            for _ in 0..200 {
                sum += load;
                steps += 1.0;
            }
            while load < top {
                load += growth / 1000.0;
                sum += load;
                steps += 1.0;
            }
        }
        assert!(
            (GAMMA * sum / steps / mean_utilisation(2.0) - 1.0).abs() < 1e-3,
            "{}",
            GAMMA * sum / steps
        );
    }

    #[test]
    fn equal_hops_give_a_long_flow_the_share_of_its_hops() {
        // Goal: where the freeze is short, a flow over K hops has 1/K of the rate before a decrease; here the rates
        // fill each hop at its overload.
        let rates = parking_lot_rates();
        for (rate, capacity) in rates[1..].iter().zip(parking_lot_capacities()) {
            let at_overload = LOCAL_FLOWS * rate / f64::midpoint(1.0, BETA) + LONG_FLOWS * rates[0];
            assert!((at_overload - OVERLOAD * GAMMA * capacity).abs() < 1e-9, "{rates:?}");
        }
        let harmonic: f64 = rates[1..].iter().map(|rate| f64::midpoint(1.0, BETA) / rate).sum();
        assert!((rates[0] * harmonic - 1.0).abs() < 0.1, "{rates:?}");
    }
}
