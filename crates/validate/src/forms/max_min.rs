//! Max-min fair rates by filling: the rates of all flows rise together, and those that meet a full link stop there.

/// Flows that share a route.
pub struct Group {
    pub flows: f64,
    pub route: Vec<usize>,
}

/// The rate of each group's flows, in the unit of the links' capacities (Bertsekas and Gallager, "Data Networks",
/// section 6.5.2).
pub fn rates(capacities: &[f64], groups: &[Group]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; groups.len()];
    while rates.iter().any(Option::is_none) {
        // What is left of a link for each of its flows that still rise.
        let level = |link: usize| {
            let crossing = || {
                groups
                    .iter()
                    .zip(&rates)
                    .filter(|(group, _)| group.route.contains(&link))
            };
            let used: f64 = crossing()
                .filter_map(|(group, rate)| rate.map(|rate| rate * group.flows))
                .sum();
            let rising: f64 = crossing()
                .filter(|(_, rate)| rate.is_none())
                .map(|(group, _)| group.flows)
                .sum();
            if rising > 0.0 {
                (capacities[link] - used) / rising
            } else {
                f64::INFINITY
            }
        };
        let levels: Vec<f64> = (0..capacities.len()).map(level).collect();
        let lowest = levels.iter().copied().fold(f64::INFINITY, f64::min);
        for (group, rate) in groups.iter().zip(&mut rates).filter(|(_, rate)| rate.is_none()) {
            if !lowest.is_finite() || group.route.iter().any(|&link| levels[link] <= lowest) {
                *rate = Some(lowest);
            }
        }
    }
    rates.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(flows: f64, route: &[usize]) -> Group {
        Group {
            flows,
            route: route.to_vec(),
        }
    }

    #[test]
    fn the_textbook_network_gets_its_textbook_rates() {
        // Goal: one flow over two links of 1 and 2, one on each: 1/2, 1/2 and 3/2.
        let groups = [group(1.0, &[0, 1]), group(1.0, &[0]), group(1.0, &[1])];
        assert_eq!(rates(&[1.0, 2.0], &groups), [0.5, 0.5, 1.5]);
    }

    #[test]
    fn a_flow_that_crosses_no_link_is_unbounded() {
        // Goal: filling ends although nothing stops the flow.
        assert_eq!(
            rates(&[1.0], &[group(2.0, &[0]), group(1.0, &[])]),
            [0.5, f64::INFINITY]
        );
    }

    #[test]
    fn the_published_parking_lot_has_its_two_to_one_and_five_to_one() {
        // Goal: 30 long flows over 4, 4, 2, 4 Mbit/s and 60 local ones on three hops: 2:1; on the slow one too: 5:1
        // (vcp-ton-2010, section III-B).
        let capacities = [4.0, 4.0, 2.0, 4.0];
        let mut groups = vec![
            group(30.0, &[0, 1, 2, 3]),
            group(60.0, &[0]),
            group(60.0, &[1]),
            group(60.0, &[3]),
        ];
        let before = rates(&capacities, &groups);
        // The slow hop leaves the long flows more than their share of the others: all get 4/90.
        assert!(
            before.iter().all(|rate| (rate - 4.0 / 90.0).abs() < 1e-12),
            "{before:?}"
        );
        groups.push(group(60.0, &[2]));
        let after = rates(&capacities, &groups);
        assert!(
            (after[0] - 2.0 / 90.0).abs() < 1e-12 && (after[4] - 2.0 / 90.0).abs() < 1e-12,
            "{after:?}"
        );
        let aggregate = |group: usize| after[group] * groups[group].flows;
        assert!((aggregate(1) / aggregate(0) - 5.0).abs() < 1e-12, "{after:?}");
        assert!((before[1] * 60.0 / (before[0] * 30.0) - 2.0).abs() < 1e-12);
    }
}
