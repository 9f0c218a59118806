//! What a plan amounts to, before anything is run.

use fadelab_run::flow::FlowSpec;
use fadelab_run::spec::RunSpec;
use fadelab_scenario::plan::Plan;

/// What a plan amounts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    pub runs: usize,
    /// Keys over which it sweeps.
    pub sweep_keys: Vec<String>,
    /// How long all runs last together, in s of their own time.
    pub virtual_s: u128,
    /// Labels of the laws, in the order of the scenario.
    pub laws: Vec<String>,
    /// The network of the first run.
    pub first: Option<Network>,
    /// Samples of flows and links in the time series of all runs.
    pub samples: u128,
}

/// How large the network of a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    pub flows: usize,
    pub links: usize,
    /// Names of the links that results show.
    pub shown: Vec<String>,
    /// Propagation delay of the shortest round trip of a flow.
    pub rtt_ns_min: u64,
    /// Of the longest.
    pub rtt_ns_max: u64,
}

impl Amount {
    pub fn of(plan: &Plan) -> Self {
        let ns: u128 = plan.runs.iter().map(|run| u128::from(run.spec.duration_ns)).sum();
        let laws = plan.runs.iter().map(|run| (run.law_order, run.law_label.as_str()));
        let mut laws: Vec<(u32, &str)> = laws.collect();
        laws.sort_unstable();
        laws.dedup();
        Self {
            runs: plan.runs.len(),
            sweep_keys: plan.sweep_keys.clone(),
            virtual_s: ns / 1_000_000_000,
            laws: laws.into_iter().map(|(_, label)| label.to_owned()).collect(),
            first: plan.runs.first().map(|run| Network::of(&run.spec)),
            samples: plan.runs.iter().map(|run| samples(&run.spec)).sum(),
        }
    }
}

impl Network {
    fn of(spec: &RunSpec) -> Self {
        let links = &spec.network.links;
        let rtt_ns = |flow: &FlowSpec| -> u64 {
            let route = flow.route.iter().chain(&flow.route_back);
            route.map(|link| links[*link as usize].delay_ns).sum()
        };
        let shown = links.iter().filter(|link| link.shown);
        Self {
            flows: spec.flows.len(),
            links: links.len(),
            shown: shown.map(|link| link.name.to_string()).collect(),
            rtt_ns_min: spec.flows.iter().map(rtt_ns).min().unwrap_or(0),
            rtt_ns_max: spec.flows.iter().map(rtt_ns).max().unwrap_or(0),
        }
    }
}

/// Rows of the time series that a run leaves.
fn samples(spec: &RunSpec) -> u128 {
    let Some(interval_ns) = spec.record_interval_ns else {
        return 0;
    };
    let links = spec.network.links.iter().filter(|link| link.shown).count();
    u128::from(spec.duration_ns / interval_ns) * (links + spec.flows.len()) as u128
}
