//! What the recorder costs when it is off: the engine built with it and without it.

use std::path::{Path, PathBuf};

use crate::measure::{self, Words};
use crate::row::{Bound, Row, Section};
use crate::simulators::Bench;

/// Builds the bare engine and returns where a copy of it lies.
fn build(bench: &Bench, name: &str, features: &[&str]) -> Result<PathBuf, String> {
    let cargo = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--quiet",
        "-p",
        "fadelab-sim",
        "--example",
        "engine",
    ];
    measure::run(cargo.iter().chain(features))?;
    let release = bench.fadelab.parent().expect("a command lies in a folder");
    let (built, copy) = (release.join("examples/engine"), bench.scratch().join(name));
    std::fs::copy(&built, &copy).map_err(|error| format!("{}: {error}", built.display()))?;
    Ok(copy)
}

/// Instructions of the steady state per packet, ten flows, between 10 and 20 virtual seconds.
fn instructions_per_pkt(engine: &Path) -> Result<f64, String> {
    let count = |seconds: &str| {
        let words = Words(vec![
            engine.display().to_string(),
            "10".to_owned(),
            "54".to_owned(),
            seconds.to_owned(),
        ]);
        let output = measure::run(&words.0)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let pkts = text
            .lines()
            .find_map(|line| line.strip_prefix("sent_pkts_all ")?.parse::<f64>().ok());
        let pkts = pkts.ok_or_else(|| format!("{} printed no sent_pkts_all", words.line()))?;
        Ok::<_, String>((measure::instructions(&words)?, pkts))
    };
    let (short, long) = (count("10")?, count("20")?);
    Ok((long.0 - short.0) / (long.1 - short.1))
}

/// # Errors
/// In words, where a build or a run fails.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    eprintln!("bench: the recorder");
    let with = instructions_per_pkt(&build(bench, "with", &[])?)?;
    let without = instructions_per_pkt(&build(bench, "without", &["--no-default-features"])?)?;
    Ok(Section {
        name: "recorder",
        about: "The engine alone, ten SACK flows, nothing recorded".to_owned(),
        rows: vec![Row {
            case: "the recorder, switched off".to_owned(),
            quantity: "% more instructions",
            value: 100.0 * (with / without - 1.0),
            digits: 3,
            bound: Bound::AtMost(1.0),
            basis: format!("{with:.0} against {without:.0} per packet"),
        }],
    })
}
