//! Parameters of a law from the keys of scenarios, so that what was simulated is loaded by the same words.

use std::path::{Path, PathBuf};

use fadelab_lab::{Failure, own_law};
use fadelab_scenario::Options;
use fadelab_scenario::plan::PlannedRun;

use crate::output;

/// The name of a law as it was given: a name, or a header, which is compiled and registered first.
///
/// # Errors
/// A header that cannot be used.
pub fn law_name(given: &str) -> Result<String, Failure> {
    let is_file = given.contains('/') || Path::new(given).extension().is_some_and(|extension| extension == "h");
    if !is_file {
        return Ok(given.to_owned());
    }
    let names = own_law::load(&[PathBuf::from(given)], &|remark| output::warn(&[remark]))?;
    Ok(names.into_iter().next().unwrap_or_default())
}

/// A run of the smallest scenario with this law: its flow has the sender's parameters, its link the router's. `sets`
/// are those of `fadelab run`, such as `law.vcp.kappa=0.3`.
///
/// # Errors
/// An unknown law, a key or a value that a scenario would refuse, or a list of values.
pub fn run(law: &str, sets: &[String]) -> Result<PlannedRun, Failure> {
    let text = format!("[topology.bottleneck]\nrate = '10 Mbit/s'\ndelay = '10 ms'\n[flow]\nlaw = '{law}'\n");
    if let Some(set) = sets
        .iter()
        .find(|set| !set.starts_with("law.") && !set.starts_with("router."))
    {
        return Err(Failure::Invalid(format!(
            "--set {set}: only parameters of laws can be set here, for example --set law.vcp.kappa=0.3"
        )));
    }
    let options = Options {
        sets: sets.to_vec(),
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
