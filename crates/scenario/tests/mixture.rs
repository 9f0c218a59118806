//! Laws that share links in one run.

use std::path::Path;

use fadelab_scenario::{Options, parse};

#[test]
fn a_run_is_called_by_all_its_laws() {
    // Goal: where groups of flows have laws of their own, a run's label names each once, in their order, and the value
    // of the swept key is kept beside it; datagrams beside a law make no mixture.
    let text = "[run]\nduration = '1 s'\nseeds = 1\n[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
                [flow.a]\nlaw = ['cubic+red', 'bic+red']\n[flow.b]\nlaw = 'vcp'\n[flow.c]\nlaw = 'vcp'\n\
                [flow.call]\napp = 'cbr'\nrate = '10 kbit/s'\n";
    let plan = parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default()).unwrap();
    let named: Vec<_> = plan.runs.iter().map(|run| (&*run.law_label, &*run.law_value)).collect();
    assert_eq!(named, [("cubic+red/vcp", "cubic+red"), ("bic+red/vcp", "bic+red")]);
}
