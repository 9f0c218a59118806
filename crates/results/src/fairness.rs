//! How evenly flows share what they got.

use fadelab_run::record::FlowCounters;

use crate::Run;

/// Jain's fairness index (Jain, Chiu and Hawe 1984): the square of the sum over n times the sum of squares; `None` when
/// nothing was shared.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Jain's index of what some flows got while all of them were under way, datagrams aside.
///
/// `None` where it means nothing: fewer than two flows, several laws (groups have shares), sessions (which pause), or
/// no time when all were under way.
pub(crate) fn jain_of(run: &Run, flows: &[usize]) -> Option<f64> {
    let flows: Vec<usize> = flows
        .iter()
        .copied()
        .filter(|&flow| run.spec.flows[flow].law.is_some())
        .collect();
    let first = &run.spec.flows[*flows.first()?];
    let is_alike = |&flow: &usize| {
        let flow = &run.spec.flows[flow];
        flow.law == first.law && flow.sends.is_steady()
    };
    if flows.len() < 2 || !flows.iter().all(is_alike) {
        return None;
    }
    let got = while_all_sent(run, &flows)?;
    jain(&got)
}

/// Payload of each flow over the part of the measured interval in which all were under way. The whole is told by the
/// totals, a part of it by the samples within, if there are any.
fn while_all_sent(run: &Run, flows: &[usize]) -> Option<Vec<f64>> {
    let (record, spec) = (&run.record, &run.spec);
    let is_over = |flow: usize| flows.binary_search(&flow).is_ok() && spec.flows[flow].sends.is_transfer();
    let ended = record.completions.iter().filter(|end| is_over(end.flow as usize));
    let first_end_ns = ended.map(|end| end.end_ns).min().unwrap_or(spec.duration_ns);
    let got = |from: &FlowCounters, to: &FlowCounters| (to.delivered_bytes - from.delivered_bytes) as f64;
    let last_start_ns = flows.iter().map(|&flow| spec.flows[flow].start_ns_max).max()?;
    if last_start_ns <= spec.warmup_ns && first_end_ns >= spec.duration_ns {
        let total = |&flow: &usize| got(&record.flows_warmup[flow], &record.flows_end[flow]);
        return Some(flows.iter().map(total).collect());
    }
    let series = &record.series;
    let of_flows: Vec<&Vec<FlowCounters>> = flows.iter().filter_map(|&flow| series.flows.get(flow)).collect();
    let have_all_begun = |place: &usize| {
        of_flows
            .iter()
            .all(|flow| flow.get(*place).is_some_and(|at| at.sent_pkts > 0))
    };
    let warm = series.time_ns.partition_point(|&at_ns| at_ns < spec.warmup_ns);
    let end = series.time_ns.partition_point(|&at_ns| at_ns <= first_end_ns);
    let from = (warm..end).find(have_all_begun)?;
    let to = end.checked_sub(1).filter(|&to| to > from)?;
    of_flows
        .iter()
        .map(|flow| Some(got(flow.get(from)?, flow.get(to)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equal_shares_and_one_nth_for_a_single_winner() {
        // The two extremes of the definition, and 1, 2, 3 by hand: 36 / (3 * 14).
        assert_eq!(jain(&[5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert!((jain(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
