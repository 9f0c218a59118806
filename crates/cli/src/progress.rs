//! One bar for all runs: virtual time simulated so far.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const NS_PER_S: u64 = 1_000_000_000;

/// The bar. It is hidden where standard error is not a terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar over `total_s` of virtual time in `runs` runs.
    pub fn new(total_s: u64, runs: usize, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(total_s), target);
        let template = "{msg} {wide_bar:.cyan/dim} {pos}/{len} virtual s  {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is fixed");
        bar.set_style(style.progress_chars("━╸─"));
        bar.set_message(format!("{runs} run{}", if runs == 1 { "" } else { "s" }));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// What one run reports to.
    pub fn of_run(&self) -> RunProgress<'_> {
        RunProgress {
            bar: &self.bar,
            done_s: 0,
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// One run's share of the bar.
pub struct RunProgress<'a> {
    bar: &'a ProgressBar,
    done_s: u64,
}

impl RunProgress<'_> {
    /// The run has come so far.
    pub fn reach(&mut self, time_ns: u64) {
        let now_s = time_ns / NS_PER_S;
        self.bar.inc(now_s.saturating_sub(self.done_s));
        self.done_s = now_s.max(self.done_s);
    }
}
