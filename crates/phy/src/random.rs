//! Random numbers of the whole project: a stream per component, and draws by time slot.
//!
//! A [`Stream`] is a sequence: the next number depends on how many were drawn before. A [`CounterDraw`] is a function
//! of a slot: two runs that ask for the same slot get the same number, whatever else they asked for. What evolves in
//! time by itself uses streams; the fate of packets, whose number differs from law to law, uses slots.
//!
//! # Derivation of seeds
//!
//! Both start from `(seed, component name)`, so that adding a component does not shift another's numbers. With `h` the
//! FNV-1a hash (64 bits) of the name's UTF-8 bytes, `mix` the finaliser of `SplitMix64` and `g = 0x9e3779b97f4a7c15`,
//! word `i` is `w_i = mix(mix(seed + (i + 1) g) xor h)`, modulo 2^64. A stream is PCG64-DXSM with state `w_0 + 2^64
//! w_1` and increment `w_2 + 2^64 w_3`, made odd. A draw by counter is `SplitMix64` (Steele, Lea and
//! Flood, "Fast splittable pseudorandom number generators", 2014), whose number `n` from seed `w_4` is
//! `mix(w_4 + n g)`, whatever came before.
//!
//! Samplers over the raw 64 bits are our own and use `libm`, so that the numbers are the same on every machine.

use rand_pcg::Pcg64Dxsm;
use rand_pcg::rand_core::{Rng, SeedableRng};

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of random numbers of one component (PCG64-DXSM).
#[derive(Clone, Debug)]
pub struct Stream {
    generator: Pcg64Dxsm,
}

impl Stream {
    /// The stream of `component` under `seed`.
    pub fn new(seed: u64, component: &str) -> Self {
        let mut bytes = [0; 32];
        for (index, word) in bytes.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&derived_word(seed, component, index as u64).to_le_bytes());
        }
        Self {
            generator: Pcg64Dxsm::from_seed(bytes),
        }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        unit_interval(self.next_u64())
    }

    /// Uniform in `0..bound`, without bias: Lemire's multiplication, which draws again where a plain multiple would
    /// favour some values. `bound` is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "Stream::below was given the bound 0; give at least 1");
        let biased_below = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= biased_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// Uniform in `min..max`; `min` where the range is empty.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        if max <= min { min } else { min + self.below(max - min) }
    }

    /// Exponential with the given mean, in the mean's unit. By inversion: one draw each.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log1p(-self.uniform())
    }
}

/// Random numbers of one component by time slot, or by any other number (`SplitMix64`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterDraw {
    seed: u64,
}

impl CounterDraw {
    /// The draws of `component` under `seed`.
    pub fn new(seed: u64, component: &str) -> Self {
        Self {
            seed: derived_word(seed, component, 4),
        }
    }

    /// 64 random bits for a slot.
    #[inline]
    pub fn at(&self, slot: u64) -> u64 {
        split_mix(self.seed, slot)
    }

    /// 64 random bits for the `repeat`-th question about a slot, counted from 0: those of the slot, then those of the
    /// generator that starts from them.
    #[inline]
    pub fn at_repeat(&self, slot: u64, repeat: u64) -> u64 {
        match repeat {
            0 => self.at(slot),
            _ => split_mix(self.at(slot), repeat),
        }
    }

    /// Uniform in [0, 1) for the `repeat`-th question about a slot.
    pub fn uniform_at(&self, slot: u64, repeat: u64) -> f64 {
        unit_interval(self.at_repeat(slot, repeat))
    }
}

/// The upper 53 bits as a multiple of 2^-53 in [0, 1).
fn unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Word `index` of the seed material, see the module's text.
fn derived_word(seed: u64, component: &str, index: u64) -> u64 {
    mix(mix(seed.wrapping_add((index + 1).wrapping_mul(GOLDEN))) ^ name_hash(component))
}

