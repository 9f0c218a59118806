//! `fadelab figure`: a figure of a result as a file for a paper.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fadelab_lab::Failure;
use fadelab_results::measure::METRICS;
use fadelab_results::report::paper::{self, Choice, Drawn, Figures, Named, Request};
use fadelab_results::swept;
use fadelab_results::versus::FIGURES;
use fadelab_results::{Experiment, Summary, point_text, write_page};

use crate::output;

/// Millimetres that a figure may be wide: the smallest has room for axes, the largest is a poster's.
const WIDTHS_MM: std::ops::RangeInclusive<f64> = 40.0..=400.0;
/// The figure that may show several points at once.
const VERSUS: &str = "versus";
const MM_PER_POINT: f64 = 25.4 / 72.0;
/// One column and both of a two-column paper, the narrower of those of IEEE and ACM (241 and 506 points of TeX, 1/72.27
/// of an inch), so that a figure fits both.
const NARROW_MM: f64 = 240.0 * MM_PER_POINT;
const WIDE_MM: f64 = 504.0 * MM_PER_POINT;

/// What a band around a mean is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Band {
    /// The 95 % interval of the mean
    Interval,
    /// From the lowest to the highest
    Range,
}

/// How flows are drawn over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Flows {
    /// Each as a line
    Lines,
    /// Their mean
    Mean,
}

/// Arguments of `fadelab figure`.
#[derive(Debug, Args)]
pub struct FigureArgs {
    /// Folder of a result
    pub folder: PathBuf,
    /// Name of the figure; without one, those of the result are listed
    pub name: Option<String>,
    /// File that ends in .svg or .pdf, which is written over [default: SVG to standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Width in mm, or narrow or wide: one column (85 mm) or both (178 mm) of a paper
    #[arg(long, value_name = "MM", value_parser = width, default_value = "narrow")]
    pub width: f64,
    /// The link [default: the bottleneck]
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// The point of a sweep, e.g. --at channel.snr='5 dB' or snr='5 dB'; repeatable [default: the first; of versus all]
    #[arg(long, value_name = "KEY=VALUE")]
    pub at: Vec<String>,
    /// One seed alone [default: all]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Only this law; repeatable [default: all]
    #[arg(long = "law", value_name = "LAW")]
    pub laws: Vec<String>,
    /// Over time: what bands are
    #[arg(long, value_enum, default_value = "interval")]
    pub band: Band,
    /// Over time: how flows are drawn [default: each as a line]
    #[arg(long, value_enum)]
    pub flows: Option<Flows>,
    /// Over time: only from this second on
    #[arg(long, value_name = "S", requires = "to")]
    pub from: Option<f64>,
    /// Over time: only up to this second
    #[arg(long, value_name = "S", requires = "from")]
    pub to: Option<f64>,
    /// A panel for each law
    #[arg(long)]
    pub apart: bool,
    /// Of a sweep: the metric; of laws beside each other also share, harm, ... [default: utilisation]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Of a sweep: the key of the axis [default: the first with numbers]
    #[arg(long, value_name = "KEY")]
    pub over: Option<String>,
    /// Of a sweep and of differences: minus this law
    #[arg(long, value_name = "LAW")]
    pub minus: Option<String>,
    /// Of a sweep: logarithmic axis of the key
    #[arg(long)]
    pub log_x: bool,
    /// Of a sweep: logarithmic axis of the metric
    #[arg(long)]
    pub log_y: bool,
}

fn width(text: &str) -> Result<f64, String> {
    match text {
        "narrow" => Ok(NARROW_MM),
        "wide" => Ok(WIDE_MM),
        _ => text.parse().ok().filter(|mm| WIDTHS_MM.contains(mm)).ok_or_else(|| {
            let (least, most) = (WIDTHS_MM.start(), WIDTHS_MM.end());
            format!("narrow, wide or a number of mm from {least} to {most} is needed")
        }),
    }
}

