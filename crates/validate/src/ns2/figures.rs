//! The figures of a case in both simulators, by the same definitions.

use fadelab_results::Run;
use fadelab_results::fairness;
use fadelab_results::interval::Stat;
use fadelab_results::measure::{self, Metric};

use super::cases::{Case, Compared};
use super::output::Output;
use crate::forms::shares;
use crate::lab::{Measured, jain, link_of};
use crate::section::Tolerance;

/// One figure of a case.
pub struct Figure {
    /// In the table.
    pub quantity: String,
    pub unit: &'static str,
    /// How far both may be apart.
    pub tolerance: Tolerance,
    what: What,
}

/// What it is a figure of.
enum What {
    /// Of a link: our name, ns-2's prefix, and which.
    Link(String, String, Metric),
    /// Rate of a class of flows over a rate in Mbit/s.
    Class(&'static str, f64),
    /// Rate of a class of flows over that of the long flows.
    Split(&'static str),
}

/// Class of the flows that cross all hops.
const LONG: &str = "long";
const UTILISATION: &str = "what start times alone may move";
const UTILISATION_LOSSY: &str = "both draw random losses of their own: a small part, and the noise of both means";
const OF_LINUX: &str = "laws of two authors, on senders that differ in how they repair losses";
const QUEUE: &str = "start times move the queue: a small part, and the noise of both means";
const RATE: &str = "drops and marks are few, some 40 drops and 100 marks a run, and their number varies with the seed";
const SPLIT: &str = "a quotient of two shares that both stray; those of the release's parking lot have the same bound";
const JAIN: &str = "how flows share depends on when each began and on whom losses hit";

pub fn of(case: &Case) -> Vec<Figure> {
    match &case.compared {
        Compared::Bottleneck => bottleneck(case.is_lossy),
        Compared::Utilisation => vec![Figure {
            tolerance: Tolerance::part(0.15, OF_LINUX),
            ..hop_of("bottleneck", "", "utilisation".to_owned())
        }],
        Compared::Hops(hops, classes) => {
            let mut figures: Vec<Figure> = (1..=*hops).map(hop).collect();
            figures.extend(classes.iter().map(|&(class, rate_mbps)| Figure {
                quantity: format!("{class}, of {rate_mbps} Mbit/s"),
                unit: "1",
                tolerance: Tolerance::within(0.03, JAIN),
                what: What::Class(class, rate_mbps),
            }));
            let local = classes.iter().filter(|(class, _)| *class != LONG);
            figures.extend(local.map(|&(class, _)| Figure {
                quantity: format!("{class} : {LONG}"),
                unit: "1",
                tolerance: Tolerance::part(0.05, SPLIT),
                what: What::Split(class),
            }));
            figures
        }
    }
}

fn bottleneck(is_lossy: bool) -> Vec<Figure> {
    let utilisation = if is_lossy {
        Tolerance::part(0.02, UTILISATION_LOSSY)
    } else {
        Tolerance::within(0.01, UTILISATION)
    };
    let figures = [
        ("utilisation", "1", Metric::Utilisation, utilisation),
        ("mean queue", "pkt", Metric::QueuePkts, Tolerance::part(0.05, QUEUE)),
        ("drop rate", "1", Metric::DropRate, Tolerance::part(0.25, RATE)),
        ("mark rate", "1", Metric::MarkRate, Tolerance::part(0.25, RATE)),
        ("Jain's index", "1", Metric::Jain, Tolerance::within(0.03, JAIN)),
    ];
    let figure = |(quantity, unit, metric, tolerance): (&str, _, _, _)| Figure {
        quantity: quantity.to_owned(),
        unit,
        tolerance,
        what: What::Link("bottleneck".to_owned(), String::new(), metric),
    };
    figures.map(figure).into()
}

fn hop(hop: usize) -> Figure {
    let quantity = format!("utilisation of hop {hop}");
    hop_of(&format!("hop.{hop}"), &format!("hop{hop}_"), quantity)
}

/// Utilisation of a link by our name and ns-2's prefix.
fn hop_of(link: &str, prefix: &str, quantity: String) -> Figure {
    Figure {
        quantity,
        unit: "1",
        tolerance: Tolerance::within(0.01, UTILISATION),
        what: What::Link(link.to_owned(), prefix.to_owned(), Metric::Utilisation),
    }
}

impl Figure {
    /// What ns-2 says in one run.
    ///
    /// # Errors
    /// It printed too little.
    pub fn theirs(&self, output: &Output) -> Result<f64, String> {
        match &self.what {
            What::Link(_, prefix, metric) => {
                let name = |name: &str| format!("{prefix}{name}");
                match metric {
                    Metric::Utilisation => output.get(&name("utilisation")),
                    Metric::QueuePkts => output.get(&name("queue_pkts_mean")),
                    Metric::DropRate => output.ratio(&name("dropped_pkts"), &name("arrived_pkts")),
                    Metric::MarkRate => output.ratio(&name("marked_pkts"), &name("sent_pkts")),
                    _ => fairness::jain(&output.rates_mbps("flow")).ok_or_else(|| "ns-2 printed no flow".to_owned()),
                }
            }
            What::Class(class, rate_mbps) => Ok(rate_of(output, class)? / rate_mbps),
            What::Split(class) => Ok(rate_of(output, class)? / rate_of(output, LONG)?),
        }
    }

    /// What we say over all seeds.
    ///
    /// # Errors
    /// No run says anything.
    pub fn ours(&self, measured: &Measured) -> Result<Stat, String> {
        measured.stat(|run: &Run| match &self.what {
            What::Link(link, _, Metric::Jain) => jain(run, link_of(run, link)?),
            What::Link(link, _, metric) => measure::measure(run, link_of(run, link)?).get(*metric),
            What::Class(class, rate_mbps) => Some(rate_of_ours(run, class)? / rate_mbps),
            What::Split(class) => Some(rate_of_ours(run, class)? / rate_of_ours(run, LONG)?),
        })
    }
}

/// What the flows of a class carry together in ns-2, in Mbit/s.
fn rate_of(output: &Output, class: &str) -> Result<f64, String> {
    let rates = output.rates_mbps(class);
    if rates.is_empty() {
        return Err(format!("ns-2 printed no flow of '{class}'"));
    }
    Ok(rates.iter().sum())
}

/// What they carry together here.
fn rate_of_ours(run: &Run, class: &str) -> Option<f64> {
    let flows = run
        .spec
        .flows
        .iter()
        .filter(|flow| flow.group.as_ref() == class)
        .count();
    Some(shares::rate_bps(run, class)? * flows as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::cases;
    use super::*;

    #[test]
    fn local_flows_are_set_against_long_ones() {
        // Goal: of each class of local flows, and of no other, ns-2's quotient is what its flows carry together over
        // what the long ones do; a class of which ns-2 printed nothing is an error.
        let text = "long_1_mbps 0.1\nlong_2_mbps 0.3\nlocal1_1_mbps 1.5\nlocal1_2_mbps 0.5\nlocal2_1_mbps 1\n";
        let output = Output::parse(text).expect("sound");
        let cases = cases::all();
        let case = cases.iter().find(|case| matches!(case.compared, Compared::Hops(..)));
        let figures = of(case.expect("a parking lot"));
        let splits: Vec<_> = figures
            .iter()
            .filter(|figure| matches!(figure.what, What::Split(_)))
            .map(|figure| (figure.quantity.as_str(), figure.theirs(&output)))
            .collect();
        let missing = Err("ns-2 printed no flow of 'local4'".to_owned());
        let expected = [
            ("local1 : long", Ok(5.0)),
            ("local2 : long", Ok(2.5)),
            ("local4 : long", missing),
        ];
        assert_eq!(splits, expected);
    }
}
