//! What groups of flows got in a run: `drop_rate:GROUP`, `missed_congestion:GROUP` and `false_congestion:GROUP`, and
//! `goodput_bps:GROUP`, `split:A/B`, `each:A/B` and `above_fair:A/B`, each of these also for a stretch of time, as in
//! `split:local1/long:500-1000`.

use fadelab_results::Run;
use fadelab_results::bins::{self, Bin};

const NS_PER_S: f64 = 1e9;

/// A figure of groups of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouped<'a> {
    what: What<'a>,
    /// In seconds; absent: the measured interval.
    stretch: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What<'a> {
    /// Payload per second of all its flows together, bit/s.
    Goodput(&'a str),
    /// Of the data packets that its flows sent, those that the queue of the link dropped.
    DropRate(&'a str),
    /// Of the recoveries of its flows that began after a queue had dropped something, those at which the law did not
    /// make the window smaller.
    MissedCongestion(&'a str),
    /// Of all other recoveries of its flows, those at which it did.
    FalseCongestion(&'a str),
    /// The goodput of the first over that of the second.
    Split(&'a str, &'a str),
    /// The goodput of a flow of the first, on the average, over that of one of the second.
    Each(&'a str, &'a str),
    /// The share of the intervals between samples in which a flow of the first gets more than one of the second.
    AboveFair(&'a str, &'a str),
}

/// How they are spelt, for messages.
pub const NAMES: &str = "drop_rate:GROUP, missed_congestion:GROUP, false_congestion:GROUP, and goodput_bps:GROUP, \
                         split:GROUP/GROUP, each:GROUP/GROUP, \
                         above_fair:GROUP/GROUP, these with :FROM-TO in seconds";

impl<'a> Grouped<'a> {
    /// Reads a name; `None` if it is not of this kind or not complete.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (kind, rest) = name.split_once(':')?;
        let (groups, stretch) = match rest.split_once(':') {
            Some((groups, stretch)) => (groups, Some(seconds(stretch)?)),
            None => (rest, None),
        };
        let pair = || groups.split_once('/').filter(|(a, b)| !a.is_empty() && !b.is_empty());
        let what = match kind {
            "goodput_bps" if !groups.is_empty() => What::Goodput(groups),
            "drop_rate" if !groups.is_empty() && stretch.is_none() => What::DropRate(groups),
            "missed_congestion" if !groups.is_empty() && stretch.is_none() => What::MissedCongestion(groups),
            "false_congestion" if !groups.is_empty() && stretch.is_none() => What::FalseCongestion(groups),
            "split" => pair().map(|(a, b)| What::Split(a, b))?,
            "each" => pair().map(|(a, b)| What::Each(a, b))?,
            "above_fair" => pair().map(|(a, b)| What::AboveFair(a, b))?,
            _ => return None,
        };
        Some(Self { what, stretch })
    }

    /// Whether it is a part of a whole.
    pub fn is_part(&self) -> bool {
        matches!(
            self.what,
            What::AboveFair(..) | What::DropRate(_) | What::MissedCongestion(_) | What::FalseCongestion(_)
        )
    }

    /// Its value at a link; absent where no such flow ran or nothing was recorded of that time.
    pub fn measure(&self, run: &Run, link: usize) -> Option<f64> {
        match self.what {
            What::Goodput(group) => self.goodput_bps(run, group),
            What::DropRate(group) => drop_rate(run, group, link),
            What::MissedCongestion(group) => reduced_part(run, group, true).map(|reduced| 1.0 - reduced),
            What::FalseCongestion(group) => reduced_part(run, group, false),
            What::Split(a, b) => self.split(run, a, b),
            What::Each(a, b) => {
                let [of_a, of_b] = [a, b].map(|group| members(run, group).count() as f64);
                Some(self.split(run, a, b)? * of_b / of_a)
            }
            What::AboveFair(a, b) => self.above_fair(run, a, b),
        }
    }

    fn split(&self, run: &Run, a: &str, b: &str) -> Option<f64> {
        let ratio = self.goodput_bps(run, a)? / self.goodput_bps(run, b)?;
        ratio.is_finite().then_some(ratio)
    }

    fn goodput_bps(&self, run: &Run, group: &str) -> Option<f64> {
        let Some((from_s, to_s)) = self.stretch else {
            return measured_bps(run, group);
        };
        let [from, to] = [from_s, to_s].map(|s| (s * NS_PER_S) as u64);
        let bin = bins::cut(&run.record.series.time_ns, from, to, to - from);
        recorded_bps(run, group, bin.first().copied().flatten()?)
    }

    fn above_fair(&self, run: &Run, a: &str, b: &str) -> Option<f64> {
        let time_ns = &run.record.series.time_ns;
        let (from_s, to_s) = self.stretch.unwrap_or((0.0, f64::INFINITY));
        let within = |&to: &usize| time_ns[to - 1] as f64 >= from_s * NS_PER_S && time_ns[to] as f64 <= to_s * NS_PER_S;
        let each = |group: &str, bin| Some(recorded_bps(run, group, bin)? / members(run, group).count() as f64);
        let above = |to: usize| Some(each(a, Bin { from: to - 1, to })? > each(b, Bin { from: to - 1, to })?);
        let all: Vec<bool> = (1..time_ns.len()).filter(within).filter_map(above).collect();
        let n = all.iter().filter(|&&is_above| is_above).count();
        (!all.is_empty()).then(|| n as f64 / all.len() as f64)
    }
}

/// Two whole or decimal numbers, rising.
pub fn seconds(text: &str) -> Option<(f64, f64)> {
    let (from, to) = text.split_once('-')?;
    let (from, to): (f64, f64) = (from.parse().ok()?, to.parse().ok()?);
    (from >= 0.0 && to > from && to.is_finite()).then_some((from, to))
}

/// The flows of a group, or the one of this name.
pub fn members<'r>(run: &'r Run, group: &'r str) -> impl Iterator<Item = usize> + 'r {
    let flows = run.spec.flows.iter().enumerate();
    flows
        .filter(move |(_, flow)| flow.group.as_ref() == group || flow.name.as_ref() == group)
        .map(|(place, _)| place)
}

/// Absent where nothing was sent, and where the ground does not tell whose packets links drop.
fn drop_rate(run: &Run, group: &str, link: usize) -> Option<f64> {
    if run.ground != fadelab_results::SIM {
        return None;
    }
    let (warmup, end) = (&run.record.flows_warmup, &run.record.flows_end);
    let sent_pkts: u64 = members(run, group)
        .map(|flow| end[flow].sent_pkts - warmup[flow].sent_pkts)
        .sum();
    let dropped = run.record.dropped.iter();
    let dropped = dropped.filter(|dropped| dropped.link as usize == link && dropped.group == group);
    let dropped_pkts: u64 = dropped.map(|dropped| dropped.dropped_pkts).sum();
    (sent_pkts > 0).then(|| dropped_pkts as f64 / sent_pkts as f64)
}

/// The part of the recoveries with or without a drop at which the law made the window smaller; absent where there was
/// none.
fn reduced_part(run: &Run, group: &str, after_drop: bool) -> Option<f64> {
    let mut answers = run.record.answers.iter();
    let answers = answers.find(|of| of.group == group && of.after_drop == after_drop)?;
    Some(answers.reduced as f64 / answers.recoveries as f64)
}

fn measured_bps(run: &Run, group: &str) -> Option<f64> {
    members(run, group).next()?;
    let (warmup, end) = (&run.record.flows_warmup, &run.record.flows_end);
    let bytes = members(run, group).map(|flow| end[flow].delivered_bytes - warmup[flow].delivered_bytes);
    Some(bytes.sum::<u64>() as f64 * 8.0 * NS_PER_S / run.measured_ns() as f64)
}

/// Goodput of a group between two samples, bit/s; absent where the run has none or recorded none of its flows.
pub fn recorded_bps(run: &Run, group: &str, bin: Bin) -> Option<f64> {
    let series = &run.record.series;
    members(run, group).next()?;
    let bytes = members(run, group).map(|flow| {
        let samples = series.flows.get(flow)?;
        Some(samples.get(bin.to)?.delivered_bytes - samples.get(bin.from)?.delivered_bytes)
    });
    let bytes: u64 = bytes.collect::<Option<Vec<u64>>>()?.into_iter().sum();
    Some(bytes as f64 * 8.0 * NS_PER_S / (series.time_ns[bin.to] - series.time_ns[bin.from]) as f64)
}

/// Windows of all flows of a group at the end of a bin; absent where the run recorded none of them.
pub fn window_pkts(run: &Run, group: &str, bin: Bin) -> Option<f64> {
    let windows =
        members(run, group).map(|flow| Some(f64::from(run.record.series.flows.get(flow)?.get(bin.to)?.cwnd_pkts)));
    let windows: Vec<f64> = windows.collect::<Option<_>>()?;
    (!windows.is_empty()).then(|| windows.iter().sum())
}

#[cfg(test)]
pub mod tests {
    use std::sync::Arc;

    use fadelab_results::Spec;
    use fadelab_results::spec::{Flow, Sends};
    use fadelab_run::record::{AnswersOf, DroppedOf, FlowCounters, RunRecord, Series};

    use super::*;

    /// Samples each second to 8 s: flows of `a` get 300 and 100 bytes a second, the one of `b` 100, from 4 s on 320.
    pub fn run() -> Run {
        let flow = |name: &str, group: &str| Flow {
            name: name.into(),
            group: group.into(),
            law: None,
            shadows: [].into(),
            sends: Sends::Greedy,
            start_ns_max: 0,
            route: Vec::new(),
        };
        let bytes: [fn(u64) -> u64; 3] = [|s| 300 * s, |s| 100 * s, |s| 100 * s + 220 * s.saturating_sub(4)];
        let counted = |bytes| FlowCounters {
            delivered_bytes: bytes,
            ..Default::default()
        };
        let at = |s: u64| bytes.iter().map(|bytes| counted(bytes(s))).collect::<Vec<_>>();
        Run {
            ground: fadelab_results::SIM.to_owned(),
            law: "law".to_owned(),
            point: Vec::new(),
            seed: 1,
            spec: Arc::new(Spec {
                duration_ns: 8_000_000_000,
                warmup_ns: 2_000_000_000,
                links: Vec::new(),
                watched: Vec::new(),
                flows: vec![flow("a.0", "a"), flow("a.1", "a"), flow("b.0", "b")],
            }),
            record: RunRecord {
                flows_warmup: at(2),
                flows_end: at(8),
                series: Series {
                    time_ns: (0..=8).map(|s| s * 1_000_000_000).collect(),
                    flows: bytes
                        .iter()
                        .map(|bytes| (0..=8).map(|s| counted(bytes(s))).collect())
                        .collect(),
                    ..Default::default()
                },
                ..Default::default()
            },
        }
    }

    fn measured(name: &str) -> Option<f64> {
        Grouped::parse(name)?.measure(&run(), 0)
    }

    #[test]
    fn groups_are_compared_before_and_after_an_event() {
        // Goal: the sums of all flows of a group, in the measured interval and in the stretch that was asked for.
        assert_eq!(measured("goodput_bps:a"), Some(3200.0));
        assert_eq!(measured("goodput_bps:b"), Some((600.0 + 880.0) * 8.0 / 6.0));
        assert_eq!(measured("goodput_bps:b:0-4"), Some(800.0));
        assert_eq!(measured("goodput_bps:b:4-8"), Some(2560.0));
        assert_eq!(measured("split:a/b:0-4"), Some(4.0));
        assert_eq!(measured("split:a/b:4-8"), Some(1.25));
        assert_eq!(measured("split:a/b:2.5-4"), Some(4.0));
        // Two flows of `a`, one of `b`.
        assert_eq!(measured("each:a/b:0-4"), Some(2.0));
        assert_eq!(measured("each:a/b:4-8"), Some(0.625));
    }

    #[test]
    fn fairness_is_counted_per_flow() {
        // Goal: a flow of `a` has 200 on the average: more than the 100 of `b` in half of the intervals, less
        // than its 320 in the rest, where the two together have more.
        assert_eq!(measured("above_fair:a/b"), Some(0.5));
        assert_eq!(measured("above_fair:a/b:0-4"), Some(1.0));
        assert_eq!(measured("above_fair:a/b:4-8"), Some(0.0));
    }

    #[test]
    fn drops_are_of_the_group_and_the_link() {
        // Goal: of what the flows of a group sent in the measured interval, what this link dropped of it; none where a
        // ground does not tell.
        let mut run = run();
        let dropped = |link, group: &str, dropped_pkts| DroppedOf {
            link,
            group: group.to_owned(),
            dropped_pkts,
        };
        run.record.dropped = vec![dropped(0, "a", 3), dropped(0, "b", 5), dropped(1, "a", 7)];
        for (flow, sent) in [(0, 100), (1, 200), (2, 50)] {
            run.record.flows_warmup[flow].sent_pkts = 10;
            run.record.flows_end[flow].sent_pkts = 10 + sent;
        }
        let at = |run: &Run, name: &'static str, link| Grouped::parse(name).unwrap().measure(run, link);
        assert_eq!(at(&run, "drop_rate:a", 0), Some(0.01));
        assert_eq!(at(&run, "drop_rate:b", 0), Some(0.1));
        assert_eq!(at(&run, "drop_rate:b", 1), Some(0.0));
        assert_eq!(at(&run, "drop_rate:c", 0), None);
        run.ground = "virtual".to_owned();
        assert_eq!(at(&run, "drop_rate:a", 0), None);
        assert_eq!(Grouped::parse("drop_rate:a:0-4"), None);
    }

    #[test]
    fn wrong_judgements_are_of_both_kinds() {
        // Goal: a drop that a law does not answer is missed congestion, an answer without a drop is false congestion,
        // each a part of its own kind of recoveries, and without any there is no value.
        let mut run = run();
        let answers = |group: &str, after_drop, recoveries, reduced| AnswersOf {
            group: group.to_owned(),
            after_drop,
            recoveries,
            reduced,
            ..AnswersOf::default()
        };
        run.record.answers = vec![
            answers("a", false, 8, 2),
            answers("a", true, 5, 4),
            answers("b", true, 3, 3),
        ];
        let at = |name: &'static str| Grouped::parse(name).unwrap().measure(&run, 0);
        assert_eq!(at("false_congestion:a"), Some(0.25));
        assert_eq!(at("missed_congestion:a"), Some(1.0 - 0.8));
        assert_eq!(at("missed_congestion:b"), Some(0.0));
        assert_eq!(at("false_congestion:b"), None);
        assert_eq!(Grouped::parse("false_congestion:a:0-4"), None);
    }

    #[test]
    fn what_is_not_there_has_no_value() {
        // Goal: a group that does not exist, a stretch beyond the run and a slip are never zero.
        for name in ["goodput_bps:c", "split:a/c", "split:a/b:8-9", "goodput_bps:c:0-4"] {
            assert_eq!(measured(name), None, "{name}");
        }
        for name in [
            "split:a",
            "split:/b",
            "each:a",
            "goodput_bps:",
            "split:a/b:4",
            "split:a/b:4-4",
            "share:a/b",
        ] {
            assert_eq!(Grouped::parse(name), None, "{name}");
        }
    }
}
