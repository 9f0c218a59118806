//! What laws do to each other, as matrices: a row per law, a column per law that it was beside.

use crate::distinct::in_order;
use crate::interval::{Judged, Stat, Times};
use crate::summary::Summary;
use crate::swept;
use crate::table::{View, ViewRow, digits, with_interval};
use crate::versus::Beside;

/// A matrix, and what its cells are.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Name of the figure.
    pub name: &'static str,
    /// What its cells are, in a word and with its unit.
    pub label: &'static str,
    /// What its cells are, in a sentence.
    pub about: String,
    /// How many flows there are, of which group and on which ground, as far as that is to be told.
    pub counts: String,
    /// `group` of a row is nothing here.
    pub view: View,
    /// The point of the sweep of each row.
    pub points: Vec<Vec<(String, String)>>,
    /// Of each cell, by row, its figure as a part of the most that it can be; absent where there is no such most.
    pub shades: Vec<Vec<Option<f64>>>,
}

/// What a matrix shows of each pair.
struct Shown {
    name: &'static str,
    label: &'static str,
    about: &'static str,
    /// What is to be said besides where the two sides differ in their laws alone.
    about_alike: &'static str,
    /// Of figures that are parts of a whole.
    part: fn(&Beside) -> Option<Stat>,
    cell: fn(&Beside, bool) -> Option<String>,
}

/// Names of the figures of matrices, in their order.
pub const NAMES: [&str; 4] = ["share", "harm", "harm_rtt", "convergence_s"];

const MATRICES: [Shown; 4] = [
    Shown {
        name: NAMES[0],
        label: "Share (%)",
        part: |beside| beside.share,
        about: "share of the law in the row beside that in the column, %",
        about_alike: "",
        cell: |beside, wide| text(beside.share, 100.0, wide),
    },
    Shown {
        name: NAMES[1],
        label: "Harm (%)",
        part: |beside| beside.harm,
        about: "harm to the law in the row by that in the column, % of its goodput alone; * more than by itself",
        about_alike: "; by itself: mean of both sides",
        cell: |beside, wide| {
            let more = beside
                .harm_beyond_itself
                .is_some_and(|stat| stat.judged() == Judged::More);
            Some(text(beside.harm, 100.0, wide)? + if more { " *" } else { "" })
        },
    },
    Shown {
        name: NAMES[2],
        label: "Harm to round trips (%)",
        part: |beside| beside.harm_rtt,
        about: "harm to the round trips of the law in the row, % of those beside the law in the column",
        about_alike: "",
        cell: |beside, wide| text(beside.harm_rtt, 100.0, wide),
    },
    Shown {
        name: NAMES[3],
        label: "Fair after (s)",
        part: |_| None,
        about: "seconds until both have their fair shares, within 25 % for 5 s: median of the runs, in brackets least \
                and most; so many of the runs, where not all",
        about_alike: "",
        cell: |beside, wide| Some(fair_after(&beside.convergence, wide)),
    },
];

fn fair_after(times: &Times, is_wide: bool) -> String {
    // Exact to a second, of which the median may lie between two.
    let digits = |time_s: f64| format!("{:.*}", usize::from(time_s.fract() != 0.0), time_s);
    let in_runs = format!("{}/{}", times.reached, times.of);
    let Some((least, most)) = times.min_s.zip(times.max_s) else {
        return format!("never ({in_runs})");
    };
    let Some(median) = times.median_s.map(&digits) else {
        return if times.reached == 1 {
            format!("{} (in {in_runs})", digits(least))
        } else {
            format!("in {in_runs} ({}..{})", digits(least), digits(most))
        };
    };
    match (digits(least), digits(most)) {
        _ if times.reached < times.of && !is_wide => format!("{median} ({in_runs})"),
        (least, most) if least == most || !is_wide => median,
        (least, most) if times.reached < times.of => format!("{median} ({least}..{most}; {in_runs})"),
        (least, most) => format!("{median} ({least}..{most})"),
    }
}

fn text(stat: Option<Stat>, scale: f64, is_wide: bool) -> Option<String> {
    let stat = stat?;
    Some(match stat.ci95_half_width {
        Some(_) if is_wide => with_interval(stat, scale, false),
        _ => digits(stat.mean * scale),
    })
}

