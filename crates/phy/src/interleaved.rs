//! Loss of a packet that is coded in several interleaved words over GF(256).
//!
//! All words must decode. Their wrong bytes are dependent, because neighbouring bytes share the chain's states. The exact
//! joint count grows with `(t_C + 1)` to the number of words and is out of reach. What is computed: the packet is cut
//! into [`SEGMENTS`] equal segments, and words are taken as independent *given the chain's states at the ends of all
//! segments*, from which each word's count is exact. Two limits are exact: bursts that are short against a segment do
//! not tie words together, and bursts that are long against a packet are known from the ends. In between, a change of
//! state is placed within an eighth of the packet. The tests compare with a simulation bit by bit.
//!
//! One word, and words that correct nothing (then any wrong byte loses the packet), are computed exactly.

use crate::gilbert_elliott::{BAD, GOOD, Transition};
use crate::packet_error::{ByteChain, ErrorCount, PacketLaw, word_law};
use crate::reed_solomon::{Word, positions};

/// Equal parts of a packet at whose ends the state is conditioned on.
pub const SEGMENTS: usize = 8;

/// The law of a packet of interleaved words.
pub fn words_law(chain: &ByteChain, words: &[Word]) -> PacketLaw {
    let bytes: u32 = words.iter().map(|word| word.bytes).sum();
    if words.len() <= 1 || words.iter().all(|word| word.correctable() == 0) {
        let data_bytes = words.iter().map(|word| word.data_bytes).sum();
        let data_bytes = if words.len() <= 1 { data_bytes } else { bytes };
        return word_law(chain, Word { bytes, data_bytes });
    }
    let cuts: Vec<u32> = (0..=SEGMENTS as u32).map(|cut| bytes * cut / SEGMENTS as u32).collect();
    let positions = positions(words);
    let segments: Vec<Segment> = cuts
        .windows(2)
        .map(|ends| Segment {
            transition: chain.mixing.transition(u64::from(ends[1] - ends[0])),
            words: words
                .iter()
                .zip(&positions)
                .map(|(word, at)| SegmentWord::new(chain, word.correctable(), at, ends[0], ends[1]))
                .collect(),
        })
        .collect();
    let mut paths = Paths {
        levels: vec![words.iter().map(|word| WordCount::none(word.correctable())).collect(); SEGMENTS + 1],
        law: PacketLaw {
            received: [[0.0; 2]; 2],
            lost: [[0.0; 2]; 2],
        },
        segments,
    };
    for before in [GOOD, BAD] {
        paths.follow(before, before, 0, 1.0);
    }
    paths.law
}

/// Number of wrong bytes of a word: probabilities up to its limit and beyond.
#[derive(Clone, Debug)]
struct WordCount {
    within: Vec<f64>,
    beyond: f64,
}

impl WordCount {
    /// No wrong byte.
    fn none(limit: u32) -> Self {
        let mut within = vec![0.0; limit as usize + 1];
        within[0] = 1.0;
        Self { within, beyond: 0.0 }
    }

    /// Becomes the sum of two independent counts with the same limit.
    fn set_sum(&mut self, one: &Self, other: &Self) {
        let limit = self.within.len() - 1;
        self.within.fill(0.0);
        // Either part beyond the limit already, or both within and their sum beyond.
        self.beyond = one.beyond + other.beyond * (1.0 - one.beyond);
        for (i, &p) in one.within.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for (slot, &q) in self.within[i..].iter_mut().zip(&other.within) {
                *slot += p * q;
            }
            self.beyond += p * other.within[limit + 1 - i..].iter().sum::<f64>();
        }
    }
}

/// A word's count over a segment, given the states at both ends.
#[derive(Clone, Debug)]
struct SegmentWord {
    given_ends: [[WordCount; 2]; 2],
}

impl SegmentWord {
    /// Counts the bytes of a word, at the positions `at` of the packet, that lie in `[begin, end)`.
    fn new(chain: &ByteChain, limit: u32, at: &[u32], begin: u32, end: u32) -> Self {
        let anything = chain.mixing.transition(1);
        let own = &at[at.partition_point(|&p| p < begin)..at.partition_point(|&p| p < end)];
        let given_start = [GOOD, BAD].map(|start| {
            let mut count = ErrorCount::starting_in(start, limit);
            let mut here = begin;
            for &position in own {
                count.skip(&chain.mixing.transition(u64::from(position - here)));
                count.add_byte(chain, &anything);
                here = position + 1;
            }
            count.skip(&chain.mixing.transition(u64::from(end - here)));
            count
        });
        Self {
            given_ends: given_start.map(|count| [GOOD, BAD].map(|state| given_end(&count, state))),
        }
    }
}

/// The count of those paths that end in a state. An impossible end gives zeros, which its zero weight hides.
fn given_end(count: &ErrorCount, state: usize) -> WordCount {
    let (within, beyond) = count.ending_in(state);
    let within: Vec<f64> = within.collect();
    let total = within.iter().sum::<f64>() + beyond;
    let share = if total > 0.0 { 1.0 / total } else { 0.0 };
    WordCount {
        within: within.iter().map(|mass| mass * share).collect(),
        beyond: beyond * share,
    }
}

/// A part of the packet.
struct Segment {
    transition: Transition,
    words: Vec<SegmentWord>,
}

/// Walks through all paths of states at the ends of segments.
struct Paths {
    segments: Vec<Segment>,
    /// Counts of each word over the first segments, by number of segments.
    levels: Vec<Vec<WordCount>>,
    law: PacketLaw,
}

impl Paths {
    /// Continues a path that began in `before` and is in `state` after `depth` segments, with probability `weight`.
    fn follow(&mut self, before: usize, state: usize, depth: usize, weight: f64) {
        if depth == self.segments.len() {
            // The probability that some word fails is summed up from positive terms, so that small ones keep their digits.
            let lost = self.levels[depth]
                .iter()
                .fold(0.0, |lost, word| lost + word.beyond * (1.0 - lost));
            self.law.lost[before][state] += weight * lost;
            self.law.received[before][state] += weight * (1.0 - lost);
            return;
        }
        for next in [GOOD, BAD] {
            let probability = self.segments[depth].transition[state][next];
            if probability > 0.0 {
                let (done, ahead) = self.levels.split_at_mut(depth + 1);
                for ((sum, so_far), segment) in ahead[0].iter_mut().zip(&done[depth]).zip(&self.segments[depth].words) {
                    sum.set_sum(so_far, &segment.given_ends[state][next]);
                }
                self.follow(before, next, depth + 1, weight * probability);
            }
        }
    }
}
