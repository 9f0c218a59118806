//! What is out of order at a receiver, and the SACK blocks that tell of it (RFC 2018, section 4).

use super::NO_SEGMENT;
use crate::packet::SACK_BLOCKS_MAX;
use crate::ranges::{Range, RangeSet};

/// See the module's documentation.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct OutOfOrder {
    segments: RangeSet,
    /// Apart, so that a receiver without holes is small. It is there as soon as there are segments.
    blocks: Option<Box<Blocks>>,
}

/// Behind a hole most segments come in order: they lengthen the block that the ACK before told of first, and all else
/// that it told stays.
#[derive(Debug)]
struct Blocks {
    /// A segment of each of the blocks that changed last, the last one first.
    recent: [u32; SACK_BLOCKS_MAX],
    told: [Range; SACK_BLOCKS_MAX],
    /// 0 where they have to be found.
    told_n: usize,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            recent: [NO_SEGMENT; SACK_BLOCKS_MAX],
            told: Default::default(),
            told_n: 0,
        }
    }
}

impl OutOfOrder {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segment `seq` arrived, though not the one before. Returns whether it was not there yet.
    #[inline]
    pub fn insert(&mut self, seq: u32) -> bool {
        let blocks = self.blocks.get_or_insert_default();
        if seq.wrapping_sub(1) == blocks.recent[0] && self.segments.lengthen_last(seq) {
            (blocks.recent[0], blocks.told[0].1) = (seq, seq + 1);
            return true;
        }
        let is_new = self.segments.insert((seq, seq + 1)) > 0;
        blocks.make_recent(seq, &self.segments);
        is_new
    }

    /// All below `nxt` arrived in order. Returns the next segment that did not.
    pub fn join(&mut self, nxt: u32) -> u32 {
        match self.segments.first() {
            Some((start, end)) if start == nxt => {
                self.segments.remove_below(end);
                if let Some(blocks) = &mut self.blocks {
                    blocks.told_n = 0;
                }
                end
            }
            _ => nxt,
        }
    }

    /// The blocks that changed last, the last one first, and how many they are.
    #[inline]
    pub fn blocks(&mut self) -> ([Range; SACK_BLOCKS_MAX], usize) {
        let Some(blocks) = &mut self.blocks else {
            return Default::default();
        };
        if blocks.told_n == 0 {
            blocks.find(&self.segments);
        }
        (blocks.told, blocks.told_n)
    }
}

impl Blocks {
    #[inline(never)]
    fn find(&mut self, segments: &RangeSet) {
        for seq in &self.recent {
            if let Some(block) = segments.find(*seq)
                && !self.told[..self.told_n].contains(&block)
            {
                self.told[self.told_n] = block;
                self.told_n += 1;
            }
        }
        self.told[self.told_n..].fill((0, 0));
    }

    fn make_recent(&mut self, seq: u32, segments: &RangeSet) {
        let block = segments.find(seq);
        let keep = self.recent.iter().position(|&old| segments.find(old) == block);
        let until = keep.unwrap_or(SACK_BLOCKS_MAX - 1);
        self.recent.copy_within(0..until, 1);
        self.recent[0] = seq;
        self.told_n = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;

    #[test]
    fn what_is_kept_is_what_would_be_found() {
        // Goal: whatever order segments come in, the blocks that were kept from the ACK before and lengthened since are
        // those that a search gives, and the first of them has the segment that came last.
        let mut random = Stream::new(1, "blocks test");
        let (mut held, mut nxt, mut next_sent, mut kept) = (OutOfOrder::default(), 0, 0, 0);
        for _ in 0..20_000 {
            next_sent += 1;
            match random.below(12) {
                0 => continue,
                1 => nxt = held.join(nxt + 1),
                2 => next_sent = nxt + random.below(20) as u32,
                _ => {}
            }
            if next_sent <= nxt {
                nxt = held.join(nxt.max(next_sent));
                next_sent = nxt + 1;
            }
            held.insert(next_sent);
            kept += u32::from(held.blocks.as_ref().unwrap().told_n > 0);
            let told = held.blocks();
            assert!((told.0[0].0..told.0[0].1).contains(&next_sent), "{told:?} {next_sent}");
            held.blocks.as_mut().unwrap().told_n = 0;
            assert_eq!(told, held.blocks());
        }
        assert!(kept > 5_000, "{kept} of 20000");
    }
}
