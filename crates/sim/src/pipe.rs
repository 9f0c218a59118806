//! Packets on their way through wires, in the order in which they come out.
//!
//! Wires of a kind take equally long, so packets leave them almost in the order in which they came, whichever wire it
//! was: a ring in which a new entry finds its place a few steps from the end does for all of them, and one pending
//! event does too. What would have to be moved far (on access links slower than what they feed, say) waits in a heap
//! instead.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fadelab_path::packet::Parcel;

use crate::schedule::SourceId;

/// How many entries may move up for a new one before it goes into the heap.
const SHIFTS_MAX: usize = 16;

/// A packet under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// When it comes out and of which link, as the schedule orders events.
    pub key: u64,
    /// When it went in.
    pub arrived_ns: u64,
    pub parcel: Parcel,
}

/// Packets whose way ends at the end of a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exits {
    pub data: bool,
    pub acks: bool,
    /// Data of flows that begin anew after their end.
    pub reopens: bool,
}

impl Exits {
    /// Whether there are any.
    #[inline]
    pub fn any(self) -> bool {
        self.data || self.acks
    }
}

/// The pipe into which the hosts at the end of another one send, and nobody else: they know its horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answers {
    pub pipe: usize,
    /// How long a packet is in it at least.
    pub least_ns: u64,
    /// The only node behind it, if there is one.
    pub behind: Option<NodeBehind>,
}

/// A node behind a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeBehind {
    /// Its place among all nodes.
    pub at: usize,
    pub link: SourceId,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// The first key of all; `u64::MAX`: it is empty.
    next_key: u64,
    /// Greatest key that was ever in the ring.
    newest_key: u64,
    /// In ascending order from `head` on; the length is a power of two.
    ring: Vec<Entry>,
    head: usize,
    len: usize,
    /// Shortest time from end to end.
    delay_ns: u64,
    /// Whether it takes packets ahead of their time.
    is_ahead: bool,
    /// The link, if any, that has to be settled before a packet of this pipe is looked at.
    settles: Option<u32>,
    /// For how long from its event on all is known that comes out of it, and where it goes nobody else comes: that
    /// may be done at once. 0: packets come out one at a time.
    lookahead_ns: u64,
    /// The pipe out of which all comes to the link that has to be settled.
    feeder: Option<u32>,
    /// Whose way ends at its end.
    exits: Exits,
    /// Where those answer whose packets end here, if that is a pipe of their own.
    answers: Option<Answers>,
    entered_pkts: u64,
    left_pkts: u64,
    /// By key and, among equal ones, in the order of arrival.
    late: BinaryHeap<Reverse<(u64, u64, Entry)>>,
}

impl Pipe {
    /// A pipe through which a packet takes `delay_ns` at least. `is_ahead`: packets are put in before they arrive.
    /// `settles` is the link whose law may still have to see them.
    pub fn new(delay_ns: u64, is_ahead: bool, settles: Option<u32>) -> Self {
        Self {
            next_key: u64::MAX,
            newest_key: 0,
            ring: vec![Entry::default(); 4],
            head: 0,
            len: 0,
            delay_ns,
            is_ahead,
            settles,
            lookahead_ns: 0,
            feeder: None,
            exits: Exits::default(),
            answers: None,
            entered_pkts: 0,
            left_pkts: 0,
            late: BinaryHeap::new(),
        }
    }

    /// Key of the first that comes out; `u64::MAX`: it is empty.
    #[inline]
    pub fn next_key(&self) -> u64 {
        self.next_key
    }

    /// Shortest time from end to end, in ns.
    #[inline]
    pub fn delay_ns(&self) -> u64 {
        self.delay_ns
    }

    /// Whether packets are put in before they arrive.
    pub fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Says for how long it may be looked ahead, and which pipe feeds the link that has to be settled.
    pub fn look_ahead(&mut self, lookahead_ns: u64, feeder: Option<u32>) {
        (self.lookahead_ns, self.feeder) = (lookahead_ns, feeder);
    }

    /// Says that each packet is looked at in its turn by the host at its end.
    pub fn keep_order(&mut self) {
        if self.exits.any() {
            self.lookahead_ns = 0;
        }
    }

    /// Says that each packet is looked at in its turn where it comes out: nothing is put in before it arrives, and
    /// nothing comes out before its time.
    pub fn keep_order_everywhere(&mut self) {
        (self.is_ahead, self.lookahead_ns) = (false, 0);
    }

    /// For how long it may be looked ahead.
    #[inline]
    pub fn lookahead_ns(&self) -> u64 {
        self.lookahead_ns
    }

    /// The pipe out of which all comes to the link that has to be settled.
    #[inline]
    pub fn feeder(&self) -> Option<u32> {
        self.feeder
    }

    /// Says that the way of data or of ACKs ends at its end, and whether that is of a flow that begins anew.
    pub fn make_exit(&mut self, is_data: bool, reopens: bool) {
        self.exits.data |= is_data;
        self.exits.acks |= !is_data;
        self.exits.reopens |= reopens;
    }

    /// Whose way ends at its end.
    #[inline]
    pub fn exits(&self) -> Exits {
        self.exits
    }

    /// Says where those answer whose packets end at its end.
    pub fn set_answers(&mut self, answers: Answers) {
        self.answers = Some(answers);
    }

    /// Where they do, if that is a pipe of their own.
    #[inline]
    pub fn answers(&self) -> Option<Answers> {
        self.answers
    }

    /// The one that comes out after `after` others, as far as is known.
    #[inline]
    pub fn upcoming(&self, after: usize) -> Option<&Entry> {
        (after < self.len).then(|| &self.ring[self.slot(after)])
    }

