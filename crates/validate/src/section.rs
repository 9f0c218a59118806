//! What a section hands over: rows with verdicts, and pictures.

use fadelab_results::interval::Stat;

/// One subject of the page, e.g. the law of the square root.
pub struct Section {
    /// Its name on the command line and in the names of its pictures.
    pub name: &'static str,
    pub title: String,
    /// What is compared and why it ought to agree: Markdown, before the table.
    pub intro: String,
    pub rows: Vec<Row>,
    pub pictures: Vec<Picture>,
}

pub struct Row {
    /// What was simulated, e.g. `10 flows, 1 % loss`.
    pub case: String,
    /// What was measured, e.g. `utilisation`.
    pub quantity: String,
    /// Its unit; `1` is a pure number.
    pub unit: &'static str,
    /// What the closed form or the other simulator says.
    pub reference: f64,
    /// What was measured: the mean over seeds.
    pub ours: f64,
    /// Half the width of the 95 % interval of the mean; `None` with a single seed, or where nothing is random.
    pub ours_interval: Option<f64>,
    /// How far both may be apart.
    pub tolerance: Tolerance,
    /// What came of it.
    pub verdict: Verdict,
    /// Where they differ, why; otherwise what a reader has to know. May be empty.
    pub note: String,
    /// A command that makes the row by hand, from the top of the project; may be empty.
    pub command: String,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The two agree within the tolerance.
    Holds,
    /// They do once our run has the named parameter, which stands for a choice of the other side that is not ours.
    HoldsWith(String),
    Differs,
    /// They do not, which was found before and is named: the section says what is known of the cause.
    Apart,
    /// They do not, and must not: our run is that of a sender that was made wrong.
    Seen,
}

/// How far two values may be apart, and why so far: the difference must be within one of the bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// In the unit of the row.
    pub absolute: Option<f64>,
    /// As a part of the reference.
    pub relative: Option<f64>,
    /// What chance may add to either bound: both sides are means over seeds.
    pub noise: f64,
    /// Why this much and no less.
    pub reason: String,
}

/// A drawing in `docs/validation`.
pub struct Picture {
    /// Name of the file without its ending; unique in the page.
    pub name: String,
    /// What it shows, below it.
    pub caption: String,
    pub svg: String,
}

impl Tolerance {
    /// So much in the unit of the row.
    pub fn within(absolute: f64, reason: &str) -> Self {
        Self {
            absolute: Some(absolute),
            relative: None,
            noise: 0.0,
            reason: reason.to_owned(),
        }
    }

    /// Such a part of the reference.
    pub fn part(relative: f64, reason: &str) -> Self {
        Self {
            absolute: None,
            relative: Some(relative),
            noise: 0.0,
            reason: reason.to_owned(),
        }
    }

    /// Or so much in the unit of the row.
    #[must_use]
    pub fn or_within(mut self, absolute: f64) -> Self {
        self.absolute = Some(absolute);
        self
    }

    /// And so much for chance.
    #[must_use]
    pub fn and_noise(mut self, noise: f64) -> Self {
        self.noise = noise;
        self
    }

    /// Whether `ours` is near enough to `reference`. What is not a number is near to nothing.
    pub fn allows(&self, reference: f64, ours: f64) -> bool {
        let apart = (ours - reference).abs();
        let within = |bound: Option<f64>| bound.is_some_and(|bound| apart <= bound + self.noise);
        within(self.absolute) || within(self.relative.map(|part| part * reference.abs()))
    }

    /// In a table's cell, e.g. `10 % or 3`.
    pub fn text(&self) -> String {
        let relative = self.relative.map(|part| format!("{} %", number(100.0 * part)));
        let absolute = self.absolute.map(number);
        let parts: Vec<String> = [relative, absolute].into_iter().flatten().collect();
        let noise = if self.noise > 0.0 {
            format!(" and {}", digits(self.noise, 2))
        } else {
            String::new()
        };
        parts.join(" or ") + &noise
    }
}

