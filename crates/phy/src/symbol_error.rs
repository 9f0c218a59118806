//! Symbol error rates of phase shift keying over flat Rayleigh fading with diversity.
//!
//! # Equation (1) of VCP, corrected
//!
//! For M-PSK with maximum ratio combining of N independent branches of equal average signal-to-noise ratio `snr`,
//! averaged over the fading, with `theta = snr sin^2(pi/M)`, `mu = sqrt(theta / (1 + theta))` and
//! `xi = mu cot(pi/M)`:
//!
//! ```text
//! P = (M-1)/M - mu/pi { (pi/2 + atan xi) sum_{j=0}^{N-1} C(2j,j) / [4 (1 + theta)]^j
//!       + sin(atan xi) sum_{j=1}^{N-1} sum_{i=1}^{j} sigma_ij / (1 + theta)^j [cos(atan xi)]^{2(j-i)+1} }
//! sigma_ij = C(2j,j) / { C(2(j-i), j-i) 4^i [2(j-i)+1] }
//! ```
//!
//! Printed is `4^{i[2(j-i)+1]}`: the factor `2(j-i)+1` slipped into the exponent. For QPSK with four branches at 20 dB
//! the printed form gives 6.4e-6 instead of 4.0e-8. The corrected one equals the integral
//! `1/pi int_0^{(M-1) pi/M} (1 + theta / sin^2 t)^{-N} dt`, which the tests evaluate by quadrature.
//!
//! The difference cancels: its absolute error stays near 1e-16, so that rates below 1e-12 lose digits. For BPSK, where
//! `xi = 0`, the product form
//!
//! ```text
//! P = q^N sum_{k=0}^{N-1} C(N-1+k, k) (1-q)^k,   q = (1-mu)/2 = 1 / [2 (1+mu) (1+snr)]
//! ```
//!
//! has only positive terms and keeps all digits; it is what BPSK uses.
//!
//! # Antennas
//!
//! Two transmitting antennas use Alamouti's code, which halves the power of each and doubles the branches: 2x1 is two
//! branches at `snr / 2`, 1x2 two at `snr`, 2x2 four at `snr / 2` (VCP, appendix, section A, for a fixed total power).

use std::f64::consts::{FRAC_PI_2, PI};

use serde::{Deserialize, Serialize};

/// Phase shift keying with Gray mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Modulation {
    /// One bit a symbol.
    Bpsk,
    /// Two bits a symbol.
    Qpsk,
    /// Three bits a symbol.
    Psk8,
    /// Four bits a symbol.
    Psk16,
}

/// Antennas: transmitting x receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Antennas {
    /// 1x1.
    OneByOne,
    /// 2x1: Alamouti's space-time block code.
    TwoByOne,
    /// 1x2: maximum ratio combining.
    OneByTwo,
    /// 2x2: Alamouti's code with maximum ratio combining.
    TwoByTwo,
}

impl Modulation {
    /// Bits that a symbol carries.
    pub fn bits_per_symbol(self) -> u32 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Psk8 => 3,
            Self::Psk16 => 4,
        }
    }
}

impl Antennas {
    /// Diversity branches, and the share of the signal-to-noise ratio that each has.
    pub fn branches(self) -> (u32, f64) {
        match self {
            Self::OneByOne => (1, 1.0),
            Self::TwoByOne => (2, 0.5),
            Self::OneByTwo => (2, 1.0),
            Self::TwoByTwo => (4, 0.5),
        }
    }
}

/// Error rate of a symbol for an antenna pair at an average signal-to-noise ratio in dB.
pub fn symbol_error(modulation: Modulation, antennas: Antennas, snr_db: f64) -> f64 {
    let (branches, share) = antennas.branches();
    let snr = libm::pow(10.0, snr_db / 10.0) * share;
    match modulation {
        Modulation::Bpsk => bpsk(snr, branches),
        _ => mpsk(1 << modulation.bits_per_symbol(), snr, branches),
    }
}

/// Error rate that, independently on each bit of a symbol, makes the error rate of the symbol.
///
/// The chain of [`crate::gilbert_elliott`] steps once a bit for every modulation, while VCP's steps once a symbol (the
/// same for BPSK). A symbol of `m` bits is right with probability `1 - e`, hence each of its bits is given
/// `1 - (1 - e)^(1/m)`: bytes of whole symbols in one state then have exactly VCP's error rate.
pub fn bit_error(modulation: Modulation, antennas: Antennas, snr_db: f64) -> f64 {
    let symbol = symbol_error(modulation, antennas, snr_db);
    if modulation == Modulation::Bpsk {
        return symbol;
    }
    -libm::expm1(libm::log1p(-symbol) / f64::from(modulation.bits_per_symbol()))
}

