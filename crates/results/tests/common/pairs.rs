//! Runs in which a law is alone, beside itself and beside another.

use std::sync::Arc;

use fadelab_run::flow::FlowSpec;
use fadelab_run::spec::RunSpec;

use super::{Lab, flow, spec};

fn group(name: &str, law: &str, link: u32) -> FlowSpec {
    let mut flow = flow(&format!("{name}.1"), name, link);
    let sender = fadelab_laws::sender(law).unwrap();
    let kind = Arc::make_mut(&mut flow.kind);
    (kind.sender, kind.params) = (Some(sender), sender.default_params());
    flow
}

/// The first flow gets three quarters of what is sent, alone (the second is on another link) or beside the second.
pub fn meeting(seed: u64, first: (&str, &str), second: Option<(&str, &str)>) -> RunSpec {
    let mut spec = spec(seed, 60);
    spec.flows[0] = group(first.0, first.1, 0);
    spec.flows[1] = second.map_or_else(|| group("elsewhere", "reno", 1), |(name, law)| group(name, law, 0));
    spec
}

/// Reno and CUBIC, each alone with 1000 packets a second on the link, beside itself with 1000 and 800, and beside each
/// other with 1000 under the first seed and 900 under the second.
pub fn lab() -> Lab {
    lab_of(&[])
}

/// The same at each of some values of a swept key.
pub fn lab_of(values: &[&str]) -> Lab {
    let mut lab = Lab::default();
    let at = |value: &&str| vec![("some.buffer".to_owned(), (*value).to_owned())];
    let points: Vec<_> = if values.is_empty() {
        vec![Vec::new()]
    } else {
        values.iter().map(at).collect()
    };
    for point in points {
        for seed in 1..=2 {
            let mut add = |law: &str, first: &str, second: Option<&str>, load: u64| {
                let second = second.map(|second| ("second", second));
                lab.add_at(law, point.clone(), meeting(seed, ("first", first), second), |_| load);
            };
            add("reno", "reno", None, 1000);
            add("reno/reno", "reno", Some("reno"), 1000);
            add("reno/cubic", "reno", Some("cubic"), 1100 - 100 * seed);
            add("cubic", "cubic", None, 1000);
            add("cubic/cubic", "cubic", Some("cubic"), 800);
        }
    }
    for run in &mut lab.runs {
        run.record.completions.clear();
    }
    lab
}
