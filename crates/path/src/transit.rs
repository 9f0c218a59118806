//! What a node has to do, whatever its shape, and what it answers.

use fadelab_phy::channel::PacketKind;

use crate::counters::LinkCounters;
use crate::histogram::Histogram;
use crate::packet::{Parcel, Store};
use crate::violation::Checked;

/// What became of an arrival. Two words, which calls hand over in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It will be at the far end at `due_ns`, whatever comes after it, and is the caller's again from then on.
    Leaves {
        /// When.
        due_ns: u64,
    },
    /// It is lost on the air, and would have been at the far end at `due_ns`; the caller's again from then on.
    Lost {
        /// When.
        due_ns: u64,
    },
    /// It is on its way, and comes out of a service; [`Node::next_due`](crate::node::Node::next_due) may have moved to
    /// an earlier time.
    Taken,
    /// It was dropped, and nothing else happened; the packet is the caller's again.
    Dropped,
}

/// What a service brought out of the node. The packet is the caller's again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Nothing: a timer ran.
    None,
    /// A packet at the far end.
    Delivered(Parcel),
    /// A packet lost on the air.
    Lost(Parcel),
    /// One that had been taken and was dropped since: by the law when it left the queue, or to make room.
    Dropped(Parcel),
}

/// What can go wrong inside a node, for the tests that show that it stops a run.
#[cfg(feature = "fault-injection")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeFault {
    /// A packet arrives at the far end before its propagation is over.
    Early,
    /// A packet vanishes from the node without being counted.
    Vanishes,
    /// Bytes vanish from the count of what waits.
    LosesBytes,
    /// Two packets are transmitted at once.
    Overlaps,
    /// More packets wait than the buffer holds.
    Overfills,
}

/// What a node does; [`Node`](crate::node::Node) has the same, with what is said about it.
pub(crate) trait Transit {
    fn name(&self) -> &str;
    fn arrive(&mut self, now_ns: u64, parcel: Parcel, kind: PacketKind, store: &mut impl Store) -> Checked<Arrival>;
    fn next_due(&self) -> u64;
    fn service(&mut self, due_ns: u64, store: &mut impl Store) -> Checked<Departure>;
    fn settle(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()>;
    fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters>;
    fn count_delays(&mut self, classes: usize);
    fn arrive_of_class(
        &mut self,
        now_ns: u64,
        parcel: Parcel,
        class: u8,
        kind: PacketKind,
        store: &mut impl Store,
    ) -> Checked<Arrival>;
    fn forget_delays(&mut self);
    fn delays(&mut self) -> Vec<Histogram>;
    fn held_pkts(&self) -> u64;
    fn prepare(&mut self, kind: PacketKind, ip_bytes: u16);
    fn prepare_all(&mut self, ip_bytes_max: u16);
    fn free_ns(&self) -> u64;
    fn sees_departures(&self) -> bool;
    fn holds_state(&self, address: usize) -> bool;
    fn watch(&self, values: &mut Vec<u64>);
    #[cfg(feature = "fault-injection")]
    fn break_invariant(&mut self, fault: NodeFault) -> bool;
}
