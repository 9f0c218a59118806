//! What the fuzzers share with the tests of `crates/scenario`.

pub mod mutate;
pub mod properties;
