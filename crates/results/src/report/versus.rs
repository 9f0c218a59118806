//! What laws do to each other, for the page's script.

use serde::Serialize;

use super::data::Shown;
use crate::Summary;
use crate::distinct::in_order;
use crate::interval::Stat;
use crate::table::versus::{Matrix, matrices};
use crate::versus::{Beside, FIGURES};

/// A matrix at one point of the sweep.
#[derive(Serialize)]
pub struct Panel {
    /// Place of the point.
    point: usize,
    /// Name of the link.
    link: String,
    /// Name of the figure.
    name: &'static str,
    /// What it shows, with its unit.
    label: String,
    /// How many flows of which group on which ground, for a caption.
    about: String,
    /// Laws of the rows.
    rows: Vec<String>,
    looks: Vec<usize>,
    /// Laws of the columns.
    beside: Vec<String>,
    /// A row for each of `rows`; absent where the two did not meet.
    cells: Vec<Vec<Option<Cell>>>,
}

#[derive(Serialize)]
struct Cell {
    text: String,
    /// How dark it is, from 0 to 1.
    shade: f64,
    /// Whether it is to be seen first.
    strong: bool,
}

/// The matrices of all links that data cross, each point by itself.
pub fn panels(summary: &Summary) -> Vec<Panel> {
    let points = summary.points();
    let links = summary.data_links();
    let of_link = links.iter().flat_map(|link| matrices(summary, link, None));
    let all: Vec<Matrix> = of_link.collect();
    let of_point = |(place, point): (usize, &Vec<(String, String)>)| {
        let panels = all.iter().map(|matrix| panel(summary, matrix, place, point));
        panels.filter(|panel| !panel.rows.is_empty()).collect::<Vec<_>>()
    };
    points.iter().enumerate().flat_map(of_point).collect()
}

fn panel(summary: &Summary, matrix: &Matrix, point: usize, coordinates: &[(String, String)]) -> Panel {
    let is_here = |place: &usize| matrix.points[*place] == coordinates;
    let places: Vec<usize> = (0..matrix.view.rows.len()).filter(is_here).collect();
    let rows: Vec<String> = places
        .iter()
        .filter_map(|&place| matrix.view.rows[place].keys.last().cloned())
        .collect();
    let cell = |(text, shade): (&String, &Option<f64>)| {
        (text != "-").then(|| Cell {
            text: text.clone(),
            shade: shade.unwrap_or(0.0).clamp(0.0, 1.0),
            strong: text.ends_with('*'),
        })
    };
    let cells = |&place: &usize| {
        let texts = matrix.view.rows[place].cells.iter();
        texts.zip(&matrix.shades[place]).map(cell).collect()
    };
    Panel {
        point,
        link: matrix.view.link.clone(),
        name: matrix.name,
        label: matrix.label.to_owned(),
        about: matrix.counts.clone(),
        looks: rows.iter().map(|law| summary.sender_look(law)).collect(),
        cells: places.iter().map(cells).collect(),
        rows,
        beside: matrix.view.headings.iter().map(|(law, _)| law.clone()).collect(),
    }
}

/// A law beside another at one point of the sweep.
#[derive(Serialize)]
pub struct Pair<'a> {
    /// Place of the point.
    point: usize,
    /// Name of the link.
    link: String,
    /// The law, on which ground it is, and the law that it is beside.
    label: String,
    /// Which of two groups that differ in more than their laws; empty where they do not.
    side: &'a str,
    /// Look of the law.
    look: usize,
    /// Place of the other law among those that any is beside.
    nth: usize,
    /// Places of the laws of the page in whose runs the two met.
    laws: Vec<usize>,
    /// In the order of [`metrics`]; absent where no run says it.
    figures: Vec<Option<Figure>>,
}

#[derive(Serialize)]
struct Figure {
    mean: f64,
    half: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
}

/// The figures of laws beside each other as a sweep shows them, in the order of [`FIGURES`].
pub fn metrics() -> Vec<Shown> {
    FIGURES.iter().map(|&(name, _)| shown(name)).collect()
}

/// All are parts of a whole, or differences of such.
fn shown(name: &'static str) -> Shown {
    let (label, about) = match name {
        "share" => ("Share", "part of the payload of both"),
        "harm" => ("Harm", "part of the goodput alone that the others take"),
        "harm_rtt" => ("Harm to round trips", "1 - alone / beside, of the mean round trip"),
        _ => (
            "Harm beyond itself",
            "harm minus harm by as many of its own kind, seed by seed",
        ),
    };
    let is_difference = name == "harm_beyond_itself";
    Shown {
        name,
        label,
        unit: if is_difference { "points" } else { "%" },
        factor: 100.0,
        half_bin: 0.0,
        most: (!is_difference).then_some(100.0),
        about,
    }
}

/// Every law beside every other one, at each point.
pub fn pairs<'a>(summary: &'a Summary) -> Vec<Pair<'a>> {
    let points = summary.points();
    let others = in_order(summary.versus.iter().map(|beside| beside.beside.as_str()));
    let several = summary.grounds.len() > 1;
    let pair = |beside: &'a Beside| {
        let on = several.then(|| format!(" on {}", beside.ground));
        let is_met = |label: &String| beside.labels.contains(label);
        let contenders = summary.contenders.iter().enumerate();
        let met = contenders.filter(|(_, one)| is_met(&one.law) && one.ground == beside.ground);
        Some(Pair {
            point: points.iter().position(|point| *point == beside.point)?,
            link: beside.link.clone(),
            label: format!("{} beside {}{}", beside.law, beside.beside, on.unwrap_or_default()),
            side: beside.group.as_deref().unwrap_or_default(),
            look: summary.sender_look(&beside.law),
            nth: others.iter().position(|other| *other == beside.beside)?,
            laws: met.map(|(place, _)| place).collect(),
            figures: beside.figures().map(|stat| stat.map(figure)).into(),
        })
    };
    summary.versus.iter().filter_map(pair).collect()
}

fn figure(stat: Stat) -> Figure {
    Figure {
        mean: stat.mean,
        half: stat.ci95_half_width,
        low: stat.ci95_low,
        high: stat.ci95_high,
        n: stat.n,
    }
}
