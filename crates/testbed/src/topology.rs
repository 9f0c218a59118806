//! Nodes and cables of a run. A run names links and routes only: where one link of a route ends the next one begins.

use fadelab_run::spec::RunSpec;

/// Nodes at both ends of each link.
pub struct Ends {
    /// How many nodes there are.
    pub nodes: usize,
    /// From where to where each link leads.
    pub links: Vec<[usize; 2]>,
}

impl Ends {
    /// Finds the nodes. Links that no route joins begin and end at nodes of their own.
    pub fn of(spec: &RunSpec) -> Self {
        let mut places = Places((0..2 * spec.links.len()).collect());
        let (tail, head) = (|link: u32| 2 * link as usize, |link: u32| 2 * link as usize + 1);
        for flow in &spec.flows {
            for route in [&flow.route, &flow.route_back] {
                for pair in route.windows(2) {
                    places.join(head(pair[0]), tail(pair[1]));
                }
            }
            // The sender is where data begin and ACKs end, the receiver the other way round.
            for (one, other) in [(&flow.route, &flow.route_back), (&flow.route_back, &flow.route)] {
                if let (Some(&first), Some(&last)) = (one.first(), other.last()) {
                    places.join(tail(first), head(last));
                }
            }
        }
        let mut numbers = vec![None; places.0.len()];
        let mut nodes = 0;
        let mut number = |place: usize| {
            *numbers[place].get_or_insert_with(|| {
                nodes += 1;
                nodes - 1
            })
        };
        let links = (0..spec.links.len())
            .map(|link| [2 * link, 2 * link + 1].map(|place| number(places.root(place))))
            .collect();
        Self { nodes, links }
    }

    /// Pairs each link with one that leads back, if there is one. Gives cables as their two links, the first one's
    /// direction being that of the cable.
    pub fn cables(&self) -> Vec<(usize, Option<usize>)> {
        let mut is_taken = vec![false; self.links.len()];
        let mut cables = Vec::new();
        for link in 0..self.links.len() {
            if is_taken[link] {
                continue;
            }
            let [from, to] = self.links[link];
            let back = (link + 1..self.links.len()).find(|&other| !is_taken[other] && self.links[other] == [to, from]);
            if let Some(back) = back {
                is_taken[back] = true;
            }
            cables.push((link, back));
        }
        cables
    }
}

/// Sets of places that are one node.
struct Places(Vec<usize>);

impl Places {
    fn root(&self, mut place: usize) -> usize {
        while self.0[place] != place {
            place = self.0[place];
        }
        place
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> RunSpec {
        let options = fadelab_scenario::Options::default();
        let plan = fadelab_scenario::parse(text.as_bytes(), "x.toml", std::path::Path::new(""), &options);
        plan.expect("it is valid").runs.remove(0).spec
    }

    #[test]
    fn nodes_are_read_off_the_routes() {
        // Goal: where a link of a route ends the next one begins, and a host is where data begin and ACKs end.
        // Nothing in a run joins the two directions of a router, so each has a node of its own.
        let spec = spec(
            "[run]\nduration = '1 s'\nwarmup = '0 s'\n[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
             [flow]\nlaw = 'reno'\ncount = 3\n",
        );
        let ends = Ends::of(&spec);
        assert_eq!(ends.nodes, 2 * 2 + 3 * 2);
        for flow in &spec.flows {
            for route in [&flow.route, &flow.route_back] {
                for pair in route.windows(2) {
                    assert_eq!(ends.links[pair[0] as usize][1], ends.links[pair[1] as usize][0]);
                }
            }
            let (first, last) = (
                flow.route[0] as usize,
                flow.route_back[flow.route_back.len() - 1] as usize,
            );
            assert_eq!(ends.links[first][0], ends.links[last][1]);
        }
    }
}
