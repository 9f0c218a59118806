//! Studies of causes: one sweep each, as a Markdown table for a paper's README.

use std::fmt::Write;
use std::path::Path;

use fadelab_results::Run;
use fadelab_results::interval::Stat;
use fadelab_scenario::plan::Plan;

use super::figures::{self, Figures};
use super::paper::{self, Studies, Study};
use crate::Failure;

impl Studies {
    /// Those of a paper.
    ///
    /// # Errors
    /// A file that cannot be read or says something that it must not.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        paper::read_file(folder, "studies.toml")
    }

    /// The study of this id.
    ///
    /// # Errors
    /// There is none, or it shows a metric that does not exist.
    pub fn named(&self, id: &str) -> Result<&Study, Failure> {
        let study = self.study.iter().find(|study| study.id == *id).ok_or_else(|| {
            let ids: Vec<&str> = self.study.iter().map(|study| study.id.as_str()).collect();
            Failure::Invalid(format!("there is no study \"{id}\": allowed are {}", ids.join(", ")))
        })?;
        for name in &study.show {
            figures::check(name).map_err(Failure::Invalid)?;
        }
        Ok(study)
    }
}

impl Study {
    /// What [`fadelab_lab::sweep`] is to run for it, with `seeds_n` seeds, 1 to that number; `None` keeps those of the
    /// scenario.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn plan(&self, folder: &Path, seeds_n: Option<u32>) -> Result<Plan, Failure> {
        paper::plan(folder, &self.scenario, &self.set, seeds_n, paper::Ground::Sim)
    }

    /// Its question and its table as Markdown, of the runs of its plan.
    ///
    /// # Errors
    /// A link that the runs do not have.
    pub fn table(&self, runs: &[Run]) -> Result<String, Failure> {
        let wanted = self.show.iter().map(String::as_str).collect();
        let measure = |run| Figures::measure(&self.id, run, &self.link, &wanted).map_err(Failure::Invalid);
        let figures: Vec<Figures> = runs.iter().map(measure).collect::<Result<_, _>>()?;
        Ok(table(self, &figures))
    }
}

/// One row per point and law, in the order of the sweep.
fn table(study: &Study, figures: &[Figures]) -> String {
    let mut text = format!(
        "{}\n\n| point | law | {} |\n|---|---|",
        study.question,
        study.show.join(" | ")
    );
    text += &"---|".repeat(study.show.len());
    text.push('\n');
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for figure in figures {
        let row = (figure.point.as_str(), figure.law.as_str());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for (point, law) in rows {
        let _ = write!(text, "| {point} | {law} |");
        for name in &study.show {
            let here = figures.iter().filter(|f| f.point == point && f.law == law);
            let values: Vec<f64> = here.filter_map(|f| f.get(name)).collect();
            let _ = write!(
                text,
                " {} |",
                figures::shown(Stat::within(&values, figures::range(name)))
            );
        }
        text.push('\n');
    }
    text + "\n"
}
