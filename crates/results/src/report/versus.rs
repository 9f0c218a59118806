//! What laws do to each other, for the page's script.

use serde::Serialize;

use crate::Summary;
use crate::table::versus::{Matrix, matrices};

/// A matrix at one point of the sweep.
#[derive(Serialize)]
pub struct Panel {
    /// Place of the point.
    point: usize,
    /// Name of the link.
    link: String,
    /// What it shows, with its unit.
    label: String,
    /// How many flows of which group on which ground, for a caption.
    about: String,
    /// Laws of the rows.
    rows: Vec<String>,
    /// Their looks.
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
        label: matrix.label.to_owned(),
        about: matrix.counts.clone(),
        looks: rows.iter().map(|law| summary.sender_look(law)).collect(),
        cells: places.iter().map(cells).collect(),
        rows,
        beside: matrix.view.headings.iter().map(|(law, _)| law.clone()).collect(),
    }
}
