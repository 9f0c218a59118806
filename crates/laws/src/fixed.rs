//! Tests of `laws/fixed.h` against 128-bit and floating-point arithmetic.
#![allow(unsafe_code)]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

unsafe extern "C" {
    safe fn fadelab_fixed_add(a: u64, b: u64) -> u64;
    safe fn fadelab_fixed_sub(a: u64, b: u64) -> u64;
    safe fn fadelab_fixed_div(a: u64, b: u64) -> u64;
    safe fn fadelab_fixed_mul(a: u64, b: u64) -> u64;
    safe fn fadelab_fixed_mul_high(a: u64, b: u64) -> u64;
    safe fn fadelab_fixed_mul_high_by_halves(a: u64, b: u64) -> u64;
    safe fn fadelab_fixed_leading_zeros(a: u64) -> u32;
    safe fn fadelab_fixed_mul_div(a: u64, b: u64, c: u64) -> u64;
    safe fn fadelab_fixed_abs(a: i64) -> u64;
    safe fn fadelab_fixed_with_sign(a: u64, b: i64) -> i64;
    safe fn fadelab_fixed_signed_difference(a: u64, b: u64) -> i64;
    safe fn fadelab_fixed_signed_add(a: i64, b: i64) -> i64;
    safe fn fadelab_fixed_signed_mul_div(a: i64, b: u64, c: u64) -> i64;
    safe fn fadelab_fixed_less(a: u64, b: u64) -> u64;
    safe fn fadelab_fixed_sqrt(a: u64) -> u32;
    safe fn fadelab_fixed_cbrt(a: u64) -> u32;
    safe fn fadelab_fixed_exp2_m1_q32(a: u64) -> u64;
    safe fn fadelab_fixed_one_minus_exp2_neg_q32(a: u64) -> u64;
    safe fn fadelab_fixed_log2_q32(a: u64) -> u64;
}

const ONE_Q32: f64 = 4_294_967_296.0;

/// Numbers of every magnitude, with the edges of 32 and 64 bits well represented.
fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (any::<u64>(), 0..64u32).prop_map(|(bits, shift)| bits >> shift),
        1 => prop::sample::select(vec![0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1]),
        1 => (0..64u32, 0..3u64).prop_map(|(bit, around)| (1u64 << bit).wrapping_add(around).wrapping_sub(1)),
    ]
}

fn any_signed() -> impl Strategy<Value = i64> {
    any_size().prop_map(|bits| bits as i64)
}

/// What s64 holds, without the smallest value: the magnitude of a result is at most 2^63 - 1.
fn clip(value: i128) -> i64 {
    value.clamp(-i128::from(i64::MAX), i128::from(i64::MAX)) as i64
}

