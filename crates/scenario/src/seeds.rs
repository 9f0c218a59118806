//! `run.seeds`: `7`, `[1, 2, 3]` or `"1..10"`.

use std::collections::BTreeSet;

use crate::document::{Raw, quoted};
use crate::kind::Kind;
use crate::unit::Scalar;

/// Seeds of a scenario, at least one, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

/// Most seeds, so that a range with a digit too many does not fill the memory.
const SEEDS_MAX: u64 = 1_000_000;

const ALLOWED: &str = "seeds are one number such as 7, a range such as \"1..10\" or a list such as [1, 2, 3]";

impl Scalar for Seeds {
    const KIND: Kind = Kind::Seeds;

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Number(text) => Ok(Self(vec![text.parse().map_err(|_| ALLOWED)?])),
            Raw::Text(text) => {
                let number = |text: &str| text.trim().parse::<u64>().map_err(|_| ALLOWED.to_owned());
                let (first, last) = text.split_once("..").ok_or(ALLOWED)?;
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return Err(format!("the range is empty: {ALLOWED}"));
                }
                if last - first >= SEEDS_MAX {
                    return Err(format!("allowed are at most {SEEDS_MAX} seeds"));
                }
                Ok(Self((first..=last).collect()))
            }
            Raw::List(items) => {
                let (mut seeds, mut seen) = (Vec::new(), BTreeSet::new());
                for item in items {
                    let Raw::Number(text) = &item.raw else {
                        return Err(ALLOWED.to_owned());
                    };
                    let seed = text.parse().map_err(|_| ALLOWED)?;
                    if !seen.insert(seed) {
                        return Err(format!("seed {seed} stands twice in the list"));
                    }
                    seeds.push(seed);
                }
                Ok(Self(seeds))
            }
            _ => Err(ALLOWED.to_owned()),
        }
    }

    fn shown(&self) -> String {
        let is_range = self.0.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == 1);
        match self.0.as_slice() {
            [only] => only.to_string(),
            [first, .., last] if is_range => quoted(&format!("{first}..{last}")),
            seeds => format!("[{}]", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_read_back() {
        // Goal: a number, a range and a list give the seeds they say, and the canonical form reads back.
        let number = |text: &str| crate::document::parse(format!("s = {text}").as_bytes(), "t").unwrap();
        for (text, seeds) in [("7", vec![7]), ("\"1..3\"", vec![1, 2, 3]), ("[5, 1]", vec![5, 1])] {
            let read = Seeds::read(&number(text).at("s").unwrap().raw).unwrap();
            assert_eq!(read.0, seeds);
            assert_eq!(read.shown(), text);
        }
        for wrong in [
            "-1",
            "1.5",
            "\"3..1\"",
            "\"a..b\"",
            "[1, 1]",
            "[\"x\"]",
            "true",
            "\"0..99999999\"",
        ] {
            assert!(Seeds::read(&number(wrong).at("s").unwrap().raw).is_err(), "{wrong}");
        }
    }
}