/// BPSK with `branches` at the linear ratio `snr` each: the product form.
fn bpsk(snr: f64, branches: u32) -> f64 {
    let mu = (snr / (1.0 + snr)).sqrt();
    let wrong = 0.5 / ((1.0 + mu) * (1.0 + snr));
    let sum: f64 = (0..branches)
        .map(|k| binomial(branches - 1 + k, k) * libm::pow(1.0 - wrong, f64::from(k)))
        .sum();
    libm::pow(wrong, f64::from(branches)) * sum
}

/// M-PSK with `branches` at the linear ratio `snr` each: equation (1), corrected.
fn mpsk(points: u32, snr: f64, branches: u32) -> f64 {
    let angle = PI / f64::from(points);
    let theta = snr * libm::sin(angle) * libm::sin(angle);
    let mu = (theta / (1.0 + theta)).sqrt();
    let xi = mu / libm::tan(angle);
    let cosine = 1.0 / (1.0 + xi * xi).sqrt();
    let sine = xi * cosine;
    let mut first = 1.0;
    let mut second = 0.0;
    for j in 1..branches {
        let fading = libm::pow(1.0 + theta, -f64::from(j));
        first += binomial(2 * j, j) * fading * libm::pow(0.25, f64::from(j));
        for i in 1..=j {
            let odd = f64::from(2 * (j - i) + 1);
            let sigma = binomial(2 * j, j) / (binomial(2 * (j - i), j - i) * libm::pow(4.0, f64::from(i)) * odd);
            second += sigma * fading * libm::pow(cosine, odd);
        }
    }
    let right = mu / PI * ((FRAC_PI_2 + libm::atan(xi)) * first + sine * second);
    (1.0 - 1.0 / f64::from(points) - right).max(0.0)
}

/// Binomial coefficient; exact for the few branches that occur.
fn binomial(n: u32, k: u32) -> f64 {
    (1..=k).fold(1.0, |value, i| value * f64::from(n - k + i) / f64::from(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral over the moment generating function, by Simpson's rule with `steps` (even) intervals.
    fn by_quadrature(points: u32, snr: f64, branches: u32, steps: u32) -> f64 {
        let angle = PI / f64::from(points);
        let theta = snr * angle.sin().powi(2);
        let end = PI - angle;
        let height = |t: f64| {
            let sine = t.sin().powi(2);
            (sine / (sine + theta)).powi(branches as i32)
        };
        let width = end / f64::from(steps);
        let inner: f64 = (1..steps)
            .map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * height(f64::from(i) * width))
            .sum();
        (inner + height(0.0) + height(end)) * width / 3.0 / PI
    }

    #[test]
    fn both_forms_equal_the_integral() {
        // Goal: the product form (relative) and the corrected equation (1) (absolute) equal the defining integral, by
        // a method that shares nothing with them.
        for branches in [1, 2, 4] {
            for snr_db in [-5.0, 0.0, 5.0, 10.0, 20.0, 30.0] {
                let snr = 10f64.powf(snr_db / 10.0);
                let integral = by_quadrature(2, snr, branches, 20_000);
                let product = bpsk(snr, branches);
                assert!(
                    (product / integral - 1.0).abs() < 1e-9,
                    "N={branches} {snr_db} dB: {product} {integral}"
                );
                for points in [2, 4, 8, 16] {
                    let integral = by_quadrature(points, snr, branches, 20_000);
                    let closed = mpsk(points, snr, branches);
                    assert!(
                        (closed - integral).abs() < 1e-12,
                        "M={points} N={branches} {snr_db} dB: {closed}"
                    );
                }
            }
        }
    }

    #[test]
    fn cancellation_is_as_stated() {
        // Goal: equation (1) has lost digits at four branches and 30 dB where the product form has not.
        let integral = by_quadrature(2, 1000.0, 4, 20_000);
        assert!((mpsk(2, 1000.0, 4) / integral - 1.0).abs() > 1e-6);
        assert!((bpsk(1000.0, 4) / integral - 1.0).abs() < 1e-9);
    }

    #[test]
    fn symbols_of_independent_bits_have_the_error_of_symbols() {
        // Goal: the bit error given to the chain makes the symbol error again.
        for modulation in [Modulation::Bpsk, Modulation::Qpsk, Modulation::Psk8, Modulation::Psk16] {
            let bit = bit_error(modulation, Antennas::TwoByTwo, 12.0);
            let symbol = 1.0 - (1.0 - bit).powi(modulation.bits_per_symbol() as i32);
            assert!((symbol - symbol_error(modulation, Antennas::TwoByTwo, 12.0)).abs() < 1e-14);
        }
    }
}