/// The same cases on every run, nothing written to the tree.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 20_000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn unsigned_arithmetic_is_exact_or_saturates(a in any_size(), b in any_size(), c in any_size()) {
        // Goal: sums, products and quotients equal those of 128 bits, clipped to 64; a divisor of 0 gives 0.
        prop_assert_eq!(fadelab_fixed_add(a, b), a.saturating_add(b));
        prop_assert_eq!(fadelab_fixed_sub(a, b), a.saturating_sub(b));
        prop_assert_eq!(fadelab_fixed_mul(a, b), a.saturating_mul(b));
        prop_assert_eq!(fadelab_fixed_div(a, b), a.checked_div(b).unwrap_or(0));
        let high = ((u128::from(a) * u128::from(b)) >> 64) as u64;
        prop_assert_eq!(fadelab_fixed_mul_high(a, b), high);
        prop_assert_eq!(fadelab_fixed_mul_high_by_halves(a, b), high);
        prop_assert_eq!(fadelab_fixed_leading_zeros(a), a.leading_zeros());
        prop_assert_eq!(fadelab_fixed_less(a, b), u64::from(a < b));
        let exact = (u128::from(a) * u128::from(b)).checked_div(u128::from(c)).unwrap_or(0);
        prop_assert_eq!(fadelab_fixed_mul_div(a, b, c), exact.min(u128::from(u64::MAX)) as u64);
    }

    #[test]
    fn signed_arithmetic_is_exact_or_clips(a in any_signed(), b in any_signed(), u in any_size(), v in any_size()) {
        // Goal: sign-magnitude arithmetic equals that of 128 bits, rounded towards zero and clipped.
        prop_assert_eq!(fadelab_fixed_abs(a), a.unsigned_abs());
        let signed = if a < 0 { -i128::from(u) } else { i128::from(u) };
        prop_assert_eq!(fadelab_fixed_with_sign(u, a), clip(signed));
        prop_assert_eq!(fadelab_fixed_signed_difference(u, v), clip(i128::from(u) - i128::from(v)));
        if a != i64::MIN && b != i64::MIN {
            prop_assert_eq!(fadelab_fixed_signed_add(a, b), clip(i128::from(a) + i128::from(b)));
        }
        let product = u128::from(a.unsigned_abs()) * u128::from(u);
        let quotient = product.checked_div(u128::from(v)).unwrap_or(0).min(u128::from(u64::MAX)) as i128;
        prop_assert_eq!(fadelab_fixed_signed_mul_div(a, u, v), clip(if a < 0 { -quotient } else { quotient }));
    }

    #[test]
    fn roots_are_exact(a in any_size()) {
        // Goal: each root is the largest integer whose power does not exceed the argument.
        let (a, square, cube) = (u128::from(a), u128::from(fadelab_fixed_sqrt(a)), u128::from(fadelab_fixed_cbrt(a)));
        prop_assert!(square * square <= a && (square + 1) * (square + 1) > a);
        prop_assert!(cube * cube * cube <= a && (cube + 1) * (cube + 1) * (cube + 1) > a);
    }

    #[test]
    fn powers_of_two_stay_within_their_bounds(whole in 0..31u64, fraction in 0..(1u64 << 32), shift in 0..32u32) {
        // Goal: 2^x - 1 and 1 - 2^-x keep the errors that fixed.h states, from 2^-32 to 2^31.
        let x_q32 = (whole << 32) | (fraction >> shift);
        let x = x_q32 as f64 / ONE_Q32;
        let power = fadelab_fixed_exp2_m1_q32(x_q32) as f64 / ONE_Q32;
        prop_assert!((power - (libm::exp2(x) - 1.0)).abs() <= libm::exp2(x) * libm::exp2(-29.0), "2^{x} - 1 = {power}");
        let rest = fadelab_fixed_one_minus_exp2_neg_q32(x_q32) as f64 / ONE_Q32;
        prop_assert!((rest - (1.0 - libm::exp2(-x))).abs() < libm::exp2(-29.0), "1 - 2^-{x} = {rest}");
    }

    #[test]
    fn small_powers_have_small_relative_errors(fraction in 1u64 << 10..1u64 << 26) {
        // Goal: a law that adds 2^x - 1 packets per ACK for small x is not off by more than its rounding.
        let expected = libm::expm1(fraction as f64 / ONE_Q32 * std::f64::consts::LN_2) * ONE_Q32;
        let got = fadelab_fixed_exp2_m1_q32(fraction) as f64;
        prop_assert!((got - expected).abs() < 3.0 + expected * 1e-8, "{got} instead of {expected}");
    }

    #[test]
    fn logarithms_stay_within_their_bounds(x in any_size()) {
        // Goal: log2 keeps the error that fixed.h states and is 0 below 1.
        let expected = if x < 1 << 32 { 0.0 } else { libm::log2(x as f64 / ONE_Q32) };
        let got = fadelab_fixed_log2_q32(x) as f64 / ONE_Q32;
        prop_assert!((got - expected).abs() < libm::exp2(-31.0), "log2 of {x} is {expected}, got {got}");
    }
}

#[test]
fn powers_saturate() {
    // Goal: exponents beyond the format end at its limits instead of wrapping.
    assert_eq!(fadelab_fixed_exp2_m1_q32(31 << 32), u64::MAX);
    assert_eq!(fadelab_fixed_exp2_m1_q32(u64::MAX), u64::MAX);
    assert_eq!(fadelab_fixed_exp2_m1_q32(0), 0);
    assert_eq!(fadelab_fixed_one_minus_exp2_neg_q32(u64::MAX), 1 << 32);
    assert_eq!(fadelab_fixed_one_minus_exp2_neg_q32(0), 0);
}
