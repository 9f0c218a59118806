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
//! w_1` and increment `w_2 + 2^64 w_3`, made odd; a draw by counter is Philox 2x64-10 with key `w_4`.
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

/// Random numbers of one component by time slot (Philox 2x64-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterDraw {
    round_keys: RoundKeys,
}

/// Keys of Philox's rounds: it adds a constant to the key between them, the same ones in each draw.
type RoundKeys = [u64; 10];

impl CounterDraw {
    /// The draws of `component` under `seed`.
    pub fn new(seed: u64, component: &str) -> Self {
        Self {
            round_keys: round_keys(derived_word(seed, component, 4)),
        }
    }

    /// 64 random bits for a slot.
    #[inline]
    pub fn at(&self, slot: u64) -> u64 {
        self.at_repeat(slot, 0)
    }

    /// 64 random bits for the `repeat`-th question about a slot, counted from 0.
    #[inline]
    pub fn at_repeat(&self, slot: u64, repeat: u64) -> u64 {
        philox_2x64_10([slot, repeat], &self.round_keys)[0]
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
    let name_hash = component.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    mix(mix(seed.wrapping_add((index + 1).wrapping_mul(GOLDEN))) ^ name_hash)
}

/// Finaliser of `SplitMix64`: a bijection of 64 bits that spreads every input bit.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The keys of the rounds under `key`.
fn round_keys(key: u64) -> RoundKeys {
    std::array::from_fn(|round| key.wrapping_add(GOLDEN.wrapping_mul(round as u64)))
}

/// Philox 2x64 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
#[inline]
fn philox_2x64_10(counter: [u64; 2], round_keys: &RoundKeys) -> [u64; 2] {
    const MULTIPLIER: u64 = 0xd2b7_4407_b1ce_6e93;
    let [mut left, mut right] = counter;
    for key in round_keys {
        let product = u128::from(left) * u128::from(MULTIPLIER);
        left = (product >> 64) as u64 ^ key ^ right;
        right = product as u64;
    }
    [left, right]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_known_answers() {
        // Goal: our Philox is the published one, shown by the known answers that its authors publish (Random123).
        let cases = [
            ([0, 0], 0, [0xca00_a045_9843_d731, 0x66c2_4222_c9a8_45b5]),
            (
                [u64::MAX, u64::MAX],
                u64::MAX,
                [0x65b0_21d6_0cd8_310f, 0x4d02_f322_2f86_df20],
            ),
            (
                [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344],
                0xa409_3822_299f_31d0,
                [0x0a5e_742c_2997_341c, 0xb0f8_83d3_8000_de5d],
            ),
        ];
        for (counter, key, answer) in cases {
            assert_eq!(philox_2x64_10(counter, &round_keys(key)), answer);
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
