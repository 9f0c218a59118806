//! The values of a swept key as numbers, so that a figure can have them on its axis and a table in a column.

use serde::Serialize;

use crate::distinct::in_order;

/// A key of the sweep besides law and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweptKey {
    /// As the scenario spells it, e.g. `channel.snr`.
    pub key: String,
    /// Its end that no other swept key shares, see [`short`].
    pub short: String,
    /// Its values as the scenario spells them, in order.
    pub values: Vec<String>,
    /// The same as numbers, when all are numbers in units that can be converted into each other.
    pub numbers: Option<Vec<f64>>,
    /// Unit of the numbers; empty for pure numbers.
    pub unit: String,
}

/// Units of one kind: each with how many of the first it is.
const KINDS: [&[(&str, f64)]; 5] = [
    &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)],
    &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3600e9),
    ],
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)],
    &[("bit", 1.0), ("bits", 1.0), ("kbit", 1e3), ("Mbit", 1e6)],
    &[("pkt", 1.0), ("pkts", 1.0), ("packet", 1.0), ("packets", 1.0)],
];

/// The units in which tables have numbers, as in their other columns, and how they end a column's name.
const IN_TABLES: [(&str, &str); 5] = [
    ("bit/s", "bps"),
    ("s", "s"),
    ("B", "bytes"),
    ("bit", "bits"),
    ("pkt", "pkts"),
];

impl SweptKey {
    /// Whether `name` is it, as a whole or by its short name.
    pub fn is(&self, name: &str) -> bool {
        name == self.key || name == self.short
    }

    /// The end of the name of its column, its unit, and a number for each of its values; none where they are words.
    pub fn column(&self) -> Option<(String, String, Vec<f64>)> {
        let numbers = self.numbers.as_ref()?;
        let kind = KINDS
            .iter()
            .find(|kind| kind.iter().any(|(name, _)| *name == self.unit));
        let size = |wanted: &str| kind?.iter().find(|(name, _)| *name == wanted).map(|(_, size)| *size);
        for (unit, ending) in IN_TABLES {
            if let (Some(from), Some(to)) = (size(&self.unit), size(unit)) {
                let scaled = numbers.iter().map(|number| number * from / to).collect();
                return Some((format!("_{ending}"), unit.to_owned(), scaled));
            }
        }
        if self.unit.is_empty() {
            return Some((String::new(), "1".to_owned(), numbers.clone()));
        }
        Some((
            format!("_{}", column_name(&self.unit)),
            self.unit.clone(),
            numbers.clone(),
        ))
    }
}

/// A key or a unit as tables name columns: lower case letters, digits and `_`.
pub fn column_name(text: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    text.chars().map(letter).collect()
}

/// The swept keys of `points` in the order in which they first appear.
pub fn keys(points: &[Vec<(String, String)>]) -> Vec<SweptKey> {
    let names = names(points.iter());
    let key = |key: &String| {
        let values = in_order(
            points
                .iter()
                .flatten()
                .filter(|(k, _)| k == key)
                .map(|(_, value)| value.clone()),
        );
        let (numbers, unit) = numbers(&values).map_or((None, String::new()), |(numbers, unit)| (Some(numbers), unit));
        SweptKey {
            key: key.clone(),
            short: short(key, &names),
            values,
            numbers,
            unit,
        }
    };
    names.iter().map(key).collect()
}

/// The keys of `points` in the order in which they first appear.
pub(crate) fn names<'a>(points: impl Iterator<Item = &'a Vec<(String, String)>>) -> Vec<String> {
    in_order(points.flatten().map(|(key, _)| key.clone()))
}

/// The values of `point` for all swept keys; `-` for one that it does not have.
pub(crate) fn coordinates(point: &[(String, String)], all: &[String]) -> Vec<String> {
    let value = |key: &String| {
        let found = point.iter().find(|(name, _)| name == key);
        found.map_or_else(|| "-".to_owned(), |(_, value)| value.clone())
    };
    all.iter().map(value).collect()
}

/// Each of all swept keys as [`short`].
pub(crate) fn shorts(all: &[String]) -> Vec<String> {
    all.iter().map(|key| short(key, all)).collect()
}

/// The end of a swept key that no other one of `all` shares: `buffer` of `topology.bottleneck.buffer`.
pub fn short(key: &str, all: &[String]) -> String {
    let parts: Vec<&str> = key.split('.').collect();
    let ends = (0..parts.len()).rev().map(|from| parts[from..].join("."));
    let is_shared = |end: &String| {
        let mut others = all.iter().filter(|other| *other != key);
        others.any(|other| format!(".{other}").ends_with(&format!(".{end}")))
    };
    ends.into_iter()
        .find(|end| !is_shared(end))
        .unwrap_or_else(|| key.to_owned())
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
    fn a_key_is_called_by_the_end_that_is_its_own() {
        // Goal: as short as may be, and two keys never have one name.
        let all = ["topology.bottleneck.buffer", "flow.a.law", "flow.b.law", "law"].map(str::to_owned);
        assert_eq!(
            all.each_ref().map(|key| short(key, &all)),
            ["buffer", "a.law", "b.law", "law"]
        );
    }

    #[test]
    fn names_and_mixed_kinds_stay_names() {
        // An axis with `1 BDP` beside `100 pkt` would be an invention, and `2x1` is a name.
        assert_eq!(of(&["1 BDP", "100 pkt"]), None);
        assert_eq!(of(&["1x1", "2x1"]), None);
        assert_eq!(of(&["5 s", "5 MB"]), None);
        assert_eq!(of(&["inf dB"]), None);
    }

    #[test]
    fn columns_have_the_units_of_tables() {
        // Goal: whatever prefixes a sweep was written with, its column is in the unit that its name ends in, and words
        // have no number.
        let column = |values: &[&str]| {
            let point = |value: &&str| vec![("a.key".to_owned(), (*value).to_owned())];
            keys(&values.iter().map(point).collect::<Vec<_>>())[0].column()
        };
        let is =
            |ending: &str, unit: &str, numbers: &[f64]| Some((ending.to_owned(), unit.to_owned(), numbers.to_vec()));
        assert_eq!(column(&["500 kbit/s", "2 Mbit/s"]), is("_bps", "bit/s", &[5e5, 2e6]));
        assert_eq!(column(&["80 ms", "1 s", "2 min"]), is("_s", "s", &[0.08, 1.0, 120.0]));
        assert_eq!(column(&["5 dB", "10 dB"]), is("_db", "dB", &[5.0, 10.0]));
        assert_eq!(column(&["64 kB"]), is("_bytes", "B", &[64e3]));
        assert_eq!(column(&["0.5", "0.93"]), is("", "1", &[0.5, 0.93]));
        assert_eq!(column(&["1 BDP", "2 BDP"]), is("_bdp", "BDP", &[1.0, 2.0]));
        assert_eq!(column(&["1x1", "2x2"]), None);
        assert_eq!(column(&["1 BDP", "100 pkt"]), None);
    }
}
