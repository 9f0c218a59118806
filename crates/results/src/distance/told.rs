//! Distances in words and as a table.

use std::fmt::Write;

use super::{Agreement, Bound, Distance};
use crate::distinct::in_order;
use crate::layout::Grid;
use crate::point_text;

/// What a person wants to know first: how many of the bounds hold, and which do not, or may not.
pub fn in_words(distances: &[Distance]) -> String {
    let those = |agreement: Agreement| distances.iter().filter(move |distance| distance.agreement == agreement);
    let within = those(Agreement::Within).count();
    let mut text = format!("{within} of {} distances are within their bounds", distances.len());
    let beyond: Vec<String> = those(Agreement::Beyond)
        .map(|distance| {
            let relative = distance.relative.filter(|_| distance.bound.relative > 0.0);
            named(distance) + &relative.map_or_else(String::new, |share| format!(" {:+.1} %", share * 100.0))
        })
        .collect();
    if !beyond.is_empty() {
        let _ = write!(text, "; beyond: {}", beyond.join("; "));
    }
    let (single, several): (Vec<_>, Vec<_>) =
        those(Agreement::Undecided).partition(|distance| distance.difference.n == 1);
    let undecided: Vec<String> = several
        .into_iter()
        .map(|distance| format!("{} ({})", named(distance), remedy(distance)))
        .collect();
    if !undecided.is_empty() {
        let _ = write!(text, "; undecided: {}", undecided.join("; "));
    }
    if !single.is_empty() {
        let _ = write!(
            text,
            "; undecided: {}, for one seed does not tell how far seeds scatter: take several",
            single.len()
        );
    }
    text + "."
}

fn named(distance: &Distance) -> String {
    let point = point_text(&distance.point);
    let at = if point.is_empty() {
        point
    } else {
        format!(" at {point}")
    };
    let whose = distance
        .group
        .as_ref()
        .map_or_else(String::new, |group| format!("{group} in "));
    format!(
        "{} of {whose}{} over {}{at}",
        distance.figure, distance.law, distance.link
    )
}

/// What would decide.
fn remedy(distance: &Distance) -> String {
    match distance.seeds_to_decide() {
        Some(seeds) => format!("{seeds} seeds would decide"),
        None if distance.difference.n == 1 => "one seed: take several".to_owned(),
        None => "at the bound: no number of seeds decides".to_owned(),
    }
}

/// Headings and rows of the table of distances: cells as text, and how each row's grounds agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistanceTable {
    /// Headings; the first `texts` of them are over text.
    pub headings: Vec<String>,
    /// How many columns from the left hold text.
    pub texts: usize,
    pub rows: Vec<(Vec<String>, Agreement)>,
}

/// The distances as a table, a column for the value on each of two grounds.
pub fn table(distances: &[Distance]) -> DistanceTable {
    let has_point = distances.iter().any(|distance| !distance.point.is_empty());
    let has_links = in_order(distances.iter().map(|distance| &distance.link)).len() > 1;
    let has_groups = distances.iter().any(|distance| distance.group.is_some());
    let others = in_order(distances.iter().map(|distance| distance.second_ground.as_str()));
    let first = distances.first().map_or("", |distance| distance.first_ground.as_str());
    let second = if others.len() == 1 { others[0] } else { "other" };
    let keys = |point: String, link: String, ground: String, law: String, group: String| {
        let shown = [
            (has_point, point),
            (has_links, link),
            (others.len() > 1, ground),
            (true, law),
            (has_groups, group),
        ];
        let shown = shown.into_iter().filter(|(is_shown, _)| *is_shown);
        shown.map(|(_, text)| text).collect::<Vec<_>>()
    };
    let mut headings = keys(
        "point".to_owned(),
        "link".to_owned(),
        "ground".to_owned(),
        "law".to_owned(),
        "group".to_owned(),
    );
    headings.extend(["figure", "", first, second, "difference", "bound", ""].map(str::to_owned));
    let row = |distance: &Distance| {
        let mut cells = keys(
            point_text(&distance.point),
            distance.link.clone(),
            distance.second_ground.clone(),
            distance.law.clone(),
            distance.group.clone().unwrap_or_default(),
        );
        let decimals = distance.decimals;
        cells.extend([
            distance.figure.to_owned(),
            distance.unit.to_owned(),
            format!("{:.decimals$}", distance.first),
            format!("{:.decimals$}", distance.second),
            difference(distance),
            bound(distance.bound, distance.unit),
            verdict(distance),
        ]);
        (cells, distance.agreement)
    };
    DistanceTable {
        texts: headings.len() - 5,
        headings,
        rows: distances.iter().map(row).collect(),
    }
}

/// The mean difference with its interval: as a share of the first value where the bound is one, else in the unit.
fn difference(distance: &Distance) -> String {
    let is_share = distance.bound.relative > 0.0 && distance.relative.is_some();
    let (factor, decimals, unit) = if is_share {
        (100.0 / distance.first.abs(), 1, " %")
    } else {
        (1.0, distance.decimals, "")
    };
    let half = distance.difference.ci95_half_width;
    let interval = half.map_or_else(String::new, |half| format!(" ± {:.decimals$}", half * factor));
    format!("{:+.decimals$}{interval}{unit}", distance.difference.mean * factor)
}

fn bound(bound: Bound, unit: &str) -> String {
    let share = format!("{:.0} %", bound.relative * 100.0);
    let unit = if unit == "%" { "points" } else { unit };
    let least = format!("{} {unit}", bound.least).trim_end().to_owned();
    match (bound.relative > 0.0, bound.least > 0.0) {
        (true, true) => format!("{share} or {least}"),
        (true, false) => share,
        _ => least,
    }
}

fn verdict(distance: &Distance) -> String {
    match distance.agreement {
        Agreement::Within => "within".to_owned(),
        Agreement::Beyond => "BEYOND".to_owned(),
        Agreement::Undecided => format!("undecided: {}", remedy(distance)),
    }
}

/// The distances as text that ends with a new line, at most `width` wide if that is given.
pub fn terminal(distances: &[Distance], width: Option<usize>) -> String {
    let DistanceTable { headings, texts, rows } = table(distances);
    let grid = Grid {
        keys: texts,
        numbers: texts..headings.len() - 1,
        headings,
        rows: rows.into_iter().map(|(cells, _)| cells).collect(),
    };
    grid.text(width)
}