/// Draws a figure, or lists them.
///
/// # Errors
/// A folder that holds no result, a name that it does not have, or a file that cannot be written.
pub fn figure(args: &FigureArgs) -> Result<(), Failure> {
    let is_pdf = args.out.as_deref().map_or(Ok(false), is_pdf)?;
    let experiment = output::result(&args.folder)?;
    let summary = Summary::of(&experiment);
    let figures = Figures::of(&experiment, &summary)?;
    let named = figures.list()?;
    let Some(name) = &args.name else {
        return output::print_told(&list(&named));
    };
    let asked = Asked {
        args,
        summary: &summary,
        experiment: &experiment,
    };
    asked.is_there(name, &named)?;
    let request = asked.request(name)?;
    let Some(drawn) = figures.draw(&request)? else {
        return Err(asked.refuse(&format!(
            "{name} has nothing to show for what is asked; leave out options, or ask for others"
        )));
    };
    output::warn(&experiment.warnings);
    for option in asked.idle(&request) {
        let plain = figures.draw(&option.without)?;
        if plain.is_some_and(|plain| plain.svg == drawn.svg) {
            let name = option.name;
            output::warn(&[format!(
                "--{name} makes no difference to this figure, which is the same without it"
            )]);
        }
    }
    let chosen = asked.chosen(&drawn);
    let Some(path) = &args.out else {
        if let Some(chosen) = chosen {
            eprintln!("{chosen}");
        }
        return output::print(&drawn.svg);
    };
    if is_pdf {
        write_page(path, paper::pdf(&drawn.svg)?)?;
    } else {
        write_page(path, &drawn.svg)?;
    }
    let title = if drawn.title.is_empty() {
        String::new()
    } else {
        format!("{}: ", drawn.title)
    };
    let chosen = chosen.map_or_else(String::new, |chosen| format!("{chosen}\n"));
    output::print_told(&format!("{}\n{title}{}\n{chosen}", path.display(), drawn.note))
}

fn is_pdf(path: &Path) -> Result<bool, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(false),
        Some("pdf") => Ok(true),
        _ => Err(Failure::Invalid(format!(
            "--out {} is neither SVG nor PDF: give a file that ends in .svg or .pdf",
            path.display()
        ))),
    }
}

fn list(named: &[Named]) -> String {
    let wide = named.iter().map(|figure| figure.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Named {
        name,
        about,
        needs,
        there,
    } in named
    {
        let lacks = if *there {
            String::new()
        } else {
            format!(" (not here: needs {needs})")
        };
        let _ = writeln!(text, "{name:wide$}  {about}{lacks}");
    }
    text
}

/// An option that was given, and what is asked for without it.
struct Given {
    name: &'static str,
    without: Request,
}

/// What was asked for, beside what there is.
struct Asked<'a> {
    args: &'a FigureArgs,
    summary: &'a Summary,
    experiment: &'a Experiment,
}

