//! Changes of a window, gathered while a run goes by.

use std::collections::VecDeque;

use fadelab_laws::WatchInfo;
use fadelab_laws::abi;
use fadelab_laws::guard::Seen;

/// Changes that are shown before and after the one that is asked for.
const NEIGHBOURS: usize = 3;

/// A call of the law after which the window, or what a loss set, was another.
#[derive(Clone, Debug)]
pub struct Change {
    /// When, in µs of the run.
    pub time_us: u64,
    /// The law's function, such as `on_ack`.
    pub function: &'static str,
    /// Why, of a loss.
    pub cause: Option<u64>,
    /// How long nothing was sent, of a restart, in µs.
    pub idle_us: Option<u64>,
    pub ack: Option<abi::Ack>,
    /// What the law was given.
    pub before: abi::Control,
    /// What it left.
    pub law: abi::Control,
    /// What the host made of it; the next call was given that.
    pub after: abi::Control,
    /// The values to watch that the law declares, in its order: before the call and after it.
    pub watched: Vec<(u64, u64)>,
    /// The branches that the law took, each with its equation.
    pub steps: Vec<String>,
}

impl Change {
    fn of(seen: &Seen<'_>, watch: &[WatchInfo], before: abi::Control, law: abi::Control, time_us: u64) -> Self {
        Self {
            watched: watch.iter().filter_map(|info| seen.watched(info)).collect(),
            time_us,
            function: seen.name(),
            cause: seen.argument("cause"),
            idle_us: seen.argument("idle_us"),
            ack: seen.ack(),
            before,
            law,
            after: law,
            steps: seen.steps(),
        }
    }

    /// Whether the window is another, or the law was asked what a loss means.
    fn counts(&self) -> bool {
        self.before.cwnd_pkts != self.after.cwnd_pkts || matches!(self.function, "init" | "on_loss" | "on_rto")
    }
}

/// Changes around a time, gathered while the run goes by.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Up to that time; the last is the one that is asked for. Empty where the flow had not begun.
    pub until: VecDeque<Change>,
    pub after: Vec<Change>,
    /// The last call, until it is known what the host made of it.
    last: Option<Change>,
    at_us: u64,
}

impl Changes {
    /// Gathers the changes around `at_us`.
    pub(super) fn around(at_us: u64) -> Self {
        Self {
            at_us,
            ..Self::default()
        }
    }

    /// A call of the law, which declares the values `watch`.
    pub(super) fn see(&mut self, seen: &Seen<'_>, watch: &[WatchInfo]) {
        let Some((before, law)) = seen.controls() else { return };
        let time_us = seen
            .now_us()
            .or(self.last.as_ref().map(|last| last.time_us))
            .unwrap_or(0);
        self.close(Some(&before));
        self.last = Some(Change::of(seen, watch, before, law, time_us));
    }

    /// The last call is over; `next` is what the host gave to the one after it.
    pub(super) fn close(&mut self, next: Option<&abi::Control>) {
        let Some(mut last) = self.last.take() else { return };
        last.after = next.copied().unwrap_or(last.law);
        if !last.counts() {
            return;
        }
        if last.time_us <= self.at_us {
            self.until.push_back(last);
            if self.until.len() > NEIGHBOURS + 1 {
                self.until.pop_front();
            }
        } else if self.after.len() < NEIGHBOURS {
            self.after.push(last);
        }
    }

    pub(super) fn are_complete(&self) -> bool {
        self.after.len() == NEIGHBOURS
    }
}
