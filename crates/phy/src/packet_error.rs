//! Loss of a packet by the errors of a two-state chain, with the chain's memory kept.
//!
//! # Exact
//!
//! A byte is wrong if one of its bits is. Over a byte the chain moves by the matrix `C` (all bits right) or `W` (some
//! bit wrong), entries by state before and after; `C + W` is the chain without regard to errors. With `S` the step of a
//! bit and `D` the diagonal of `1 - eps`, `C = (S D)^8`. A word of `b` bytes that corrects `t_C` is received with the
//! coefficients of `z^0` to `z^t_C` of the matrix polynomial `(C + z W)^b`. Here they are computed byte by byte for
//! each state before, together with the sum of all higher coefficients, so that every operation adds positive numbers:
//! small losses keep their digits. The result, a [`PacketLaw`], is the joint law of loss and state after, given the
//! state before. Without a code, `t_C = 0`.
//!
//! # Equation (6) of VCP, corrected
//!
//! VCP takes bytes as independent, with the chain's memory kept within a byte only:
//! `Psi = sum_{j=t_C+1}^{b} C(b,j) (1-phi)^j phi^{b-j}` with `phi = phi(8,8)`, the probability that a byte is right.
//! Printed is the sum with `phi` and `1 - phi` exchanged, which is about 1 for every code. [`hybrid`] has the corrected
//! form. It is close to the exact loss where losses are frequent and too small in the tail, by a factor of 3 and more.

use crate::gilbert_elliott::{BAD, BitChain, ByState, GOOD, Mixing, Transition, moved};
use crate::reed_solomon::Word;

/// Masses below this no longer change a sum; dropping them spares arithmetic on denormal numbers.
const NEGLIGIBLE: f64 = 1e-290;

/// A two-state chain seen byte by byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByteChain {
    /// A byte passes without error.
    pub correct: Transition,
    /// A byte passes with an error.
    pub wrong: Transition,
    /// Any number of bytes, errors or not.
    pub mixing: Mixing,
}

impl ByteChain {
    /// Eight bits of a chain over bits.
    pub fn from_bits(chain: &BitChain) -> Self {
        let mut correct = [[1.0, 0.0], [0.0, 1.0]];
        let mut wrong = [[0.0; 2]; 2];
        for _ in 0..8 {
            for from in [GOOD, BAD] {
                let (right, any) = (moved(correct[from], &chain.step), moved(wrong[from], &chain.step));
                for to in [GOOD, BAD] {
                    correct[from][to] = right[to] * (1.0 - chain.error[to]);
                    wrong[from][to] = any[to] + right[to] * chain.error[to];
                }
            }
        }
        Self {
            correct,
            wrong,
            mixing: chain.mixing.every(8),
        }
    }

    /// Probability that a byte is right when the chain is stationary (VCP: `phi(8,8)`).
    pub fn correct_stationary(&self) -> f64 {
        moved(self.mixing.stationary(), &self.correct).iter().sum()
    }
}

/// Joint law of a packet's loss and of the state after it, given the state before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketLaw {
    /// The packet is received.
    pub received: Transition,
    /// The packet is lost.
    pub lost: Transition,
}

impl PacketLaw {
    /// Probability of loss when the state before has the given law.
    pub fn loss(&self, before: ByState) -> f64 {
        moved(before, &self.lost).iter().sum::<f64>().min(1.0)
    }
}

/// The exact law of a packet that is one word.
pub fn word_law(chain: &ByteChain, word: Word) -> PacketLaw {
    let mut law = PacketLaw {
        received: [[0.0; 2]; 2],
        lost: [[0.0; 2]; 2],
    };
    let anything = chain.mixing.transition(1);
    for before in [GOOD, BAD] {
        let mut count = ErrorCount::starting_in(before, word.correctable());
        for _ in 0..word.bytes {
            count.add_byte(chain, &anything);
        }
        law.lost[before] = count.beyond;
        law.received[before] = count.within();
    }
    law
}

/// Loss by equation (6) of VCP, corrected: bytes are independent and right with probability `byte_correct`.
pub fn hybrid(byte_correct: f64, word: Word) -> f64 {
    // A chain whose states do not differ and that forgets at each byte.
    let split = |probability: f64| [[probability / 2.0; 2]; 2];
    let memoryless = ByteChain {
        correct: split(byte_correct),
        wrong: split(1.0 - byte_correct),
        mixing: Mixing::in_steps(0.5, 0.5),
    };
    word_law(&memoryless, word).loss(memoryless.mixing.stationary())
}

