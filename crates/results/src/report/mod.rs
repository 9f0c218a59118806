//! `report.html`: one file with everything in it, which asks no other computer for anything.

mod claims;
mod data;
mod distances;
mod headline;
pub mod paper;
mod tables;
mod versus;

use std::fmt::Write;

use crate::curves::Curves;
use crate::distinct::in_order;
use crate::{Error, Experiment, SIM, Summary, point_text};

const PAGE: &str = include_str!("../../../../web/report.html");
const STYLE: &str = concat!(
    include_str!("../../../../web/report.css"),
    include_str!("../../../../web/looks.css"),
    include_str!("../../../../web/claims.css"),
    include_str!("../../../../web/watch.css"),
    include_str!("../../../../web/print.css"),
);
/// What makes figures, of which no part knows a document: the page has it, and the command runs it by itself.
const FIGURES_SCRIPT: &str = concat!(
    include_str!("../../../../web/data.js"),
    include_str!("../../../../web/scale.js"),
    include_str!("../../../../web/figure.js"),
    include_str!("../../../../web/marks.js"),
    include_str!("../../../../web/state.js"),
    include_str!("../../../../web/time.js"),
    include_str!("../../../../web/watch.js"),
    include_str!("../../../../web/compare.js"),
    include_str!("../../../../web/spread.js"),
    include_str!("../../../../web/versus.js"),
    include_str!("../../../../web/pictures.js"),
);
const PAGE_SCRIPT: &str = include_str!("../../../../web/page.js");
/// One script in parts: each file uses what those before it declare.
const PAGE_REST_SCRIPT: &str = concat!(
    include_str!("../../../../web/still.js"),
    include_str!("../../../../web/live.js"),
    include_str!("../../../../web/files.js"),
    include_str!("../../../../web/print.js"),
    include_str!("../../../../web/controls.js"),
    include_str!("../../../../web/main.js"),
);
const CHARTS_SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.iife.min.js"));
const CHARTS_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.min.css"));
const CHARTS_LICENSE: &str = include_str!(concat!(env!("OUT_DIR"), "/LICENSE"));

/// The page of an experiment.
///
/// # Errors
/// [`Error::Json`] when a figure cannot be written as JSON.
pub fn html(experiment: &Experiment, summary: &Summary) -> Result<String, Error> {
    let curves = Curves::of(experiment);
    let data = data(summary, &curves)?;
    Ok(fill(
        PAGE,
        &[
            ("title", escape(&summary.title)),
            ("about", escape(&summary.about)),
            ("headline", escape(&headline::headline(summary))),
            ("tables", claims::folded(summary, tables::figures(summary))),
            ("claims", claims::sections(summary)),
            ("distances", distances::section(summary)),
            ("left_out", left_out(&curves)),
            ("no_versus", hidden(summary.versus.is_empty())),
            ("no_sweep", hidden(summary.points().len() < 2)),
            ("no_curves", hidden(curves.panels.is_empty())),
            ("no_watched", hidden(curves.watched_n() == 0)),
            ("watched", curves.watched_n().to_string()),
            ("how", how(experiment, summary)),
            ("scenario", escape(&experiment.scenario)),
            // In a script element only `</` and `<!--` could end the data early.
            ("data", data.replace('<', "\\u003c")),
            ("style", format!("{CHARTS_STYLE}\n{STYLE}")),
            ("charts_license", CHARTS_LICENSE.trim().to_owned()),
            ("charts_script", CHARTS_SCRIPT.to_owned()),
            ("script", format!("{PAGE_SCRIPT}{FIGURES_SCRIPT}{PAGE_REST_SCRIPT}")),
        ],
    ))
}

/// What the script reads, as JSON.
pub(crate) fn data(summary: &Summary, curves: &Curves) -> Result<String, Error> {
    serde_json::to_string(&data::Data::of(summary, curves)).map_err(Error::json("report.html"))
}

/// Replaces each `{{name}}` of the page once, in one pass, so that what is put in is never searched again.
fn fill(page: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = page.split("{{");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().find(|(key, _)| *key == name);
        text.push_str(part.map_or("", |(_, value)| value));
        text.push_str(rest);
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The attribute that hides a section in which there is nothing to show.
fn hidden(is_hidden: bool) -> String {
    (if is_hidden { " hidden" } else { "" }).to_owned()
}

fn left_out(curves: &Curves) -> String {
    match curves.panels_left_out {
        0 => String::new(),
        n => format!(
            "<p class=\"note\">Curves are shown for the first {} pairs of point and link; those of {n} more are in \
             links.parquet and flows.parquet. The tables and the figures of the sweep have all.</p>",
            curves.panels.len()
        ),
    }
}

/// `Simulated`, or on which grounds the runs were made.
fn made_on(summary: &Summary) -> String {
    let grounds = in_order(summary.contenders.iter().map(|contender| contender.ground.as_str()));
    match grounds[..] {
        [SIM] | [] => "Simulated".to_owned(),
        _ => format!("Run on {}", escape(&grounds.join(" and "))),
    }
}

fn how(experiment: &Experiment, summary: &Summary) -> String {
    let (runs, seeds) = (experiment.runs.len(), summary.seeds.len());
    let points: Vec<String> = summary.points().iter().map(|point| point_text(point)).collect();
    let sweep = match points.len() {
        0 | 1 => String::new(),
        n => format!(" × {n} points of the sweep"),
    };
    let mut text = format!(
        "<p>{} by fadelab {}: {runs} runs ({} laws × {seeds} {}{sweep}), each measured over {} s. Laws meet the \
         same channel under the same seed. The same scenario and seeds give this page again, byte by byte.</p>",
        made_on(summary),
        experiment.version,
        in_order(summary.contenders.iter().map(|contender| &contender.law)).len(),
        if seeds == 1 { "seed" } else { "seeds" },
        summary.measured_s,
    );
    for warning in &experiment.warnings {
        let _ = write!(text, "<p class=\"note\">{}</p>", escape(warning));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_searched_again() {
        // A scenario may well contain the text of a placeholder.
        let parts = [("a", "{{b}}".to_owned()), ("b", "x".to_owned())];
        assert_eq!(fill("<{{a}}|{{b}}>", &parts), "<{{b}}|x>");
    }
}
