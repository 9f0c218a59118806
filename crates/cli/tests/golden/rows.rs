//! Simulates a scenario under every law and reduces what came out to rows of numbers.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use fadelab_laws::catalogue::{self, Role};
use fadelab_results::fairness;
use fadelab_results::measure::{self, Metric};
use fadelab_results::{Run, SIM, Specs};
use fadelab_run::app::App;
use fadelab_run::record::RunRecord;
use fadelab_run::transport::RttSamples;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_scenario::{Options, load};
use fadelab_sim::tap::Sighting;

use super::text::Table;

/// The columns; the first two name the row.
const HEADING: [&str; 9] = [
    "law",
    "link",
    "utilisation",
    "p95 RTT ms",
    "dropped %",
    "lost on air %",
    "Jain",
    "ended",
    "completion s",
];

/// What the columns mean, where their names do not say it.
const LEGEND: &str = "\
Utilisation and drops are of the link; the RTT is the 95th percentile of the samples of all senders over it; Jain's
index is over its long flows; `ended` and the mean completion time are of its short transfers. Means over the seeds,
from the warm-up on.";

/// Every registered sender with the router that it brings, Reno over every router that no sender brings, and one law in
/// fair queues. A line in the registry adds its row.
pub fn laws() -> Vec<String> {
    let senders: Vec<&str> = catalogue::names(Role::Sender).collect();
    let routers = catalogue::names(Role::Router).filter(|router| *router != "droptail" && !senders.contains(router));
    let mut laws: Vec<String> = senders.iter().map(|&name| name.to_owned()).collect();
    laws.extend(routers.map(|router| format!("reno+{router}")));
    laws.push("reno+fq_codel".to_owned());
    laws
}

/// The table of a scenario under `laws`, with further arguments of `--set`.
pub fn table(scenario: &Path, by_hand: &str, laws: &[String], sets: &[String]) -> Table {
    let mut sets = sets.to_vec();
    sets.push(format!("flow.law=['{}']", laws.join("', '")));
    let options = Options {
        sets,
        ..Options::default()
    };
    let plan = load(scenario, &options).unwrap_or_else(|refusal| panic!("{refusal}"));
    let introduction = format!(
        "{}\n\n{LEGEND}\n\nA row by hand, all but the percentile: {by_hand}\n",
        plan.about.trim_end()
    );
    Table {
        introduction,
        heading: HEADING.to_vec(),
        keys: 2,
        rows: rows(&plan),
    }
}

fn rows(plan: &Plan) -> Vec<Vec<String>> {
    let mut specs = Specs::default();
    let mut rows = Vec::new();
    let mut runs = plan.runs.iter().peekable();
    while let Some(first) = runs.next() {
        let mut of_law = vec![Simulated::of(first, &mut specs)];
        while let Some(next) = runs.next_if(|next| next.law_label == first.law_label) {
            of_law.push(Simulated::of(next, &mut specs));
        }
        let links = measure::shown_links(&of_law[0].run).into_iter();
        let with_data = links.filter(|&link| !measure::crossing_flows(&of_law[0].run, link).is_empty());
        rows.extend(with_data.map(|link| row(&of_law, link)));
    }
    rows
}

/// A run, what came out, and the RTT samples of each flow in the measured interval.
struct Simulated {
    run: Run,
    is_long: Vec<bool>,
    rtt_us: Vec<Vec<u32>>,
}

impl Simulated {
    fn of(planned: &PlannedRun, specs: &mut Specs) -> Self {
        let (record, rtt_us) = tapped(planned);
        let long = |app: &App| !matches!(app, App::Transfer { .. });
        Self {
            is_long: planned.spec.flows.iter().map(|flow| long(&flow.app)).collect(),
            run: Run {
                ground: SIM.to_owned(),
                law: planned.law_label.clone(),
                point: planned.point.clone(),
                seed: planned.seed,
                spec: specs.of(&planned.spec),
                record,
            },
            rtt_us,
        }
    }