impl Asked<'_> {
    fn refuse(&self, why: &str) -> Failure {
        Failure::Invalid(format!("{}: {why}", self.args.folder.display()))
    }

    fn is_there(&self, name: &str, named: &[Named]) -> Result<(), Failure> {
        let there: Vec<&str> = named.iter().filter(|n| n.there).map(|n| n.name.as_str()).collect();
        let there = there.join(", ");
        match named.iter().find(|figure| figure.name == name) {
            Some(figure) if figure.there => Ok(()),
            Some(figure) => Err(self.refuse(&format!(
                "figure {name} needs {}, which the result does not have; it has: {there}",
                figure.needs
            ))),
            None => Err(self.refuse(&format!("there is no figure {name}; it has: {there}"))),
        }
    }

    /// Options that choose among several things, and may be of none in this figure.
    fn idle(&self, request: &Request) -> Vec<Given> {
        let mut all = Vec::new();
        let mut add = |name, is_given: bool, change: fn(&mut Request)| {
            if is_given {
                let mut without = request.clone();
                change(&mut without);
                all.push(Given { name, without });
            }
        };
        let has_seeds = self.summary.seeds.len() > 1;
        add("seed", request.state.seed.is_some() && has_seeds, |request| {
            request.state.seed = None;
        });
        add("law", !request.hidden.is_empty(), |request| request.hidden.clear());
        add("metric", request.state.metric > 0, |request| request.state.metric = 0);
        all
    }

    /// Which point of a sweep was taken where nobody chose one.
    fn chosen(&self, drawn: &Drawn) -> Option<String> {
        let points = self.summary.points().len();
        (self.args.at.is_empty() && !drawn.at.is_empty())
            .then(|| format!("Drawn at {}, the first of {points} points; --at chooses.", drawn.at))
    }

    /// Names of the metrics of a sweep: those of runs, then those of laws beside each other.
    fn metrics(&self) -> Vec<String> {
        let of_pairs = if self.summary.versus.is_empty() {
            &[]
        } else {
            &FIGURES[..]
        };
        let of_runs = METRICS.iter().map(|info| info.name);
        let all = of_runs.chain(of_pairs.iter().map(|(name, _)| *name));
        all.map(str::to_owned).collect()
    }

    /// The place of `given` among `all`, or why there is none.
    fn place(&self, option: &str, given: &str, all: &[String]) -> Result<usize, Failure> {
        let found = all.iter().position(|one| one == given);
        found.ok_or_else(|| {
            let all = if all.is_empty() {
                "nothing of the kind".to_owned()
            } else {
                all.join(", ")
            };
            self.refuse(&format!("--{option} {given} is not in it; it has: {all}"))
        })
    }

    fn request(&self, name: &str) -> Result<Request, Failure> {
        let (args, summary) = (self.args, self.summary);
        let place = |option, given: &Option<String>, all: &[String]| {
            given.as_deref().map(|given| self.place(option, given, all)).transpose()
        };
        let keys = swept::keys(&summary.points());
        let whole = |asked: &String| {
            keys.iter()
                .find(|key| key.is(asked))
                .map_or_else(|| asked.clone(), |key| key.key.clone())
        };
        let over = args.over.as_ref().map(whole);
        let keys: Vec<String> = keys.iter().map(|key| key.key.clone()).collect();
        let seeds: Vec<String> = summary.seeds.iter().map(u64::to_string).collect();
        place("link", &args.link, &summary.data_links())?;
        let shown: Vec<usize> = args
            .laws
            .iter()
            .map(|law| self.place("law", law, &summary.laws))
            .collect::<Result<_, _>>()?;
        let points = self.points(name)?;
        let hidden = (0..summary.laws.len()).filter(|law| !shown.is_empty() && !shown.contains(law));
        Ok(Request {
            name: name.to_owned(),
            width: args.width,
            hidden: hidden.collect(),
            state: Choice {
                point: points[0],
                points: if points.len() > 1 { points } else { Vec::new() },
                link: args.link.clone(),
                seed: place("seed", &args.seed.map(|seed| seed.to_string()), &seeds)?,
                interval: Some(args.band == Band::Interval),
                flows: args
                    .flows
                    .map(|flows| if flows == Flows::Lines { "all" } else { "mean" }),
                apart: args.apart,
                metric: place("metric", &args.metric, &self.metrics())?.unwrap_or(0),
                axis: place("over", &over, &keys)?,
                base: place("minus", &args.minus, &summary.laws)?.unwrap_or(0),
                difference: args.minus.is_some(),
                log_x: args.log_x,
                log_y: args.log_y,
                zoom: self.zoom()?,
            },
        })
    }

    fn zoom(&self) -> Result<Option<[f64; 2]>, Failure> {
        let Some((from, to)) = self.args.from.zip(self.args.to) else {
            return Ok(None);
        };
        let end = self
            .experiment
            .runs
            .first()
            .map_or(0.0, |run| run.spec.duration_ns as f64 / 1e9);
        if 0.0 <= from && from < to && to <= end {
            return Ok(Some([from, to]));
        }
        Err(self.refuse(&format!(
            "--from {from} --to {to} is no time of it: 0 <= from < to <= {end} is needed"
        )))
    }

    /// The only point that has all that `--at` gives, or the first where nothing is given; of laws beside each other
    /// all that fit.
    fn points(&self, name: &str) -> Result<Vec<usize>, Failure> {
        let points = self.summary.points();
        let keys = swept::keys(&points);
        let fits = |point: &[(String, String)]| {
            let has = |given: &String| {
                let is_it = |(key, value): &(String, String)| match given.split_once('=') {
                    Some((asked, wanted)) => wanted == value && keys.iter().any(|one| one.key == *key && one.is(asked)),
                    None => false,
                };
                point.iter().any(is_it)
            };
            self.args.at.iter().all(has)
        };
        let found: Vec<usize> = (0..points.len()).filter(|&place| fits(&points[place])).collect();
        match found[..] {
            [_, ..] if name == VERSUS => Ok(found),
            [first, ..] if self.args.at.is_empty() => Ok(vec![first]),
            [only] => Ok(vec![only]),
            _ => {
                let all: Vec<String> = points
                    .iter()
                    .map(|point| point_text(point))
                    .filter(|p| !p.is_empty())
                    .collect();
                let all = if all.is_empty() {
                    "no sweep".to_owned()
                } else {
                    all.join("; ")
                };
                let given = self.args.at.join(" --at ");
                Err(self.refuse(&format!("--at {given} is {} of its points; it has: {all}", found.len())))
            }
        }
    }
}
