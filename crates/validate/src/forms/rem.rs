//! REM's equilibrium: the price at which Reno flows fill the link, and the queue at which the price rests.

use fadelab_results::interval::Stat;
use fadelab_results::measure::Metric;

use crate::chart::{Axis, Chart, Corner};
use crate::forms::window::{Reno, Signal};
use crate::lab::{Lab, Measured};
use crate::section::{Picture, Row, Section, Tolerance};

/// The link, packets a second.
const CAPACITY_PPS: f64 = 54e6 / 8320.0;
/// Propagation and transmission of a packet and its ACK.
const RTT_S: f64 = 0.1 + 1080.0 * 8.0 * (2.0 / 108e6 + 1.0 / 54e6);
/// Defaults of the law: base of the marking probability, target of the queue, interval and weight of the queue.
const PHI: f64 = 1.001;
const TARGET_PKTS_DEFAULT: f64 = 20.0;
/// A target above what the sum of the windows strays by.
const TARGET_PKTS: f64 = 150.0;
const UPDATE_S: f64 = 0.002;
const ALPHA: f64 = 0.1;

const INTRO: &str = "\
Every 2 ms REM adds 0.001 (x + 0.1 (b - 20) - c) to its price: x packets arrived, c could leave, b wait. Packets are
marked with probability 1 - 1.001^-price.

- *Queue.* A price that neither grows nor shrinks and is never cut off at 0 has x - c + 0.1 (b - b*) = 0 on average, b*
  = 20 the target. In the long run what arrives is what leaves, x = u c with the utilisation u: b = b* + (1 - u) c /
  0.1.
- *Price.* N Reno flows with ECN fill the link where each has C RTT / N packets in flight, with the queue's wait in the
  round trip. The marking probability at which Reno rests there is that of the chain of the section on Reno, for marks
  instead of losses (in the limit 1.31^2 / W^2), and the price is -ln(1 - m) / ln 1.001. The chain holds for marks that
  are independent at a constant probability; REM's price moves, so that marks come in groups.

The windows of N flows under independent marks stray by about a third of W each, so their sum by W sqrt(N) / 3: 55
packets for 20 flows, 25 for 80. A queue of 20 cannot take that, and the link idles at times: a first version of these
rows expected a full link there and found a utilisation of 0.93, 0.96 and 0.98 for 20, 40 and 80 flows. Nor is the price
constant: an empty queue takes it from 1, the price for 20 flows, to 0 within a round trip. With a target of 150 packets
and the default step 0.001 the queue of 20 flows was 133 packets, by that cut, and marks were 11, 8 and 6 % more than
the chain's. The rows of the price therefore have a target of 150 packets and a step of 0.0001, on which the equilibrium
does not depend: the cut is gone and the excess of marks falls to 4 and 3 % for 20 and 40 flows; at 80 flows, with
windows of 10 packets, 6 % stay. The rows with the defaults hold the queue against the utilisation that there was.
";

/// The section.
///
/// # Errors
/// A run that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let mut rows = Vec::new();
    for flows in [40.0, 80.0] {
        let measured = lab.simulate("rem", &[format!("flow.count={flows}")])?;
        let case = format!("{flows} flows, defaults");
        rows.push(queue_row(&case, &measured, TARGET_PKTS_DEFAULT)?);
    }
    let mut points = Vec::new();
    for flows in [20.0, 40.0, 80.0] {
        let measured = slow_price(lab, flows)?;
        let price = measured.stat(|run| marking(run).map(price_of))?;
        points.push((flows, price.mean, price.ci95_half_width.unwrap_or(0.0)));
        rows.extend(rows_of(flows, &measured, price)?);
    }
    Ok(Section {
        name: "rem",
        title: "REM's price".to_owned(),
        intro: INTRO.to_owned(),
        rows,
        pictures: vec![picture(&points)?],
    })
}

fn marking(run: &fadelab_results::Run) -> Option<f64> {
    let link = crate::lab::link_of(run, "bottleneck")?;
    fadelab_results::measure::measure(run, link).get(Metric::MarkRate)
}

fn price_of(marking: f64) -> f64 {
    -libm::log1p(-marking) / libm::log(PHI)
}

