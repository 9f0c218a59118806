//! What is known of the network from outside: counters, invariants of the whole, and whose state lies where.

use std::collections::BTreeMap;

use fadelab_path::counters::LinkCounters;
use fadelab_path::node::Node;
use fadelab_path::violation::{Checked, violated};
use fadelab_path::wire::Ahead;
use fadelab_run::network::LinkId;

use super::Network;
use crate::pipe::Pipe;

/// What has been sent through each tail ahead of its time.
type AheadOf = BTreeMap<LinkId, Ahead>;

impl Network {
    /// Packets injected = delivered + dropped + alive, pipes and links hold all that are alive, and what came into a
    /// pipe is what left it and what is there.
    pub fn check_conservation(&self, now_ns: u64) -> Checked<()> {
        if let Some(kind) = self.pipes.iter().position(|pipe| !pipe.is_conserved()) {
            let wire = self.pipe_of.iter().position(|&pipe| pipe as usize == kind);
            let place = self.wires.name(wire.unwrap_or(0));
            let detail = format!("behind the transmitters of its kind: {:?}", self.pipes[kind]);
            return violated("packets are conserved at a node", place, now_ns, detail);
        }
        let in_pipes: u64 = self.pipes.iter().map(Pipe::held_pkts).sum();
        let in_nodes: u64 = self.nodes.iter().map(Node::held_pkts).sum();
        let (held, alive) = (in_pipes + in_nodes, self.slab.alive());
        if self.injected_pkts != self.gone_pkts + alive || held != alive {
            let detail = format!(
                "injected {}, gone {}, alive {alive}, held by links {held}",
                self.injected_pkts, self.gone_pkts
            );
            return violated("packets are conserved in the whole", "network", now_ns, detail);
        }
        Ok(())
    }

    /// Counters of `links`, wires or not, as they stand at `now_ns`.
    pub fn snapshot(&mut self, links: &[LinkId], now_ns: u64) -> Checked<Vec<LinkCounters>> {
        let ahead = self.ahead_of(links.iter().copied(), now_ns);
        links.iter().map(|&link| self.counters(link, now_ns, &ahead)).collect()
    }

    /// The same, and the invariants of all other links are checked too. `links` is in ascending order.
    pub fn snapshot_of_all(&mut self, links: &[LinkId], now_ns: u64) -> Checked<Vec<LinkCounters>> {
        let all = 0..self.pipe_of.len() as LinkId;
        let ahead = self.ahead_of(all.clone(), now_ns);
        let (mut kept, mut wanted) = (Vec::with_capacity(links.len()), links.iter().peekable());
        for link in all {
            let counters = self.counters(link, now_ns, &ahead)?;
            if wanted.next_if_eq(&&link).is_some() {
                kept.push(counters);
            }
        }
        Ok(kept)
    }

    fn counters(&mut self, link: LinkId, now_ns: u64, ahead: &AheadOf) -> Checked<LinkCounters> {
        let mut counters = self.counters_of_link(link, now_ns, ahead)?;
        if self.of_data_alone.contains(&link) {
            counters.sent_data_pkts = counters.sent_pkts;
        }
        Ok(counters)
    }

    fn counters_of_link(&mut self, link: LinkId, now_ns: u64, ahead: &AheadOf) -> Checked<LinkCounters> {
        if let Some(at) = self.alone_at(link as usize) {
            return self.nodes[at].snapshot(now_ns, &mut self.slab);
        }
        let ahead = ahead.get(&link).copied().unwrap_or_default();
        self.wires.snapshot(link as usize, now_ns, ahead)
    }

    /// What has been sent through tails ahead of `now_ns`, if there are any among `links`.
    fn ahead_of(&self, mut links: impl Iterator<Item = LinkId>, now_ns: u64) -> AheadOf {
        let mut ahead = AheadOf::new();
        if !links.any(|link| self.pipes[self.pipe_of[link as usize] as usize].is_ahead()) {
            return ahead;
        }
        for entry in self.pipes.iter().filter(|pipe| pipe.is_ahead()).flat_map(Pipe::entries) {
            let of_wire = ahead.entry(self.keys.split(entry.key).1).or_default();
            if entry.arrived_ns > now_ns {
                of_wire.pkts += 1;
                of_wire.bytes += u64::from(entry.parcel.ip_bytes());
            } else {
                of_wire.last = of_wire.last.max((entry.arrived_ns, u32::from(entry.parcel.ip_bytes())));
            }
        }
        ahead
    }

    /// Adds the values to watch of the law of a link and its capacity part to `values`; a wire has none.
    pub fn watch(&self, link: LinkId, values: &mut Vec<u64>) {
        if let Some(at) = self.alone_at(link as usize) {
            self.nodes[at].watch(values);
        }
    }

    /// The link whose law, or its capacity part, has its state at `address`.
    pub fn holder_of_state(&self, address: usize) -> Option<usize> {
        let mut links = 0..self.pipe_of.len();
        links.find(|&index| {
            self.alone_at(index)
                .is_some_and(|at| self.nodes[at].holds_state(address))
        })
    }
}
