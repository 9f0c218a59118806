//! Text with figures in it: `XCP uses {one-way.xcp.utilisation}` takes its number from the runs, so that it cannot go
//! stale.

use serde::Deserialize;

use super::figures::{self, Figures};
use super::quantity::{Quantity, Side};

/// Text in which `{A}`, `{A / B}` and `{A - B}` stand for quantities.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Told(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Words(String),
    Figure(Side),
}

impl TryFrom<String> for Told {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((words, after)) = rest.split_once('{') {
            let Some((inside, after)) = after.split_once('}') else {
                return Err(format!("\"{{{after}\": a figure ends with a closing brace"));
            };
            let side: Vec<&str> = inside.split_whitespace().collect();
            let side = Side::parse(&side)?;
            if side.quantities().next().is_none() {
                return Err(format!("\"{{{inside}}}\" is no quantity: expected RUN.LAW.METRIC"));
            }
            parts.extend([Part::Words(words.to_owned()), Part::Figure(side)]);
            rest = after;
        }
        parts.push(Part::Words(rest.to_owned()));
        Ok(Self(parts))
    }
}

impl Told {
    /// The quantities that it shows.
    pub fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        self.0.iter().flat_map(|part| match part {
            Part::Words(_) => Vec::new(),
            Part::Figure(side) => side.quantities().collect(),
        })
    }

    /// The text with what was measured.
    pub fn text(&self, figures: &[Figures]) -> String {
        let part = |part: &Part| match part {
            Part::Words(words) => words.clone(),
            Part::Figure(side) => figures::shown(side.stat(figures)),
        };
        self.0.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<Told, String> {
        Told::try_from(text.to_owned())
    }

    #[test]
    fn a_reason_takes_its_numbers_from_the_runs() {
        // Goal: figures stand where their quantities stood, means with intervals, ratios seed by seed; words stay.
        let one = |law, seed, value| Figures::of("r", law, Some(seed), &[("timeouts", value)]);
        let figures = [one("a", 1, 2.0), one("a", 2, 2.0), one("b", 1, 4.0), one("b", 2, 4.0)];
        let text = told("A has {r.a.timeouts}, {r.a.timeouts / r.b.timeouts} of B's.").unwrap();
        assert_eq!(text.text(&figures), "A has 2.0000, 0.5000 of B's.");
        assert_eq!(text.quantities().count(), 3);
        assert_eq!(told("{r.c.timeouts}").unwrap().text(&figures), "-");
        assert_eq!(told("Nothing.").unwrap().text(&figures), "Nothing.");
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        // Goal: a slip is an error with the text in it, not a reason with braces.
        for text in ["{r.a.speed}", "{r.a.timeouts", "{3}", "{}"] {
            let refusal = told(text).unwrap_err();
            assert!(refusal.contains('"'), "{refusal}");
        }
    }
}
