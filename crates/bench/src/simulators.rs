//! The commands that run a case in ns-2 and in fadelab, and how many packets each delivered.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cases::Case;
use crate::measure::{self, Words};
use crate::slices::{Spent, Turn};

/// The script that runs a dumbbell in ns-2.
const NS2_SCRIPT: &str = "tests/differential/ns2/dumbbell.tcl";
/// The dumbbell of both.
const SCENARIO: &str = "scenarios/dumbbell54.toml";

/// Folder of the result of a run, in the place for results.
pub const RESULT: &str = "result";

/// That of a run beside it.
pub const BESIDE: &str = "result-beside";

/// What all parts need.
pub struct Bench {
    /// The command that is measured.
    pub fadelab: PathBuf,
    /// Turns per simulator.
    pub rounds: u32,
    /// The core on which everything is timed.
    pub core: usize,
    scratch: TempDir,
}

impl Bench {
    /// Finds the command and a core.
    ///
    /// # Errors
    /// In words, where there is no such command or no place for its results.
    pub fn new(fadelab: PathBuf, rounds: u32) -> Result<Self, String> {
        if !fadelab.is_file() {
            return Err(format!(
                "there is no command {}; make build makes it, or give --fadelab PATH",
                fadelab.display()
            ));
        }
        let scratch = TempDir::new().map_err(|error| format!("no temporary folder: {error}"))?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self {
            fadelab,
            rounds,
            core: cores - 1,
            scratch,
        })
    }

    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// A run of `scenario` over `seconds` that records no series, under its own settings and one seed, with its result
    /// in `folder`.
    pub fn fadelab(&self, scenario: &str, seconds: u32, settings: &[String], folder: &str) -> Words {
        let out = self.scratch().join(folder);
        let mut words = vec![
            self.fadelab.display().to_string(),
            "run".to_owned(),
            scenario.to_owned(),
        ];
        words.extend(["--quiet", "--fresh", "--csv", "--seeds", "1", "--jobs", "1", "--out"].map(str::to_owned));
        words.push(out.display().to_string());
        let length = [
            "run.record=false".to_owned(),
            "run.warmup=0 s".to_owned(),
            format!("run.duration={seconds} s"),
        ];
        for setting in length.iter().chain(settings) {
            words.extend(["--set".to_owned(), setting.clone()]);
        }
        Words(words)
    }

    /// Removes the last result in `folder`.
    ///
    /// # Errors
    /// In words, where that is not possible.
    pub fn clear(&self, folder: &str) -> Result<(), String> {
        let result = self.scratch().join(folder);
        if !result.exists() {
            return Ok(());
        }
        std::fs::remove_dir_all(&result).map_err(|error| format!("{}: {error}", result.display()))
    }

    /// Packets that the bottleneck of the last run with its result in `folder` delivered.
    ///
    /// # Errors
    /// In words, where its table cannot be read.
    pub fn sent_pkts(&self, folder: &str) -> Result<f64, String> {
        let path = self.scratch().join(folder).join("csv/runs.csv");
        let wrong = |what: String| format!("{}: {what}", path.display());
        let mut table = csv::Reader::from_path(&path).map_err(|error| wrong(error.to_string()))?;
        let headers = table.headers().map_err(|error| wrong(error.to_string()))?;
        let column = headers.iter().position(|name| name == "sent_pkts");
        let column = column.ok_or_else(|| wrong("no column sent_pkts".to_owned()))?;
        let row = table.records().next().ok_or_else(|| wrong("no row".to_owned()))?;
        let row = row.map_err(|error| wrong(error.to_string()))?;
        row[column]
            .parse()
            .map_err(|_| wrong(format!("sent_pkts is '{}'", &row[column])))
    }
}

/// One of those that are compared: what to run for a number of virtual seconds.
pub trait Simulator {
    /// Packets that the bottleneck delivers in that time, the same in each run.
    ///
    /// # Errors
    /// In words, with what a command printed that failed.
    fn pkts(&self, bench: &Bench, seconds: u32) -> Result<f64, String>;

    /// What is timed: runs that show the two lengths.
    fn turn(&self, bench: &Bench, seconds: [u32; 2]) -> Turn;

    /// CPU seconds between the two lengths, of what the steps of a turn spent.
    ///
    /// # Errors
    /// In words, where a command did not print them.
    fn steady_s(&self, spent: &[Spent], seconds: [u32; 2]) -> Result<f64, String>;
}

pub struct Ns2<'a>(pub &'a Case);

impl Ns2<'_> {
    /// ns-2's queue monitor, which counts packets, is left out of what is timed.
    fn words(&self, seconds: u32, monitor: bool) -> Words {
        let Case {
            ns2,
            ns2_more,
            flows,
            rate_mbps,
            ..
        } = self.0;
        let (law, queue) = ns2;
        let network = format!("ns {NS2_SCRIPT} law {law} queue {queue} flows {flows} rate_mbps {rate_mbps}");
        let line = format!(
            "{network} {ns2_more} duration {seconds} warmup 0 monitor {}",
            u8::from(monitor)
        );
        Words(line.split_whitespace().map(str::to_owned).collect())
    }
}

