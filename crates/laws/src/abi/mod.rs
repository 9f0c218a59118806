//! `laws/law.h`, `laws/codec.h` and `laws/host` in Rust: the same structs, constants and tables, field by field.
//!
//! They are made from the header when this crate is built (`build/mirror.rs`), with its comments; a test compares every
//! offset, size and value with the C compiler's.
#![allow(unsafe_code)]
// Fields keep their C names: `Bps` is bytes per second, where `bps` would be bits.
#![allow(non_snake_case)]
// What law.h leaves without a comment says by its name what it is.
#![allow(missing_docs)]
// Its comments are written for readers of C.
#![allow(clippy::doc_markdown)]

mod header;
#[macro_use]
mod mirror;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_void};

pub use header::Header;
pub(crate) use mirror::Described;

include!(concat!(env!("OUT_DIR"), "/mirror.rs"));

impl Default for Feedback {
    fn default() -> Self {
        Self {
            bytes: [0; FEEDBACK_BYTES_MAX],
            len: 0,
            present: 0,
            reserved: 0,
            age_us: 0,
        }
    }
}
