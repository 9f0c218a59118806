//! What SACK blocks tell: which segments arrived out of order.

use super::{Scoreboard, is};
use crate::ranges::Range;

/// Of the segments that an ACK told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The one that was sent last.
    pub newest: Option<u32>,
    /// The first of those that SACK blocks newly told of and that were sent once: its round trip is known.
    pub first_once: Option<u32>,
    /// The highest of those that SACK blocks newly told of.
    pub highest: Option<u32>,
}

impl Scoreboard {
    /// SACK blocks arrived. Returns how many segments they newly report, and keeps `arrived` up to date.
    ///
    /// All but the first one are nearly always those of the ACK before, which have nothing new.
    pub fn take_blocks(&mut self, blocks: &[Range], arrived: &mut Arrived) -> u32 {
        let mut reported = 0;
        for (place, &block) in blocks.iter().enumerate() {
            let before = &mut self.blocks.get_or_insert_default()[place];
            if std::mem::replace(before, block) != block {
                reported += self.sack(block, arrived);
            }
        }
        reported
    }

    fn sack(&mut self, (start, end): Range, arrived: &mut Arrived) -> u32 {
        let (start, end) = (start.max(self.una), end.min(self.nxt));
        if start >= end {
            return 0;
        }
        match self.sacked.insert_apart((start, end)) {
            Some(news) => self.note_sacked(news, arrived),
            None => self.sack_across((start, end), arrived),
        }
    }

    /// A block that reaches from one range that was known into another.
    #[inline(never)]
    fn sack_across(&mut self, block: Range, arrived: &mut Arrived) -> u32 {
        let (mut from, mut reported) = (block.0, 0);
        while let Some(news) = self.sacked.first_missing((from, block.1)) {
            reported += self.note_sacked(news, arrived);
            from = news.1;
        }
        self.sacked.insert(block);
        reported
    }

    #[inline]
    fn note_sacked(&mut self, (from, to): Range, arrived: &mut Arrived) -> u32 {
        for seq in from..to {
            self.leave(seq, &mut arrived.newest);
            let flags = &mut self.segment_mut(seq).in_flight_and_flags;
            *flags |= is::SACKED;
            if *flags & is::REPEATED == 0 && arrived.first_once.is_none_or(|first| seq < first) {
                arrived.first_once = Some(seq);
            }
            self.sacked_pkts += 1;
            self.frontier_sacked += u32::from(seq >= self.frontier);
        }
        if from < to {
            arrived.highest = arrived.highest.max(Some(to - 1));
        }
        to - from
    }
}
