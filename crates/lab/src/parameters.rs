//! Parameters of a law from the keys of scenarios, so that what was simulated is loaded by the same words.

use std::path::Path;

use fadelab_run::tunnel::GatewaySpec;
use fadelab_scenario::Options;
use fadelab_scenario::plan::PlannedRun;

use crate::Failure;

/// A run of the smallest scenario with this law: its flow has the sender's parameters, its link the router's. `sets`
/// are those of `fadelab run`, such as `law.vcp.kappa=0.3`.
///
/// # Errors
/// An unknown law, a key or a value that a scenario would refuse, or a list of values.
pub fn of_law(law: &str, sets: &[String]) -> Result<PlannedRun, Failure> {
    let text = format!("[topology.bottleneck]\nrate = '10 Mbit/s'\ndelay = '10 ms'\n[flow]\nlaw = '{law}'\n");
    if let Some(set) = sets
        .iter()
        .find(|set| !set.starts_with("law.") && !set.starts_with("router."))
    {
        return Err(Failure::Invalid(format!(
            "--set {set}: only parameters of laws can be set here, for example --set law.vcp.kappa=0.3"
        )));
    }
    one_run(&text, sets.to_vec())
}

/// The run of a scenario, of which there is one.
fn one_run(text: &str, sets: Vec<String>) -> Result<PlannedRun, Failure> {
    let options = Options {
        sets,
        ..Options::default()
    };
    let mut plan = fadelab_scenario::parse(text.as_bytes(), "--set", Path::new(""), &options)?;
    if plan.runs.len() > 1 && plan.runs.iter().any(|run| !run.point.is_empty()) {
        return Err(Failure::Invalid(
            "--set: a law is loaded with one value of each parameter, not with a list".to_owned(),
        ));
    }
    Ok(plan.runs.swap_remove(0))
}

/// A gateway's law with parameters, which `sets` name without a table, such as `code=nine`.
///
/// # Errors
/// As [`of_law`].
pub fn of_gateway(law: &str, sets: &[String]) -> Result<GatewaySpec, Failure> {
    let link = |name: &str, from: &str, to: &str| {
        format!("[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '10 Mbit/s'\ndelay = '10 ms'\n")
    };
    let text = format!(
        "[topology]\nnodes = ['a', 'b', 'c', 'd']\n{}{}{}[tunnel.gateway]\nfrom = 'b'\nto = 'c'\nlaw = '{law}'\n\
         [flow]\nlaw = 'reno'\nfrom = 'a'\nto = 'd'\n",
        link("ab", "a", "b"),
        link("bc", "b", "c"),
        link("cd", "c", "d")
    );
    let sets = sets.iter().map(|set| format!("tunnel.gateway.params.{set}"));
    let tunnel = one_run(&text, sets.collect())?.spec.network.tunnels.swap_remove(0);
    let [gateway, _] = tunnel.gateways;
    Ok(gateway.expect("the scenario names one"))
}
