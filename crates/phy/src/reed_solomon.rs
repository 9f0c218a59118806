//! Reed-Solomon codes of packets: how long a packet is on the air and which byte errors it survives.
//!
//! A word of `b` bytes, `k` of them data, survives `t_C = floor((b - k) / 2)` wrong bytes (VCP, appendix, section B).
//! A packet of `k` IP bytes at code rate `r` takes `b = round(k / r)` bytes on the air, in either mode:
//!
//! - *Ideal*: the packet is one word, as VCP computes. Over bytes no such word exists beyond 255 bytes.
//! - *GF(256)*: what can be built. The packet is cut into the fewest words of at most 255 bytes. Data bytes are dealt
//!   as evenly as possible, the larger shares first, and parity bytes likewise: 1040 bytes at rate 0.93 become three
//!   words of 224 bytes (16 of parity, 8 corrected) and two of 223 (15 of parity, 7 corrected). The words are
//!   interleaved byte by byte: on the air come the first bytes of all words, then the second bytes, and so on, words
//!   that have ended left out. All of them must decode.

/// Most bytes in a word over GF(256).
pub const WORD_BYTES_MAX: u32 = 255;

/// A Reed-Solomon word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Bytes on the air, parity included (VCP: b).
    pub bytes: u32,
    /// Data bytes (VCP: k).
    pub data_bytes: u32,
}

impl Word {
    /// Wrong bytes that the decoder corrects (VCP: `t_C`).
    pub fn correctable(self) -> u32 {
        (self.bytes - self.data_bytes) / 2
    }
}

/// Bytes on the air of a packet of `data_bytes` at `code_rate` in (0, 1]: rounded to the nearest byte.
pub fn coded_bytes(data_bytes: u32, code_rate: f64) -> u32 {
    libm::round(f64::from(data_bytes) / code_rate) as u32
}

/// The packet as one word, whatever its length.
pub fn ideal(data_bytes: u32, code_rate: f64) -> Word {
    Word {
        bytes: coded_bytes(data_bytes, code_rate),
        data_bytes,
    }
}

/// The packet cut into words over GF(256), the longest first. Empty for an empty packet.
///
/// For code rates of at least 0.1, the least that a channel allows, every word carries data.
pub fn gf256(data_bytes: u32, code_rate: f64) -> Vec<Word> {
    let parity_bytes = coded_bytes(data_bytes, code_rate) - data_bytes;
    let words = gf256_words(data_bytes, parity_bytes);
    let share = |total: u32, index: u32| total / words + u32::from(index < total % words);
    (0..words)
        .map(|index| {
            let data_bytes = share(data_bytes, index);
            Word {
                bytes: data_bytes + share(parity_bytes, index),
                data_bytes,
            }
        })
        .collect()
}

/// Fewest words so that the first, which has the largest shares of both kinds, is short enough.
fn gf256_words(data_bytes: u32, parity_bytes: u32) -> u32 {
    let mut words = (data_bytes + parity_bytes).div_ceil(WORD_BYTES_MAX);
    while words > 0 && data_bytes.div_ceil(words) + parity_bytes.div_ceil(words) > WORD_BYTES_MAX {
        words += 1;
    }
    words
}

/// Where the bytes of each word are in the packet on the air, counted from 0 and in order.
pub fn positions(words: &[Word]) -> Vec<Vec<u32>> {
    let mut positions: Vec<Vec<u32>> = words
        .iter()
        .map(|word| Vec::with_capacity(word.bytes as usize))
        .collect();
    let rounds = words.iter().map(|word| word.bytes).max().unwrap_or(0);
    let turns = (0..rounds).flat_map(|round| (0..words.len()).filter(move |&index| round < words[index].bytes));
    for (position, index) in (0..).zip(turns) {
        positions[index].push(position);
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_is_as_stated() {
        // Goal: 1040 bytes at rate 0.93 are cut as the module's text says, and an ACK stays whole.
        let word = |bytes, data_bytes| Word { bytes, data_bytes };
        let split = [
            word(224, 208),
            word(224, 208),
            word(224, 208),
            word(223, 208),
            word(223, 208),
        ];
        assert_eq!(gf256(1040, 0.93), split);
        assert_eq!(split.map(Word::correctable), [8, 8, 8, 7, 7]);
        assert_eq!(gf256(40, 0.5), [word(80, 40)]);
        assert_eq!(
            (ideal(1040, 0.93), ideal(1040, 0.93).correctable()),
            (word(1118, 1040), 39)
        );
    }

    #[test]
    fn words_cover_the_packet() {
        // Goal: for every size and rate, words carry all data and parity, fit into 255 bytes, differ as little as
        // stated, and their positions are each byte of the packet once.
        for data_bytes in (1..1600).step_by(7).chain([8960, 9000]) {
            for code_rate in [1.0, 0.97, 0.93, 0.8, 0.5, 0.1] {
                let words = gf256(data_bytes, code_rate);
                let total: u32 = words.iter().map(|word| word.bytes).sum();
                assert_eq!(total, coded_bytes(data_bytes, code_rate));
                assert_eq!(words.iter().map(|word| word.data_bytes).sum::<u32>(), data_bytes);
                assert!(
                    words
                        .iter()
                        .all(|word| word.bytes <= WORD_BYTES_MAX && word.data_bytes > 0)
                );
                let (first, last) = (words[0], words[words.len() - 1]);
                assert!(first.data_bytes - last.data_bytes <= 1 && first.bytes - last.bytes <= 2);
                let positions = positions(&words);
                assert!(positions.iter().all(|at| at.is_sorted()));
                let mut all: Vec<u32> = positions.concat();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..total));
            }
        }
    }
}
