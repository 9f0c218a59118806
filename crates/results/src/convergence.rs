//! How long flows that share a link take to come to their fair part of it.

use fadelab_run::record::FlowCounters;

use crate::Run;

/// How far from its fair part a group may be, as a fraction of that, and for how long it has to stay there: the
/// definition of Dong, Li, Zarchy, Godfrey and Schapira (NSDI 2015, section 4.2.2) for a second flow.
const WITHIN: f64 = 0.25;
const STAYS_NS: u64 = 5_000_000_000;

/// Parts are those of bins at least so long; shorter ones would show single losses.
const BIN_NS: u64 = 1_000_000_000;

/// Seconds from the last start until the flows of a group get, together, within a quarter of their fair part of what
/// all `crossing` get, so do all others together, and it stays so for five seconds at least. The others count too, or
/// four flows that starve a fifth would have their fair part, 80 %, within a quarter of it.
///
/// Both lists are ascending, and every flow's fair part is the same. `None` where they do not come to it before the end
/// or before a flow ends, where the group is all there is, without a time series, and of flows that pause or have no
/// congestion control.
pub(crate) fn convergence_s(run: &Run, flows: &[usize], crossing: &[usize]) -> Option<f64> {
    let lasts = |&flow: &usize| {
        let flow = &run.spec.flows[flow];
        flow.law.is_some() && flow.sends.is_steady()
    };
    if flows.is_empty() || flows.len() >= crossing.len() || !crossing.iter().all(lasts) {
        return None;
    }
    let last_start_ns = crossing.iter().map(|&flow| run.spec.flows[flow].start_ns_max).max()?;
    let fair = flows.len() as f64 / crossing.len() as f64;
    let bins = bins(run, flows, crossing, last_start_ns)?;
    let mut since = None;
    for Bin { from_ns, to_ns, part } in bins {
        if !part.is_some_and(|part| is_fair(part, fair)) {
            since = None;
            continue;
        }
        let from_ns = *since.get_or_insert(from_ns);
        if to_ns - from_ns >= STAYS_NS {
            return Some((from_ns - last_start_ns) as f64 / 1e9);
        }
    }
    None
}

/// Whether a part of what all get, and the rest of it, are within a quarter of what is fair for either.
fn is_fair(part: f64, fair: f64) -> bool {
    (part - fair).abs() <= WITHIN * fair.min(1.0 - fair)
}

/// What the group got of what all got in a bin; `None` where nobody got anything.
struct Bin {
    from_ns: u64,
    to_ns: u64,
    part: Option<f64>,
}

/// Bins from the last start until the first flow ends.
fn bins(run: &Run, flows: &[usize], crossing: &[usize], last_start_ns: u64) -> Option<Vec<Bin>> {
    let series = &run.record.series;
    let ended = run.record.completions.iter();
    let first_end_ns = ended
        .filter(|end| crossing.binary_search(&(end.flow as usize)).is_ok())
        .map(|end| end.end_ns)
        .min()
        .unwrap_or(u64::MAX);
    let from = series.time_ns.partition_point(|&at_ns| at_ns < last_start_ns);
    let to = series.time_ns.partition_point(|&at_ns| at_ns <= first_end_ns);
    let got = |flows: &[usize], at: usize| -> Option<u64> {
        let delivered = |&flow: &usize| {
            series
                .flows
                .get(flow)?
                .get(at)
                .map(|at: &FlowCounters| at.delivered_bytes)
        };
        flows.iter().map(delivered).sum()
    };
    let mut bins = Vec::new();
    let mut begin = from;
    for end in from + 1..to.max(from + 1) {
        let (from_ns, to_ns) = (series.time_ns[begin], series.time_ns[end]);
        if to_ns - from_ns < BIN_NS {
            continue;
        }
        let own = got(flows, end)? - got(flows, begin)?;
        let all = got(crossing, end)? - got(crossing, begin)?;
        bins.push(Bin {
            from_ns,
            to_ns,
            part: (all > 0).then(|| own as f64 / all as f64),
        });
        begin = end;
    }
    Some(bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_starves_others_has_no_fair_part() {
        // Goal: of five flows four have 80 % as their fair part, of which 95 % are within a quarter; but what they
        // leave to the fifth is not. Of two groups alike each says the same as the other.
        assert!(is_fair(0.84, 0.8) && !is_fair(0.95, 0.8) && !is_fair(0.86, 0.8));
        assert!(is_fair(0.16, 0.2) && !is_fair(0.05, 0.2));
        assert!(is_fair(0.61, 0.5) && is_fair(0.39, 0.5) && !is_fair(0.63, 0.5) && !is_fair(0.37, 0.5));
    }
}
