//! The table a person reads: in the terminal as text, on the page as HTML, from the same cells.

mod columns;
pub mod shares;
pub mod versus;

use std::fmt::Write;

use crate::interval::{Judged, Stat};
use crate::layout::Grid;
use crate::measure::Metric;
use crate::point_text;
use crate::summary::{Difference, Group, Summary};
use crate::swept;
use columns::{ASKED, COLUMNS, Column};

/// Which columns of figures a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Those that most readers want.
    Usual,
    /// Behind them those that only some ask for.
    All,
}

/// The cells of one link: a row per point of the sweep and law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Name of the link.
    pub link: String,
    /// Names of the columns that tell the rows apart: sweep coordinates by their short names, and `law`.
    pub keys: Vec<String>,
    /// Heading and unit of each column of figures.
    pub headings: Vec<(String, &'static str)>,
    pub rows: Vec<ViewRow>,
}

/// One row: texts of the keys and of the figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewRow {
    /// Index of the group in the summary.
    pub group: usize,
    /// Texts of the key columns.
    pub keys: Vec<String>,
    /// Texts of the figures; `-` where a run says nothing.
    pub cells: Vec<String>,
    /// Whether its utilisation is the highest of its point, by more than the seeds scatter.
    pub best: bool,
}

impl View {
    /// Characters of its widest line where nothing bounds it.
    pub(crate) fn width(&self) -> usize {
        let lines = lines(self, None).into_iter();
        lines.map(|(line, _)| line.chars().count()).max().unwrap_or(0)
    }

    /// Whether a column of figures can be done without where room is short; `summary.json` has it anyway.
    pub fn is_minor(&self, column: usize) -> bool {
        COLUMNS
            .iter()
            .any(|c| c.heading == self.headings[column].0 && c.rank <= MINOR_RANK)
    }
}

/// Highest rank of a column that a narrow page hides.
const MINOR_RANK: u8 = 3;

/// The tables of a summary, one per link.
pub fn views(summary: &Summary, which: Columns) -> Vec<View> {
    let links = summary.data_links().into_iter();
    links.map(|link| view(summary, link, which)).collect()
}

fn view(summary: &Summary, link: String, which: Columns) -> View {
    let groups: Vec<(usize, &Group)> = summary
        .groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.link == link)
        .collect();
    let keys = swept::names(groups.iter().map(|(_, group)| &group.point));
    let key_cells = |group: &Group| {
        let mut cells = swept::coordinates(&group.point, &keys);
        cells.push(group.law.clone());
        cells
    };
    let mut rows: Vec<ViewRow> = groups
        .iter()
        .map(|&(place, group)| ViewRow {
            group: place,
            keys: key_cells(group),
            cells: Vec::new(),
            best: is_best(group, &groups),
        })
        .collect();
    let mut keys = swept::shorts(&keys);
    keys.push("law".to_owned());
    let texts = |column: &Column| groups.iter().map(|(_, group)| (column.cell)(group)).collect::<Vec<_>>();
    let asked = ASKED.iter().filter(|_| which == Columns::All);
    let usual = COLUMNS
        .iter()
        .filter(|usual| asked.clone().all(|column| column.heading != usual.heading));
    let mut columns: Vec<(&Column, Vec<Option<String>>)> = usual
        .chain(asked.clone())
        .map(|column| (column, texts(column)))
        .collect();
    columns.retain(|(_, cells)| cells.iter().any(Option::is_some));
    for (k, row) in rows.iter_mut().enumerate() {
        row.cells = columns
            .iter()
            .map(|(_, cells)| cells[k].clone().unwrap_or_else(|| "-".to_owned()))
            .collect();
    }
    let headings = columns
        .iter()
        .map(|(column, _)| (column.heading.to_owned(), column.unit))
        .collect();
    View {
        link,
        keys,
        headings,
        rows,
    }
}

/// Whether its utilisation is beyond the noise above that of each other law of its point.
fn is_best(group: &Group, groups: &[(usize, &Group)]) -> bool {
    let is_rival = |(_, other): &&(usize, &Group)| other.point == group.point && other.law != group.law;
    let is_beaten = |(_, rival): &(usize, &Group)| {
        let difference = group.minus(rival, Metric::Utilisation);
        difference.is_some_and(|difference| difference.judged() == Judged::More)
    };
    let mut rivals = groups.iter().filter(is_rival).peekable();
    rivals.peek().is_some() && rivals.all(is_beaten)
}

