//! ns-2's senders beside ours in networks where what a sender does shows, and wrong senders that must be seen there.

use fadelab_results::Run;
use fadelab_results::fairness;
use fadelab_results::interval::Stat;
use fadelab_results::measure::{self, Metric};
use rayon::prelude::*;

use super::networks::{self, Figure, Network};
use super::noise;
use super::output::{self, Output};
use super::wrong::{self, Wrong};
use crate::forms::shares;
use crate::lab::{Lab, Measured, jain, link_of};
use crate::section::{Row, Section, Tolerance, Verdict};

/// Rate of the link in networks whose shares are compared.
const RATE_MBPS: f64 = 8.0;

const INTRO: &str = include_str!("senders.md");

/// Rows that are known to differ; senders.md says what is known of the cause.
const APART: [(&str, Figure); 5] = [
    ("SACK, 72 and 192 ms", Figure::Drops),
    ("SACK, 72 and 192 ms", Figure::Retransmissions),
    ("SACK, 10 flows, 0.1 BDP", Figure::Drops),
    ("SACK, 10 flows, 0.1 BDP", Figure::Retransmissions),
    ("NewReno beside 4 Mbit/s of CBR", Figure::Retransmissions),
];

/// The section.
///
/// # Errors
/// A run of either simulator that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let networks = networks::all();
    lab.expect(networks.iter().map(|network| network.seeds as usize).sum());
    let theirs: Result<Vec<Vec<Output>>, String> = networks.par_iter().map(|network| run_ns2(lab, network)).collect();
    let mut rows = Vec::new();
    let mut seen = Vec::new();
    for (network, outputs) in networks.iter().zip(theirs?) {
        let measured = simulate(lab, network, &[])?;
        let line = output::line(&words(network, 1));
        for &figure in network.figures {
            if let Some(mut row) = row(network, figure, &outputs, &measured)? {
                if row.verdict == Verdict::Differs && APART.contains(&(network.name, figure)) {
                    row.verdict = Verdict::Apart;
                }
                rows.push(row.by(&format!("{line}\n{}", measured.command)));
            }
        }
        for wrong in wrong::all() {
            seen.extend(rows_of_wrong(lab, network, &outputs, &wrong)?);
        }
    }
    rows.extend(seen);
    Ok(Section {
        name: "senders",
        title: "ns-2's senders".to_owned(),
        intro: INTRO.to_owned(),
        rows,
        pictures: Vec::new(),
    })
}

fn words(network: &Network, seed: u32) -> Vec<String> {
    let (duration, warmup) = network.seconds;
    let length = format!("duration {duration} warmup {warmup}");
    let pairs: Vec<&str> = network.arguments.split(' ').chain(length.split(' ')).collect();
    let pairs: Vec<(&str, &str)> = pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    output::words("dumbbell", &pairs, u64::from(seed))
}

fn run_ns2(lab: &Lab, network: &Network) -> Result<Vec<Output>, String> {
    let one = |seed| {
        let output = output::run(&words(network, seed));
        lab.ended();
        output
    };
    (1..=network.seeds).into_par_iter().map(one).collect()
}

fn simulate(lab: &Lab, network: &Network, more: &[&str]) -> Result<Measured, String> {
    let (duration, warmup) = network.seconds;
    let mut sets = vec![
        format!("run.duration={duration} s"),
        format!("run.warmup={warmup} s"),
        format!("run.seeds=1..{}", network.seeds),
    ];
    sets.extend(network.sets.iter().cloned());
    sets.extend(more.iter().map(ToString::to_string));
    lab.simulate(network.scenario, &sets)
}

/// The figure in both; none where nothing happens in either.
fn row(network: &Network, figure: Figure, outputs: &[Output], ours: &Measured) -> Result<Option<Row>, String> {
    let theirs: Result<Vec<f64>, String> = outputs.iter().map(|output| figure.theirs(output)).collect();
    let theirs = Stat::of(&theirs?).ok_or("ns-2 ran with no seed")?;
    let ours = ours.stat(|run| figure.ours(run))?;
    if theirs.mean == 0.0 && ours.mean == 0.0 {
        return Ok(None);
    }
    let row = Row::new(
        network.name,
        figure.name(),
        figure.unit(),
        theirs.mean,
        ours,
        figure.tolerance(&theirs, &ours),
    );
    Ok(Some(row))
}

