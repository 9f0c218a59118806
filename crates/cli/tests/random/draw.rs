//! Choices of chance, and the text of a scenario in the making.

use std::fmt::{Display, Write};

use fadelab_phy::random::Stream;

/// Choices of one scenario.
pub struct Draw(Stream);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(Stream::new(seed, "random scenario"))
    }

    /// Uniform in `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Uniform in `min..=max`.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        self.0.between(min, max.max(min))
    }

    /// In `min..=max` with a uniform logarithm, so that each order of magnitude is as likely as another.
    pub fn magnitude(&mut self, min: u64, max: u64) -> u64 {
        let (low, high) = (min.max(1) as f64, max.max(min).max(1) as f64);
        let drawn = low * libm::pow(high / low, self.0.uniform());
        (drawn as u64).clamp(min.max(1), max.max(min).max(1))
    }

    /// A probability: of any order of magnitude, and now and then one of the two ends.
    pub fn probability(&mut self) -> String {
        match self.below(12) {
            0 => "0.0".to_owned(),
            1 => "1.0".to_owned(),
            _ => self.fraction(1, 500_000).to_string(),
        }
    }

    /// In `min..=max` millionths, of any order of magnitude.
    pub fn fraction(&mut self, min: u64, max: u64) -> f64 {
        self.magnitude(min, max) as f64 / 1e6
    }
}

/// Tables and keys, in the order of writing.
#[derive(Default)]
pub struct Text(pub String);

impl Text {
    pub fn table(&mut self, path: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "\n[{path}]");
    }

    /// A key with a value that TOML knows as it is.
    pub fn bare(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    pub fn text(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.0, "{key} = \"{value}\"");
    }

    pub fn time(&mut self, key: &str, ns: u64) {
        self.text(key, format_args!("{ns} ns"));
    }

    pub fn rate(&mut self, key: &str, bps: u64) {
        self.text(key, format_args!("{bps} bit/s"));
    }
}
