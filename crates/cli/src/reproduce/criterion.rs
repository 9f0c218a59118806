//! Criteria such as `one-way.vcp.utilisation >= 0.86`, and how seeds decide them.

use std::fmt;

use fadelab_results::interval::Stat;
use serde::Deserialize;

use super::figures::{self, Figures};

/// `LEFT OP RIGHT`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Criterion {
    /// A quantity.
    pub left: Quantity,
    /// `<`, `<=`, `>` or `>=`.
    relation: Relation,
    /// What it is held against.
    pub right: Term,
}

/// A number or a quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A limit.
    Number(f64),
    /// Another quantity, compared seed by seed.
    Quantity(Quantity),
}

/// `RUN.LAW.METRIC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Name of a run of the paper.
    pub run: String,
    /// Label of a law in it.
    pub law: String,
    /// One of [`figures::names`].
    pub metric: String,
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
        let expected =
            || format!("criterion \"{text}\": expected RUN.LAW.METRIC, one of < <= > >=, and another or a number");
        let [left, relation, right] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(expected());
        };
        let relation = Relation::ALL.iter().find(|(text, _)| *text == relation);
        let right = match right.parse() {
            Ok(number) => Term::Number(number),
            Err(_) => Term::Quantity(Quantity::parse(right)?),
        };
        Ok(Self {
            left: Quantity::parse(left)?,
            relation: relation.ok_or_else(expected)?.1,
            right,
        })
    }
}

impl Quantity {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('.')
            .and_then(|(run, rest)| Some((run, rest.rsplit_once('.')?)));
        let Some((run, (law, metric))) = parts else {
            return Err(format!("\"{text}\" is no quantity: expected RUN.LAW.METRIC"));
        };
        figures::check(metric)?;
        Ok(Self {
            run: run.to_owned(),
            law: law.to_owned(),
            metric: metric.to_owned(),
        })
    }

    fn values(&self, figures: &[Figures]) -> Vec<(u64, f64)> {
        let here = figures.iter().filter(|f| f.run == self.run && f.law == self.law);
        here.filter_map(|f| Some((f.seed, f.get(&self.metric)?))).collect()
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run, self.law, self.metric)
    }
}

impl Criterion {
    /// Names of the runs that it needs.
    pub fn runs(&self) -> Vec<&str> {
        self.quantities().map(|quantity| quantity.run.as_str()).collect()
    }

    /// The quantities on its sides.
    pub fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        let right = match &self.right {
            Term::Quantity(quantity) => Some(quantity),
            Term::Number(_) => None,
        };
        std::iter::once(&self.left).chain(right)
    }

    /// Decides it by the 95 % interval of left - right over the seeds that both have; a single seed decides by itself.
    pub fn outcome(&self, figures: &[Figures]) -> Outcome {
        let left = self.left.values(figures);
        let difference: Vec<f64> = match &self.right {
            Term::Number(limit) => left.iter().map(|(_, value)| value - limit).collect(),
            Term::Quantity(quantity) => {
                let right = quantity.values(figures);
                let of = |seed: u64| right.iter().find(|(other, _)| *other == seed).map(|(_, value)| *value);
                left.iter()
                    .filter_map(|(seed, value)| Some(value - of(*seed)?))
                    .collect()
            }
        };
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

    /// The quantities with their intervals, and how they compare: `one-way.xcp.jain 0.9998 ± 0.0001, not < 0.9`.
    pub fn measured(&self, figures: &[Figures]) -> String {
        let shown = |quantity: &Quantity| {
            let values: Vec<f64> = quantity.values(figures).into_iter().map(|(_, value)| value).collect();
            format!("{quantity} {}", figures::shown(Stat::of(&values)))
        };
        let right = match &self.right {
            Term::Number(limit) => limit.to_string(),
            Term::Quantity(quantity) => shown(quantity),
        };
        let joint = match self.outcome(figures) {
            Outcome::Holds => "",
            Outcome::Fails => ", not",
            Outcome::Open => ", perhaps",
        };
        format!("{}{joint} {} {right}", shown(&self.left), self.relation.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[(&str, u64, f64)]) -> Vec<Figures> {
        let one = |&(law, seed, value): &(&str, u64, f64)| Figures::of("r", law, seed, &[("utilisation", value)]);
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
        ] {
            let refusal = Criterion::try_from(text.to_owned()).unwrap_err();
            assert!(refusal.contains('"'), "{refusal}");
        }
    }
}