/// Law of the number of wrong bytes so far and the state now; numbers beyond a limit are one.
#[derive(Clone, Debug)]
pub(crate) struct ErrorCount {
    /// By number of wrong bytes, up to the limit.
    counts: Vec<ByState>,
    /// More wrong bytes than the limit.
    beyond: ByState,
    /// Lower numbers than `first` have negligible mass, and higher numbers than `last` have none yet.
    first: usize,
    last: usize,
}

impl ErrorCount {
    /// No byte yet, in a known state; numbers beyond `limit` are not told apart.
    pub(crate) fn starting_in(state: usize, limit: u32) -> Self {
        let mut counts = vec![[0.0; 2]; limit as usize + 1];
        counts[0][state] = 1.0;
        Self {
            counts,
            beyond: [0.0; 2],
            first: 0,
            last: 0,
        }
    }

    /// One byte that counts. `anything` is the chain over one byte.
    pub(crate) fn add_byte(&mut self, chain: &ByteChain, anything: &Transition) {
        let limit = self.counts.len() - 1;
        self.beyond = moved(self.beyond, anything);
        if self.last == limit {
            let over = moved(self.counts[limit], &chain.wrong);
            self.beyond = [self.beyond[GOOD] + over[GOOD], self.beyond[BAD] + over[BAD]];
        } else {
            self.last += 1;
        }
        // Downwards, so that each number still finds the old mass of the number below it.
        for number in (self.first + 1..=self.last).rev() {
            let (right, wrong) = (
                moved(self.counts[number], &chain.correct),
                moved(self.counts[number - 1], &chain.wrong),
            );
            self.counts[number] = [right[GOOD] + wrong[GOOD], right[BAD] + wrong[BAD]];
        }
        self.counts[self.first] = moved(self.counts[self.first], &chain.correct);
        while self.first < self.last && self.counts[self.first].iter().all(|&mass| mass < NEGLIGIBLE) {
            self.counts[self.first] = [0.0; 2];
            self.first += 1;
        }
    }

    /// Bytes that do not count: only the state moves.
    pub(crate) fn skip(&mut self, others: &Transition) {
        self.beyond = moved(self.beyond, others);
        for count in &mut self.counts[self.first..=self.last] {
            *count = moved(*count, others);
        }
    }

    /// Mass of all numbers beyond the limit, by state now.
    pub(crate) fn beyond(&self) -> ByState {
        self.beyond
    }