    /// The smallest sample that 95 % of those of the flows over a link do not exceed.
    fn rtt_ms_p95(&self, link: usize) -> Option<f64> {
        let flows = measure::crossing_flows(&self.run, link);
        let mut samples: Vec<u32> = flows.iter().flat_map(|&flow| &self.rtt_us[flow]).copied().collect();
        let rank = (samples.len() * 95).div_ceil(100).checked_sub(1)?;
        Some(f64::from(*samples.select_nth_unstable(rank).1) / 1e3)
    }

    fn jain_of_long(&self, link: usize) -> Option<f64> {
        let (from, to) = (&self.run.record.flows_warmup, &self.run.record.flows_end);
        let flows = measure::crossing_flows(&self.run, link).into_iter();
        let share = |flow: usize| (to[flow].delivered_bytes - from[flow].delivered_bytes) as f64;
        let shares: Vec<f64> = flows.filter(|&flow| self.is_long[flow]).map(share).collect();
        fairness::jain(&shares)
    }
}

/// Runs with a tap on every flow and returns the RTT samples that ACKs brought after the warm-up: those of the senders,
/// which take one a round trip of them where the transport says so.
fn tapped(planned: &PlannedRun) -> (RunRecord, Vec<Vec<u32>>) {
    let spec = &planned.spec;
    let flows: Vec<u32> = (0..spec.flows.len() as u32).collect();
    let samples = Rc::new(RefCell::new(vec![Vec::new(); flows.len()]));
    let (sink, warmup_ns) = (Rc::clone(&samples), spec.warmup_ns);
    let mut highest = vec![0; flows.len()];
    let take = move |seen: &Sighting| {
        let flow = seen.flow as usize;
        if seen.is_data || seen.segment <= highest[flow] {
            return;
        }
        highest[flow] = seen.segment;
        if seen.time_ns > warmup_ns || warmup_ns == 0 {
            sink.borrow_mut()[flow].push(seen.echo_us);
        }
    };
    let record = fadelab_sim::run_tapped(spec, &flows, &[], Box::new(take), |_| true)
        .unwrap_or_else(|error| panic!("law {}, seed {}: {error}", planned.law_label, planned.seed));
    let samples = samples.take();
    let takes_all = |flow: &usize| spec.flows[*flow].transport.rtt_samples == RttSamples::PerAck;
    for flow in (0..samples.len()).filter(takes_all) {
        let samples = &samples[flow];
        let (from, to) = (&record.flows_warmup[flow], &record.flows_end[flow]);
        let sum_us: u64 = samples.iter().map(|&rtt_us| u64::from(rtt_us)).sum();
        let counted = (to.rtt_samples - from.rtt_samples, to.rtt_us_sum - from.rtt_us_sum);
        assert_eq!(
            (samples.len() as u64, sum_us),
            counted,
            "the tap shows what the sender samples"
        );
    }
    (record, samples)
}

/// Means over the seeds of one law at one link.
fn row(runs: &[Simulated], link: usize) -> Vec<String> {
    let mean = |value: &dyn Fn(&Simulated) -> Option<f64>| {
        let values: Vec<f64> = runs.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let figure = |metric| mean(&|run: &Simulated| measure::measure(&run.run, link).get(metric));
    let text = |value: Option<f64>, scale: f64, digits: usize| match value {
        Some(value) => format!("{:.digits$}", value * scale),
        None => "-".to_owned(),
    };
    let name = &runs[0].run.spec.links[link].name;
    vec![
        runs[0].run.law.clone(),
        name.to_string(),
        text(figure(Metric::Utilisation), 1.0, 3),
        text(mean(&|run| run.rtt_ms_p95(link)), 1.0, 1),
        text(figure(Metric::DropRate), 100.0, 2),
        text(figure(Metric::AirLoss), 100.0, 2),
        text(mean(&|run| run.jain_of_long(link)), 1.0, 3),
        text(figure(Metric::Completions), 1.0, 1),
        text(figure(Metric::CompletionTime), 1.0, 2),
    ]
}
