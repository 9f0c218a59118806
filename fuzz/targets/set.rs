//! Arguments of `--set`: the first line names a ready-made scenario, each further line is an argument.
#![no_main]

use fadelab_fuzz::{in_place, properties};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| properties::set(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, size_max: usize, seed: u32| {
    in_place(data, size, size_max, seed, fuzzer_mutate)
});
