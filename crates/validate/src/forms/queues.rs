//! Queues of the textbooks: processor sharing, first come first served, periodic streams.

use fadelab_results::Run;
use fadelab_results::measure::Metric;

use crate::chart::{Axis, Chart, Corner};
use crate::lab::{Lab, Measured};
use crate::section::{Picture, Row, Section, Tolerance};

/// Transfers of the scenario `processor-sharing`: group, number, packets.
const TRANSFERS: [(&str, f64, f64); 2] = [("short", 10_000.0, 20.0), ("long", 2_000.0, 100.0)];
/// Time of a packet on its link, s, and of what every transfer waits for besides: both delays and an ACK.
const PACKET_S: f64 = 8.32e-6;
const BASE_S: f64 = 2e-6 + 0.32e-6;
const LOADS: [f64; 3] = [0.3, 0.5, 0.8];

const INTRO: &str = "\
Transfers start at times drawn uniformly, which is a Poisson process seen through its number of events, and put all
their packets into the queue at once (a window beyond their size), so that neither slow start nor round trips (2 us)
matter.

- *Processor sharing.* With a queue for each flow, served packet by packet in turns, the link is a processor shared by
  all: the mean time of a transfer of x packets is x s / (1 - rho), proportional to its size whatever the sizes of the
  others (Kleinrock, \"Queueing Systems\" II, section 4.4). Transfers of 20 and of 100 packets share the link. The turns
  are of a packet, and the first packet of a new queue goes before those in turn (RFC 8290), so that one of the x turns
  is not waited for: (x - 1) s / (1 - rho) + s (1 + rho / 2). A first version of the rows left that out and missed at
  load 0.8.
- *First come, first served.* With one queue the wait is the same for both, W = lambda E[S^2] / (2 (1 - rho)) (Pollaczek
  and Khinchine), and the own transmission x s comes on top.
- *M/D/1.* Transfers of one packet through one queue: W = rho s / (2 (1 - rho)).
- *Periodic streams.* 20 constant rates with random phases, one packet each 2 ms of which 80 us are its transmission.
  What a packet finds is the work left by 19 others, which exceeds x packets with the probability sum over n > x of
  C(19, n) ((n - x)/D)^n (1 - (n - x)/D)^(19 - n) (D - 19 + x)/(D - n + x), D = 25 (Roberts and Virtamo, \"The
  superposition of periodic cell arrival streams in an ATM multiplexer\", 1991). Each of the 1000 seeds is one draw of
  the phases.
";

/// The section.
///
/// # Errors
/// A run that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let mut rows = Vec::new();
    let mut points = Vec::new();
    for load in LOADS {
        for (queues, name) in [("per flow", "processor sharing"), ("one", "first come first served")] {
            let measured = shared(lab, load, queues)?;
            for (group, _, packets) in TRANSFERS {
                let row = transfer_row(&measured, load, queues == "per flow", name, (group, packets))?;
                points.push((name, load, packets, row.ours, row.ours_interval.unwrap_or(0.0)));
                rows.push(row);
            }
        }
    }
    rows.extend(single_packets(lab)?);
    rows.push(periodic(lab)?);
    Ok(Section {
        name: "queues",
        title: "Queues of the textbooks".to_owned(),
        intro: INTRO.to_owned(),
        rows,
        pictures: vec![picture(&points)?],
    })
}

/// The scenario at a load: the span of the starts follows from it.
fn shared(lab: &Lab, load: f64, queues: &str) -> Result<Measured, String> {
    let span_us = work_s() / load * 1e6;
    let sets = [
        format!("flow.start=uniform 0 s..{span_us:.0} us"),
        format!("router.queues={queues}"),
    ];
    lab.simulate("processor-sharing", &sets)
}

/// Transmission time of all transfers together.
fn work_s() -> f64 {
    TRANSFERS
        .iter()
        .map(|(_, count, packets)| count * packets * PACKET_S)
        .sum()
}

/// Mean time of the transfers of a group.
fn mean_s(run: &Run, group: &str) -> Option<f64> {
    let of_group = |flow: u32| run.spec.flows[flow as usize].group.as_ref() == group;
    let ended = || run.record.completions.iter().filter(|end| of_group(end.flow));
    let sum_ns: u64 = ended().map(|end| end.end_ns - end.start_ns).sum();
    (ended().count() > 0).then(|| sum_ns as f64 / 1e9 / ended().count() as f64)
}

fn transfer_row(
    measured: &Measured,
    load: f64,
    is_shared: bool,
    name: &str,
    (group, packets): (&str, f64),
) -> Result<Row, String> {
    let ours = measured.stat(|run| mean_s(run, group).map(|mean| mean * 1e3))?;
    let reference = BASE_S
        + if is_shared {
            shared_s(packets, load)
        } else {
            queued_s(packets, load)
        };
    let tolerance = if is_shared {
        Tolerance::part(
            0.05,
            "turns are of a packet, a twentieth of a short transfer, and not infinitesimal",
        )
    } else {
        Tolerance::part(
            0.05,
            "twelve seeds of 12000 transfers leave some per cent of noise at the highest load",
        )
    };
    let case = format!("{name}, load {load}");
    let quantity = format!("time of {packets} packets");
    Ok(Row::new(case, quantity, "ms", reference * 1e3, ours, tolerance).by(&measured.command))
}

/// All packets but the first in turn; the first of a new queue goes before those in turn and waits only for the rest of
/// the packet in transmission.
fn shared_s(packets: f64, load: f64) -> f64 {
    (packets - 1.0) * PACKET_S / (1.0 - load) + PACKET_S * (1.0 + load / 2.0)
}

fn queued_s(packets: f64, load: f64) -> f64 {
    let count: f64 = TRANSFERS.iter().map(|(_, count, _)| count).sum();
    let square = |packets: f64| packets * packets * PACKET_S * PACKET_S;
    let mean_square: f64 = TRANSFERS
        .iter()
        .map(|&(_, n, packets)| n * square(packets))
        .sum::<f64>()
        / count;
    let arrivals_per_s = load * count / work_s();
    packets * PACKET_S + arrivals_per_s * mean_square / (2.0 * (1.0 - load))
}

fn single_packets(lab: &Lab) -> Result<Vec<Row>, String> {
    let packet_us = 83.2;
    let mut rows = Vec::new();
    for load in [0.5, 0.8] {
        let span_us = 20_000.0 * packet_us / load;
        let measured = lab.simulate("single-packets", &[format!("flow.start=uniform 0 s..{span_us:.0} us")])?;
        let ours = measured.stat(|run| mean_s(run, "flow").map(|mean| mean * 1e6))?;
        // Its own transmission, both delays and its ACK.
        let reference = packet_us + load * packet_us / (2.0 * (1.0 - load)) + 2.0 + 3.2;
        let tolerance = Tolerance::part(0.03, "five seeds of 20000 packets");
        let case = format!("M/D/1, load {load}");
        rows.push(Row::new(case, "time of 1 packet", "us", reference, ours, tolerance).by(&measured.command));
    }
    Ok(rows)
}

fn periodic(lab: &Lab) -> Result<Row, String> {
    let measured = lab.simulate("periodic", &[])?;
    let ours = measured.metric("path", Metric::QueuePkts)?;
    // Little's law: packets per packet time, times the mean wait in packet times.
    let reference = 20.0 / 25.0 * mean_work(19, 25.0);
    let tolerance = Tolerance::part(0.05, "a thousand draws of the phases");
    Ok(Row::new(
        "20 periodic streams, load 0.8",
        "mean queue",
        "pkt",
        reference,
        ours,
        tolerance,
    )
    .by(&measured.command))
}

/// Mean work in a queue fed by `n` streams with one packet per period of `period` packet times, in packets.
fn mean_work(n: u32, period: f64) -> f64 {
    let step = 0.001;
    let places = (f64::from(n) / step) as u32;
    (0..places)
        .map(|i| step * exceeds(n, period, step * (f64::from(i) + 0.5)))
        .sum()
}

/// The probability that this work exceeds `x` (Roberts and Virtamo 1991).
fn exceeds(n: u32, period: f64, x: f64) -> f64 {
    let streams = f64::from(n);
    let mut binomial = 1.0;
    let mut sum = 0.0;
    for k in 0..=n {
        let packets = f64::from(k);
        if packets > x {
            let share = (packets - x) / period;
            let rest = (period - streams + x) / (period - packets + x);
            sum += binomial * libm::pow(share, packets) * libm::pow(1.0 - share, streams - packets) * rest;
        }
        binomial *= (streams - packets) / (packets + 1.0);
    }
    sum
}

fn picture(points: &[(&str, f64, f64, f64, f64)]) -> Result<Picture, String> {
    let of = |name: &'static str, packets: f64| {
        let chosen = points
            .iter()
            .filter(move |point| point.0 == name && (point.2 - packets).abs() < 0.5);
        chosen.map(|point| (point.1, point.3, point.4))
    };
    let loads = || (5..=85).map(|percent| f64::from(percent) / 100.0);
    let ms = |seconds: f64| (BASE_S + seconds) * 1e3;
    let svg = Chart::new(
        "Transfers of 20 and 100 packets on one link",
        Axis::linear("load", 0.0, 0.9),
        Axis::log("mean time, ms", 0.15, 50.0),
    )
    .legend(Corner::UpperLeft)
    .line(
        "shared, 20 packets",
        loads().map(|load| (load, ms(shared_s(20.0, load)))),
    )
    .line(
        "shared, 100 packets",
        loads().map(|load| (load, ms(shared_s(100.0, load)))),
    )
    .line(
        "one queue, 20 packets",
        loads().map(|load| (load, ms(queued_s(20.0, load)))),
    )
    .line(
        "one queue, 100 packets",
        loads().map(|load| (load, ms(queued_s(100.0, load)))),
    )
    .points(
        "fadelab, a queue per flow",
        of("processor sharing", 20.0).chain(of("processor sharing", 100.0)),
    )
    .points(
        "fadelab, one queue",
        of("first come first served", 20.0).chain(of("first come first served", 100.0)),
    )
    .svg()?;
    Ok(Picture {
        name: "queues".to_owned(),
        caption: "Mean time of transfers under processor sharing and first come, first served".to_owned(),
        svg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;

    #[test]
    fn periodic_streams_leave_the_work_of_phases_played_out() {
        // Goal: the formula for five streams equals the work in queues whose phases are drawn 20000 times.
        let mut random = Stream::new(1, "phases");
        let (period, mut sum) = (6.0, 0.0);
        let draws = 20_000;
        for _ in 0..draws {
            let mut starts: Vec<f64> = (0..5).map(|_| random.uniform() * period).collect();
            starts.sort_by(f64::total_cmp);
            // The second period begins with what the first left; work falls by one per packet time.
            let (mut work, mut last, mut area) = (0.0_f64, 0.0, 0.0);
            for round in 0..2 {
                for arrival in starts
                    .iter()
                    .map(|start| start + f64::from(round) * period)
                    .chain([period * f64::from(round + 1)])
                {
                    let busy = work.min(arrival - last);
                    if round == 1 {
                        area += busy * (work - busy / 2.0);
                    }
                    work -= busy;
                    last = arrival;
                    work += f64::from(u8::from(arrival % period > 0.0));
                }
            }
            sum += area / period;
        }
        let played = sum / f64::from(draws);
        assert!(
            (mean_work(5, period) / played - 1.0).abs() < 0.02,
            "{played} {}",
            mean_work(5, period)
        );
    }

    #[test]
    fn a_lone_stream_leaves_half_its_packet() {
        // Goal: one packet per period of four leaves 1/4 x 1/2; no load, no work.
        assert!((mean_work(1, 4.0) - 0.125).abs() < 1e-6);
        assert!(mean_work(0, 4.0).abs() < 1e-12);
    }

    #[test]
    fn times_of_transfers_are_those_computed_by_hand() {
        // Goal: 19 turns of two packet times and 1.25 of them; the queue's wait with E[S^2] by hand; without load only
        // the packets themselves.
        assert!((shared_s(20.0, 0.5) / (39.25 * PACKET_S) - 1.0).abs() < 1e-12);
        assert!((shared_s(20.0, 0.0) / queued_s(20.0, 0.0) - 1.0).abs() < 1e-12);
        let mean_square = (10.0 * 400.0 + 2.0 * 10_000.0) / 12.0 * PACKET_S * PACKET_S;
        let rate = 0.5 / ((10.0 * 20.0 + 2.0 * 100.0) / 12.0 * PACKET_S);
        assert!((queued_s(20.0, 0.5) - 20.0 * PACKET_S - rate * mean_square).abs() < 1e-12);
    }
}