/// The tables as text that ends with a new line, at most `width` characters wide if that is given (sentences are as
/// long as they are), with ANSI colours if `colour`.
pub fn terminal(summary: &Summary, width: Option<usize>, colour: bool) -> String {
    let mut text = String::new();
    let mut views = views(summary, Columns::Usual);
    views.retain(|view| !summary.access_links.contains(&view.link));
    for view in &views {
        let _ = writeln!(
            text,
            "{}",
            paint(&format!("{} · {}", view.link, summary.seeds_text()), "1", colour)
        );
        for (line, best) in lines(view, width) {
            let _ = writeln!(text, "{}", paint(&line, "1", colour && best));
        }
        for line in summary
            .alike_text()
            .into_iter()
            .chain(difference_lines(summary, &view.link))
        {
            let _ = writeln!(text, "{line}");
        }
        text += &groups_text(summary, &view.link, width, colour);
    }
    match summary.access_links.len() {
        0 => {}
        1 => text += "A link that data of one flow cross is in summary.json.\n",
        n => {
            let _ = writeln!(text, "{n} links that data of one flow cross are in summary.json.");
        }
    }
    text
}

/// Most rows of a table of groups beside matrices that say the same in less room.
const GROUPS_MAX: usize = 12;

/// What groups of flows had of a link, and what they did to each other.
fn groups_text(summary: &Summary, link: &str, width: Option<usize>, colour: bool) -> String {
    let mut text = String::new();
    let mut table = |heading: &str, view: &View| {
        let _ = writeln!(text, "{}", paint(&format!("{link} · {heading}"), "1", colour));
        for (line, _) in lines(view, width) {
            let _ = writeln!(text, "{line}");
        }
    };
    let matrices = versus::matrices(summary, link, width);
    for matrix in &matrices {
        table(&matrix.about, &matrix.view);
    }
    if let Some(shares) = shares::view(summary, link, Columns::Usual, &[]) {
        if matrices.is_empty() || shares.rows.len() <= GROUPS_MAX {
            table("by group of flows", &shares);
        } else {
            let _ = writeln!(
                text,
                "{} groups of flows: see `fadelab table`, the page or summary.json.",
                shares.rows.len()
            );
        }
    }
    text
}

