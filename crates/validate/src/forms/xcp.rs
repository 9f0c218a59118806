//! XCP's equilibrium on one link and in the parking lot.

use fadelab_results::measure::Metric;

use crate::forms::max_min::{self, Group};
use crate::forms::shares::{parking_lot_picture, rate_mbps, share};
use crate::lab::{Lab, jain, link_of};
use crate::section::{Row, Section, Tolerance};

/// Gains of the router: of the spare rate, and the share of the traffic that changes hands (draft-falk-xcp-spec-03).
const ALPHA: f64 = 0.4;
const SHUFFLE: f64 = 0.1;

const INTRO: &str = "\
An XCP router hands out F = 0.4 (C - y) - 0.226 Q / d and shuffles a tenth of the traffic y: every flow gains the same
and loses in proportion to its rate.

- *One link.* F = 0 where y = C and Q = 0, and the shuffle stands still where all rates are equal, whatever the round
  trips: utilisation 1, no standing queue, equal rates. Packets of N flows still meet: N evenly spaced streams of the
  same rate make a queue of at most N - 1.
- *Parking lot.* Four long flows cross hops of 100, 100, 50 and 100 Mbit/s, each shared with eight local flows. Max-min
  gives each flow of the third hop 50/12 = 4.17 Mbit/s and each other local flow (100 - 4 x 4.17)/8 = 10.42 Mbit/s. XCP
  is not quite max-min (Low, Andrew, Wydrowski, \"Understanding XCP\", Infocom 2005): a hop whose flows are held back
  elsewhere shuffles in vain for them and has to leave capacity spare until F makes up for it. With S = 0.1 y - F to
  shuffle and P = S + F = 0.1 y to give, each of N flows is given P/N.
  *Before the bottleneck* the router does not see that others will give less: a local flow rests where it is given what
  it loses, P/N = S x/y. *Behind it* it does: the draft then lets those flows take up the negative pool, which is used
  up after the part t of each interval, so that local flows lose only t S x/y, with t (M P/N + n S x/y) = S for n local
  and M = N - n other flows. Both with y = n x + the long flows' rate; the rows solve them.
";

/// The section.
///
/// # Errors
/// A run that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let mut rows = one_link(lab)?;
    let lot = parking_lot(lab)?;
    let rates: Vec<&Row> = lot.iter().filter(|row| row.quantity == "rate").collect();
    let picture = parking_lot_picture("XCP", &parking_lot_max_min(), &rates)?;
    rows.extend(lot);
    Ok(Section {
        name: "xcp",
        title: "XCP's equilibrium".to_owned(),
        intro: INTRO.to_owned(),
        rows,
        pictures: vec![picture],
    })
}

fn one_link(lab: &Lab) -> Result<Vec<Row>, String> {
    let equal = lab.simulate("shared", &["flow.law=xcp".to_owned()])?;
    let unequal = lab.simulate("round-trips", &["flow.law=xcp".to_owned()])?;
    let used = || Tolerance::within(0.01, "windows are whole packets, 32 each with equal round trips");
    let queue = |flows: f64| Tolerance::within(flows, "evenly spaced packets of N flows meet in a queue below N");
    let mut rows = Vec::new();
    for (case, measured, link, flows) in [
        ("10 flows, 50 ms", &equal, "bottleneck", 10.0),
        ("8 flows, 40 to 160 ms", &unequal, "shared", 8.0),
    ] {
        let utilisation = measured.metric(link, Metric::Utilisation)?;
        rows.push(Row::new(case, "utilisation", "1", 1.0, utilisation, used()).by(&measured.command));
        let waiting = measured.metric(link, Metric::QueuePkts)?;
        rows.push(Row::new(case, "mean queue", "pkt", 0.0, waiting, queue(flows)).by(&measured.command));
    }
    let jain = equal.stat(|run| jain(run, link_of(run, "bottleneck")?))?;
    let tolerance = Tolerance::within(0.005, "shares within 5 % of each other have an index above 0.997");
    rows.push(Row::new("10 flows, 50 ms", "Jain's index", "1", 1.0, jain, tolerance).by(&equal.command));
    let groups = ["a", "b", "c", "d"];
    for (group, rtt_ms) in groups.into_iter().zip([40, 80, 120, 160]) {
        let ours = share(&unequal, group, &groups)?;
        let tolerance = Tolerance::within(
            0.05,
            "windows are whole packets, 60 to 240 each, and move with the shuffle",
        );
        let case = format!("flows with {rtt_ms} ms");
        rows.push(Row::new(case, "rate over the mean rate", "1", 1.0, ours, tolerance).by(&unequal.command));
    }
    Ok(rows)
}

/// Whether the hop comes before the one that holds the long flows back, is that one, or comes behind.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Before,
    Bottleneck,
    Behind,
}

/// Hops of the scenario: capacity in Mbit/s and place.
const HOPS: [(f64, Place); 4] = [
    (100.0, Place::Before),
    (100.0, Place::Before),
    (50.0, Place::Bottleneck),
    (100.0, Place::Behind),
];
/// Flows over all hops.
pub const LONG_FLOWS: f64 = 4.0;
/// Flows of each hop.
pub const LOCAL_FLOWS: f64 = 8.0;