/// What the rows that were named beforehand say of a sender that is wrong: each must miss its bound.
fn rows_of_wrong(lab: &Lab, network: &Network, outputs: &[Output], wrong: &Wrong) -> Result<Vec<Row>, String> {
    let named: Vec<Figure> = wrong
        .rows
        .iter()
        .filter(|(name, _)| *name == network.name)
        .map(|&(_, figure)| figure)
        .collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let measured = simulate(lab, network, wrong.sets)?;
    let mut rows = Vec::new();
    for figure in named {
        let row = row(network, figure, outputs, &measured)?;
        let mut row =
            row.ok_or_else(|| format!("{}: {} says nothing of a wrong sender", network.name, figure.name()))?;
        row.case = format!("wrong: {}; {}", wrong.name, row.case);
        row.verdict = match row.verdict {
            Verdict::Differs => Verdict::Seen,
            _ => Verdict::Differs,
        };
        row.command.clone_from(&measured.command);
        rows.push(row);
    }
    Ok(rows)
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Self::Utilisation => "utilisation",
            Self::Queue => "mean queue",
            Self::Drops => "drop rate",
            Self::Retransmissions => "retransmissions",
            Self::Timeouts => "timeouts",
            Self::Jain => "Jain's index",
            Self::Far => "share of the far flow",
            Self::Share => "share of TCP",
            Self::Back => "utilisation back",
            Self::Completion => "mean time of a transfer",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Queue => "pkt",
            Self::Completion => "s",
            _ => "1",
        }
    }

    /// A part that two programs of the same protocol may be apart, and the noise of both means.
    fn tolerance(self, theirs: &Stat, ours: &Stat) -> Tolerance {
        let part = match self {
            Self::Utilisation | Self::Back | Self::Jain => 0.01,
            Self::Share | Self::Completion | Self::Queue => 0.02,
            Self::Drops | Self::Retransmissions | Self::Far => 0.03,
            Self::Timeouts => 0.1,
        };
        Tolerance::part(part, "see above").and_noise(noise(theirs, ours))
    }

    fn theirs(self, output: &Output) -> Result<f64, String> {
        match self {
            Self::Utilisation => output.get("utilisation"),
            Self::Queue => output.get("queue_pkts_mean"),
            Self::Drops => output.ratio("dropped_pkts", "arrived_pkts"),
            Self::Retransmissions => output.ratio("retransmitted_pkts", "arrived_pkts"),
            Self::Timeouts => output.get("timeouts"),
            Self::Back => output.get("back_utilisation"),
            Self::Completion => output.get("completion_s_mean"),
            Self::Jain => fairness::jain(&output.rates_mbps("flow")).ok_or_else(|| "ns-2 printed no flow".to_owned()),
            Self::Far => Ok(output.rates_mbps("far").iter().sum::<f64>() / RATE_MBPS),
            Self::Share => Ok(output.rates_mbps("flow").iter().sum::<f64>() / RATE_MBPS),
        }
    }

    fn ours(self, run: &Run) -> Option<f64> {
        let link = link_of(run, "bottleneck")?;
        let figures = measure::measure(run, link);
        let record = &run.record;
        let sum = |of: fn(&fadelab_run::record::FlowCounters) -> u64| {
            let total = |flows: &[fadelab_run::record::FlowCounters]| flows.iter().map(of).sum::<u64>();
            (total(&record.flows_end) - total(&record.flows_warmup)) as f64
        };
        let arrived = || {
            let (before, after) = record.link(link)?;
            Some((after.arrived_pkts - before.arrived_pkts) as f64)
        };
        match self {
            Self::Utilisation => figures.get(Metric::Utilisation),
            Self::Queue => figures.get(Metric::QueuePkts),
            Self::Drops => figures.get(Metric::DropRate),
            Self::Retransmissions => Some(sum(|flow| flow.retransmitted_pkts) / arrived()?),
            Self::Timeouts => Some(sum(|flow| flow.timeouts)),
            Self::Jain => jain(run, link),
            Self::Back => measure::measure(run, link_of(run, "bottleneck.back")?).get(Metric::Utilisation),
            Self::Far => Some(shares::rate_bps(run, "far")? / (RATE_MBPS * 1e6)),
            Self::Share => Some(shares::rate_bps(run, "flow")? * 2.0 / (RATE_MBPS * 1e6)),
            Self::Completion => {
                let started = record
                    .completions
                    .iter()
                    .filter(|done| done.start_ns >= run.spec.warmup_ns);
                let times: Vec<f64> = started.map(|done| (done.end_ns - done.start_ns) as f64 / 1e9).collect();
                Stat::of(&times).map(|stat| stat.mean)
            }
        }
    }
}
