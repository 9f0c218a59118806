//! Figures of a paper drawn again: our curves with their intervals, and what was published as marks.

use serde::{Deserialize, Serialize};

/// A figure of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What the ids of its claims begin with, up to a dot: `fig2a`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What was published and what is drawn here.
    pub caption: String,
    /// Panels beside each other where there is room.
    pub columns: usize,
    /// In order.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Above it; may be empty.
    pub title: String,
    /// The lower axis.
    pub x: Axis,
    /// The left axis.
    pub y: Axis,
    /// Ours.
    pub curves: Vec<Curve>,
    /// Published values, and events.
    pub marks: Vec<Mark>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// With its unit.
    pub label: String,
    /// Lower end; absent: what the values need.
    #[serde(default)]
    pub min: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub max: Option<f64>,
    /// Whether it is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// Names at 0, 1, 2, ... instead of numbers.
    #[serde(default)]
    pub names: Vec<String>,
}

/// Means over seeds with 95 % intervals; all four columns have one length, and what is missing is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// In the legend.
    pub label: String,
    /// Place among the colours.
    pub colour: usize,
    /// Whether its line is dashed.
    pub dashed: bool,
    /// Whether points are joined by a line.
    pub joined: bool,
    /// Whether points have a symbol with their interval; a line without them has a band.
    pub points: bool,
    /// Along the lower axis.
    pub x: Vec<f64>,
    /// Means.
    pub y: Vec<Option<f64>>,
    /// Lower ends of the intervals; null without one.
    pub low: Vec<Option<f64>>,
    /// Upper ends.
    pub high: Vec<Option<f64>>,
}

/// A line at a value, or at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// What it says.
    pub label: String,
    /// Height of a level.
    #[serde(default)]
    pub y: Option<f64>,
    /// Place of an upright line.
    #[serde(default)]
    pub x: Option<f64>,
    /// Where a level begins; absent: at the left end.
    #[serde(default)]
    pub from: Option<f64>,
    /// Where it ends.
    #[serde(default)]
    pub to: Option<f64>,
}
