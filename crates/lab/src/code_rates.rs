//! The search for the best pair of code rates: a coarse grid, then ever finer steps around the best.
//!
//! Each pair is seen under the same seeds, so that the differences between pairs are paired and most of the noise,
//! which they have in common, drops out of them.

use std::collections::BTreeMap;

use fadelab_phy::channel::PacketKind;
use fadelab_results::Run;
use fadelab_results::interval::{Judged, Stat};
use fadelab_scenario::plan::{Plan, PlannedRun};

use crate::{Failure, Ground, Stop, Watch, sweep};

/// Code rates of data packets and of ACKs, in thousandths.
pub type Pair = (u32, u32);

/// What the papers found by hand (vcp-ton-2010 section III: "our best practical findings").
pub const PAPER: Pair = (930, 500);

/// Steps of the two rates: those of the grid, and those of the rounds around the best.
const STEPS: [Pair; 4] = [(100, 200), (50, 100), (20, 50), (10, 25)];

/// Least rates of the coarse grid.
const GRID_MIN: Pair = (400, 200);

/// Least rate of a code that a channel takes.
const RATE_MIN: u32 = 100;

/// No code at all.
const RATE_MAX: u32 = 1_000;

/// What is known: a value per pair and seed.
#[derive(Debug, Default)]
pub struct Surface {
    values: BTreeMap<Pair, Vec<f64>>,
}

impl Surface {
    /// All pairs, by data rate and then by ACK rate.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.values.keys().copied()
    }

    /// Mean over the seeds and its interval.
    pub fn stat(&self, pair: Pair) -> Option<Stat> {
        self.values.get(&pair).and_then(|values| Stat::of(values))
    }

    /// The pair with the highest mean; of equal ones that with the least parity.
    pub fn best(&self) -> Pair {
        let mean = |pair: &Pair| self.stat(*pair).map_or(f64::NEG_INFINITY, |stat| stat.mean);
        let better = |a: &Pair, b: &Pair| mean(a).total_cmp(&mean(b)).then(a.cmp(b));
        self.pairs().max_by(better).unwrap_or(PAPER)
    }

    /// How much more `pair` has than `minus`, seed by seed.
    pub fn difference(&self, pair: Pair, minus: Pair) -> Option<Stat> {
        let (left, right) = (self.values.get(&pair)?, self.values.get(&minus)?);
        let differences: Vec<f64> = left.iter().zip(right).map(|(a, b)| a - b).collect();
        Stat::of(&differences)
    }

    /// Whether the difference between two pairs may be noise: its 95 % interval contains 0, or there is none.
    pub fn is_like(&self, pair: Pair, other: Pair) -> bool {
        let difference = self.difference(pair, other);
        difference.is_some_and(|stat| !matches!(stat.judged(), Judged::More | Judged::Less))
    }

    fn add<E>(&mut self, wanted: Vec<Pair>, evaluate: &mut Evaluate<'_, E>) -> Result<bool, E> {
        let new: Vec<Pair> = wanted
            .into_iter()
            .filter(|pair| !self.values.contains_key(pair))
            .collect();
        if new.is_empty() {
            return Ok(false);
        }
        let found = evaluate(&new)?;
        self.values.extend(new.into_iter().zip(found));
        Ok(true)
    }
}

/// Gives the values of pairs, one per seed, in the order of the pairs.
type Evaluate<'a, E> = dyn FnMut(&[Pair]) -> Result<Vec<Vec<f64>>, E> + 'a;

/// Searches for the pair with the highest goodput, bit/s, where `plan_of` gives the runs of a pair, one per seed. They
/// run on a ground that is prepared, on `threads` threads.
///
/// # Errors
/// Whatever `plan_of` refuses, a failed run, an interrupt.
pub fn search(
    plan_of: &dyn Fn(Pair) -> Result<Plan, Failure>,
    ground: &dyn Ground,
    threads: usize,
    watch: &dyn Watch,
) -> Result<Surface, Failure> {
    search_by(&mut |pairs| {
        let plans: Vec<Plan> = pairs.iter().map(|&pair| plan_of(pair)).collect::<Result<_, _>>()?;
        let of_pair: Vec<usize> = plans.iter().map(|plan| plan.runs.len()).collect();
        let pair_of = of_pair.iter().zip(pairs).flat_map(|(&runs, &pair)| vec![pair; runs]);
        let pair_of: Vec<Pair> = pair_of.collect();
        let Some(all) = together(plans) else {
            return Ok(Vec::new());
        };
        let swept = sweep(ground, &all, threads, None, watch).map_err(|stop| match stop {
            Stop::Interrupted => Failure::Interrupted("interrupted; nothing was found yet".to_owned()),
            Stop::Run { index, why, .. } => {
                let (pair, seed) = (pair_of[index], all.runs[index].seed);
                Failure::Failed(format!("code rates {pair:?} thousandths, seed {seed}: {why}"))
            }
            stop => Failure::failed(stop),
        })?;
        let mut values = swept.runs.iter().map(goodput_bps);
        Ok(of_pair
            .iter()
            .map(|&runs| values.by_ref().take(runs).collect())
            .collect())
    })
}

/// The runs of all plans in one.
fn together(plans: Vec<Plan>) -> Option<Plan> {
    plans.into_iter().reduce(|mut all, plan| {
        all.runs.extend(plan.runs);
        all
    })
}

