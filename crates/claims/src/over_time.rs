//! What a value of flows was over time: `median:GROUP:VALUE`, also for a stretch of time, as in
//! `median:long:jersey/rate:10-15`. The value is a counter of flows or what a law declares to be watched.

use std::ops::Range;

use fadelab_results::Run;
use fadelab_results::bins::Bin;
use fadelab_results::interval::deviation;
use fadelab_results::watch;

use super::groups::{members, seconds};

/// A figure of a value over time, the mean over the flows of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime<'a> {
    what: What,
    group: &'a str,
    value: Value<'a>,
    /// In seconds; absent: the measured interval.
    stretch: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Mean,
    Median,
    Least,
    Most,
    /// Standard deviation over the mean.
    Variation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    Window,
    SmoothedRtt,
    /// Of a law that decides or looks on, by its name.
    Watched(&'a str, &'a str),
}

/// How they are spelt, for messages.
pub const NAMES: &str = "mean:GROUP:VALUE, median:, least:, most: and variation: (standard deviation over the mean), \
                         all with :FROM-TO in seconds, where VALUE is cwnd_pkts, srtt_us or LAW/WATCHED";

impl<'a> OverTime<'a> {
    /// Reads a name; `None` if it is not of this kind or not complete.
    pub fn parse(name: &'a str) -> Option<Self> {
        let mut parts = name.split(':');
        let what = match parts.next()? {
            "mean" => What::Mean,
            "median" => What::Median,
            "least" => What::Least,
            "most" => What::Most,
            "variation" => What::Variation,
            _ => return None,
        };
        let group = parts.next().filter(|group| !group.is_empty())?;
        let value = match parts.next()? {
            "cwnd_pkts" => Value::Window,
            "srtt_us" => Value::SmoothedRtt,
            watched => {
                let (law, name) = watched.split_once('/')?;
                Value::Watched(law, name)
            }
        };
        let stretch = match parts.next() {
            Some(stretch) => Some(seconds(stretch)?),
            None => None,
        };
        parts.next().is_none().then_some(Self {
            what,
            group,
            value,
            stretch,
        })
    }

    /// Its value; absent where no such flow ran or nothing was recorded of that time.
    pub fn measure(&self, run: &Run) -> Option<f64> {
        let time_ns = &run.record.series.time_ns;
        let (from_ns, to_ns) = self.stretch.map_or(
            (run.spec.warmup_ns as f64, run.spec.duration_ns as f64),
            |(from_s, to_s)| (from_s * 1e9, to_s * 1e9),
        );
        let until = |ns: f64| time_ns.partition_point(|&time_ns| time_ns as f64 <= ns);
        // A sample stands for the time before it.
        self.among(run, until(from_ns)..until(to_ns))
    }

    /// The same in a bin.
    pub fn in_bin(&self, run: &Run, bin: Bin) -> Option<f64> {
        self.among(run, bin.from + 1..bin.to + 1)
    }

    fn among(&self, run: &Run, places: Range<usize>) -> Option<f64> {
        let flow = |flow| self.what.of(self.samples(run, flow)?.get(places.clone())?.to_vec());
        let each: Vec<f64> = members(run, self.group).map(flow).collect::<Option<_>>()?;
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }

    fn samples(&self, run: &Run, flow: usize) -> Option<Vec<f64>> {
        let counted = |of: fn(&fadelab_run::record::FlowCounters) -> u32| {
            let samples = run.record.series.flows.get(flow)?;
            Some(samples.iter().map(|sample| f64::from(of(sample))).collect())
        };
        match self.value {
            Value::Window => counted(|flow| flow.cwnd_pkts),
            Value::SmoothedRtt => counted(|flow| flow.srtt_us),
            Value::Watched(law, name) => {
                let series = watch::of_flow(run, flow)?;
                let is_it =
                    |(declared, value): &(&watch::Declared, &watch::Value)| declared.law == law && value.name == name;
                let at = series.values.iter().position(is_it)?;
                let value = series.values[at].1;
                Some(series.raw(at).map(|raw| value.shown(raw)).collect())
            }
        }
    }
}

impl What {
    /// Of samples; absent where there are none.
    fn of(self, mut samples: Vec<f64>) -> Option<f64> {
        samples.sort_by(f64::total_cmp);
        let (first, last) = (*samples.first()?, *samples.last()?);
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let middle = samples.len() / 2;
        Some(match self {
            Self::Mean => mean,
            Self::Median if samples.len() % 2 == 1 => samples[middle],
            Self::Median => f64::midpoint(samples[middle - 1], samples[middle]),
            Self::Least => first,
            Self::Most => last,
            Self::Variation => {
                let variation = deviation(&samples) / mean;
                return variation.is_finite().then_some(variation);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fadelab_results::watch::{Declared, Value as Info};

    use super::*;
    use crate::groups;

    /// Samples each second to 8 s of a run whose flow `a.0` has a law that shows 10 times the second, and one that
    /// looks on and shows 80 less that.
    fn run() -> Run {
        let mut run = groups::tests::run();
        let info = Info {
            name: "rate".to_owned(),
            unit: "B/s".to_owned(),
            scale: 10,
            is_signed: false,
            meaning: "a rate".to_owned(),
        };
        let declared = |role: &str, law: &str| Declared {
            role: role.to_owned(),
            law: law.to_owned(),
            values: vec![info.clone()],
        };
        let spec = Arc::make_mut(&mut run.spec);
        spec.watched = vec![declared("sender", "own"), declared("shadow", "other")];
        spec.flows[0].law = Some("own".into());
        spec.flows[0].shadows = ["other".to_owned()].into();
        let shown = |s: u64| [100 * s, 800 - 100 * s];
        run.record.series.flows_watched = vec![(0..=8).flat_map(shown).collect(), Vec::new(), Vec::new()];
        run
    }

    fn of(name: &str) -> Option<f64> {
        OverTime::parse(name).unwrap().measure(&run())
    }

    #[test]
    fn values_over_time_are_of_the_law_and_the_stretch_that_is_named() {
        // Goal: samples behind the beginning of a stretch and up to its end count, of the law that is meant.
        assert_eq!(of("median:a.0:own/rate:2-5"), Some(40.0));
        assert_eq!(of("median:a.0:other/rate:2-5"), Some(40.0));
        assert_eq!(of("mean:a.0:own/rate:6-8"), Some(75.0));
        assert_eq!(of("most:a.0:other/rate:6-8"), Some(10.0));
        assert_eq!(of("least:a.0:own/rate"), Some(30.0), "behind the warm-up of 2 s");
        let variation = of("variation:a.0:own/rate:6-8").unwrap();
        assert!((variation - 5.0 / 75.0).abs() < 1e-12, "{variation}");
        assert_eq!(of("mean:a.0:own/other"), None);
        assert_eq!(of("mean:a.0:reno/rate"), None);
        assert_eq!(of("mean:nobody:own/rate"), None);
        assert_eq!(of("mean:a:own/rate"), None, "one of the group has no such law");
    }

    #[test]
    fn names_that_are_not_complete_are_none() {
        // Goal: each part is needed, and no more than there is.
        for name in [
            "median",
            "median:a",
            "median::cwnd_pkts",
            "median:a:window",
            "median:a:cwnd_pkts:5",
            "median:a:cwnd_pkts:5-4",
            "median:a:cwnd_pkts:1-2:3",
            "middle:a:cwnd_pkts",
        ] {
            assert_eq!(OverTime::parse(name), None, "{name}");
        }
        assert!(OverTime::parse("variation:a:cwnd_pkts:1-2").is_some());
    }
}
