//! What a law that asks for each lost segment is told of it. Kept beside the scoreboard, and for such laws alone.

use super::{Scoreboard, Segment, is};

/// Totals of the connection when a segment left.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    lost_pkts: u32,
    marked_pkts: u32,
}

/// A segment that was just found lost, as it was when it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub retransmission: bool,
    pub sent_ns: u64,
    /// Without it.
    pub in_flight_pkts: u32,
    /// Since it left.
    pub delivered_pkts: u32,
    /// Since it left, with it.
    pub lost_pkts: u32,
    /// Marks of the whole connection when it left.
    pub marked_total_pkts: u32,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Departures {
    lost_pkts: u32,
    marked_pkts: u32,
    /// Of each outstanding segment, at its place on the scoreboard.
    totals: Vec<Totals>,
    found: Vec<Found>,
}

impl Departures {
    /// A segment leaves, with its place among `len`.
    pub fn note(&mut self, place: usize) {
        self.totals[place] = Totals {
            lost_pkts: self.lost_pkts,
            marked_pkts: self.marked_pkts,
        };
    }

    /// The scoreboard has `len` places now; `moved` says where what stands at a place came from.
    pub fn grow(&mut self, len: usize, moved: impl Iterator<Item = (usize, usize)>) {
        let mut totals = vec![Totals::default(); len];
        for (to, from) in moved {
            totals[to] = self.totals[from];
        }
        self.totals = totals;
    }

    fn find(&mut self, place: usize, segment: &Segment, delivered_pkts: u32, retransmission: bool) {
        self.lost_pkts = self.lost_pkts.wrapping_add(1);
        let then = self.totals[place];
        self.found.push(Found {
            retransmission,
            sent_ns: segment.sent_ns,
            in_flight_pkts: segment.in_flight_and_flags & !is::ALL,
            delivered_pkts: delivered_pkts.wrapping_sub(segment.delivered_pkts),
            lost_pkts: self.lost_pkts.wrapping_sub(then.lost_pkts),
            marked_total_pkts: then.marked_pkts,
        });
    }
}

impl Scoreboard {
    /// A scoreboard which, if it `tells_losses`, keeps what [`Self::take_found`] gives.
    pub fn new(tells_losses: bool) -> Self {
        Self {
            departures: tells_losses.then(Box::default),
            ..Self::default()
        }
    }

    /// Segment `seq` leaves.
    #[cold]
    pub(super) fn note_departure(&mut self, seq: u32) {
        let place = self.index(seq);
        if let Some(departures) = &mut self.departures {
            departures.note(place);
        }
    }

    /// Marks of the connection so far, of which segments that leave from now on take note.
    pub fn note_marks(&mut self, marked_pkts: u32) {
        if let Some(departures) = &mut self.departures {
            departures.marked_pkts = marked_pkts;
        }
    }

    /// A new connection: its totals begin at 0.
    pub(super) fn restart_departures(&mut self) {
        if let Some(departures) = &mut self.departures {
            (departures.lost_pkts, departures.marked_pkts) = (0, 0);
        }
    }

    /// Whether segments were found lost that nobody was told of.
    #[inline]
    pub fn has_found(&self) -> bool {
        self.departures
            .as_ref()
            .is_some_and(|departures| !departures.found.is_empty())
    }

    /// The segments found lost since this was asked last, in the order in which they were.
    pub fn take_found(&mut self) -> Vec<Found> {
        let departures = self.departures.as_mut();
        departures.map_or_else(Vec::new, |departures| std::mem::take(&mut departures.found))
    }

    /// Segment `seq` is found lost, or its repetition is.
    #[inline]
    pub(super) fn find(&mut self, seq: u32, retransmission: bool) {
        if self.departures.is_some() {
            self.find_lost(seq, retransmission);
        }
    }

    #[cold]
    fn find_lost(&mut self, seq: u32, retransmission: bool) {
        let (place, segment, delivered_pkts) = (self.index(seq), *self.segment(seq), self.delivered_pkts);
        if let Some(departures) = &mut self.departures {
            departures.find(place, &segment, delivered_pkts, retransmission);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::scoreboard::Sampling;

    #[test]
    fn marks_begin_with_their_connection() {
        // Goal: a segment that a second connection loses left when that one had no marks, though the first had three.
        let mut board = Scoreboard::new(true);
        board.note_marks(3);
        board.send_new(0, Sampling::None);
        board.acknowledge(1);
        board.restart_count();
        board.send_new(1, Sampling::None);
        board.mark_all_lost();
        let marks: Vec<u32> = board.take_found().iter().map(|found| found.marked_total_pkts).collect();
        assert_eq!(marks, [0]);
    }
}