/// The matrices of a link; none where no law was beside another and alone. Where `width` has no room for intervals
/// there are none.
pub fn matrices(summary: &Summary, link: &str, width: Option<usize>) -> Vec<Matrix> {
    let here: Vec<&Beside> = summary.versus.iter().filter(|beside| beside.link == link).collect();
    let sides = in_order(
        here.iter()
            .map(|beside| (beside.ground.as_str(), beside.group.as_deref())),
    );
    let several = summary.grounds.len() > 1;
    sides
        .into_iter()
        .flat_map(|(ground, group)| {
            let of_side: Vec<&Beside> = here
                .iter()
                .copied()
                .filter(|beside| beside.ground == ground && beside.group.as_deref() == group)
                .collect();
            let on = several.then(|| format!(" on {ground}"));
            let of_group = group.map(|group| format!(", group {group}"));
            let place: String = on.into_iter().chain(of_group).chain(counts(&of_side)).collect();
            let matrix = |shown: &Shown| matrix(shown, &of_side, link, &place, width);
            MATRICES.iter().filter_map(matrix).collect::<Vec<_>>()
        })
        .collect()
}

/// How many flows there are of each, if always as many.
fn counts(here: &[&Beside]) -> Option<String> {
    match in_order(here.iter().map(|beside| (beside.flows, beside.beside_flows)))[..] {
        [(1, others)] => Some(format!(", 1 flow beside\u{a0}{others}")),
        [(flows, others)] => Some(format!(", {flows} flows beside\u{a0}{others}")),
        _ => None,
    }
}

fn matrix(shown: &Shown, here: &[&Beside], link: &str, suffix: &str, width: Option<usize>) -> Option<Matrix> {
    let wide = view(shown, here, link, true)?;
    let fits = width.is_none_or(|width| wide.width() <= width);
    let view = if fits { wide } else { view(shown, here, link, false)? };
    let are_alike = here.iter().all(|beside| beside.group.is_none());
    let also = if are_alike { shown.about_alike } else { "" };
    let points = laws(here).into_iter().map(|(point, _)| point.clone()).collect();
    let others = others(here);
    let shade = |(point, law): (&Vec<(String, String)>, &str)| {
        let part = |other: &&str| Some((shown.part)(found(here, point, law, other)?)?.mean);
        others.iter().map(part).collect()
    };
    Some(Matrix {
        name: shown.name,
        label: shown.label,
        about: format!("{}{also}{suffix}", shown.about),
        counts: suffix.to_owned(),
        view,
        points,
        shades: laws(here).into_iter().map(shade).collect(),
    })
}

/// The rows: each law at each point.
fn laws<'a>(here: &[&'a Beside]) -> Vec<(&'a Vec<(String, String)>, &'a str)> {
    in_order(here.iter().map(|beside| (&beside.point, beside.law.as_str())))
}

/// The columns.
fn others<'a>(here: &[&'a Beside]) -> Vec<&'a str> {
    in_order(here.iter().map(|beside| beside.beside.as_str()))
}

fn found<'a>(here: &[&'a Beside], point: &[(String, String)], law: &str, other: &str) -> Option<&'a Beside> {
    let is_it = |one: &&&Beside| one.point == point && one.law == law && one.beside == other;
    here.iter().find(is_it).copied()
}

fn view(shown: &Shown, here: &[&Beside], link: &str, is_wide: bool) -> Option<View> {
    let (others, laws) = (others(here), laws(here));
    let keys = swept::names(here.iter().map(|beside| &beside.point));
    let row = |(point, law): &(&Vec<(String, String)>, &str)| {
        let cell = |other: &&str| {
            let found = found(here, point, law, other);
            found
                .and_then(|beside| (shown.cell)(beside, is_wide))
                .unwrap_or_else(|| "-".to_owned())
        };
        ViewRow {
            group: 0,
            keys: swept::coordinates(point, &keys)
                .into_iter()
                .chain([(*law).to_owned()])
                .collect(),
            cells: others.iter().map(cell).collect(),
            best: false,
        }
    };
    let rows: Vec<ViewRow> = laws.iter().map(row).collect();
    let says_something = rows
        .iter()
        .any(|row| row.cells.iter().any(|cell| cell.starts_with(|c: char| c != '-')));
    let mut keys = swept::shorts(&keys);
    keys.push("law".to_owned());
    says_something.then(|| View {
        link: link.to_owned(),
        keys,
        headings: others.into_iter().map(|law| (law.to_owned(), "1")).collect(),
        rows,
    })
}
