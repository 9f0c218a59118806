//! The values of a swept key as numbers, so that a figure can have them on its axis.

use serde::Serialize;

use crate::distinct::in_order;

/// A key of the sweep besides law and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweptKey {
    /// As the scenario spells it, e.g. `channel.snr`.
    pub key: String,
    /// Its values as the scenario spells them, in order.
    pub values: Vec<String>,
    /// The same as numbers, when all are numbers in units that can be converted into each other.
    pub numbers: Option<Vec<f64>>,
    /// Unit of the numbers; empty for pure numbers.
    pub unit: String,
}

/// Units of one kind: each with how many of the first it is.
const KINDS: [&[(&str, f64)]; 4] = [
    &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)],
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)],
    &[("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6)],
];

/// The swept keys of `points` in the order in which they first appear.
pub fn keys(points: &[Vec<(String, String)>]) -> Vec<SweptKey> {
    let names = in_order(points.iter().flatten().map(|(key, _)| key.clone()));
    let key = |key: String| {
        let values = in_order(
            points
                .iter()
                .flatten()
                .filter(|(k, _)| *k == key)
                .map(|(_, value)| value.clone()),
        );
        let (numbers, unit) = numbers(&values).map_or((None, String::new()), |(numbers, unit)| (Some(numbers), unit));
        SweptKey {
            key,
            values,
            numbers,
            unit,
        }
    };
    names.into_iter().map(key).collect()
}

/// `value` as a number and its unit: `"5 dB"` is 5 and `dB`, `"0.93"` is 0.93 and nothing.
fn split(value: &str) -> Option<(f64, &str)> {
    let (number, unit) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some((number, unit.trim()))
}

/// All values in the unit of the first.
fn numbers(values: &[String]) -> Option<(Vec<f64>, String)> {
    let split: Vec<(f64, &str)> = values.iter().map(|value| split(value)).collect::<Option<_>>()?;
    let unit = split.first()?.1;
    let convert = |&(number, other): &(f64, &str)| {
        if other == unit {
            return Some(number);
        }
        let kind = KINDS.iter().find(|kind| kind.iter().any(|(name, _)| *name == unit))?;
        let size = |wanted: &str| kind.iter().find(|(name, _)| *name == wanted).map(|(_, size)| size);
        Some(number * size(other)? / size(unit)?)
    };
    Some((split.iter().map(convert).collect::<Option<_>>()?, unit.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<(Vec<f64>, String)> {
        numbers(&values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_with_a_common_unit_make_an_axis() {
        // What people sweep most: a signal in dB, a rate in mixed prefixes, a pure number.
        assert_eq!(of(&["5 dB", "10 dB"]), Some((vec![5.0, 10.0], "dB".to_owned())));
        assert_eq!(
            of(&["2 Mbit/s", "500 kbit/s"]),
            Some((vec![2.0, 0.5], "Mbit/s".to_owned()))
        );
        assert_eq!(of(&["0.93", "0.5"]), Some((vec![0.93, 0.5], String::new())));
    }

    #[test]
    fn names_and_mixed_kinds_stay_names() {
        // An axis with `1 BDP` beside `100 pkt` would be an invention, and `2x1` is a name.
        assert_eq!(of(&["1 BDP", "100 pkt"]), None);
        assert_eq!(of(&["1x1", "2x1"]), None);
        assert_eq!(of(&["5 s", "5 MB"]), None);
        assert_eq!(of(&["inf dB"]), None);
    }
}