/// With a price that moves a tenth as fast, and time for it to come to rest.
fn slow_price(lab: &Lab, flows: f64) -> Result<Measured, String> {
    let sets = [
        format!("flow.count={flows}"),
        format!("router.rem.target_pkts={TARGET_PKTS} pkt"),
        "router.rem.gamma=0.0001".to_owned(),
        "run.warmup=100 s".to_owned(),
        "run.duration=300 s".to_owned(),
    ];
    lab.simulate("rem", &sets)
}

fn queue_row(case: &str, measured: &Measured, target_pkts: f64) -> Result<Row, String> {
    let used = measured.metric("bottleneck", Metric::Utilisation)?;
    let queue = measured.metric("bottleneck", Metric::QueuePkts)?;
    let expected = target_pkts + (1.0 - used.mean) * CAPACITY_PPS * UPDATE_S / ALPHA;
    let tolerance = Tolerance::part(
        0.03,
        "the identity is exact but for the ends of the interval and a price cut off at 0",
    );
    Ok(Row::new(case, "mean queue", "pkt", expected, queue, tolerance).by(&measured.command))
}

fn rows_of(flows: f64, measured: &Measured, price: Stat) -> Result<Vec<Row>, String> {
    let case = format!("{flows} flows, slow price");
    let used = measured.metric("bottleneck", Metric::Utilisation)?;
    let marks = measured.stat(marking)?;
    let expected_marks = resting_marks(flows);
    let of_marks = Tolerance::part(
        0.15,
        "the marks follow the inverse square of the window, so that 5 % in windows are 10 % here; groups of marks \
         count once in a window",
    );
    let of_use = Tolerance::within(0.02, "the queue is nearly three times as long as the windows stray");
    Ok(vec![
        Row::new(&case, "utilisation", "1", 1.0, used, of_use).by(&measured.command),
        queue_row(&case, measured, TARGET_PKTS)?,
        Row::new(&case, "marked packets", "1", expected_marks, marks, of_marks.clone()).by(&measured.command),
        Row::new(&case, "price", "1", price_of(expected_marks), price, of_marks).by(&measured.command),
    ])
}

/// The marking probability at which `flows` flows fill the link with the queue at its target.
fn resting_marks(flows: f64) -> f64 {
    let rtt_s = RTT_S + TARGET_PKTS / CAPACITY_PPS;
    let window_pkts = CAPACITY_PPS * rtt_s / flows;
    let rests_at = |probability: f64| {
        let reno = Reno {
            probability,
            signal: Signal::Mark,
        };
        reno.pkts_per_rtt()
    };
    // Windows fall as marks rise; the root lies within a factor of two of the limit's.
    let limit = 1.31 * 1.31 / (window_pkts * window_pkts);
    let (mut low, mut high) = (limit / 2.0, limit * 2.0);
    for _ in 0..25 {
        let middle = libm::sqrt(low * high);
        if rests_at(middle) > window_pkts {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::sqrt(low * high)
}

fn picture(points: &[(f64, f64, f64)]) -> Result<Picture, String> {
    let line = [18.0, 20.0, 25.0, 30.0, 40.0, 60.0, 80.0, 88.0].map(|flows| (flows, price_of(resting_marks(flows))));
    let svg = Chart::new(
        "REM over 54 Mbit/s with 100 ms",
        Axis::linear("Reno flows", 10.0, 90.0),
        Axis::log("price", 0.5, 30.0),
    )
    .legend(Corner::LowerRight)
    .line("the price at which they fill the link", line.into_iter())
    .points("fadelab, five seeds", points.iter().copied())
    .svg()?;
    Ok(Picture {
        name: "rem".to_owned(),
        caption: "REM's price against the number of Reno flows with ECN".to_owned(),
        svg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resting_probability_gives_the_window_back() {
        // Goal: at the probability found for 80 flows, the chain's window is the 80th part of what the link holds.
        let reno = Reno {
            probability: resting_marks(80.0),
            signal: Signal::Mark,
        };
        let window = (RTT_S * CAPACITY_PPS + TARGET_PKTS) / 80.0;
        assert!((reno.pkts_per_rtt() / window - 1.0).abs() < 1e-4);
        // 1 % of the packets are marked at a price of 10.05.
        assert!((price_of(0.01) - 10.055).abs() < 1e-3);
    }
}
