//! Where sections do their work: scenarios run on all cores, under one line of progress.

use std::path::{Path, PathBuf};

use fadelab_lab::{Ground, Progress, Simulator, Stop, Watch, sweep};
use fadelab_results::Run;
use fadelab_results::fairness;
use fadelab_results::interval::Stat;
use fadelab_results::measure::{self, Metric};
use fadelab_scenario::plan::Plan;
use indicatif::{ProgressBar, ProgressStyle};

/// Scenarios of the rows, below the top of the project.
const SCENARIOS: &str = "crates/validate/scenarios";

pub struct Lab {
    bar: ProgressBar,
    /// `KEY=VALUE`, laid over every scenario: how a reader sees a row fail.
    sets: Vec<String>,
    /// Whether sections were named: what takes long is run in whole then.
    pub is_asked_by_name: bool,
}

/// The runs of one scenario, in the order of its seeds.
pub struct Measured {
    pub runs: Vec<Run>,
    /// The command that makes them by hand.
    pub command: String,
}

/// The top folder of the project.
pub fn top() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

impl Lab {
    /// A lab whose progress is shown where standard error is a terminal.
    pub fn new(sets: Vec<String>) -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{msg} {wide_bar:.cyan/dim} {pos}/{len} runs  {elapsed}");
        bar.set_style(style.expect("the template is fixed").progress_chars("━╸─"));
        Self {
            bar,
            sets,
            is_asked_by_name: false,
        }
    }

    pub fn begin(&self, section: &'static str) {
        self.bar.set_message(section);
        self.bar.set_length(0);
        self.bar.set_position(0);
    }

    /// So many runs more are ahead.
    pub fn expect(&self, runs: usize) {
        self.bar.inc_length(runs as u64);
    }

    /// One of them has ended.
    pub fn ended(&self) {
        self.bar.inc(1);
    }

    /// Prints a text between two states of the progress.
    pub fn print(&self, text: &str) {
        self.bar.suspend(|| println!("{text}"));
    }

    pub fn close(&self) {
        self.bar.finish_and_clear();
    }

    /// Runs the scenario `name` of this package with `sets` laid over it, on all cores.
    ///
    /// # Errors
    /// A scenario that is refused or a run that fails, in words.
    pub fn simulate(&self, name: &str, sets: &[String]) -> Result<Measured, String> {
        self.simulate_file(&format!("{SCENARIOS}/{name}.toml"), sets)
    }

    /// Runs the scenario in `file`, a path from the top of the project, likewise.
    ///
    /// # Errors
    /// As [`Self::simulate`].
    pub fn simulate_file(&self, file: &str, sets: &[String]) -> Result<Measured, String> {
        self.run_file(&mut Simulator, file, sets)
    }

    /// The same on another ground.
    ///
    /// # Errors
    /// As [`Self::simulate`], and what the ground cannot do.
    pub fn run_file(&self, ground: &mut dyn Ground, file: &str, sets: &[String]) -> Result<Measured, String> {
        let options = fadelab_scenario::Options {
            sets: sets.iter().chain(&self.sets).cloned().collect(),
            ..Default::default()
        };
        let plan = fadelab_scenario::load(&top().join(file), &options).map_err(|refusal| refusal.to_string())?;
        ground
            .prepare(&plan, &|what| self.print(what))
            .map_err(|failure| failure.to_string())?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let swept = sweep(&*ground, &plan, threads, None, self).map_err(|stop| match stop {
            Stop::Run { index, why, .. } => format!("{file}, seed {}: {why}", plan.runs[index].seed),
            stop => stop.to_string(),
        })?;
        let sets: Vec<String> = options.sets.iter().map(|set| format!(" --set '{set}'")).collect();
        Ok(Measured {
            runs: swept.runs,
            command: format!("fadelab {}run {file}{}", of_ground(ground), sets.concat()),
        })
    }
}

/// The command's words before `run`.
fn of_ground(ground: &dyn Ground) -> &'static str {
    if ground.name() == fadelab_results::SIM {
        ""
    } else {
        "testbed "
    }
}

impl Watch for Lab {
    fn begin<'a>(&'a self, _ground: &str, plan: &'a Plan) -> Box<dyn Progress + 'a> {
        self.expect(plan.runs.len());
        Box::new(self)
    }
}

impl Progress for &Lab {
    fn end(&self, _run: usize) {
        self.ended();
    }
}

impl Measured {
    /// Mean and interval over the seeds of what `value` says of each run.
    ///
    /// # Errors
    /// No run says anything.
    pub fn stat(&self, value: impl Fn(&Run) -> Option<f64>) -> Result<Stat, String> {
        let values: Vec<f64> = self.runs.iter().filter_map(value).collect();
        Stat::of(&values).ok_or_else(|| format!("no run says anything: {}", self.command))
    }

    /// A figure of the link `link`.
    ///
    /// # Errors
    /// There is no such link, or no run has a figure.
    pub fn metric(&self, link: &str, metric: Metric) -> Result<Stat, String> {
        self.stat(|run| measure::measure(run, link_of(run, link)?).get(metric))
    }
}

/// Jain's index of what each flow with a law got of a link over the whole measured interval, as other programs print
/// it: of a flow by itself, and of several laws, too.
pub fn jain(run: &Run, link: usize) -> Option<f64> {
    let flows = measure::crossing_flows(run, link).into_iter();
    let with_law = flows.filter(|&flow| run.spec.flows[flow].law.is_some());
    let got = |flow: usize| {
        let [from, to] = [&run.record.flows_warmup, &run.record.flows_end].map(|of| of[flow].delivered_bytes);
        (to - from) as f64
    };
    fairness::jain(&with_law.map(got).collect::<Vec<_>>())
}

/// Index of a link by its name.
pub fn link_of(run: &Run, link: &str) -> Option<usize> {
    run.spec.links.iter().position(|spec| spec.name.as_ref() == link)
}