impl Simulator for Ns2<'_> {
    fn pkts(&self, bench: &Bench, seconds: u32) -> Result<f64, String> {
        let words = self.words(seconds, true);
        let output = measure::run_pinned(bench.core, &words)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let sent = text
            .lines()
            .find_map(|line| line.strip_prefix("sent_pkts_all ")?.trim().parse().ok());
        sent.ok_or_else(|| format!("{} printed no sent_pkts_all", words.line()))
    }

    /// One run: with a thousand flows ns-2's set-up takes a minute, of which a few per cent, the noise between two
    /// runs, are as much as all that is measured.
    fn turn(&self, bench: &Bench, seconds: [u32; 2]) -> Turn {
        let mut words = self.words(seconds[1], false);
        words.0.push("cpu_at".to_owned());
        words.0.push(format!("{} {}", seconds[0], seconds[1]));
        Turn {
            steps: vec![vec![measure::pinned(bench.core, &words)]],
            folders: Vec::new(),
            begins_at: Some(format!("cpu_{} ", seconds[0])),
        }
    }

    fn steady_s(&self, spent: &[Spent], seconds: [u32; 2]) -> Result<f64, String> {
        let output = &spent[0].output;
        let spent_s = |at_s: u32| {
            let spent = output
                .lines()
                .find_map(|line| line.strip_prefix(&format!("cpu_{at_s} ")));
            let spent = spent.and_then(|spent| spent.trim().parse::<f64>().ok());
            spent.ok_or_else(|| format!("ns {NS2_SCRIPT} printed no cpu_{at_s}"))
        };
        Ok(spent_s(seconds[1])? - spent_s(seconds[0])?)
    }
}

/// A scenario with settings in fadelab.
pub struct Fadelab {
    /// File or name.
    pub scenario: String,
    /// `--set` of each.
    pub settings: Vec<String>,
    /// Of its result, in the place for results.
    pub folder: &'static str,
}

impl Fadelab {
    /// The same network as [`Ns2`].
    pub fn of(case: &Case) -> Self {
        let Case {
            law,
            settings,
            flows,
            rate_mbps,
            ..
        } = case;
        let common = [
            format!("flow.law={law}"),
            format!("flow.count={flows}"),
            format!("topology.bottleneck.rate={rate_mbps} Mbit/s"),
            format!("topology.access.rate={} Mbit/s", 2 * rate_mbps),
        ];
        let own = settings.iter().map(|&setting| setting.to_owned());
        Self {
            scenario: SCENARIO.to_owned(),
            settings: common.into_iter().chain(own).collect(),
            folder: RESULT,
        }
    }

    pub fn words(&self, bench: &Bench, seconds: u32) -> Words {
        bench.fadelab(&self.scenario, seconds, &self.settings, self.folder)
    }

    /// Runs it on the core.
    ///
    /// # Errors
    /// In words, with what it printed.
    pub fn run(&self, bench: &Bench, seconds: u32) -> Result<(), String> {
        bench.clear(self.folder)?;
        measure::run_pinned(bench.core, &self.words(bench, seconds)).map(drop)
    }
}

impl Simulator for Fadelab {
    fn pkts(&self, bench: &Bench, seconds: u32) -> Result<f64, String> {
        self.run(bench, seconds)?;
        bench.sent_pkts(self.folder)
    }

    fn turn(&self, bench: &Bench, seconds: [u32; 2]) -> Turn {
        let step = |seconds| vec![measure::pinned(bench.core, &self.words(bench, seconds))];
        Turn {
            steps: seconds.map(step).to_vec(),
            folders: vec![bench.scratch().join(self.folder)],
            begins_at: None,
        }
    }

    fn steady_s(&self, spent: &[Spent], _: [u32; 2]) -> Result<f64, String> {
        Ok(spent[1].cpu_s - spent[0].cpu_s)
    }
}

/// Packets between the two lengths of a run.
///
/// # Errors
/// As [`Simulator::pkts`].
pub fn steady_pkts(bench: &Bench, simulator: &dyn Simulator, seconds: [u32; 2]) -> Result<f64, String> {
    Ok(simulator.pkts(bench, seconds[1])? - simulator.pkts(bench, seconds[0])?)
}

/// Instructions of the steady state per packet.
///
/// # Errors
/// As [`Simulator::pkts`].
pub fn instructions_per_pkt(bench: &Bench, fadelab: &Fadelab, seconds: [u32; 2]) -> Result<f64, String> {
    let count = |seconds| {
        bench.clear(fadelab.folder)?;
        let spent = measure::instructions(&fadelab.words(bench, seconds))?;
        Ok::<_, String>((spent, bench.sent_pkts(fadelab.folder)?))
    };
    let (short, long) = (count(seconds[0])?, count(seconds[1])?);
    Ok((long.0 - short.0) / (long.1 - short.1))
}
