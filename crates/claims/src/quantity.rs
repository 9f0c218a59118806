//! What criteria compare: quantities such as `one-way.vcp.utilisation`, numbers, and one by or less another.

use std::fmt;

use fadelab_results::interval::Stat;

use super::figures::{self, Figures};

/// `RUN.LAW.METRIC`, with `RUN@VALUE` for a point of a run that sweeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Name of a run or a channel of the paper.
    pub run: String,
    /// Values of the swept keys without spaces, as in `20dB`; empty without a sweep.
    pub at: String,
    /// Label of a law in it; of a channel `data` or `ack`.
    pub law: String,
    /// What [`figures::check`] accepts.
    pub metric: String,
}

/// A side of a criterion.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A limit.
    Number(f64),
    One(Quantity),
    /// A quantity by another, seed by seed.
    Ratio(Quantity, Quantity),
    /// A quantity less another, seed by seed.
    Difference(Quantity, Quantity),
}

/// A value with its seed. Without a seed: the same for each, as what mathematics say about a channel.
pub type Value = (Option<u64>, f64);

impl Quantity {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text
            .rsplit_once('.')
            .and_then(|(rest, metric)| Some((rest.rsplit_once('.')?, metric)));
        let Some(((run, law), metric)) = parts else {
            return Err(format!("\"{text}\" is no quantity: expected RUN.LAW.METRIC"));
        };
        figures::check(metric)?;
        let (run, at) = run.split_once('@').unwrap_or((run, ""));
        Ok(Self {
            run: run.to_owned(),
            at: at.to_owned(),
            law: law.to_owned(),
            metric: metric.to_owned(),
        })
    }

    fn values(&self, figures: &[Figures]) -> Vec<Value> {
        let here = figures
            .iter()
            .filter(|f| f.run == self.run && f.at == self.at && f.law == self.law);
        here.filter_map(|f| Some((f.seed, f.get(&self.metric)?))).collect()
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { "" } else { "@" };
        write!(f, "{}{at}{}.{}.{}", self.run, self.at, self.law, self.metric)
    }
}

impl Side {
    /// Reads `A`, `A / B` or `A - B`, split at spaces.
    ///
    /// # Errors
    /// Says what is no quantity.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [one] => match one.parse() {
                Ok(number) => Ok(Self::Number(number)),
                Err(_) => Ok(Self::One(Quantity::parse(one)?)),
            },
            [left, "/", right] => Ok(Self::Ratio(Quantity::parse(left)?, Quantity::parse(right)?)),
            [left, "-", right] => Ok(Self::Difference(Quantity::parse(left)?, Quantity::parse(right)?)),
            other => Err(format!(
                "\"{}\" is no side of a criterion: expected a number, A, A / B or A - B",
                other.join(" ")
            )),
        }
    }

    pub fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        let (first, second) = match self {
            Self::Number(_) => (None, None),
            Self::One(one) => (Some(one), None),
            Self::Ratio(first, second) | Self::Difference(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }

    /// The same, to be renamed.
    pub fn quantities_mut(&mut self) -> impl Iterator<Item = &mut Quantity> {
        let (first, second) = match self {
            Self::Number(_) => (None, None),
            Self::One(one) => (Some(one), None),
            Self::Ratio(first, second) | Self::Difference(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }

    /// Its values, over the seeds that all its quantities have.
    pub fn values(&self, figures: &[Figures]) -> Vec<Value> {
        match self {
            Self::Number(number) => vec![(None, *number)],
            Self::One(one) => one.values(figures),
            Self::Ratio(a, b) => paired(&a.values(figures), &b.values(figures), |a, b| a / b),
            Self::Difference(a, b) => paired(&a.values(figures), &b.values(figures), |a, b| a - b),
        }
    }

    /// The mean of its values and their interval.
    pub fn stat(&self, figures: &[Figures]) -> Option<Stat> {
        let range = match self {
            Self::One(one) => figures::range(&one.metric),
            Self::Number(_) | Self::Ratio(..) | Self::Difference(..) => f64::NEG_INFINITY..=f64::INFINITY,
        };
        let values: Vec<f64> = self.values(figures).into_iter().map(|(_, value)| value).collect();
        Stat::within(&values, range)
    }

    /// With the mean of its values and their interval; a number as it is.
    pub fn measured(&self, figures: &[Figures]) -> String {
        let text = match self {
            Self::Number(number) => return number.to_string(),
            Self::One(one) => one.to_string(),
            Self::Ratio(first, second) => format!("{first} / {second}"),
            Self::Difference(first, second) => format!("{first} - {second}"),
        };
        format!("{text} {}", figures::shown(self.stat(figures)))
    }
}

/// Joins values of the same seed; one without a seed goes with each of the other side.
pub fn paired(left: &[Value], right: &[Value], join: impl Fn(f64, f64) -> f64) -> Vec<Value> {
    let pair = |&(seed, a): &Value| {
        let fits = move |other: Option<u64>| seed.is_none() || other.is_none() || seed == other;
        let join = &join;
        right
            .iter()
            .filter(move |(other, _)| fits(*other))
            .map(move |&(other, b)| (seed.or(other), join(a, b)))
            .filter(|(_, value)| value.is_finite())
    };
    left.iter().flat_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(run: &str, at: &str, seed: Option<u64>, value: f64) -> Figures {
        let mut figures = Figures::of(run, "a+b", seed, &[("utilisation", value)]);
        at.clone_into(&mut figures.at);
        figures
    }

    fn values(text: &str, figures: &[Figures]) -> Vec<Value> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Side::parse(&words).unwrap().values(figures)
    }

    #[test]
    fn a_point_of_a_sweep_is_found_by_its_value() {
        // Goal: values with a decimal point and laws with a router are told apart, and other points are left alone.
        let figures = [one("s", "17.5dB", Some(1), 0.25), one("s", "18dB", Some(1), 0.5)];
        assert_eq!(values("s@17.5dB.a+b.utilisation", &figures), [(Some(1), 0.25)]);
        assert_eq!(values("s.a+b.utilisation", &figures), []);
        let Side::One(quantity) = Side::parse(&["s@17.5dB.a+b.utilisation"]).unwrap() else {
            panic!("it is one quantity");
        };
        assert_eq!(quantity.to_string(), "s@17.5dB.a+b.utilisation");
    }

    #[test]
    fn ratios_are_taken_seed_by_seed_and_constants_go_with_each() {
        // Goal: 2/4 and 3/12, not the ratio of the means 2.5/8; a channel's figure stands against every seed.
        let figures = [
            one("x", "", Some(1), 2.0),
            one("x", "", Some(2), 3.0),
            one("y", "", Some(2), 12.0),
            one("y", "", Some(1), 4.0),
            one("c", "", None, 0.5),
        ];
        let ratio = values("x.a+b.utilisation / y.a+b.utilisation", &figures);
        assert_eq!(ratio, [(Some(1), 0.5), (Some(2), 0.25)]);
        let less = values("x.a+b.utilisation - c.a+b.utilisation", &figures);
        assert_eq!(less, [(Some(1), 1.5), (Some(2), 2.5)]);
        assert_eq!(values("3", &figures), [(None, 3.0)]);
    }

    #[test]
    fn nothing_by_nothing_is_no_value() {
        // Goal: a group that got nothing leaves a ratio open, it does not make it infinite.
        let figures = [one("x", "", Some(1), 2.0), one("y", "", Some(1), 0.0)];
        assert_eq!(values("x.a+b.utilisation / y.a+b.utilisation", &figures), []);
    }
}
