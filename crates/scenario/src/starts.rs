//! When flows start of which the scenario does not say it.
//!
//! Greedy flows that begin together in one queue and run the same law stay in step, and the run shows that rather than
//! the law: all seeds give the same bytes, and who is ahead was decided by the order of the first packets. So each of
//! them begins at a random time within its first round trip, as flows do that know nothing of each other.

use fadelab_run::app::{App, Span};

use crate::flows::{Course, Direction, Group, Way};
use crate::reader::Reader;
use crate::topology::Topology;
use crate::unit::Scalar;

/// Gives greedy flows their start where none is written, and notes it as if it had been: at zero, or where two of them
/// or more send their data over one link, uniform in the first round trip of their propagation.
pub fn fill<'a>(reader: &mut Reader<'_>, topology: &Topology, groups: impl Iterator<Item = &'a mut Group>) {
    let mut open: Vec<(String, &mut Group)> = groups
        .filter(|group| matches!(group.app, App::Greedy { .. }))
        .filter_map(|group| Some((group.unwritten_start.clone()?, group)))
        .collect();
    let mut senders_over = vec![0; 2 * topology.hops.len()];
    for (_, group) in &open {
        for link in data_links(group, topology) {
            senders_over[link] += group.count;
        }
    }
    for (path, group) in &mut open {
        let is_shared = data_links(group, topology).iter().any(|&link| senders_over[link] > 1);
        let start = match rtt_ns_min(group, topology) {
            rtt_ns if is_shared && rtt_ns > 0 => Span::Uniform {
                min_ns: 0,
                max_ns: rtt_ns,
            },
            _ => Span::Fixed { ns: 0 },
        };
        reader.note(path, start.shown());
        group.app = App::Greedy { start };
    }
}

/// The links that the data of a group cross, access links aside: numbers that are the same for all groups.
fn data_links(group: &Group, topology: &Topology) -> Vec<usize> {
    let hops = match &group.course {
        Course::Graph(route) => {
            let ways: [(&[_], bool); 2] = [
                (&route.there, group.direction != Direction::Backward),
                (&route.back, group.direction != Direction::Forward),
            ];
            let taken = ways.into_iter().filter(|(_, is_taken)| *is_taken);
            return taken.flat_map(|(links, _)| links).map(|&link| link as usize).collect();
        }
        Course::Row(Way::All | Way::Each) => 0..topology.hops.len(),
        Course::Row(Way::Hops { first, last }) => *first as usize - 1..*last as usize,
    };
    let ways: &[usize] = match group.direction {
        Direction::Forward => &[0],
        Direction::Backward => &[1],
        Direction::Both => &[0, 1],
    };
    hops.flat_map(|hop| ways.iter().map(move |way| 2 * hop + way)).collect()
}

/// Propagation there and back of a group's flows, the shortest where they differ.
fn rtt_ns_min(group: &Group, topology: &Topology) -> u64 {
    let access_ns = topology
        .access
        .as_ref()
        .map_or(0, |access| group.access_delay_ns.unwrap_or(access.delay_ns));
    let of_hop = |hop: usize| 2 * topology.hops[hop].delay_ns;
    let hops_ns = match &group.course {
        Course::Graph(route) => {
            let arcs = topology.arcs();
            return route
                .there
                .iter()
                .chain(&route.back)
                .map(|&link| topology.hops[arcs[link as usize].hop].delay_ns)
                .sum();
        }
        Course::Row(Way::All) => (0..topology.hops.len()).map(of_hop).sum(),
        Course::Row(Way::Each) => (0..topology.hops.len()).map(of_hop).min().unwrap_or(0),
        Course::Row(Way::Hops { first, last }) => (*first as usize - 1..*last as usize).map(of_hop).sum::<u64>(),
    };
    hops_ns + 4 * access_ns
}