impl Row {
    /// A comparison of `ours` with `reference`, which holds where the tolerance allows it.
    pub fn new(
        case: impl Into<String>,
        quantity: impl Into<String>,
        unit: &'static str,
        reference: f64,
        ours: Stat,
        tolerance: Tolerance,
    ) -> Self {
        let verdict = if tolerance.allows(reference, ours.mean) {
            Verdict::Holds
        } else {
            Verdict::Differs
        };
        Self {
            case: case.into(),
            quantity: quantity.into(),
            unit,
            reference,
            ours: ours.mean,
            ours_interval: ours.ci95_half_width,
            tolerance,
            verdict,
            note: String::new(),
            command: String::new(),
        }
    }

    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// With the command that makes it by hand.
    #[must_use]
    pub fn by(mut self, command: &str) -> Self {
        command.clone_into(&mut self.command);
        self
    }

    /// The difference as people read it: in the unit of the row where the tolerance is, as a part otherwise.
    pub fn difference(&self) -> String {
        let apart = self.ours - self.reference;
        if self.tolerance.relative.is_some() && self.reference != 0.0 {
            return format!("{:+.2} %", 100.0 * apart / self.reference.abs());
        }
        let sign = if apart < 0.0 { "-" } else { "+" };
        format!("{sign}{}", number(apart.abs()))
    }

    /// Our value with its interval.
    pub fn ours_text(&self) -> String {
        match self.ours_interval {
            Some(half) if half > 0.0 => format!("{} ± {}", number(self.ours), digits(half, 2)),
            _ => number(self.ours),
        }
    }
}

impl Verdict {
    /// In a table's cell.
    pub fn text(&self) -> String {
        match self {
            Self::Holds => "holds".to_owned(),
            Self::HoldsWith(parameter) => format!("holds with {parameter}"),
            Self::Differs => "DIFFERS".to_owned(),
            Self::Apart => "apart".to_owned(),
            Self::Seen => "seen".to_owned(),
        }
    }
}

/// A number in four significant digits; whole ones in full.
pub fn number(value: f64) -> String {
    if value % 1.0 == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    digits(value, 4)
}

fn digits(value: f64, significant: i32) -> String {
    if !value.is_finite() || value == 0.0 {
        return format!("{value}");
    }
    let magnitude = libm::floor(libm::log10(value.abs())) as i32;
    if magnitude < -4 {
        return format!("{value:.*e}", significant as usize - 1);
    }
    format!("{value:.*}", (significant - 1 - magnitude).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_held_against_either_bound() {
        // Goal: both bounds count, on both sides of the reference, the edge is inside, and NaN is near to nothing.
        let tolerance = Tolerance::part(0.1, "").or_within(3.0);
        for (reference, ours, allowed) in [
            (10.0, 13.0, true),
            (10.0, 7.0, true),
            (10.0, 13.1, false),
            (100.0, 110.0, true),
            (100.0, 90.0, true),
            (100.0, 111.0, false),
            (-100.0, -109.0, true),
            (0.0, 3.0, true),
            (0.0, -3.5, false),
            (10.0, f64::NAN, false),
        ] {
            assert_eq!(tolerance.allows(reference, ours), allowed, "{reference} {ours}");
        }
        assert!(
            !Tolerance::part(0.1, "").allows(0.0, 1e-9),
            "a part of nothing is nothing"
        );
    }

    #[test]
    fn numbers_have_the_digits_that_people_read() {
        // Goal: four significant digits, whole numbers in full, tiny ones in powers of ten.
        for (value, text) in [
            (0.0, "0"),
            (1e6, "1000000"),
            (0.123_456, "0.1235"),
            (98.765_4, "98.77"),
            (123_456.7, "123457"),
            (-0.5, "-0.5000"),
            (0.000_012_345, "1.234e-5"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
