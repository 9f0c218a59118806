//! The tables of the page, which need no script.

use std::fmt::Write;

use super::escape;
use crate::Summary;
use crate::contender::COLOURS_N;
use crate::measure::Metric;
use crate::summary::Group;
use crate::table::{self, Columns, View};

/// Rows beyond which a table scrolls in a box of its own.
const ROWS_MAX: usize = 24;

/// The colour of a law, and whether its lines are dashed, must agree with the script.
fn colour(summary: &Summary, law: &str) -> usize {
    let contender = summary.contenders.iter().find(|contender| contender.label == law);
    contender.map_or(0, |contender| contender.look % COLOURS_N)
}

/// The figures of each link with the paired differences between laws; those of access links in a box of their own.
pub fn figures(summary: &Summary) -> String {
    let views = table::views(summary, Columns::Usual);
    let is_access = |view: &&View| summary.access_links.contains(&view.link);
    let (access, others): (Vec<&View>, Vec<&View>) = views.iter().partition(is_access);
    let html = |views: Vec<&View>| views.iter().map(|view| table_html(summary, view)).collect::<String>();
    let boxed = match access.len() {
        0 => String::new(),
        n => format!(
            "<details><summary>Links that data of one flow cross: {n}</summary>{}</details>",
            html(access)
        ),
    };
    html(others) + &boxed
}

/// The end of the tag around a table: a long one scrolls, with the keyboard too.
fn box_of(view: &View) -> &'static str {
    if view.rows.len() > ROWS_MAX {
        " long\" tabindex=\"0\""
    } else {
        "\""
    }
}

/// The name of a key, which a browser may break after its dots, and on paper does.
fn breakable(key: &str) -> String {
    let parts: Vec<String> = key.split_inclusive('.').map(escape).collect();
    match parts.as_slice() {
        [whole] => whole.clone(),
        _ => format!("<span>{}</span>", parts.join("</span><span>")),
    }
}

/// A figure, whose half of an interval a browser does not break.
fn figure(cell: &str) -> String {
    match cell.split_once(" ± ") {
        Some((mean, half)) => format!("{} <span class=\"half\">± {}</span>", escape(mean), escape(half)),
        None => escape(cell),
    }
}

fn table_html(summary: &Summary, view: &View) -> String {
    let mut text = format!(
        "<h2>{} <small>{}</small></h2><div class=\"wide{}><table class=\"figures\"><thead><tr>",
        escape(&view.link),
        escape(&summary.seeds_text()),
        box_of(view),
    );
    for key in &view.keys {
        let _ = write!(text, "<th class=\"key\">{}</th>", breakable(key));
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
            let _ = write!(text, "<td{}>{}</td>", class(column), figure(cell));
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
    if let Some(shares) = table::shares::view(summary, &view.link, Columns::Usual, &[]) {
        text.push_str(&shares_html(summary, &shares));
    }
    text
}

/// Who got what of the link.
fn shares_html(summary: &Summary, view: &View) -> String {
    let mut text = format!(
        "<h3>{} <small>by group of flows</small></h3><div class=\"wide{}><table class=\"figures\"><thead><tr>",
        escape(&view.link),
        box_of(view),
    );
    for key in &view.keys {
        let _ = write!(text, "<th class=\"key\">{}</th>", breakable(key));
    }
    for (heading, unit) in &view.headings {
        let _ = write!(text, "<th>{heading}<small>{}</small></th>", table::shown_unit(unit));
    }
    text.push_str("</tr></thead><tbody>");
    for row in &view.rows {
        let (sender, keys) = row.keys.split_last().expect("the sender is the last key");
        let look = summary.sender_look(&summary.shares[row.group].sender);
        let _ = write!(text, "<tr class=\"law{}\">", look % COLOURS_N);
        for key in keys {
            let _ = write!(text, "<td class=\"key\">{}</td>", escape(key));
        }
        let _ = write!(text, "<th scope=\"row\" class=\"key\"><i></i>{}</th>", escape(sender));
        for cell in &row.cells {
            let _ = write!(text, "<td>{}</td>", figure(cell));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    text
}

/// A bar as long as the mean utilisation, with a line from the lowest to the highest bin.
fn bar(group: &Group) -> String {
    let percent = |value: f64| format!("{:.1}%", (value * 100.0).clamp(0.0, 100.0));
    let Some(mean) = group.stat(Metric::Utilisation).map(|stat| stat.mean) else {
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
