//! One bar for all runs: virtual time run so far, of what there is to run; and the key that stops them. Where standard
//! error is no terminal, a line now and then.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fadelab_lab::{Progress, Watch};
use fadelab_scenario::plan::Plan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{interrupt, output};

const NS_PER_S: u64 = 1_000_000_000;

/// Wall-clock seconds between two lines of progress, unless this variable of the environment says otherwise.
const LINES_EVERY_S: u64 = 30;
const LINES_EVERY_S_NAME: &str = "FADELAB_PROGRESS_S";

/// A person before a terminal: sees a bar for each sweep, unless they want it quiet, and stops all with Ctrl-C.
pub struct Terminal {
    quiet: bool,
    /// Whether each sweep is announced by the name of its ground.
    names_grounds: bool,
    interrupted: &'static AtomicBool,
}

impl Terminal {
    /// Listens for Ctrl-C from now on.
    pub fn new(quiet: bool) -> Self {
        Self {
            quiet,
            names_grounds: false,
            interrupted: interrupt::flag(),
        }
    }

    /// As [`Self::new`], for sweeps on several grounds.
    pub fn naming_grounds(quiet: bool) -> Self {
        Self {
            names_grounds: true,
            ..Self::new(quiet)
        }
    }
}

impl Watch for Terminal {
    fn begin<'a>(&'a self, ground: &str, plan: &'a Plan) -> Box<dyn Progress + 'a> {
        if self.names_grounds && !self.quiet {
            output::tell(format!("on {ground} ..."));
        }
        Box::new(Bar::new(plan.runs.iter().map(|run| run.spec.duration_ns), self.quiet))
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// The bar. It is hidden where standard error is not a terminal.
struct Bar {
    drawn: ProgressBar,
    /// Of each run: how long it lasts and how far it has come, s.
    runs: Vec<(u64, AtomicU64)>,
    ended: AtomicUsize,
    /// What is told instead where there is no terminal.
    lines: Option<Lines>,
}

/// When a line of progress is due. A run that is over before the first one says nothing.
struct Lines {
    begun: Instant,
    every: Duration,
    /// How many intervals had passed when the last line was told.
    told: AtomicU64,
}

impl Lines {
    /// From now on.
    fn begin() -> Self {
        let given = std::env::var(LINES_EVERY_S_NAME)
            .ok()
            .and_then(|text| text.parse().ok());
        Self {
            begun: Instant::now(),
            every: Duration::from_secs(given.unwrap_or(LINES_EVERY_S)),
            told: AtomicU64::new(0),
        }
    }

    /// Whether a line is due so long after the beginning; then it counts as told. Without an interval each one is.
    fn are_due(&self, elapsed: Duration) -> bool {
        let Some(passed) = elapsed.as_nanos().checked_div(self.every.as_nanos()) else {
            return true;
        };
        let passed = passed as u64;
        passed > self.told.fetch_max(passed, Ordering::Relaxed)
    }
}

impl Bar {
    /// A bar over runs that last so long each, in virtual nanoseconds.
    fn new(durations_ns: impl Iterator<Item = u64>, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let runs: Vec<_> = durations_ns
            .map(|duration_ns| (duration_ns / NS_PER_S, AtomicU64::new(0)))
            .collect();
        let total_s = runs.iter().map(|(duration_s, _)| duration_s).sum();
        let drawn = ProgressBar::with_draw_target(Some(total_s), target);
        let template = "{msg} {wide_bar:.cyan/dim} {pos}/{len} virtual s  {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is fixed");
        drawn.set_style(style.progress_chars("━╸─"));
        drawn.enable_steady_tick(Duration::from_millis(200));
        let bar = Self {
            drawn,
            runs,
            ended: AtomicUsize::new(0),
            lines: (!quiet && !std::io::stderr().is_terminal()).then(Lines::begin),
        };
        bar.show_runs(0);
        bar
    }

    fn count(&self) {
        self.show_runs(self.ended.fetch_add(1, Ordering::Relaxed) + 1);
    }

    fn show_runs(&self, ended: usize) {
        let runs = self.runs.len();
        let plural = if runs == 1 { "" } else { "s" };
        self.drawn.set_message(format!("{ended}/{runs} run{plural}"));
    }

    /// The line that stands for the bar, if one is due.
    fn tell(&self) {
        let Some(lines) = &self.lines else { return };
        let elapsed = lines.begun.elapsed();
        if lines.are_due(elapsed) {
            output::tell(self.line(elapsed));
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let (done_s, all_s) = (self.drawn.position(), self.drawn.length().unwrap_or(0));
        let left = (1..all_s).contains(&done_s).then(|| {
            let left_s = elapsed.as_secs_f64() * (all_s - done_s) as f64 / done_s as f64;
            format!(", about {left_s:.0} s left")
        });
        let so_far = self.drawn.message();
        format!("{so_far}, {done_s}/{all_s} virtual s{}", left.unwrap_or_default())
    }
}

impl Progress for Bar {
    fn reach(&self, run: usize, time_ns: u64) {
        let now_s = time_ns / NS_PER_S;
        let done_s = self.runs[run].1.fetch_max(now_s, Ordering::Relaxed);
        self.drawn.inc(now_s.saturating_sub(done_s));
        self.tell();
    }

    fn end(&self, run: usize) {
        self.count();
        self.reach(run, self.runs[run].0 * NS_PER_S);
    }

    /// The bar gets shorter, not fuller: its speed, from which the time left is estimated, is that of the runs that are
    /// run.
    fn spare(&self, run: usize) {
        self.drawn.dec_length(self.runs[run].0);
        self.count();
    }
}

/// A bar that has served is taken away.
impl Drop for Bar {
    fn drop(&mut self) {
        self.drawn.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(progress: &Bar) -> (u64, Option<u64>, String) {
        (
            progress.drawn.position(),
            progress.drawn.length(),
            progress.drawn.message(),
        )
    }

    #[test]
    fn the_bar_ends_when_the_last_run_does() {
        // Goal: all runs share one bar that ends with the virtual time of all; a run finished before shortens it.
        let progress = Bar::new([10, 20, 30].map(|s| s * NS_PER_S).into_iter(), true);
        assert_eq!(position(&progress), (0, Some(60), "0/3 runs".to_owned()));
        progress.reach(0, 4 * NS_PER_S);
        progress.reach(1, 5 * NS_PER_S + 999);
        progress.reach(0, 3 * NS_PER_S);
        assert_eq!(position(&progress), (9, Some(60), "0/3 runs".to_owned()));
        progress.end(0);
        progress.spare(2);
        assert_eq!(position(&progress), (15, Some(30), "2/3 runs".to_owned()));
        progress.end(1);
        assert_eq!(position(&progress), (30, Some(30), "3/3 runs".to_owned()));
    }

    #[test]
    fn lines_are_told_once_an_interval() {
        // Goal: where there is no bar, each interval of the wall clock has one line, a short run none, and the line
        // says what the bar would.
        let lines = Lines {
            begun: Instant::now(),
            every: Duration::from_secs(30),
            told: AtomicU64::new(0),
        };
        let due = [1, 29, 30, 31, 59, 95, 96, 119, 120].map(|s| lines.are_due(Duration::from_secs(s)));
        assert_eq!(due, [false, false, true, false, false, true, false, false, true]);
        let progress = Bar::new([10, 20].map(|s| s * NS_PER_S).into_iter(), true);
        assert_eq!(progress.line(Duration::ZERO), "0/2 runs, 0/30 virtual s");
        progress.end(0);
        let line = progress.line(Duration::from_secs(60));
        assert_eq!(line, "1/2 runs, 10/30 virtual s, about 120 s left");
        progress.end(1);
        assert_eq!(progress.line(Duration::from_secs(90)), "2/2 runs, 30/30 virtual s");
    }
}
