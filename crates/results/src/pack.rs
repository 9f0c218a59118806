//! Numbers in the form in which the page carries many of them: little-endian, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// What stands for a number that is missing.
const MISSING: u16 = u16::MAX;

/// Non-negative numbers in 16 bits each: `value = step * q`, with the finest step whose inverse is a whole number, so
/// that windows and counts stay whole. None is off by more than 1/65534 of the largest; a chart shows 1/1000.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Packed {
    /// The distance of two neighbouring values.
    pub step: f64,
    /// The multiples as u16 in base64; 65535 is a missing value.
    pub q: String,
}

impl Packed {
    /// Packs `values`, row after row if they are a table.
    pub fn of(values: &[Option<f64>]) -> Self {
        let largest = values.iter().flatten().copied().fold(0.0, f64::max);
        let per_one = (f64::from(MISSING - 1) / largest).floor();
        let step = if largest == 0.0 {
            0.0
        } else if per_one >= 1.0 {
            1.0 / per_one
        } else {
            largest / f64::from(MISSING - 1)
        };
        let quantum = |value: &Option<f64>| match value {
            Some(value) if step > 0.0 => (value / step).round() as u16,
            Some(_) => 0,
            None => MISSING,
        };
        let bytes: Vec<u8> = values.iter().flat_map(|value| quantum(value).to_le_bytes()).collect();
        Self {
            step,
            q: STANDARD.encode(bytes),
        }
    }

    /// The values again, as the page's script reads them.
    ///
    /// # Panics
    /// When the text is not what [`Packed::of`] makes.
    pub fn values(&self) -> Vec<Option<f64>> {
        let bytes = STANDARD.decode(&self.q).expect("base64 made here");
        let value = |pair: &[u8]| match u16::from_le_bytes([pair[0], pair[1]]) {
            MISSING => None,
            q => Some(f64::from(q) * self.step),
        };
        bytes.chunks_exact(2).map(value).collect()
    }
}

/// Any numbers as f32 in base64, for figures that are read and not only drawn: seven digits, NaN where one is missing.
pub fn floats(values: impl IntoIterator<Item = Option<f64>>) -> String {
    let bytes: Vec<u8> = values
        .into_iter()
        .flat_map(|value| value.map_or(f32::NAN, |v| v as f32).to_le_bytes())
        .collect();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_come_back_within_half_a_step() {
        // The page must not show other curves than were measured: the error is bounded and gaps stay gaps.
        let values = [Some(0.0), Some(0.1234), None, Some(98.7), Some(1e-9)];
        let packed = Packed::of(&values);
        for (back, value) in packed.values().iter().zip(values) {
            match (back, value) {
                (Some(back), Some(value)) => assert!((back - value).abs() <= packed.step / 2.0 * 1.000_001),
                (back, value) => assert_eq!(*back, value),
            }
        }
        // 65534 / 98.7 = 663.97: 663 steps to one, so that whole numbers are steps.
        assert!((packed.step - 1.0 / 663.0).abs() < 1e-15);
        let whole = Packed::of(&[Some(391.0), Some(1.0)]).values()[1].unwrap();
        assert!((whole - 1.0).abs() < 1e-12);
    }

    #[test]
    fn numbers_beyond_16_bits_are_packed_too() {
        // A queue of 100 000 packets: the step is then more than one.
        let packed = Packed::of(&[Some(100_000.0), Some(50_000.0)]);
        let back: Vec<f64> = packed.values().into_iter().flatten().collect();
        assert!((back[0] - 100_000.0).abs() < 1e-6 && (back[1] - 50_000.0).abs() <= packed.step / 2.0);
    }

    #[test]
    fn nothing_but_zeros_and_gaps_is_packed_too() {
        // A law without a queue: a step of zero must not become a division by zero.
        assert_eq!(Packed::of(&[Some(0.0), None]).values(), [Some(0.0), None]);
        assert_eq!(Packed::of(&[]).values(), []);
    }

    #[test]
    fn floats_are_little_endian() {
        // 1.0 is 0x3f800000.
        assert_eq!(floats([Some(1.0)]), "AACAPw==");
    }
}