    /// Mass of all numbers up to the limit, by state now.
    fn within(&self) -> ByState {
        self.counts
            .iter()
            .fold([0.0; 2], |sum, count| [sum[GOOD] + count[GOOD], sum[BAD] + count[BAD]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays all patterns of errors of a word of two bytes: 16 bits, by the probability of each pattern.
    fn two_bytes_by_enumeration(chain: &BitChain, correctable: u32) -> PacketLaw {
        let mut law = PacketLaw {
            received: [[0.0; 2]; 2],
            lost: [[0.0; 2]; 2],
        };
        for before in [GOOD, BAD] {
            for pattern in 0..1u32 << 16 {
                let mut mass = [0.0; 2];
                mass[before] = 1.0;
                for bit in 0..16 {
                    mass = moved(mass, &chain.step);
                    for state in [GOOD, BAD] {
                        let error = chain.error[state];
                        mass[state] *= if pattern >> bit & 1 == 1 { error } else { 1.0 - error };
                    }
                }
                let wrong_bytes = u32::from(pattern & 0xff != 0) + u32::from(pattern >> 8 != 0);
                let side = if wrong_bytes > correctable {
                    &mut law.lost
                } else {
                    &mut law.received
                };
                side[before][GOOD] += mass[GOOD];
                side[before][BAD] += mass[BAD];
            }
        }
        law
    }

    #[test]
    fn small_words_equal_enumeration() {
        // Goal: the joint law of loss and state after is exact, against every pattern of errors of 16 bits.
        let chain = BitChain::from_bursts(30.0, 4.0, [0.01, 0.2]);
        for correctable in 0..=2 {
            let word = Word {
                bytes: 2,
                data_bytes: 2,
            };
            let exact = two_bytes_by_enumeration(&chain, correctable);
            let bytes = ByteChain::from_bits(&chain);
            let mut law = word_law(&bytes, word);
            if correctable > 0 {
                law = law_with_limit(&bytes, 2, correctable);
            }
            for (from, to) in [(GOOD, GOOD), (GOOD, BAD), (BAD, GOOD), (BAD, BAD)] {
                assert!(
                    (law.lost[from][to] - exact.lost[from][to]).abs() < 1e-13,
                    "{correctable}"
                );
                assert!(
                    (law.received[from][to] - exact.received[from][to]).abs() < 1e-13,
                    "{correctable}"
                );
            }
        }
    }

    /// A law whose limit is not tied to parity, so that two bytes suffice to reach every branch of the count.
    fn law_with_limit(chain: &ByteChain, bytes: u32, limit: u32) -> PacketLaw {
        let mut law = PacketLaw {
            received: [[0.0; 2]; 2],
            lost: [[0.0; 2]; 2],
        };
        for before in [GOOD, BAD] {
            let mut count = ErrorCount::starting_in(before, limit);
            for _ in 0..bytes {
                count.add_byte(chain, &chain.mixing.transition(1));
            }
            (law.received[before], law.lost[before]) = (count.within(), count.beyond);
        }
        law
    }

    /// Loss of a word from the stationary chain, bit by bit: by state, whether the byte at hand is wrong already, and
    /// the number of wrong bytes before.
    fn loss_bit_by_bit(chain: &BitChain, word: Word) -> f64 {
        let limit = word.correctable() as usize;
        let mut masses = vec![[[0.0; 2]; 2]; limit + 2];
        masses[0][0] = chain.mixing.stationary();
        for bit in 0..word.bytes * 8 {
            for mass in &mut masses {
                let [clean, dirty] = mass.map(|by_state| moved(by_state, &chain.step));
                for state in [GOOD, BAD] {
                    mass[0][state] = clean[state] * (1.0 - chain.error[state]);
                    mass[1][state] = dirty[state] + clean[state] * chain.error[state];
                }
            }
            if bit % 8 == 7 {
                for number in (0..masses.len()).rev() {
                    let dirty = std::mem::take(&mut masses[number][1]);
                    let next = (number + 1).min(limit + 1);
                    masses[next][0] = [masses[next][0][GOOD] + dirty[GOOD], masses[next][0][BAD] + dirty[BAD]];
                }
            }
        }
        masses[limit + 1][0].iter().sum()
    }

    #[test]
    fn long_words_equal_a_count_bit_by_bit() {
        // Goal: words of a packet's length lose what a count over bits, without matrices of bytes, says, large and
        // small.
        for (error, bytes, data_bytes) in [
            ([2.481_404_9e-3, 2.326_870_5e-2], 1118, 1040),
            ([1.599_101_1e-3, 5.81e-2], 1118, 1040),
            ([3.72e-3, 1.47e-1], 80, 40),
            ([2.2e-12, 2.04e-8], 1040, 1040),
        ] {
            let (chain, word) = (BitChain::from_bursts(800.0, 8.0, error), Word { bytes, data_bytes });
            let law = word_law(&ByteChain::from_bits(&chain), word);
            let (loss, by_bits) = (law.loss(chain.mixing.stationary()), loss_bit_by_bit(&chain, word));
            assert!((loss / by_bits - 1.0).abs() < 1e-10, "{word:?}: {loss:e} {by_bits:e}");
        }
    }

    #[test]
    fn byte_of_the_chain_is_phi_of_the_paper() {
        // Goal: the byte chain's stationary probability of a right byte is phi(8,8) of equations (2) to (5).
        let chain = BitChain::from_bursts(800.0, 8.0, [2.48e-3, 2.33e-2]);
        let phi: f64 = chain.received(8, 8).iter().sum();
        assert!((ByteChain::from_bits(&chain).correct_stationary() - phi).abs() < 1e-15);
    }

    #[test]
    fn rows_of_a_law_sum_to_one() {
        // Goal: neither the limit nor the dropping of negligible masses loses probability, in long words with many
        // errors.
        for (error, data_bytes) in [([1e-9, 1e-7], 1040), ([0.02, 0.3], 1040), ([0.3, 0.5], 3000)] {
            let chain = ByteChain::from_bits(&BitChain::from_bursts(800.0, 8.0, error));
            let law = word_law(
                &chain,
                Word {
                    bytes: data_bytes * 5 / 4,
                    data_bytes,
                },
            );
            for from in [GOOD, BAD] {
                let sum: f64 = law.lost[from].iter().chain(&law.received[from]).sum();
                assert!((sum - 1.0).abs() < 1e-11, "{error:?}: {sum}");
            }
        }
    }
}