/// The FNV-1a hash (64 bits) of a name's UTF-8 bytes: what stands for it where a draw by counter asks for a slot.
pub fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Finaliser of `SplitMix64`: a bijection of 64 bits that spreads every input bit.
#[inline]
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[inline]
fn split_mix(seed: u64, number: u64) -> u64 {
    mix(seed.wrapping_add(number.wrapping_mul(GOLDEN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_known_answers() {
        // Goal: a counter's draws are the published generator's, shown by its first numbers from seed 1234567, as the
        // Rosetta Code page on pseudo-random numbers lists them.
        let answers = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (number, answer) in (1..).zip(answers) {
            assert_eq!(split_mix(1_234_567, number), answer);
        }
    }

    #[test]
    fn counter_draws_are_independent_at_any_stride() {
        // Goal: slots that are one, one data packet (26) or one power of two apart have draws without correlation, of
        // neighbours and of bits alike, and small numbers are as frequent and as scattered as they should be.
        let count = 200_000u64;
        let root = (count as f64).sqrt();
        for stride in [1, 2, 13, 26, 27, 64, 1 << 20] {
            let draws = CounterDraw::new(stride, "strides");
            let bits: Vec<u64> = (0..=count).map(|index| draws.at(index * stride)).collect();
            let product = |pair: &[u64]| (unit_interval(pair[0]) - 0.5) * (unit_interval(pair[1]) - 0.5);
            let correlation = bits.windows(2).map(product).sum::<f64>() * 12.0 / count as f64;
            assert!(correlation.abs() < 5.0 / root, "stride {stride}: {correlation}");
            for bit in 0..64 {
                let changes = bits
                    .windows(2)
                    .filter(|pair| (pair[0] ^ pair[1]) >> bit & 1 == 1)
                    .count();
                let excess = changes as f64 - count as f64 / 2.0;
                assert!(excess.abs() < 5.0 * root / 2.0, "stride {stride}, bit {bit}: {excess}");
            }
            let small: Vec<bool> = bits.iter().map(|&bits| bits >> 54 < 10).collect();
            let often = small.iter().filter(|&&small| small).count() as f64;
            let in_a_row = small.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
            let (mean, mean_in_a_row) = (count as f64 * 10.0 / 1024.0, count as f64 * (10.0f64 / 1024.0).powi(2));
            assert!((often - mean).abs() < 5.0 * mean.sqrt(), "stride {stride}: {often}");
            assert!(
                (in_a_row - mean_in_a_row).abs() < 5.0 * mean_in_a_row.sqrt(),
                "stride {stride}: {in_a_row}"
            );
        }
    }

    #[test]
    fn stream_is_pcg64_dxsm_of_the_documented_seed() {
        // Goal: the stream is what the module's text says, shown by a second writing of the generator.
        let words: Vec<u128> = (0..4)
            .map(|index| u128::from(derived_word(7, "link.a", index)))
            .collect();
        let increment = (words[2] | words[3] << 64) | 1;
        let multiplier = 0xda94_2042_e4dd_58b5u128;
        let step = |state: u128| state.wrapping_mul(multiplier).wrapping_add(increment);
        let mut state = step((words[0] | words[1] << 64).wrapping_add(increment));
        let mut stream = Stream::new(7, "link.a");
        for _ in 0..100 {
            let low = (state as u64) | 1;
            let mut high = (state >> 64) as u64;
            high = (high ^ (high >> 32)).wrapping_mul(multiplier as u64);
            high = (high ^ (high >> 48)).wrapping_mul(low);
            assert_eq!(stream.next_u64(), high);
            state = step(state);
        }
    }

    #[test]
    fn components_and_seeds_have_streams_of_their_own() {
        // Goal: neither the name nor the seed is ignored, and a component's numbers do not depend on another's.
        let first = |seed, name| Stream::new(seed, name).next_u64();
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(CounterDraw::new(1, "a").at(0), CounterDraw::new(1, "b").at(0));
        assert_ne!(CounterDraw::new(1, "a").at(0), CounterDraw::new(2, "a").at(0));
    }

    #[test]
    fn counter_draws_do_not_depend_on_order() {
        // Goal: a slot's draw is the same forwards, backwards and repeated; slots and repeats differ.
        let draws = CounterDraw::new(3, "link.b");
        let forwards: Vec<u64> = (0..1000).map(|slot| draws.at(slot)).collect();
        let mut backwards: Vec<u64> = (0..1000).rev().map(|slot| draws.at(slot)).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
        let mut distinct = forwards.clone();
        distinct.extend((0..1000).map(|slot| draws.at_repeat(slot, 1)));
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 2000);
    }

    #[test]
    fn samplers_have_their_distributions() {
        // Goal: mean and variance of each sampler within five standard errors of theory, and bounds kept.
        let count = 100_000;
        let root = f64::from(count).sqrt();
        let mut stream = Stream::new(11, "samplers");
        let check = |name: &str, values: Vec<f64>, mean: f64, sd: f64, fourth: f64| {
            let average = values.iter().sum::<f64>() / f64::from(count);
            let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / f64::from(count);
            assert!((average - mean).abs() < 5.0 * sd / root, "{name}: mean {average}");
            let variance_error = (fourth - sd.powi(4)).sqrt() / root;
            assert!(
                (variance - sd * sd).abs() < 5.0 * variance_error,
                "{name}: variance {variance}"
            );
        };
        let uniform: Vec<f64> = (0..count).map(|_| stream.uniform()).collect();
        assert!(uniform.iter().all(|u| (0.0..1.0).contains(u)));
        check("uniform", uniform, 0.5, (1.0f64 / 12.0).sqrt(), 1.0 / 80.0);
        check(
            "exponential",
            (0..count).map(|_| stream.exponential(3.0)).collect(),
            3.0,
            3.0,
            9.0 * 81.0,
        );
        let die: Vec<u64> = (0..count).map(|_| stream.between(1, 7)).collect();
        assert!(die.iter().all(|face| (1..7).contains(face)));
        let fourth = (1.5f64.powi(4) + 2.5f64.powi(4) + 0.5f64.powi(4)) / 3.0;
        check(
            "die",
            die.iter().map(|face| *face as f64).collect(),
            3.5,
            (35.0f64 / 12.0).sqrt(),
            fourth,
        );
        assert_eq!(stream.between(5, 5), 5);
    }
}
