//! `figures.toml`: which curves make a figure of the paper, and the pictures that come of it.

use fadelab_results::bins;
use fadelab_results::interval::Stat;
use fadelab_results::measure;
use fadelab_results::picture::{Axis, Curve, Mark, Panel, Picture};
use fadelab_results::{Experiment, Run};
use serde::Deserialize;

use super::channels::{Channel, KINDS};
use super::figures::{self, Figures};
use super::groups;
use super::over_time::{self, OverTime};
use super::paper::Claims;
use crate::Failure;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawings {
    /// In the order of the paper.
    #[serde(default)]
    pub figure: Vec<Drawing>,
}

/// One figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// What the ids of its claims begin with.
    id: String,
    title: String,
    /// What was published, in our words.
    caption: String,
    #[serde(default = "one")]
    columns: usize,
    panel: Vec<Drawn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drawn {
    #[serde(default)]
    title: String,
    x: Axis,
    y: Axis,
    curve: Vec<Source>,
    #[serde(default)]
    mark: Vec<Mark>,
}

/// Where a curve comes from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    label: String,
    colour: usize,
    #[serde(default)]
    dashed: bool,
    /// Names of runs, one after the other along the lower axis, or of one channel.
    of: Vec<String>,
    law: String,
    /// A metric over the swept values or the places 0, 1, 2, ...; over time `utilisation`, `goodput_bps:GROUP`,
    /// `cwnd_pkts:GROUP`, where a flow's own name stands for a group, too, or one of [`over_time`].
    metric: String,
    #[serde(default)]
    over: Over,
    /// What values are multiplied by.
    #[serde(default = "unit")]
    factor: f64,
    /// Whether points over a sweep are joined by a line.
    #[serde(default = "yes")]
    line: bool,
    /// Width of the bins of a curve over time.
    #[serde(default = "bin")]
    bin_s: f64,
}

/// What runs along the lower axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Over {
    /// The number of the one key that the runs sweep.
    #[default]
    Sweep,
    /// Seconds.
    Time,
    /// The place of each run in `of`.
    Place,
    /// SNR of a channel, from 0 to 30 dB.
    Snr,
}

const SNR_DB_MAX: f64 = 30.0;
const SNR_STEPS_PER_DB: f64 = 4.0;
/// The narrowest bin over time.
const BIN_S_MIN: f64 = 0.01;
/// Below this a packet error is met in no run.
const ERROR_MIN: f64 = 1e-9;

/// Where along the lower axis, and the seeds there.
type Point = (f64, Option<Stat>);

fn one() -> usize {
    1
}

fn unit() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

fn bin() -> f64 {
    10.0
}

impl Drawings {
    /// Names of metrics that it needs.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        let panels = self.figure.iter().flat_map(|figure| &figure.panel);
        panels
            .flat_map(|panel| &panel.curve)
            .map(|source| source.metric.as_str())
    }

    /// Their names.
    #[cfg(test)]
    pub fn ids(&self) -> Vec<&str> {
        self.figure.iter().map(|figure| figure.id.as_str()).collect()
    }

    /// Keeps the figures all of whose runs are there, without the curves of those that run elsewhere.
    pub fn keep(&mut self, known: impl Fn(&str) -> bool, elsewhere: impl Fn(&str) -> bool) {
        for panel in self.figure.iter_mut().flat_map(|figure| &mut figure.panel) {
            panel.curve.retain(|source| !source.of.iter().any(|id| elsewhere(id)));
        }
        self.figure
            .iter_mut()
            .for_each(|figure| figure.panel.retain(|panel| !panel.curve.is_empty()));
        self.figure.retain(|figure| !figure.panel.is_empty());
        self.figure.retain(|figure| {
            let mut sources = figure.panel.iter().flat_map(|panel| &panel.curve);
            sources.all(|source| source.of.iter().all(|id| known(id)))
        });
    }

    /// The pictures.
    ///
    /// # Errors
    /// A channel that is none.
    pub fn pictures(
        &self,
        claims: &Claims,
        experiment: &Experiment,
        figures: &[Figures],
    ) -> Result<Vec<Picture>, Failure> {
        let curve = |source: &Source| -> Result<Curve, Failure> {
            let points = match source.over {
                Over::Sweep => over_sweep(source, figures),
                Over::Place => over_places(source, figures),
                Over::Time => over_time(source, claims, experiment),
                Over::Snr => over_snr(source, claims)?,
            };
            Ok(source.curve(&points))
        };
        let panel = |drawn: &Drawn| -> Result<Panel, Failure> {
            Ok(Panel {
                title: drawn.title.clone(),
                x: drawn.x.clone(),
                y: drawn.y.clone(),
                curves: drawn.curve.iter().map(curve).collect::<Result<_, _>>()?,
                marks: drawn.mark.clone(),
            })
        };
        let picture = |drawing: &Drawing| {
            Ok(Picture {
                id: drawing.id.clone(),
                title: drawing.title.clone(),
                caption: drawing.caption.clone(),
                columns: drawing.columns,
                panels: drawing.panel.iter().map(panel).collect::<Result<_, _>>()?,
            })
        };
        self.figure.iter().map(picture).collect()
    }
}

