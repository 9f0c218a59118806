//! Criteria such as `one-way.vcp.utilisation >= 0.86`, and how seeds decide them.

use fadelab_results::Verdict;
use fadelab_results::interval::Stat;
use serde::Deserialize;

use super::figures::Figures;
use super::quantity::{Quantity, Side, paired};

/// `LEFT OP RIGHT`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Criterion {
    /// What is measured.
    pub left: Side,
    /// `<`, `<=`, `>` or `>=`.
    relation: Relation,
    /// What it is held against.
    pub right: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Whether a criterion holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The interval lies on the right side.
    Holds,
    /// It lies on the other side.
    Fails,
    /// It lies on both, or there is no value.
    Open,
}

impl Outcome {
    /// What the criteria of a claim with this verdict come to.
    pub fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Reproduced => Self::Holds,
            Verdict::Differs | Verdict::CannotBeAsPrinted => Self::Fails,
            Verdict::NotDecided => Self::Open,
        }
    }
}

impl Relation {
    const ALL: [(&'static str, Self); 4] = [
        ("<=", Self::LessEqual),
        (">=", Self::GreaterEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    fn text(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, relation)| *relation == self)
            .map_or("", |(text, _)| text)
    }

    fn of(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterEqual => left >= right,
        }
    }
}

impl TryFrom<String> for Criterion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let relation = |word: &str| {
            Relation::ALL
                .iter()
                .find(|(text, _)| *text == word)
                .map(|found| found.1)
        };
        let place = words.iter().position(|word| relation(word).is_some());
        let Some((place, relation)) = place.and_then(|place| Some((place, relation(words[place])?))) else {
            return Err(format!(
                "criterion \"{text}\": expected RUN.LAW.METRIC, one of < <= > >=, and another or a number"
            ));
        };
        let side = |words: &[&str]| Side::parse(words).map_err(|error| format!("criterion \"{text}\": {error}"));
        let (left, right) = (side(&words[..place])?, side(&words[place + 1..])?);
        if left.quantities().next().is_none() {
            return Err(format!("criterion \"{text}\": a quantity stands on the left"));
        }
        Ok(Self { left, relation, right })
    }
}

impl Criterion {
    /// Names of the runs that it needs.
    pub fn runs(&self) -> Vec<&str> {
        self.quantities().map(|quantity| quantity.run.as_str()).collect()
    }

    /// The quantities on its sides.
    pub fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        self.left.quantities().chain(self.right.quantities())
    }

    /// The same, to be renamed.
    pub fn quantities_mut(&mut self) -> impl Iterator<Item = &mut Quantity> {
        self.left.quantities_mut().chain(self.right.quantities_mut())
    }

    /// Decides it by the 95 % interval of left - right over the seeds that both have; a single seed decides by itself.
    pub fn outcome(&self, figures: &[Figures]) -> Outcome {
        let sides = (self.left.values(figures), self.right.values(figures));
        let difference = paired(&sides.0, &sides.1, |left, right| left - right);
        let difference: Vec<f64> = difference.into_iter().map(|(_, value)| value).collect();
        let Some(stat) = Stat::of(&difference) else {
            return Outcome::Open;
        };
        let half = stat.ci95_half_width.unwrap_or(0.0);
        match (
            self.relation.of(stat.mean - half, 0.0),
            self.relation.of(stat.mean + half, 0.0),
        ) {
            (true, true) => Outcome::Holds,
            (false, false) => Outcome::Fails,
            _ => Outcome::Open,
        }
    }

    /// Both sides with their intervals, and how they compare: `one-way.xcp.jain 0.9998 ± 0.0001, not < 0.9`.
    pub fn measured(&self, figures: &[Figures]) -> String {
        let joint = match self.outcome(figures) {
            Outcome::Holds => "",
            Outcome::Fails => ", not",
            Outcome::Open => ", perhaps",
        };
        let (left, right) = (self.left.measured(figures), self.right.measured(figures));
        format!("{left}{joint} {} {right}", self.relation.text())
    }
}

/// Whether an outcome is the expected one. Few seeds may leave open what all decide, and decide by chance what all
/// leave open.
pub fn is_as(outcome: Outcome, expected: Outcome, complete: bool) -> bool {
    outcome == expected || (!complete && (outcome == Outcome::Open || expected == Outcome::Open))
}

/// The outcome of criteria that must all hold.
pub fn joint(criteria: &[Criterion], figures: &[Figures]) -> Outcome {
    let outcomes: Vec<Outcome> = criteria.iter().map(|criterion| criterion.outcome(figures)).collect();
    if outcomes.contains(&Outcome::Fails) {
        Outcome::Fails
    } else if outcomes.contains(&Outcome::Open) {
        Outcome::Open
    } else {
        Outcome::Holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[(&str, u64, f64)]) -> Vec<Figures> {
        let one = |&(law, seed, value): &(&str, u64, f64)| Figures::of("r", law, Some(seed), &[("utilisation", value)]);
        values.iter().map(one).collect()
    }

    fn outcome(text: &str, values: &[(&str, u64, f64)]) -> Outcome {
        Criterion::try_from(text.to_owned()).unwrap().outcome(&figures(values))
    }

    #[test]
    fn an_interval_decides_only_where_it_lies_on_one_side() {
        // Goal: 0.8, 0.9 and 1.0 have the mean 0.9 and a 95 % interval of +- 0.248.
        let values = [("a", 1, 0.8), ("a", 2, 0.9), ("a", 3, 1.0)];
        assert_eq!(outcome("r.a.utilisation >= 0.65", &values), Outcome::Holds);
        assert_eq!(outcome("r.a.utilisation >= 0.66", &values), Outcome::Open);
        assert_eq!(outcome("r.a.utilisation < 0.65", &values), Outcome::Fails);
        assert_eq!(outcome("r.b.utilisation < 0.65", &values), Outcome::Open);
        assert_eq!(outcome("r.a.utilisation <= 0.8", &values[..1]), Outcome::Holds);
    }

    #[test]
    fn laws_are_compared_seed_by_seed() {
        // Goal: each seed of b lies 0.01 above that of a, far less than the seeds differ among themselves.
        let values = [("a+x", 1, 0.2), ("a+x", 2, 0.9), ("b", 1, 0.21), ("b", 2, 0.91)];
        assert_eq!(outcome("r.a+x.utilisation < r.b.utilisation", &values), Outcome::Holds);
        assert_eq!(outcome("r.a+x.utilisation >= r.b.utilisation", &values), Outcome::Fails);
    }

    #[test]
    fn what_is_no_criterion_is_refused() {
        // Goal: a slip is an error with the text in it, never a criterion that cannot fail.
        for text in [
            "r.a.utilisation",
            "r.a.utilisation = 1",
            "r.a.speed > 1",
            "utilisation > 1",
            "r.a.jain > x",
            "r.a.jain / > 1",
            "1 > r.a.jain",
            "r.a.split:long > 1",
            "r.a.goodput_bps:long:9-3 > 1",
        ] {
            let refusal = Criterion::try_from(text.to_owned()).unwrap_err();
            assert!(refusal.contains('"'), "{refusal}");
        }
    }
}
