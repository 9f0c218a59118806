//! `report.html`: one file with everything in it, which asks no other computer for anything.

use std::fmt::Write;

use serde::Serialize;

use crate::curves::Curves;
use crate::measure::Metric;
use crate::summary::Group;
use crate::table::{self, View};
use crate::{Error, Experiment, Summary, point_text};

const PAGE: &str = include_str!("../../../web/report.html");
const STYLE: &str = include_str!("../../../web/report.css");
const SCRIPT: &str = include_str!("../../../web/report.js");
const CHARTS_SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.iife.min.js"));
const CHARTS_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.min.css"));
const CHARTS_LICENSE: &str = include_str!(concat!(env!("OUT_DIR"), "/LICENSE"));

/// Colours that the style sheet has for laws; further laws begin again with dashed lines.
const COLOURS_N: usize = 8;

/// What the page's script reads.
#[derive(Serialize)]
struct Data<'a> {
    laws: &'a [String],
    seeds_n: usize,
    #[serde(flatten)]
    curves: &'a Curves,
}

/// The page of an experiment.
///
/// # Errors
/// [`Error::Json`] when a figure cannot be written as JSON.
pub fn html(experiment: &Experiment, summary: &Summary) -> Result<String, Error> {
    let curves = Curves::of(experiment);
    let data = Data {
        laws: &summary.laws,
        seeds_n: summary.seeds.len(),
        curves: &curves,
    };
    let data = serde_json::to_string(&data).map_err(|source| Error::Json {
        file: "report.html",
        source,
    })?;
    Ok(fill(
        PAGE,
        &[
            ("title", escape(&summary.title)),
            ("about", escape(&summary.about)),
            ("headline", escape(&headline(summary))),
            ("tables", tables(summary)),
            ("claims", claims(summary)),
            ("left_out", left_out(&curves)),
            ("how", how(experiment, summary)),
            ("scenario", escape(&experiment.scenario)),
            // In a script element only `</` and `<!--` could end the data early.
            ("data", data.replace('<', "\\u003c")),
            ("style", format!("{CHARTS_STYLE}\n{STYLE}")),
            ("charts_license", CHARTS_LICENSE.trim().to_owned()),
            ("charts_script", CHARTS_SCRIPT.to_owned()),
            ("script", SCRIPT.to_owned()),
        ],
    ))
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

/// Who uses how much of the link, in a sentence: what a first reader wants to know.
fn headline(summary: &Summary) -> String {
    let (links, points) = (summary.data_links(), summary.points());
    let sentence = |link: &String| match points.as_slice() {
        [point] => shares(summary, link, point),
        _ => wins(summary, link, points.len()),
    };
    links.iter().filter_map(sentence).collect::<Vec<_>>().join(" ")
}

fn utilisation(group: &Group) -> Option<f64> {
    Some(group.stat(Metric::Utilisation)?.mean)
}

fn shares(summary: &Summary, link: &str, point: &[(String, String)]) -> Option<String> {
    let here = summary
        .groups
        .iter()
        .filter(|group| group.link == link && group.point == point);
    let mut shares: Vec<(&Group, f64)> = here.filter_map(|group| Some((group, utilisation(group)?))).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut text = String::new();
    for (place, (group, share)) in shares.iter().enumerate() {
        let joint = match place {
            0 => "",
            _ if place + 1 == shares.len() => " and ",
            _ => ", ",
        };
        let _ = write!(text, "{joint}{}\u{a0}{:.1}\u{a0}%", group.law, share * 100.0);
        if let Some(rtt) = group.stat(Metric::Rtt) {
            let _ = write!(text, " (RTT\u{a0}{:.0}\u{a0}ms)", rtt.mean);
        }
    }
    (!text.is_empty()).then(|| format!("Utilisation of {link}: {text}."))
}

fn wins(summary: &Summary, link: &str, points: usize) -> Option<String> {
    let view = table::views(summary, None).into_iter().find(|view| view.link == link)?;
    let wins = |law: &&String| {
        view.rows
            .iter()
            .filter(|row| row.best && row.keys.last() == Some(law))
            .count()
    };
    let mut laws: Vec<(&String, usize)> = summary.laws.iter().map(|law| (law, wins(&law))).collect();
    laws.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let won: Vec<String> = laws
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(law, n)| format!("{law} at {n} of {points}"))
        .collect();
    (!won.is_empty()).then(|| format!("Highest utilisation of {link}: {} points of the sweep.", won.join(", ")))
}