    /// The link that has to be settled before a packet of this pipe is looked at.
    #[inline]
    pub fn settles(&self) -> Option<u32> {
        self.settles
    }

    /// All that is in it, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let in_ring = (0..self.len).map(|index| &self.ring[self.slot(index)]);
        in_ring.chain(self.late.iter().map(|late| &late.0.2))
    }

    /// Packets in it.
    pub fn held_pkts(&self) -> u64 {
        (self.len + self.late.len()) as u64
    }

    /// Whether what came in is what went out and what is there: a count of events, and one of entries.
    pub fn is_conserved(&self) -> bool {
        self.entered_pkts == self.left_pkts + self.held_pkts()
    }

    /// Takes a packet. Returns whether it comes out first.
    #[inline(always)]
    pub fn push(&mut self, key: u64, arrived_ns: u64, parcel: Parcel) -> bool {
        self.entered_pkts += 1;
        if self.len == self.ring.len() {
            self.grow();
        }
        if key < self.newest_key {
            self.push_between(key, arrived_ns, parcel);
        } else {
            self.newest_key = key;
            let slot = self.slot(self.len);
            self.ring[slot] = Entry {
                key,
                arrived_ns,
                parcel,
            };
            self.len += 1;
        }
        if key < self.next_key {
            self.next_key = key;
            return true;
        }
        false
    }

    /// Gives the first packet, and when it went in. To be called only where there is one.
    #[inline(always)]
    pub fn pop(&mut self) -> (u64, Parcel) {
        self.left_pkts += 1;
        let Entry { arrived_ns, parcel, .. } = self.ring[self.head & (self.ring.len() - 1)];
        self.head = self.slot(1);
        self.len -= 1;
        self.next_key = self.ring_key();
        if !self.late.is_empty() {
            self.bring_forward();
            self.next_key = self.ring_key();
        }
        (arrived_ns, parcel)
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        (self.head + index) & (self.ring.len() - 1)
    }

    #[inline]
    fn ring_key(&self) -> u64 {
        if self.len == 0 {
            u64::MAX
        } else {
            self.ring[self.slot(0)].key
        }
    }

    fn late_key(&self) -> u64 {
        self.late.peek().map_or(u64::MAX, |late| late.0.0)
    }

    /// A packet that comes out before others that came in earlier. While there is a heap it goes there, so that none of
    /// the ring is younger than one of the heap with the same key.
    #[inline(never)]
    fn push_between(&mut self, key: u64, arrived_ns: u64, parcel: Parcel) {
        let entry = Entry {
            key,
            arrived_ns,
            parcel,
        };
        let later = |at: usize| self.ring[self.slot(at - 1)].key > key;
        let mut at = self.len;
        while self.late.is_empty() && at > 0 && self.len - at < SHIFTS_MAX && later(at) {
            at -= 1;
        }
        if !self.late.is_empty() || at > 0 && later(at) {
            self.late.push(Reverse((key, self.entered_pkts, entry)));
            self.bring_forward();
            return;
        }
        for index in (at..self.len).rev() {
            let (from, to) = (self.slot(index), self.slot(index + 1));
            self.ring[to] = self.ring[from];
        }
        let slot = self.slot(at);
        self.ring[slot] = entry;
        self.len += 1;
    }

    /// Moves the first of the heap into the ring, if it is the first of all, so that this always is in the ring.
    #[inline(never)]
    fn bring_forward(&mut self) {
        if self.late_key() >= self.ring_key() {
            return;
        }
        if self.len == self.ring.len() {
            self.grow();
        }
        if let Some(Reverse((_, _, entry))) = self.late.pop() {
            self.head = self.head.wrapping_sub(1) & (self.ring.len() - 1);
            let slot = self.slot(0);
            self.ring[slot] = entry;
            self.len += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.ring.rotate_left(self.head);
        self.head = 0;
        self.ring.resize(self.ring.len() * 2, Entry::default());
    }

    /// Hastens the first packet, to show that this is seen.
    #[cfg(feature = "fault-injection")]
    pub fn hasten(&mut self, ns: u64) -> bool {
        let slot = self.slot(0);
        self.ring[slot].arrived_ns += ns;
        self.len > 0
    }

    /// Counts a packet as gone that is not, to show that this is seen.
    #[cfg(feature = "fault-injection")]
    pub fn miscount(&mut self) {
        self.left_pkts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;

    #[test]
    fn what_comes_first_goes_first() {
        // Goal: whatever the disorder of the keys, packets come out by key and, among equal ones, as they came in: as
        // from a list that is searched. No key is before the last one that came out.
        let mut random = Stream::new(5, "pipe test");
        for spread in [1, 3, 40, 2000] {
            let (mut pipe, mut list) = (Pipe::new(0, false, None), Vec::new());
            let mut now = 0;
            for id in 0..20_000u32 {
                let jump = if random.below(30) == 0 { 50 } else { 1 };
                let key = now + spread + random.below(spread) * jump;
                let parcel = Parcel::new(id, 0, 0);
                let is_first = list.iter().all(|&(other, _)| key < other);
                assert_eq!(pipe.push(key, now, parcel), is_first);
                list.push((key, id));
                while list.len() > 60 || random.below(3) == 0 && !list.is_empty() {
                    let first = *list.iter().min().expect("not empty");
                    assert_eq!(pipe.next_key(), first.0);
                    assert_eq!(pipe.pop().1.id(), first.1);
                    list.retain(|&other| other != first);
                    now = first.0;
                }
                assert_eq!(pipe.held_pkts(), list.len() as u64);
                assert!(pipe.is_conserved());
            }
        }
    }
}