/// Payload that all applications got in the measured interval, in bit/s.
fn goodput_bps(run: &Run) -> f64 {
    let flows = run.record.flows_end.iter().zip(&run.record.flows_warmup);
    let bytes: u64 = flows
        .map(|(end, warmup)| end.delivered_bytes - warmup.delivered_bytes)
        .sum();
    bytes as f64 * 8e9 / run.measured_ns() as f64
}

/// Exact packet errors of the first fading link, of a full data packet and of an ACK of its first flow.
pub fn packet_errors(run: &PlannedRun) -> Option<[f64; 2]> {
    let channel = run.spec.network.links.iter().find_map(|link| link.channel.as_ref())?;
    let transport = run.spec.flows.first()?.transport;
    Some([
        channel.packet_error(PacketKind::Data, transport.packet_bytes),
        channel.packet_error(PacketKind::Ack, transport.ack_bytes),
    ])
}

/// Searches for the best pair; the papers' pair is always among those that are looked at.
fn search_by<E>(evaluate: &mut Evaluate<'_, E>) -> Result<Surface, E> {
    let mut surface = Surface::default();
    let mut first = grid();
    first.push(PAPER);
    surface.add(first, evaluate)?;
    for step in STEPS {
        // A best pair at the edge of its neighbourhood moves on before the steps get finer.
        loop {
            let best = surface.best();
            if !surface.add(around(best, step), evaluate)? || surface.best() == best {
                break;
            }
        }
    }
    Ok(surface)
}

fn grid() -> Vec<Pair> {
    let rates = |from: u32, step: u32| (from..=RATE_MAX).step_by(step as usize);
    rates(GRID_MIN.0, STEPS[0].0)
        .flat_map(|data| rates(GRID_MIN.1, STEPS[0].1).map(move |ack| (data, ack)))
        .collect()
}

/// The pairs one step away, each once, within what a channel takes.
fn around(best: Pair, step: Pair) -> Vec<Pair> {
    let rates = |rate: u32, step: u32| {
        let mut rates = vec![
            rate.saturating_sub(step).max(RATE_MIN),
            rate,
            (rate + step).min(RATE_MAX),
        ];
        rates.dedup();
        rates
    };
    let acks = rates(best.1, step.1);
    rates(best.0, step.0)
        .into_iter()
        .flat_map(|data| acks.iter().map(move |&ack| (data, ack)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of three seeds whose noise is common: a hill with its top at `top`.
    fn hill(top: Pair, pairs: &[Pair]) -> Vec<Vec<f64>> {
        let height = |&(data, ack): &Pair| {
            let (x, y) = (f64::from(data) - f64::from(top.0), f64::from(ack) - f64::from(top.1));
            1e6 - x * x - 0.2 * y * y - 0.3 * x * y
        };
        pairs
            .iter()
            .map(|pair| [0.0, 5e3, -9e3].map(|noise| height(pair) + noise).to_vec())
            .collect()
    }

    #[test]
    fn the_search_finds_the_top_of_a_hill() {
        // Goal: within the last step of the top, also where it lies at the edge or the hill is not aligned.
        for top in [(870, 460), (1_000, 300), (640, 1_000), (410, 200)] {
            let mut looked_at = 0;
            let surface = search_by::<()>(&mut |pairs| {
                looked_at += pairs.len();
                Ok(hill(top, pairs))
            })
            .unwrap();
            let best = surface.best();
            assert!(
                best.0.abs_diff(top.0) <= 10 && best.1.abs_diff(top.1) <= 25,
                "{top:?}: {best:?}"
            );
            assert!(surface.stat(PAPER).is_some());
            assert_eq!(looked_at, surface.pairs().count(), "no pair is evaluated twice");
            assert!(looked_at < 120, "{looked_at}");
        }
    }

    #[test]
    fn pairs_are_told_apart_by_paired_differences() {
        // Goal: noise that two pairs share does not hide their difference; noise of one alone does.
        let mut surface = Surface::default();
        surface.values.insert((900, 500), vec![100.0, 200.0, 300.0]);
        surface.values.insert((800, 500), vec![99.0, 199.1, 298.9]);
        surface.values.insert((700, 500), vec![150.0, 150.0, 290.0]);
        assert_eq!(surface.best(), (900, 500));
        assert!(!surface.is_like((800, 500), (900, 500)));
        assert!(surface.is_like((700, 500), (900, 500)));
        assert!(surface.is_like((900, 500), (900, 500)));
        surface.values.insert((600, 500), vec![90.0, 190.0, 290.0]);
        assert!(
            !surface.is_like((600, 500), (900, 500)),
            "less by the same at every seed"
        );
        surface.values.insert((950, 500), vec![100.0, 200.0, 300.0]);
        assert_eq!(surface.best(), (950, 500), "of equal ones that with the least parity");
    }

    #[test]
    fn a_single_seed_tells_nothing_apart() {
        // Goal: without a second seed there is no interval, so nothing may be called different.
        let mut surface = Surface::default();
        surface.values.insert((900, 500), vec![100.0]);
        surface.values.insert((800, 500), vec![10.0]);
        assert!(surface.is_like((800, 500), (900, 500)));
    }
}
