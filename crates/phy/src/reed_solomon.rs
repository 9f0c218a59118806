//! Reed-Solomon codes of packets: how long a packet is on the air and which byte errors it survives.
//!
//! A word of `b` bytes, `k` of them data, survives `t_C = floor((b - k) / 2)` wrong bytes (VCP, appendix, section B).
//! A packet of `k` IP bytes at code rate `r` takes `b = round(k / r)` bytes on the air, in either mode:
//!
//! - *Ideal*: the packet is one word, as VCP computes. Over bytes no such word exists beyond 255 bytes.
//! - *GF(256)*: what can be built. The packet is cut into the fewest words of at most 255 bytes. Data bytes are dealt as
//!   evenly as possible, the larger shares first, and parity bytes likewise: 1040 bytes at rate 0.93 become three words
//!   of 224 bytes (16 of parity, 8 corrected) and two of 223 (15 of parity, 7 corrected). The words are interleaved byte
//!   by byte, and all of them must decode.

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
/// Never cuts below one data byte a word, which `code_rate` of at least 1/255 makes sufficient.
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