fn paint(text: &str, code: &str, colour: bool) -> String {
    if colour {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// The lines of a table, and for each whether it is of the row of the best law of its point.
fn lines(view: &View, width: Option<usize>) -> Vec<(String, bool)> {
    let headings = view
        .headings
        .iter()
        .map(|(heading, unit)| format!("{heading}\n{}", shown_unit(unit)));
    let headings: Vec<String> = view.keys.iter().cloned().chain(headings).collect();
    let rows = view.rows.iter();
    let grid = Grid {
        keys: view.keys.len(),
        numbers: view.keys.len()..headings.len(),
        headings,
        rows: rows
            .map(|row| row.keys.iter().chain(&row.cells).cloned().collect())
            .collect(),
    };
    let lines = grid.lines(width).into_iter();
    lines
        .map(|(line, row)| (line, row.is_some_and(|row| view.rows[row].best)))
        .collect()
}

/// A pure number has no unit worth printing.
pub(crate) fn shown_unit(unit: &str) -> &str {
    if unit == "1" { "" } else { unit }
}

/// Most lines of differences between laws; beyond, `summary.json` is the better place.
const DIFFERENCES_MAX: usize = 6;

/// The paired differences at a link in words, when they are few enough to read.
pub fn difference_lines(summary: &Summary, link: &str) -> Vec<String> {
    let here = |metric: Metric| {
        let name = crate::measure::METRICS[metric as usize].name;
        summary
            .differences
            .iter()
            .filter(move |d| d.link == link && d.metric == name)
    };
    let pairs = here(Metric::Utilisation).count();
    if pairs > DIFFERENCES_MAX {
        return vec![format!("{pairs} paired differences between laws are in summary.json.")];
    }
    here(Metric::Utilisation)
        .zip(here(Metric::Goodput))
        .map(|(u, g)| difference_line(u, g))
        .collect()
}

fn difference_line(utilisation: &Difference, goodput: &Difference) -> String {
    let point = point_text(&utilisation.point);
    let colon = if point.is_empty() { "" } else { ": " };
    let n = utilisation.difference.n;
    format!(
        "{point}{colon}{} minus {}: utilisation {} points, goodput {} Mbit/s ({n} {})",
        utilisation.law,
        utilisation.minus,
        with_interval(utilisation.difference, 100.0, true),
        with_interval(goodput.difference, 1e-6, true),
        if n == 1 { "seed" } else { "seeds" },
    )
}

/// Most decimals of an interval; a narrower one is only called so.
const DECIMALS_MAX: i32 = 6;
/// Most digits of a mean: more are below one packet of what a run delivers.
const DIGITS_MAX: i32 = 5;

/// `mean ± half width` after multiplication by `scale`, with as many decimals as the interval supports;
/// `mean (low..high)` where the interval ends at what the figure can be.
pub(crate) fn with_interval(stat: Stat, scale: f64, signed: bool) -> String {
    let mean = stat.mean * scale;
    let half = stat.ci95_half_width.map(|half| half * scale);
    let place = |value: f64| value.max(f64::MIN_POSITIVE).log10().floor() as i32;
    let of_half = |half: f64| {
        let of_mean = DIGITS_MAX - 1 - place(half.max(mean.abs()));
        (1 - place(half)).min(of_mean).clamp(0, DECIMALS_MAX) as usize
    };
    let decimals = half.map_or(1, of_half);
    // Rounded to nothing, a small negative number is no number with a sign.
    let smallest = 0.5 * 0.1f64.powi(decimals as i32);
    let mean = if mean.abs() < smallest { 0.0 } else { mean };
    let text = if signed {
        format!("{mean:+.decimals$}")
    } else {
        format!("{mean:.decimals$}")
    };
    match (half, stat.cut()) {
        (None, _) => text,
        (Some(half), _) if half < smallest => format!("{text} ± <{:.decimals$}", 2.0 * smallest),
        (Some(_), Some((low, high))) => format!("{text} ({:.decimals$}..{:.decimals$})", low * scale, high * scale),
        (Some(half), None) => format!("{text} ± {half:.decimals$}"),
    }
}

/// Three significant digits, at most three decimals.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        x if x >= 1.0 => format!("{value:.2}"),
        x if x >= 0.0005 => format!("{value:.3}"),
        _ => "<0.001".to_owned(),
    }
}

/// With its interval; without one no width says how many digits count.
fn stat_text(stat: Stat, scale: f64) -> String {
    match stat.ci95_half_width {
        None => digits(stat.mean * scale),
        Some(_) => with_interval(stat, scale, false),
    }
}

fn percentiles_text(stats: [Option<Stat>; 3]) -> Option<String> {
    let texts = stats.into_iter().map(|stat| Some(digits(stat?.mean)));
    Some(texts.collect::<Option<Vec<_>>>()?.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_as_many_decimals_as_they_deserve() {
        // An interval of 0.14 supports two decimals of its mean, one of 2.3 supports one; five digits are enough, and
        // an interval that is cut is told by its ends.
        let within = |half: Option<f64>, most: f64| Stat {
            n: 2,
            mean: 0.78123,
            ci95_half_width: half,
            ci95_low: half.map(|half| 0.78123 - half),
            ci95_high: half.map(|half| (0.78123 + half).min(most)),
            min: 0.0,
            max: 1.0,
        };
        let stat = |half| within(half, f64::INFINITY);
        assert_eq!(with_interval(stat(Some(0.0014)), 100.0, false), "78.12 ± 0.14");
        assert_eq!(with_interval(stat(Some(0.023)), 100.0, true), "+78.1 ± 2.3");
        assert_eq!(with_interval(stat(Some(0.23)), 100.0, false), "78 ± 23");
        assert_eq!(with_interval(within(Some(0.23), 1.0), 100.0, false), "78 (55..100)");
        assert_eq!(with_interval(stat(Some(0.000_042)), 100.0, false), "78.123 ± 0.004");
        assert_eq!(with_interval(stat(Some(1e-12)), 100.0, false), "78.123 ± <0.001");
        assert_eq!(with_interval(stat(Some(1e-12)), 1e-4, true), "+0.000078 ± <0.000001");
        assert_eq!(with_interval(stat(None), 100.0, false), "78.1");
        assert_eq!(
            [0.0, 0.0001, 0.0123, 1.234, 12.34, 1234.5].map(digits),
            ["0", "<0.001", "0.012", "1.23", "12.3", "1234"]
        );
    }
}
