//! The parser of scenarios: the input is a file.
#![no_main]

use fadelab_fuzz::{in_place, properties};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| properties::scenario(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, size_max: usize, seed: u32| {
    in_place(data, size, size_max, seed, fuzzer_mutate)
});
