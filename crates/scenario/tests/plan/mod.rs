//! Plans of scenarios that tests have as text.

use std::path::Path;

use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, parse};

/// Of a text that is good, changed as `--set` does.
pub fn plan_with(text: &str, sets: &[&str]) -> Plan {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    let options = Options {
        sets,
        ..Options::default()
    };
    parse(text.as_bytes(), "s.toml", Path::new(""), &options).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}
