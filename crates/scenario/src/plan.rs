//! What a scenario amounts to: the runs of its sweep, in a fixed order. Grounds and results both work from this.

use fadelab_run::spec::RunSpec;

/// All runs of a scenario, and the scenario itself with everything filled in.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario's title; its file name where it gives none.
    pub title: String,
    /// What the scenario shows, in its own words; may be empty.
    pub about: String,
    /// The resolved scenario as TOML: every default written out, sweeps kept as lists. It parses back to this plan.
    pub text: String,
    /// Sweep keys in order of appearance, seeds and law included, e.g. `["flow.law", "run.seeds", "channel.snr"]`.
    pub sweep_keys: Vec<String>,
    /// Things that are allowed but rarely meant, one sentence each.
    pub warnings: Vec<String>,
    /// In order: the sweep keys as nested loops, the first one outermost. `runs[i].index == i`.
    pub runs: Vec<PlannedRun>,
}

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Position in [`Plan::runs`].
    pub index: u32,
    /// The law as the scenario names it, `SENDER` or `SENDER+ROUTER`, e.g. `vcp`, `reno+rem`; where groups of flows
    /// have others, these behind it: `cubic/vcp`.
    pub law_label: String,
    /// The key that names the law of the run; where `[versus]` pairs laws, the one that chooses a pairing.
    pub law_key: String,
    /// What stands there.
    pub law_value: String,
    /// Position of the law among the scenario's laws, from 0; tables and colours follow it.
    pub law_order: u32,
    /// Sweep coordinates besides law and seed, as (key, value as written), e.g. `("channel.snr", "20 dB")`.
    pub point: Vec<(String, String)>,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// What a ground is given.
    pub spec: RunSpec,
}
