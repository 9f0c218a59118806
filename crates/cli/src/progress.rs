//! One bar for all runs: virtual time simulated so far, of what there is to simulate.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const NS_PER_S: u64 = 1_000_000_000;

/// The bar. It is hidden where standard error is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    runs: usize,
    ended: AtomicUsize,
}

impl Progress {
    /// A bar over runs that last so long each, in virtual nanoseconds.
    pub fn new(durations_ns: impl ExactSizeIterator<Item = u64>, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let runs = durations_ns.len();
        let total_s = durations_ns.map(|duration_ns| duration_ns / NS_PER_S).sum();
        let bar = ProgressBar::with_draw_target(Some(total_s), target);
        let template = "{msg} {wide_bar:.cyan/dim} {pos}/{len} virtual s  {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is fixed");
        bar.set_style(style.progress_chars("━╸─"));
        bar.enable_steady_tick(Duration::from_millis(200));
        let progress = Self {
            bar,
            runs,
            ended: AtomicUsize::new(0),
        };
        progress.show_runs(0);
        progress
    }

    /// What one run reports to.
    pub fn of_run(&self) -> RunProgress<'_> {
        RunProgress {
            progress: self,
            done_s: 0,
        }
    }

    /// A run that is not simulated because it was before. The bar gets shorter, not fuller: its speed, from which the
    /// time left is estimated, is that of the runs that are simulated.
    pub fn spare(&self, duration_ns: u64) {
        self.bar.dec_length(duration_ns / NS_PER_S);
        self.count();
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn count(&self) {
        self.show_runs(self.ended.fetch_add(1, Ordering::Relaxed) + 1);
    }

    fn show_runs(&self, ended: usize) {
        let plural = if self.runs == 1 { "" } else { "s" };
        self.bar.set_message(format!("{ended}/{} run{plural}", self.runs));
    }
}

/// One run's share of the bar.
pub struct RunProgress<'a> {
    progress: &'a Progress,
    done_s: u64,
}

impl RunProgress<'_> {
    /// The run has come so far.
    pub fn reach(&mut self, time_ns: u64) {
        let now_s = time_ns / NS_PER_S;
        self.progress.bar.inc(now_s.saturating_sub(self.done_s));
        self.done_s = now_s.max(self.done_s);
    }

    /// The run has come to its end.
    pub fn end(&mut self, duration_ns: u64) {
        self.reach(duration_ns);
        self.progress.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(progress: &Progress) -> (u64, Option<u64>, String) {
        (progress.bar.position(), progress.bar.length(), progress.bar.message())
    }

    #[test]
    fn the_bar_ends_when_the_last_run_does() {
        // Goal: all runs share one bar that ends with the virtual time of all; a run finished before shortens it.
        let progress = Progress::new([10, 20, 30].map(|s| s * NS_PER_S).into_iter(), true);
        assert_eq!(position(&progress), (0, Some(60), "0/3 runs".to_owned()));
        let (mut first, mut second) = (progress.of_run(), progress.of_run());
        first.reach(4 * NS_PER_S);
        second.reach(5 * NS_PER_S + 999);
        first.reach(3 * NS_PER_S);
        assert_eq!(position(&progress), (9, Some(60), "0/3 runs".to_owned()));
        first.end(10 * NS_PER_S);
        progress.spare(30 * NS_PER_S);
        assert_eq!(position(&progress), (15, Some(30), "2/3 runs".to_owned()));
        second.end(20 * NS_PER_S);
        assert_eq!(position(&progress), (30, Some(30), "3/3 runs".to_owned()));
    }
}
