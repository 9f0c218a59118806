//! Studies of causes: one sweep each, as a Markdown table for a paper's README.

use std::fmt::Write;
use std::path::Path;

use fadelab_results::interval::Stat;

use super::figures::{self, Figures};
use super::paper::{self, Studies, Study};
use super::{ReproduceArgs, simulate};
use crate::{Failure, output};

/// Prints the studies that were asked for.
///
/// # Errors
/// A study or a metric that does not exist, or a run that fails.
pub fn print(args: &ReproduceArgs, folder: &Path, studies: &Studies) -> Result<(), Failure> {
    for id in &args.studies {
        let study = studies.study.iter().find(|study| study.id == *id).ok_or_else(|| {
            let ids: Vec<&str> = studies.study.iter().map(|study| study.id.as_str()).collect();
            Failure::Invalid(format!("there is no study \"{id}\": allowed are {}", ids.join(", ")))
        })?;
        for name in &study.show {
            figures::check(name).map_err(Failure::Invalid)?;
        }
        let plan = paper::plan(folder, &study.scenario, &study.set, args.seeds)?;
        let experiment = simulate(&plan, None)?;
        let wanted = study.show.iter().map(String::as_str).collect();
        let measure = |run| Figures::measure(&study.id, run, &study.link, &wanted).map_err(Failure::Invalid);
        let figures: Vec<Figures> = experiment.runs.iter().map(measure).collect::<Result<_, _>>()?;
        output::print(&table(study, &figures))?;
    }
    Ok(())
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
            let _ = write!(text, " {} |", figures::shown(Stat::of(&values)));
        }
        text.push('\n');
    }
    text + "\n"
}