/// The colour of a law, and whether its lines are dashed, must agree with the script.
fn colour(summary: &Summary, law: &str) -> usize {
    summary.laws.iter().position(|other| other == law).unwrap_or_default() % COLOURS_N
}

fn tables(summary: &Summary) -> String {
    table::views(summary, None)
        .iter()
        .map(|view| table_html(summary, view))
        .collect()
}

fn table_html(summary: &Summary, view: &View) -> String {
    let mut text = format!(
        "<h2>{} <small>{}</small></h2><div class=\"wide\"><table class=\"figures\"><thead><tr>",
        escape(&view.link),
        escape(&summary.seeds_text())
    );
    for key in &view.keys {
        let _ = write!(text, "<th class=\"key\">{}</th>", escape(key));
    }
    text.push_str("<th class=\"key\">share of the link<small>mean and swing</small></th>");
    let class = |column: usize| if view.is_minor(column) { " class=\"minor\"" } else { "" };
    for (column, (heading, unit)) in view.headings.iter().enumerate() {
        let _ = write!(
            text,
            "<th{}>{heading}<small>{}</small></th>",
            class(column),
            table::shown_unit(unit)
        );
    }
    text.push_str("</tr></thead><tbody>");
    for row in &view.rows {
        let group = &summary.groups[row.group];
        let colour = colour(summary, &group.law);
        let _ = write!(
            text,
            "<tr class=\"law{colour}{}\">",
            if row.best { " best" } else { "" }
        );
        let (law, coordinates) = row.keys.split_last().unwrap_or((&group.law, &[]));
        for coordinate in coordinates {
            let _ = write!(text, "<td class=\"key\">{}</td>", escape(coordinate));
        }
        let _ = write!(
            text,
            "<th scope=\"row\" class=\"key\"><i></i>{}</th><td class=\"bar-cell\">{}</td>",
            escape(law),
            bar(group)
        );
        for (column, cell) in row.cells.iter().enumerate() {
            let _ = write!(text, "<td{}>{}</td>", class(column), escape(cell));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    let differences = table::difference_lines(summary, &view.link);
    if !differences.is_empty() {
        text.push_str("<ul class=\"differences\">");
        for line in differences {
            let _ = write!(text, "<li>{}</li>", escape(&line));
        }
        text.push_str("</ul>");
    }
    text
}

/// A bar as long as the mean utilisation, with a line from the lowest to the highest bin.
fn bar(group: &Group) -> String {
    let percent = |value: f64| format!("{:.1}%", (value * 100.0).clamp(0.0, 100.0));
    let Some(mean) = utilisation(group) else {
        return String::new();
    };
    let swing = group
        .stat(Metric::UtilisationMin)
        .zip(group.stat(Metric::UtilisationMax));
    let swing = swing.map_or_else(String::new, |(low, high)| {
        format!(
            "<b style=\"left:{};width:{}\"></b>",
            percent(low.min),
            percent(high.max - low.min)
        )
    });
    format!(
        "<div class=\"bar\"><u style=\"width:{}\"></u>{swing}</div>",
        percent(mean)
    )
}

fn claims(summary: &Summary) -> String {
    if summary.claims.is_empty() {
        return String::new();
    }
    let mut text = "<section><h2>Claims</h2><div class=\"wide\"><table class=\"claims\"><thead><tr><th>claim</th>\
                    <th>published</th><th>measured</th><th>verdict</th><th>why</th></tr></thead><tbody>"
        .to_owned();
    for claim in &summary.claims {
        let verdict = claim.verdict.text();
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td><em class=\"{}\">{verdict}</em></td>\
             <td>{}</td></tr>",
            escape(&claim.id),
            escape(&claim.published),
            escape(&claim.measured),
            verdict.split(' ').next().unwrap_or_default(),
            escape(&claim.why)
        );
    }
    text + "</tbody></table></div></section>"
}

fn left_out(curves: &Curves) -> String {
    match curves.panels_left_out {
        0 => String::new(),
        n => format!(
            "<p class=\"note\">Curves are shown for the first {} pairs of point and link; those of {n} more are in \
             links.parquet and flows.parquet. The tables above have all.</p>",
            curves.panels.len()
        ),
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
        "<p>Simulated by fadelab {}: {runs} runs ({} laws × {seeds} {}{sweep}), each measured over {} s. Laws meet the \
         same channel under the same seed. The same scenario and seeds give this page again, byte by byte.</p>",
        experiment.version,
        summary.laws.len(),
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