impl Source {
    fn curve(&self, points: &[Point]) -> Curve {
        let end = |end: fn(&Stat) -> Option<f64>| {
            let scaled = |stat: &Stat| Some(end(stat)? * self.factor);
            points.iter().map(|(_, stat)| stat.as_ref().and_then(scaled)).collect()
        };
        Curve {
            label: self.label.clone(),
            colour: self.colour,
            dashed: self.dashed,
            joined: self.line && self.over != Over::Place,
            points: matches!(self.over, Over::Sweep | Over::Place),
            x: points.iter().map(|(x, _)| *x).collect(),
            y: points
                .iter()
                .map(|(_, stat)| stat.map(|stat| stat.mean * self.factor))
                .collect(),
            low: end(|stat| stat.ci95_low),
            high: end(|stat| stat.ci95_high),
        }
    }

    fn is_of(&self, figures: &Figures) -> bool {
        self.of.contains(&figures.run) && figures.law == self.law
    }
}

/// The number that a swept value begins with: 17.5 of `17.5dB`.
fn number(at: &str) -> Option<f64> {
    at.trim_end_matches(|letter: char| !letter.is_ascii_digit())
        .parse()
        .ok()
}

fn over_sweep(source: &Source, figures: &[Figures]) -> Vec<Point> {
    let here: Vec<&Figures> = figures.iter().filter(|figures| source.is_of(figures)).collect();
    let mut places: Vec<f64> = here.iter().filter_map(|figures| number(&figures.at)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |x: f64| {
        let there = here.iter().filter(|figures| number(&figures.at) == Some(x));
        let values: Vec<f64> = there.filter_map(|figures| figures.get(&source.metric)).collect();
        (x, Stat::within(&values, figures::range(&source.metric)))
    };
    places.into_iter().map(at).collect()
}

fn over_places(source: &Source, figures: &[Figures]) -> Vec<Point> {
    let at = |(place, id): (usize, &String)| {
        let there = figures
            .iter()
            .filter(|figures| figures.run == *id && figures.law == source.law);
        let values: Vec<f64> = there.filter_map(|figures| figures.get(&source.metric)).collect();
        (place as f64, Stat::within(&values, figures::range(&source.metric)))
    };
    source.of.iter().enumerate().map(at).collect()
}

fn over_time(source: &Source, claims: &Claims, experiment: &Experiment) -> Vec<Point> {
    let ids: Vec<&str> = source.of.iter().map(|id| claims.first_like(id)).collect();
    let runs = experiment.runs.iter();
    let runs = runs.filter(|run| run.law == source.law && ids.contains(&run.point[0].1.as_str()));
    let link = claims.run.iter().find(|runs| source.of.contains(&runs.id));
    let link = link.map_or("", |runs| runs.link.as_str());
    let curves: Vec<Vec<(f64, Option<f64>)>> = runs.map(|run| run_over_time(run, link, source)).collect();
    let most = curves.iter().map(Vec::len).max().unwrap_or(0);
    let at = |place: usize| {
        let there = curves.iter().filter_map(|curve| curve.get(place));
        let values: Vec<f64> = there.filter_map(|(_, value)| *value).collect();
        let x = curves.iter().find_map(|curve| Some(curve.get(place)?.0)).unwrap_or(0.0);
        (x, Stat::within(&values, figures::range(&source.metric)))
    };
    (0..most).map(at).collect()
}

/// Middles of the bins in seconds, and the values in them.
fn run_over_time(run: &Run, link: &str, source: &Source) -> Vec<(f64, Option<f64>)> {
    let (series, metric) = (&run.record.series, source.metric.as_str());
    let bin_ns = (source.bin_s * 1e9) as u64;
    let over_time = OverTime::parse(metric);
    let place = series
        .link_ids
        .iter()
        .position(|&id| run.spec.links[id as usize].name.as_ref() == link);
    let value = |bin| match metric.split_once(':') {
        Some(("cwnd_pkts", group)) => groups::window_pkts(run, group, bin),
        Some((_, group)) => groups::recorded_bps(run, group, bin),
        None => measure::utilisation(&series.links[place?], bin),
    };
    let value = |bin| match &over_time {
        Some(over_time) => over_time.in_bin(run, bin),
        None => value(bin),
    };
    let cut = bins::cut(&series.time_ns, 0, run.spec.duration_ns, bin_ns);
    let middle_s = |place: usize| (place as f64 + 0.5) * source.bin_s;
    cut.into_iter()
        .enumerate()
        .map(|(place, bin)| (middle_s(place), bin.and_then(value)))
        .collect()
}

fn over_snr(source: &Source, claims: &Claims) -> Result<Vec<Point>, Failure> {
    let known = |channel: &&Channel| source.of.contains(&channel.id);
    let channel = claims.channel.iter().find(known);
    let kind = KINDS.iter().find(|(label, _, _)| *label == source.law);
    let (Some(channel), Some((_, kind, ip_bytes))) = (channel, kind) else {
        return Err(Failure::Invalid(format!(
            "curve \"{}\" over the SNR: there is no channel \"{}\" with packets \"{}\": allowed are data and ack",
            source.label,
            source.of.join(", "),
            source.law
        )));
    };
    let point = |step: usize| -> Result<Point, Failure> {
        let snr_db = step as f64 / SNR_STEPS_PER_DB;
        let error = channel.spec(snr_db)?.packet_error(*kind, *ip_bytes);
        Ok((snr_db, Stat::of(&[error]).filter(|_| error >= ERROR_MIN)))
    };
    (0..=(SNR_DB_MAX * SNR_STEPS_PER_DB) as usize).map(point).collect()
}

/// Refuses metrics that do not exist.
///
/// # Errors
/// Names it and all that there are.
pub fn check(drawings: &Drawings) -> Result<(), Failure> {
    let panels = drawings.figure.iter().flat_map(|figure| &figure.panel);
    for source in panels.flat_map(|panel| &panel.curve) {
        match source.over {
            Over::Time if !(BIN_S_MIN..).contains(&source.bin_s) => {
                return Err(Failure::Invalid(format!(
                    "curve \"{}\" over time: bin_s = {}: allowed is {BIN_S_MIN} or more",
                    source.label, source.bin_s
                )));
            }
            Over::Time => check_over_time(&source.metric)?,
            _ => figures::check(&source.metric).map_err(Failure::Invalid)?,
        }
    }
    Ok(())
}

fn check_over_time(metric: &str) -> Result<(), Failure> {
    let is_known = match metric.split_once(':') {
        _ if OverTime::parse(metric).is_some() => true,
        Some((kind, group)) => ["goodput_bps", "cwnd_pkts"].contains(&kind) && !group.is_empty(),
        None => metric == "utilisation",
    };
    if is_known {
        return Ok(());
    }
    Err(Failure::Invalid(format!(
        "there is no curve of \"{metric}\" over time: allowed are utilisation, goodput_bps:GROUP, \
         cwnd_pkts:GROUP, {}",
        over_time::NAMES
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(over: Over, of: &[&str]) -> Source {
        Source {
            label: "l".to_owned(),
            colour: 0,
            dashed: false,
            of: of.iter().map(|&id| id.to_owned()).collect(),
            law: "a".to_owned(),
            metric: "utilisation".to_owned(),
            over,
            factor: 100.0,
            line: true,
            bin_s: 20.0,
        }
    }

    fn point(run: &str, at: &str, seed: u64, value: f64) -> Figures {
        let mut figures = Figures::of(run, "a", Some(seed), &[("utilisation", value)]);
        at.clone_into(&mut figures.at);
        figures
    }

    #[test]
    fn swept_values_stand_in_order_with_their_intervals() {
        // Goal: 9 dB before 17.5 dB whatever the order of the runs; means of two seeds in per cent, with both ends.
        let figures = [
            point("s", "17.5dB", 1, 0.5),
            point("s", "9dB", 1, 0.19),
            point("s", "9dB", 2, 0.21),
            point("other", "9dB", 1, 0.9),
        ];
        let source = source(Over::Sweep, &["s"]);
        let curve = source.curve(&over_sweep(&source, &figures));
        assert_eq!(curve.x, [9.0, 17.5]);
        assert_eq!(curve.y, [Some(20.0), Some(50.0)]);
        let half = 100.0 * 12.706 * 0.01;
        let ends = [curve.low[0], curve.high[0]].map(|end| end.expect("two seeds have an interval"));
        assert!(
            (ends[0] - (20.0 - half)).abs() < 0.01 && (ends[1] - (20.0 + half)).abs() < 0.01,
            "{ends:?}"
        );
        assert_eq!((curve.low[1], curve.high[1]), (None, None));
        assert!(curve.points && curve.joined);
    }

    #[test]
    fn places_keep_the_order_of_the_file() {
        // Goal: one point for each run, a gap where a run has no value.
        let figures = [point("x", "", 1, 0.1), point("y", "", 1, 0.2)];
        let source = source(Over::Place, &["y", "none", "x"]);
        let curve = source.curve(&over_places(&source, &figures));
        assert_eq!(curve.x, [0.0, 1.0, 2.0]);
        assert_eq!(curve.y, [Some(20.0), None, Some(10.0)]);
    }

    #[test]
    fn curves_over_time_are_those_of_the_groups() {
        // Goal: 400 bytes in five seconds in each bin, at its middle; the window of one flow at the bin's end; what has
        // no curve is refused.
        let mut run = groups::tests::run();
        for time in &mut run.record.series.time_ns {
            *time *= 5;
        }
        let spec = std::sync::Arc::make_mut(&mut run.spec);
        spec.duration_ns = 40_000_000_000;
        let mut source = source(Over::Time, &["r"]);
        "goodput_bps:a".clone_into(&mut source.metric);
        assert_eq!(
            run_over_time(&run, "", &source),
            [(10.0, Some(640.0)), (30.0, Some(640.0))]
        );
        for window in run.record.series.flows[0].iter_mut().zip(0..) {
            window.0.cwnd_pkts = window.1;
        }
        "cwnd_pkts:a.0".clone_into(&mut source.metric);
        assert_eq!(run_over_time(&run, "", &source), [(10.0, Some(4.0)), (30.0, Some(8.0))]);
        let checked = |metric: &str| check_over_time(metric).is_ok();
        assert!(checked("utilisation") && checked("cwnd_pkts:a"));
        assert!(!checked("jain") && !checked("cwnd_pkts:") && !checked("share:a"));
    }
}
