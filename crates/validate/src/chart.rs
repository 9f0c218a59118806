//! Pictures: points with intervals and lines over two axes, each linear or logarithmic.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// Pixels.
const SIZE: (u32, u32) = (720, 420);
/// Distinct also for those who see no red or no green (Okabe and Ito 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

pub struct Chart {
    title: String,
    x: Axis,
    y: Axis,
    curves: Vec<Curve>,
    legend: Corner,
}

/// Where the legend stands: where no curve passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    UpperLeft,
    UpperRight,
    LowerRight,
}

/// One axis: its label with the unit, its ends and its scale.
pub struct Axis {
    label: String,
    ends: (f64, f64),
    is_log: bool,
}

struct Curve {
    label: String,
    points: Vec<Point>,
    is_line: bool,
}

/// x, y and half the height of the interval of y.
pub type Point = (f64, f64, f64);

impl Axis {
    pub fn linear(label: &str, from: f64, to: f64) -> Self {
        Self {
            label: label.to_owned(),
            ends: (from, to),
            is_log: false,
        }
    }

    /// Equal factors; both ends are positive.
    pub fn log(label: &str, from: f64, to: f64) -> Self {
        Self {
            is_log: true,
            ..Self::linear(label, from, to)
        }
    }
}

impl Chart {
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            x,
            y,
            curves: Vec::new(),
            legend: Corner::UpperRight,
        }
    }

    /// The legend elsewhere than at the top right.
    #[must_use]
    pub fn legend(mut self, legend: Corner) -> Self {
        self.legend = legend;
        self
    }

    #[must_use]
    pub fn line(self, label: &str, points: impl Iterator<Item = (f64, f64)>) -> Self {
        self.curve(label, points.map(|(x, y)| (x, y, 0.0)).collect(), true)
    }

    #[must_use]
    pub fn points(self, label: &str, points: impl Iterator<Item = Point>) -> Self {
        self.curve(label, points.collect(), false)
    }

    fn curve(mut self, label: &str, points: Vec<Point>, is_line: bool) -> Self {
        self.curves.push(Curve {
            label: label.to_owned(),
            points,
            is_line,
        });
        self
    }

    /// The file.
    ///
    /// # Errors
    /// Ends of an axis that the drawing library refuses, in its words.
    pub fn svg(&self) -> Result<String, String> {
        let range = |axis: &Axis| axis.ends.0..axis.ends.1;
        let (x, y) = (range(&self.x), range(&self.y));
        match (self.x.is_log, self.y.is_log) {
            (false, false) => self.draw(x, y),
            (false, true) => self.draw(x, y.log_scale()),
            (true, false) => self.draw(x.log_scale(), y),
            (true, true) => self.draw(x.log_scale(), y.log_scale()),
        }
    }

    fn draw<X, Y>(&self, x: X, y: Y) -> Result<String, String>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let mut svg = String::new();
        self.draw_on(&SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(), x, y)
            .map_err(|error| format!("cannot draw \"{}\": {error}", self.title))?;
        Ok(svg)
    }

    fn draw_on<X, Y>(
        &self,
        area: &DrawingArea<SVGBackend, plotters::coord::Shift>,
        x: X,
        y: Y,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .caption(&self.title, ("sans-serif", 17))
            .x_label_area_size(42)
            .y_label_area_size(62)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .bold_line_style(RGBColor(220, 220, 220))
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .label_style(("sans-serif", 13))
            .y_labels(7)
            .x_label_formatter(&|value| tick(*value))
            .y_label_formatter(&|value| tick(*value))
            .draw()?;
        for (place, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            if curve.is_line {
                let points = curve.points.iter().map(|&(x, y, _)| (x, y));
                chart
                    .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                    .label(&curve.label)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
                continue;
            }
            chart.draw_series(curve.points.iter().filter(|point| point.2 > 0.0).map(|&(x, y, half)| {
                ErrorBar::new_vertical(x, (y - half).max(self.y.ends.0), y, y + half, colour.stroke_width(1), 6)
            }))?;
            chart
                .draw_series(
                    curve
                        .points
                        .iter()
                        .map(|&(x, y, _)| Circle::new((x, y), 4, colour.filled())),
                )?
                .label(&curve.label)
                .legend(move |(x, y)| Circle::new((x + 9, y), 4, colour.filled()));
        }
        let position = match self.legend {
            Corner::UpperLeft => SeriesLabelPosition::UpperLeft,
            Corner::UpperRight => SeriesLabelPosition::UpperRight,
            Corner::LowerRight => SeriesLabelPosition::LowerRight,
        };
        chart
            .configure_series_labels()
            .position(position)
            .border_style(RGBColor(200, 200, 200))
            .background_style(WHITE.mix(0.85))
            .label_font(("sans-serif", 13))
            .draw()?;
        area.present()?;
        Ok(())
    }
}

/// A number at an axis: as short as it can be read.
fn tick(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.001 {
        return format!("{value:e}");
    }
    // Steps are computed by addition: 0.30000000000000004 stands for 0.3.
    format!("{}", libm::round(value * 1e6) / 1e6)
}

/// Points of the curve `y` at `n` places from `range.start` to `range.end`, which stand at equal factors.
pub fn over_decades(range: Range<f64>, n: u32, y: impl Fn(f64) -> f64) -> impl Iterator<Item = (f64, f64)> {
    let (start, factor) = (range.start, range.end / range.start);
    (0..=n).map(move |i| {
        let x = start * libm::pow(factor, f64::from(i) / f64::from(n));
        (x, y(x))
    })
}
