//! Whose data the queues of links dropped, at links that results show.

use fadelab_path::packet::PacketId;
use fadelab_run::record::DroppedOf;

use super::Network;
use super::delays::Counted;

impl Network {
    /// Counters of all links that are shown, by groups.
    pub(super) fn no_drops(delays: &Counted) -> Vec<u64> {
        vec![0; delays.links_n() * delays.groups_n()]
    }

    /// A queue dropped a packet. Counted here and not in the queue, which knows no flows.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_at(&mut self, link: u32, id: PacketId) {
        if self.slab.is_data(id) {
            let (flow, seq) = (self.slab.get(id).flow, self.slab.get(id).seq);
            self.answers.note_drop(flow, seq);
            let group = self.delays.group_of(flow) as usize;
            if let Some(place) = self.delays.place_of(link) {
                let groups_n = self.delays.groups_n();
                self.dropped[place * groups_n + group] += 1;
            }
        }
        self.discard(id);
    }

    /// Drops are counted anew from now on.
    pub fn forget_drops(&mut self) {
        self.dropped.fill(0);
    }

    /// Those that were counted, by links and by groups, none of which dropped nothing.
    pub fn drops(&self) -> Vec<DroppedOf> {
        let names = &self.groups().names;
        let counted = self.dropped.iter().enumerate().filter(|(_, pkts)| **pkts > 0);
        let one = |(place, &dropped_pkts): (usize, &u64)| DroppedOf {
            link: self.delays.link_at(place / names.len()),
            group: names[place % names.len()].clone(),
            dropped_pkts,
        };
        counted.map(one).collect()
    }
}
