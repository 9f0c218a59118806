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
    /// A SACK block arrived. Returns how many segments it newly reports, and keeps `arrived` up to date.
    pub fn sack(&mut self, (start, end): Range, arrived: &mut Arrived) -> u32 {
        let (start, end) = (start.max(self.una), end.min(self.nxt));
        if start >= end {
            return 0;
        }
        let mut news: [Range; 8] = [(0, 0); 8];
        let (mut count, mut rest) = (0, None);
        let mut sacked = std::mem::take(&mut self.sacked);
        sacked.insert((start, end), |range| {
            if count < news.len() {
                news[count] = range;
                count += 1;
            } else {
                rest.get_or_insert_with(Vec::new).push(range);
            }
        });
        self.sacked = sacked;
        let mut reported = 0;
        for &(from, to) in news[..count].iter().chain(rest.iter().flatten()) {
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
            arrived.highest = arrived.highest.max(Some(to - 1));
            reported += to - from;
        }
        reported
    }
}
