//! What the links have counted, as it stands at an instant.

use std::collections::BTreeMap;

use fadelab_path::violation::Checked;
use fadelab_path::wire::Ahead;

use super::Network;
use crate::lane::Lane;
use crate::record::LinkCounters;
use crate::spec::LinkId;

/// What has been sent through each tail ahead of its time.
type AheadOf = BTreeMap<LinkId, Ahead>;

impl Network {
    /// Counters of `links`, wires or not, as they stand at `now_ns`.
    pub fn snapshot(&mut self, links: &[LinkId], now_ns: u64) -> Checked<Vec<LinkCounters>> {
        let ahead = self.ahead_of(links.iter().copied(), now_ns);
        links.iter().map(|&link| self.counters(link, now_ns, &ahead)).collect()
    }

    /// The same, and the invariants of all other links are checked too. `links` is in ascending order.
    pub fn snapshot_of_all(&mut self, links: &[LinkId], now_ns: u64) -> Checked<Vec<LinkCounters>> {
        let all = 0..self.lane_of.len() as LinkId;
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
        if let Some(at) = self.link_at(link as usize) {
            return self.links[at].snapshot(now_ns, &mut self.slab);
        }
        let ahead = ahead.get(&link).copied().unwrap_or_default();
        self.wires.snapshot(link as usize, now_ns, ahead)
    }

    /// What has been sent through tails ahead of `now_ns`, if there are any among `links`.
    fn ahead_of(&self, mut links: impl Iterator<Item = LinkId>, now_ns: u64) -> AheadOf {
        let mut ahead = AheadOf::new();
        if !links.any(|link| self.lanes[self.lane_of[link as usize] as usize].is_ahead()) {
            return ahead;
        }
        for entry in self.lanes.iter().filter(|lane| lane.is_ahead()).flat_map(Lane::entries) {
            let of_wire = ahead.entry(self.keys.split(entry.key).1).or_default();
            if entry.arrived_ns > now_ns {
                of_wire.pkts += 1;
                of_wire.bytes += u64::from(entry.parcel.ip_bytes);
            } else {
                of_wire.last = of_wire.last.max((entry.arrived_ns, u32::from(entry.parcel.ip_bytes)));
            }
        }
        ahead
    }
}
