//! `laws/law.h`, `laws/codec.h` and `laws/host` in Rust: the same structs, constants and tables, field by field.
//!
//! They are made from the header when this crate is built (`build/mirror.rs`), with its comments; a test compares every
//! offset, size and value with the C compiler's.
#![allow(unsafe_code)]
// Fields keep their C names: `Bps` is bytes per second, where `bps` would be bits.
#![allow(non_snake_case)]
// Its comments are written for readers of C.
#![allow(clippy::doc_markdown)]

mod header;
#[macro_use]
mod mirror;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_void};

pub use header::{Header, Identification};
pub(crate) use mirror::Described;

include!(concat!(env!("OUT_DIR"), "/mirror.rs"));

impl Control {
    /// Window and ssthresh of another.
    pub fn take_windows(&mut self, of: &Self) {
        (self.cwnd_pkts, self.cwnd_fraction) = (of.cwnd_pkts, of.cwnd_fraction);
        (self.ssthresh_pkts, self.ssthresh_fraction) = (of.ssthresh_pkts, of.ssthresh_fraction);
    }

    /// Window and ssthresh of another, each where it is larger than the own.
    pub fn keep_larger_windows(&mut self, of: &Self) {
        let larger = |own, other| std::cmp::max::<(u32, u32)>(own, other);
        let own = (self.cwnd_pkts, self.cwnd_fraction);
        (self.cwnd_pkts, self.cwnd_fraction) = larger(own, (of.cwnd_pkts, of.cwnd_fraction));
        let own = (self.ssthresh_pkts, self.ssthresh_fraction);
        (self.ssthresh_pkts, self.ssthresh_fraction) = larger(own, (of.ssthresh_pkts, of.ssthresh_fraction));
    }
}

impl Default for Feedback {
    fn default() -> Self {
        Self {
            bytes: [0; FEEDBACK_BYTES_MAX],
            len: 0,
            present: 0,
            confirmed: 0,
            reserved: 0,
            age_us: 0,
        }
    }
}
