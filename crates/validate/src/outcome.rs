//! What all sections together come to.

use std::fmt;

use crate::section::{Section, Verdict};

/// Rows that may need a parameter of the other side's making in order to hold.
pub const WITH_PARAMETER_MAX: usize = 3;

/// The count of verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub rows: usize,
    /// Case and quantity of those that miss their bound.
    pub differing: Vec<String>,
    /// Rows whose difference is known.
    pub apart: usize,
    /// Rows that hold with a parameter.
    pub with_parameter: usize,
}

impl Outcome {
    pub fn of(sections: &[Section]) -> Self {
        let mut outcome = Self::default();
        for row in sections.iter().flat_map(|section| &section.rows) {
            outcome.rows += 1;
            match row.verdict {
                Verdict::Holds | Verdict::Seen => {}
                Verdict::Apart => outcome.apart += 1,
                Verdict::HoldsWith(_) => outcome.with_parameter += 1,
                Verdict::Differs => outcome.differing.push(format!("{}, {}", row.case, row.quantity)),
            }
        }
        outcome
    }

    pub fn holds(&self) -> bool {
        self.differing.is_empty() && self.with_parameter <= WITH_PARAMETER_MAX
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, differ, with_parameter, apart) = (self.rows, self.differing.len(), self.with_parameter, self.apart);
        let hold = rows - differ - with_parameter - apart;
        write!(
            f,
            "{rows} rows: {hold} hold, {with_parameter} hold with a parameter, {apart} apart as known, {differ} differ"
        )?;
        for row in &self.differing {
            write!(f, "\n  misses its bound: {row}")?;
        }
        if self.with_parameter > WITH_PARAMETER_MAX {
            write!(f, "\n  more than {WITH_PARAMETER_MAX} rows need a parameter")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::{Row, Tolerance};
    use fadelab_results::interval::Stat;

    fn section(verdicts: &[Verdict]) -> Section {
        let row = |verdict: &Verdict| {
            let ours = Stat::of(&[1.0]).expect("there is one value");
            let mut row = Row::new("case", "quantity", "1", 1.0, ours, Tolerance::within(0.1, ""));
            row.verdict = verdict.clone();
            row
        };
        Section {
            name: "some",
            title: String::new(),
            intro: String::new(),
            rows: verdicts.iter().map(row).collect(),
            pictures: Vec::new(),
        }
    }

    #[test]
    fn one_row_that_differs_and_a_fourth_parameter_are_too_many() {
        // Goal: three rows may hold with a parameter, over all sections; no row may differ.
        let with = Verdict::HoldsWith("x".to_owned());
        let three = [
            section(&[with.clone(), Verdict::Holds]),
            section(&[with.clone(), with.clone()]),
        ];
        assert!(Outcome::of(&three).holds() && Outcome::of(&[]).holds());
        let four = [section(&[with.clone(), with.clone()]), section(&[with.clone(), with])];
        assert!(!Outcome::of(&four).holds());
        assert!(
            Outcome::of(&four)
                .to_string()
                .contains("more than 3 rows need a parameter")
        );
        let differing = Outcome::of(&[section(&[Verdict::Holds, Verdict::Differs])]);
        assert!(!differing.holds());
        assert_eq!(
            differing.to_string(),
            "2 rows: 1 hold, 0 hold with a parameter, 0 apart as known, 1 differ\n  misses its bound: case, quantity"
        );
    }
}