/// Capacities of the hops in Mbit/s.
pub fn parking_lot_capacities() -> [f64; 4] {
    HOPS.map(|(capacity, _)| capacity)
}

/// What max-min gives: a long flow, then a local flow of each hop, in Mbit/s.
pub fn parking_lot_max_min() -> Vec<f64> {
    let mut groups = vec![Group {
        flows: LONG_FLOWS,
        route: (0..HOPS.len()).collect(),
    }];
    groups.extend((0..HOPS.len()).map(|hop| Group {
        flows: LOCAL_FLOWS,
        route: vec![hop],
    }));
    max_min::rates(&parking_lot_capacities(), &groups)
}

fn parking_lot(lab: &Lab) -> Result<Vec<Row>, String> {
    let measured = lab.simulate("parking-lot", &["flow.law=xcp".to_owned()])?;
    let fair = parking_lot_max_min();
    let reason = "windows are whole packets, 35 of a local flow";
    let long = rate_mbps(&measured, "long")?;
    let tolerance = Tolerance::part(0.05, reason);
    let mut rows = vec![Row::new("long flows", "rate", "Mbit/s", fair[0], long, tolerance).by(&measured.command)];
    for (hop, (capacity, place)) in HOPS.into_iter().enumerate() {
        let used = used_share(place, LOCAL_FLOWS, LONG_FLOWS, LONG_FLOWS * fair[0] / capacity);
        let local = (used * capacity - LONG_FLOWS * fair[0]) / LOCAL_FLOWS;
        let group = format!("local{}", hop + 1);
        let ours = rate_mbps(&measured, &group)?;
        let note = format!("max-min: {:.2}", fair[hop + 1]);
        let case = format!("local flows of hop {}", hop + 1);
        let tolerance = Tolerance::part(0.05, reason);
        rows.push(
            Row::new(case, "rate", "Mbit/s", local, ours, tolerance)
                .with_note(note)
                .by(&measured.command),
        );
        let utilisation = measured.metric(&format!("hop.{}", hop + 1), Metric::Utilisation)?;
        let tolerance = Tolerance::within(0.01, "as on one link");
        let case = format!("hop {}", hop + 1);
        rows.push(Row::new(case, "utilisation", "1", used, utilisation, tolerance).by(&measured.command));
    }
    Ok(rows)
}

/// Utilisation of a link of capacity 1 at which `local` flows rest while `other` flows, held back elsewhere, send
/// `others_rate` in all.
fn used_share(place: Place, local: f64, other: f64, others_rate: f64) -> f64 {
    let all = local + other;
    // What the local flows rest at, over y, for a ratio r = P / S.
    let local_share = |r: f64| match place {
        Place::Bottleneck => f64::INFINITY,
        Place::Before => r / all,
        Place::Behind if local * r >= all => f64::INFINITY,
        Place::Behind => r * r * other / (all * (all - local * r)),
    };
    let excess = |y: f64| {
        let spare = ALPHA * (1.0 - y);
        let shuffled = SHUFFLE * y - spare;
        if shuffled <= 0.0 {
            return f64::INFINITY;
        }
        local * y * local_share(SHUFFLE * y / shuffled) + others_rate - y
    };
    // At a full link the local flows would rest too low; the less is used the higher they rest.
    let (mut low, mut high) = (ALPHA / (ALPHA + SHUFFLE), 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equilibrium_solves_its_equations() {
        // Goal: before the bottleneck by hand: 8 r / 12 = 1 - q / y and y (1 + (1 - 1/r) / 4) = 1, with q = 1/6; behind
        // it less stays spare; where all flows are alike nothing does.
        let q = 1.0 / 6.0;
        let y = used_share(Place::Before, 8.0, 4.0, q);
        let r = 1.5 * (1.0 - q / y);
        assert!((y * (1.0 + (1.0 - 1.0 / r) / 4.0) - 1.0).abs() < 1e-9, "{y} {r}");
        let behind = used_share(Place::Behind, 8.0, 4.0, q);
        assert!(behind > y && behind < 1.0, "{y} {behind}");
        assert!((used_share(Place::Before, 8.0, 4.0, 4.0 / 12.0) - 1.0).abs() < 1e-9);
        assert!((used_share(Place::Behind, 8.0, 4.0, 4.0 / 12.0) - 1.0).abs() < 1e-6);
        assert!((used_share(Place::Bottleneck, 8.0, 4.0, q) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn max_min_of_the_parking_lot_is_that_of_the_text() {
        // Goal: 50/12 for the third hop, (100 - 4 x 50/12) / 8 for the others.
        let rates = parking_lot_max_min();
        for (rate, expected) in rates
            .iter()
            .zip([50.0 / 12.0, 10.416_667, 10.416_667, 50.0 / 12.0, 10.416_667])
        {
            assert!((rate - expected).abs() < 1e-5, "{rates:?}");
        }
    }
}
