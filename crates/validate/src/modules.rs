//! Our Veno and Westwood+ beside Linux's modules of these names, in the same kernel in virtual time.

use std::path::PathBuf;

use fadelab_lab::Virtual;
use fadelab_results::Run;
use fadelab_results::interval::Stat;

use crate::lab::{Lab, Measured};
use crate::ns2;
use crate::section::{Row, Section, Tolerance, Verdict};

const SCENARIO: &str = "crates/validate/scenarios/modules.toml";
const KERNEL: &str = "6.1";

const INTRO: &str = include_str!("modules.md");

/// Flows of the scenario: in words, ours, and the one under Linux's module.
const PAIRS: [(&str, &str, &str); 2] = [
    ("Veno", "veno", "veno_of_linux"),
    ("Westwood+", "westwood", "westwood_of_linux"),
];

/// The law whose rows are known to differ; modules.md says what is known of the cause.
const APART: &str = "Westwood+";

/// A path, and for how long it is looked at: some fifty losses of each flow, or several periods of its window.
struct Cell {
    rate_mbps: u32,
    rtt_ms: u32,
    loss: f64,
    measured_s: u32,
}

const fn cell(rate_mbps: u32, rtt_ms: u32, loss: f64, measured_s: u32) -> Cell {
    Cell {
        rate_mbps,
        rtt_ms,
        loss,
        measured_s,
    }
}

/// Those of the page, then those that only a call by name of this section runs.
const CELLS: [Cell; 7] = [
    cell(10, 200, 0.01, 100),
    cell(10, 20, 0.03, 30),
    cell(10, 20, 0.0, 60),
    cell(10, 20, 0.01, 60),
    cell(10, 200, 0.0, 200),
    cell(10, 200, 0.03, 200),
    cell(40, 200, 0.01, 200),
];
const CELLS_ALWAYS: usize = 2;

/// Seconds before anything is counted.
const WARMUP_S: u32 = 10;

/// What is compared of two flows.
#[derive(Clone, Copy)]
enum Figure {
    Utilisation,
    Window,
    Recoveries,
}

/// The cells of the page.
///
/// # Errors
/// A run that fails, or no guest.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let cells = if lab.is_asked_by_name {
        &CELLS[..]
    } else {
        &CELLS[..CELLS_ALWAYS]
    };
    fadelab_testbed::host_laws::register();
    let mut ground = Virtual::new(KERNEL, command()?, false);
    let mut rows = Vec::new();
    for cell in cells {
        let measured = lab.run_file(&mut ground, SCENARIO, &sets(cell, lab.is_asked_by_name))?;
        for (name, ours, theirs) in PAIRS {
            for figure in [Figure::Utilisation, Figure::Window, Figure::Recoveries] {
                rows.extend(row(cell, name, figure, [ours, theirs], &measured)?);
            }
        }
    }
    Ok(Section {
        name: "modules",
        title: "Linux's modules".to_owned(),
        intro: INTRO.to_owned(),
        rows,
        pictures: Vec::new(),
    })
}

/// The command `fadelab`, which is the guest's only program: it was built beside this one.
fn command() -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|error| format!("cannot find myself: {error}"))?;
    let command = me.with_file_name("fadelab");
    if command.exists() {
        return Ok(command);
    }
    Err(format!(
        "guests run {}, which is missing: make build",
        command.display()
    ))
}

fn sets(cell: &Cell, whole: bool) -> Vec<String> {
    // The page is made in a few minutes: two fifths of the time there.
    let measured_s = if whole {
        cell.measured_s
    } else {
        cell.measured_s * 2 / 5
    };
    let mut sets = vec![
        format!("run.warmup={WARMUP_S} s"),
        format!("run.duration={} s", WARMUP_S + measured_s),
        // Without losses chance has nothing to do but with when the flows begin.
        format!("run.seeds=1..{}", if cell.loss > 0.0 { 5 } else { 2 }),
        format!("channel.noise.loss_data={}", cell.loss),
    ];
    for (_, ours, theirs) in PAIRS {
        for link in [ours, theirs] {
            sets.push(format!("link.{link}.rate={} Mbit/s", cell.rate_mbps));
            sets.push(format!("link.{link}.delay={} ms", cell.rtt_ms / 2));
        }
    }
    sets
}

/// The figure of both flows; none where nothing happens to either.
fn row(cell: &Cell, name: &str, figure: Figure, flows: [&str; 2], measured: &Measured) -> Result<Option<Row>, String> {
    let of = |flow: &str| measured.stat(|run| figure.of(run, flow, cell));
    let [ours, theirs] = [of(flows[0])?, of(flows[1])?];
    if ours.mean == 0.0 && theirs.mean == 0.0 {
        return Ok(None);
    }
    let case = format!(
        "{name}, {} Mbit/s, {} ms, {} % loss",
        cell.rate_mbps,
        cell.rtt_ms,
        100.0 * cell.loss
    );
    let tolerance = figure.tolerance().and_noise(ns2::noise(&theirs, &ours));
    let mut row = Row::new(case, figure.name(), figure.unit(), theirs.mean, ours, tolerance);
    if row.verdict == Verdict::Differs && name == APART {
        row.verdict = Verdict::Apart;
    }
    Ok(Some(row.by(&measured.command)))
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Self::Utilisation => "utilisation",
            Self::Window => "mean window",
            Self::Recoveries => "recoveries",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Utilisation | Self::Recoveries => "1",
            Self::Window => "pkt",
        }
    }

    fn tolerance(self) -> Tolerance {
        match self {
            Self::Utilisation => Tolerance::part(0.05, "one law on one sender, written twice; and chance"),
            Self::Window => Tolerance::part(0.1, "the same, as samples 100 ms apart show it; and chance"),
            Self::Recoveries => {
                Tolerance::part(0.1, "the same, as looks 10 ms apart count them; and chance").or_within(2.0)
            }
        }
    }

    fn of(self, run: &Run, flow: &str, cell: &Cell) -> Option<f64> {
        let at = run.spec.flows.iter().position(|spec| spec.group.as_ref() == flow)?;
        let [from, to] = [&run.record.flows_warmup[at], &run.record.flows_end[at]];
        let value = match self {
            Self::Utilisation => {
                let bits = 8.0 * (to.delivered_bytes - from.delivered_bytes) as f64;
                bits / (f64::from(cell.rate_mbps) * 1e6 * f64::from(cell.measured_s))
            }
            Self::Recoveries => (to.recoveries - from.recoveries) as f64,
            Self::Window => {
                let series = &run.record.series;
                let from_ns = u64::from(WARMUP_S) * 1_000_000_000;
                let samples = series.time_ns.iter().zip(series.flows.get(at)?);
                let counted = samples.filter(|(time_ns, _)| **time_ns > from_ns);
                let windows: Vec<f64> = counted.map(|(_, flow)| f64::from(flow.cwnd_pkts)).collect();
                Stat::of(&windows)?.mean
            }
        };
        Some(value)
    }
}
