//! How fine the curves of a page may be, so that it stays a few megabytes whatever was run.

/// Values of curves of links that a page carries, about: 2.7 bytes each.
const LINK_VALUES_MAX: usize = 600_000;
/// The same for curves of flows.
const FLOW_VALUES_MAX: usize = 2_300_000;
/// Curves of a link per run: used, queue, RTT.
const LINK_KINDS: usize = 3;
/// Curves of a flow per run: window with its lowest and highest, goodput, RTT.
const FLOW_KINDS: usize = 5;
/// Most bins of a curve, finest first. The coarsest still shows a shape.
const BINS: [u64; 4] = [500, 200, 100, 50];
/// Flows beyond this many are a texture, not curves.
const FLOWS_MAX: usize = 1000;

/// How much there is to show at a link at a point of the sweep.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Runs: laws times seeds.
    pub runs: usize,
    pub seeds: usize,
    /// Flows that have a law.
    pub flows: usize,
}

/// What fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most bins of a curve of a link.
    pub link_bins_max: u64,
    /// Most bins of a curve of a flow.
    pub flow_bins_max: u64,
    /// Pairs of point and link that have curves: the first.
    pub panels_max: usize,
    /// Seeds whose flows have curves: the first.
    pub seeds_max: usize,
    /// Flows that have curves: the first.
    pub flows_max: usize,
}

impl Budget {
    /// The finest curves that fit. What is given up: for links bins, then panels; for flows bins, then seeds, then
    /// flows.
    pub fn of(shapes: &[Shape]) -> Self {
        let runs: usize = shapes.iter().map(|shape| shape.runs).sum();
        let coarsest = BINS[BINS.len() - 1];
        let link_values = |bins: u64| runs * LINK_KINDS * bins as usize;
        let link_bins_max = BINS.into_iter().find(|&bins| link_values(bins) <= LINK_VALUES_MAX);
        let mut room = LINK_VALUES_MAX / (LINK_KINDS * coarsest as usize);
        let fits = |shape: &&Shape| {
            let enough = room >= shape.runs;
            room = room.saturating_sub(shape.runs);
            enough
        };
        let panels_max = shapes.iter().take_while(fits).count().max(1);

        let shown = &shapes[..panels_max.min(shapes.len())];
        let seeds_most = shown.iter().map(|shape| shape.seeds).max().unwrap_or(1);
        let flows_most = shown.iter().map(|shape| shape.flows).max().unwrap_or(1).min(FLOWS_MAX);
        let flow_values = |bins: u64, seeds: usize, flows: usize| {
            let curves = |shape: &Shape| {
                let laws = shape.runs.div_ceil(shape.seeds.max(1));
                laws * shape.seeds.min(seeds) * shape.flows.min(flows)
            };
            shown.iter().map(curves).sum::<usize>() * FLOW_KINDS * bins as usize
        };
        let fits = |bins, seeds, flows| flow_values(bins, seeds, flows) <= FLOW_VALUES_MAX;
        let bins = BINS.into_iter().find(|&bins| fits(bins, seeds_most, flows_most));
        let flow_bins_max = bins.unwrap_or(coarsest);
        let seeds_max = (1..=seeds_most)
            .rev()
            .find(|&seeds| fits(flow_bins_max, seeds, flows_most));
        let seeds_max = seeds_max.unwrap_or(1);
        let flows_max = (1..=flows_most)
            .rev()
            .find(|&flows| fits(flow_bins_max, seeds_max, flows));
        Self {
            link_bins_max: link_bins_max.unwrap_or(coarsest),
            flow_bins_max,
            panels_max,
            seeds_max,
            flows_max: flows_max.unwrap_or(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(laws: usize, seeds: usize, flows: usize) -> Shape {
        Shape {
            runs: laws * seeds,
            seeds,
            flows,
        }
    }

    #[test]
    fn a_usual_run_keeps_everything() {
        // Three laws, ten seeds, ten flows: nothing has to be given up.
        let budget = Budget::of(&[shape(3, 10, 10)]);
        assert_eq!((budget.link_bins_max, budget.flow_bins_max), (500, 500));
        assert_eq!((budget.panels_max, budget.seeds_max, budget.flows_max), (1, 10, 10));
    }

    #[test]
    fn three_laws_fifty_flows_and_thirty_seeds_lose_bins_alone() {
        // The largest page that is promised: every flow of every seed has its curve.
        let budget = Budget::of(&[shape(3, 30, 50)]);
        assert_eq!((budget.seeds_max, budget.flows_max), (30, 50));
        assert_eq!((budget.link_bins_max, budget.flow_bins_max), (500, 100));
    }

    #[test]
    fn a_large_sweep_gives_up_seeds_of_the_flows_before_points() {
        // 44 points of 30 seeds and 3 laws fit coarsely, more do not.
        let budget = Budget::of(&vec![shape(3, 30, 10); 60]);
        assert_eq!((budget.link_bins_max, budget.panels_max), (50, 44));
        assert_eq!((budget.seeds_max, budget.flows_max), (6, 10));
    }

    #[test]
    fn thousands_of_flows_are_cut_to_what_fits() {
        // One seed is always kept, and at least one flow of it.
        let budget = Budget::of(&[shape(4, 1, 100_000)]);
        assert_eq!((budget.seeds_max, budget.flows_max), (1, FLOWS_MAX));
        assert_eq!(Budget::of(&[shape(1000, 1, 5); 2]).panels_max, 2);
        assert_eq!(Budget::of(&[]).panels_max, 1);
    }
}
