//! One bar for all runs: virtual time run so far, of what there is to run; and the key that stops them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use fadelab_lab::{Progress, Watch};
use fadelab_scenario::plan::Plan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{interrupt, output};

const NS_PER_S: u64 = 1_000_000_000;

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
}

impl Progress for Bar {
    fn reach(&self, run: usize, time_ns: u64) {
        let now_s = time_ns / NS_PER_S;
        let done_s = self.runs[run].1.fetch_max(now_s, Ordering::Relaxed);
        self.drawn.inc(now_s.saturating_sub(done_s));
    }

    fn end(&self, run: usize) {
        self.reach(run, self.runs[run].0 * NS_PER_S);
        self.count();
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
}
