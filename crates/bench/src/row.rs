//! What was measured, the bound on it, and whether it holds.

use std::fmt;

/// A bound on a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At least the first; the second is what we aim at.
    AtLeast(f64, f64),
    AtMost(f64),
    /// Told, not bounded.
    None,
}

/// A figure with its bound.
#[derive(Clone, Debug)]
pub struct Row {
    pub case: String,
    /// What the figure says, with its unit.
    pub quantity: &'static str,
    pub value: f64,
    /// Digits after the point.
    pub digits: usize,
    pub bound: Bound,
    /// What the figure rests on, such as the two rates of a ratio.
    pub basis: String,
}

impl Row {
    /// Whether the bound is kept; a figure that is no number keeps none.
    pub fn holds(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least, _) => self.value >= least,
            Bound::AtMost(most) => self.value <= most,
            Bound::None => self.value.is_finite(),
        }
    }

    pub fn bound_text(&self) -> String {
        match self.bound {
            Bound::AtLeast(least, aim) => format!("at least {least}, aim {aim}"),
            Bound::AtMost(most) => format!("at most {most}"),
            Bound::None => String::new(),
        }
    }

    /// The verdict in a word; nothing where there is no bound.
    pub fn verdict(&self) -> &'static str {
        match (self.bound, self.holds()) {
            (Bound::None, _) => "",
            (_, true) => "holds",
            (_, false) => "MISSED",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = format!("{:.*}", self.digits, self.value);
        write!(
            f,
            "{:<44} {value:>9} {:<28} {:<26} {:<6}",
            self.case,
            self.quantity,
            self.bound_text(),
            self.verdict()
        )?;
        if self.basis.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.basis)
        }
    }
}

/// The rows of one part.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name of its block in the page.
    pub name: &'static str,
    /// What is measured, in a sentence.
    pub about: String,
    pub rows: Vec<Row>,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.about)?;
        self.rows.iter().try_for_each(|row| writeln!(f, "  {row}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: f64, bound: Bound) -> Row {
        Row {
            case: "a case".to_owned(),
            quantity: "times",
            value,
            digits: 2,
            bound,
            basis: String::new(),
        }
    }

    #[test]
    fn missed_bounds_are_seen() {
        // Goal: a figure on the wrong side of its bound, and one that is no number, do not hold.
        assert!(row(8.0, Bound::AtLeast(8.0, 10.0)).holds());
        assert!(!row(7.99, Bound::AtLeast(8.0, 10.0)).holds());
        assert!(row(400.0, Bound::AtMost(400.0)).holds());
        assert!(!row(400.1, Bound::AtMost(400.0)).holds());
        for bound in [Bound::AtLeast(0.0, 0.0), Bound::AtMost(1.0), Bound::None] {
            assert!(!row(f64::NAN, bound).holds(), "{bound:?}");
        }
        assert!(row(7.0, Bound::AtLeast(8.0, 10.0)).to_string().contains("MISSED"));
    }
}
