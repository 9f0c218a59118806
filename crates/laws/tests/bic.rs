//! BIC: hand-computed steps, a floating-point reference over random events, and how fast it converges.

mod common;

use common::Flow;
use fadelab_laws::abi;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The values of the header without the ACK ratio, so that what grows is what the equations say.
const PLAIN: (&str, f64) = ("ack_ratio", 0.0);

/// A flow in congestion avoidance with `cwnd` packets, whose last loss was at `w_max` (0: none yet).
fn searching(pairs: &[(&str, f64)], w_max: u32, cwnd: u32) -> Flow {
    let mut flow = Flow::new("bic", pairs, w_max.max(1), 1);
    if w_max > 0 {
        flow.on_loss();
    }
    (flow.control.cwnd_pkts, flow.control.ssthresh_pkts) = (cwnd, 1);
    flow
}

/// ACKs of one packet until the window has one packet more.
fn acks_for_one(flow: &mut Flow) -> u32 {
    let cwnd = flow.control.cwnd_pkts;
    let acks = (1..100_000)
        .find(|_| flow.on_ack(&flow.ack(1)) > cwnd)
        .expect("it grows");
    assert_eq!(flow.control.cwnd_pkts, cwnd + 1);
    acks
}

#[test]
fn each_range_of_the_window_has_its_step() {
    // Goal: n of the header's law by hand, on both sides of every boundary.
    let steps = [
        (1000, 14, 14, "small: Reno"),
        (1000, 15, 1, "max_increment is more than the window"),
        (1000, 31, 1, "31 / 16 rounded down"),
        (1000, 32, 2, "32 / 16"),
        (1000, 800, 50, "d = 50: 800 / 16"),
        (1000, 932, 58, "d = 17: 932 / 16"),
        (1000, 933, 58, "d = 16: 933 / 16"),
        (1000, 936, 58, "d = 16: 936 / 16"),
        (1000, 937, 62, "d = 15: 937 / 15"),
        (1000, 960, 96, "d = 10: 960 / 10"),
        (1000, 992, 496, "d = 2: 992 / 2"),
        (1000, 993, 4965, "d = 1: 993 * 20 / 4"),
        (1000, 1000, 5000, "at W_max: 1000 * 20 / 4"),
        (1000, 1003, 5015, "less than b beyond: 1003 * 20 / 4"),
        (1000, 1004, 753, "1004 * 3 / 4"),
        (1000, 1047, 66, "1047 * 3 / 47"),
        (1000, 1048, 65, "48 beyond: 1048 / 16"),
        (0, 200, 12, "no loss yet: 200 / 16"),
        (0, 1000, 20, "no loss yet: at most 20"),
    ];
    for (w_max, cwnd, n, what) in steps {
        assert_eq!(
            acks_for_one(&mut searching(&[PLAIN], w_max, cwnd)),
            n,
            "{what}, cwnd {cwnd}"
        );
    }
    let halves = [PLAIN, ("b", 2.0), ("max_increment_pkts", 32.0), ("smooth_part", 50.0)];
    for (cwnd, n) in [(980, 98), (900, 28), (999, 24_975)] {
        assert_eq!(
            acks_for_one(&mut searching(&halves, 1000, cwnd)),
            n,
            "b = 2, cwnd {cwnd}"
        );
    }
}

#[test]
fn one_ack_for_several_packets_adds_their_share() {
    // Goal: growth counts packets: 100 at once are two of 50, and what is over stays.
    let mut flow = searching(&[PLAIN], 1000, 800);
    assert_eq!(flow.on_ack(&flow.ack(125)), 802);
    assert_eq!(acks_for_one(&mut flow), 25, "half of n = 802 / 16 = 50 is there");
}

#[test]
fn the_ratio_of_packets_to_acks_divides_n() {
    // Goal: Linux's filter starts at 32/16, rests at 31/16 when every packet is acknowledged, and follows larger ACKs.
    let mut flow = searching(&[], 1000, 800);
    assert_eq!(acks_for_one(&mut flow), 25, "50 * 16 / 31");
    assert_eq!(
        acks_for_one(&mut searching(&[], 1000, 14)),
        14,
        "small windows are Reno's"
    );
    for _ in 0..200 {
        flow.on_ack(&flow.ack(4));
    }
    // Where ratio += 4 - ratio / 16 rests in whole sixteenths: 64, so that n = 50 * 16 / 64 = 12.
    flow.control.cwnd_pkts = 800;
    let windows = [0; 3].map(|_| flow.on_ack(&flow.ack(4)));
    assert_eq!(windows, [800, 800, 801]);
    let mut recovering = searching(&[], 1000, 800);
    recovering.control.ca_state = abi::CA_DISORDER;
    assert_eq!(acks_for_one(&mut recovering), 25, "50 * 16 / 32, the filter rests");
}

#[test]
fn a_loss_leaves_four_fifths_and_a_target() {
    // Goal: ssthresh by hand, its floor, half for small windows; W_max lowered for a flow that loses ground.
    for (cwnd, ssthresh) in [(1000, 799), (100, 79), (15, 11), (14, 7), (3, 2), (1, 2)] {
        assert_eq!(Flow::new("bic", &[], cwnd, 999).on_loss(), ssthresh, "cwnd {cwnd}");
    }
    // A second loss at 80 of 100: W_max = 80 * 1843 / 2048 = 71, so that 63 is d = 2 below it and 64 is d = 1.
    let again = |pairs: &[(&str, f64)], cwnd| {
        let mut flow = searching(pairs, 100, 80);
        flow.on_loss();
        (flow.control.cwnd_pkts, flow.control.ssthresh_pkts) = (cwnd, 1);
        acks_for_one(&mut flow)
    };
    assert_eq!((again(&[PLAIN], 63), again(&[PLAIN], 64)), (31, 320));
    let keeping = [PLAIN, ("fast_convergence", 0.0)];
    assert_eq!(again(&keeping, 63), 15, "W_max = 80, d = 4");
}

#[test]
fn a_timeout_forgets_the_target() {
    // Goal: ssthresh from the window before the timeout, once; then no W_max: 1000 / 16 = 62, at most 20.
    let mut flow = searching(&[PLAIN], 1000, 900);
    flow.on_ack(&flow.ack(1));
    assert_eq!(flow.on_rto(), 719, "900 * 819 / 1024");
    assert_eq!(flow.on_rto(), 719, "the timer backs off");
    assert_eq!(flow.on_ack(&flow.ack(1)), 2, "slow start");
    (flow.control.cwnd_pkts, flow.control.ssthresh_pkts) = (1000, 719);
    assert_eq!(acks_for_one(&mut flow), 20);
}

/// `tcp_bic.c` in floating point, with whole packets where it has them.
struct Reference {
    cwnd: f64,
    ssthresh: f64,
    w_max: f64,
    ratio_q4: f64,
    timed_out: bool,
    before: f64,
}

/// The parameters of a case: `low_window`, `max_increment`, `smooth_part`, b, beta in 1/1024, fast convergence, and the
/// ACK ratio.
type Values = (u32, u32, u32, u32, u32, bool, bool);

impl Reference {
    fn whole(&self) -> f64 {
        (self.cwnd + 1e-4).floor()
    }

    fn count(&self, values: &Values) -> f64 {
        let &(low, increment, smooth, b, _, _, by_ratio) = values;
        let (increment, smooth, b) = (f64::from(increment), f64::from(smooth), f64::from(b));
        let cwnd = self.whole();
        if cwnd <= f64::from(low) {
            return cwnd.max(1.0);
        }
        let distance = ((self.w_max - cwnd) / b).floor();
        let beyond = cwnd - self.w_max;
        let mut n = if cwnd < self.w_max && distance > increment {
            cwnd / increment
        } else if cwnd < self.w_max && distance > 1.0 {
            cwnd / distance
        } else if beyond < b {
            cwnd * smooth / b
        } else if beyond < increment * (b - 1.0) {
            cwnd * (b - 1.0) / beyond
        } else {
            cwnd / increment
        };
        n = n.floor();
        if self.w_max == 0.0 {
            n = n.min(20.0);
        }
        if by_ratio {
            n = (n * 16.0 / self.ratio_q4).floor();
        }
        n.max(1.0)
    }

    fn ack(&mut self, acked: f64, values: &Values) {
        self.ratio_q4 += acked - (self.ratio_q4 / 16.0).floor();
        if self.whole() < self.ssthresh {
            self.cwnd += 1.0;
        } else {
            // No ACK counts for more than a window's worth.
            self.cwnd += acked.min(self.whole()) / self.count(values);
        }
        (self.timed_out, self.before) = (false, self.whole());
    }

    fn reduce(&mut self, cwnd: f64, values: &Values) {
        let &(low, _, _, _, beta, fast, _) = values;
        let beta = f64::from(beta) / 1024.0;
        self.w_max = if fast && cwnd < self.w_max {
            (cwnd * (1.0 + beta) / 2.0).floor()
        } else {
            cwnd
        };
        let left = if cwnd <= f64::from(low) { 0.5 } else { beta };
        self.ssthresh = (cwnd * left).floor().max(2.0);
    }

    fn loss(&mut self, values: &Values) {
        self.reduce(self.whole(), values);
        self.cwnd = self.ssthresh;
        self.before = self.whole();
    }

    fn timeout(&mut self, values: &Values) {
        if !self.timed_out {
            self.reduce(self.before, values);
        }
        (self.w_max, self.ratio_q4, self.timed_out) = (0.0, 32.0, true);
        (self.cwnd, self.before) = (1.0, 1.0);
    }
}

#[derive(Clone, Debug)]
enum Event {
    /// So many ACKs of so many packets.
    Acks(u32, u32),
    Loss,
    Timeout,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        12 => (1..2000u32, 1..4u32).prop_map(|(acks, pkts)| Event::Acks(acks, pkts)),
        4 => Just(Event::Loss),
        1 => Just(Event::Timeout),
    ];
    prop::collection::vec(event, 1..60)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn windows_are_those_of_floating_point(
        events in events(),
        first in 1..3000u32,
        values in (0..40u32, 1..64u32, 1..100u32, 2..9u32, 200..1000u32, any::<bool>(), any::<bool>()),
    ) {
        // Goal: over any events and parameters the window is that of tcp_bic.c computed in floating point, within the
        // one packet that the rounding of fractions can move.
        let (low, increment, smooth, b, beta, fast, by_ratio) = values;
        let pairs = [
            ("low_window_pkts", f64::from(low)),
            ("max_increment_pkts", f64::from(increment)),
            ("smooth_part", f64::from(smooth)),
            ("b", f64::from(b)),
            ("beta", f64::from(beta) / 1024.0),
            ("fast_convergence", f64::from(u8::from(fast))),
            ("ack_ratio", f64::from(u8::from(by_ratio))),
        ];
        let mut flow = Flow::new("bic", &pairs, first, 2000);
        let mut reference = Reference {
            cwnd: f64::from(first), ssthresh: 2000.0, w_max: 0.0, ratio_q4: 32.0, timed_out: false,
            before: f64::from(first),
        };
        for event in &events {
            match *event {
                Event::Acks(acks, pkts) => for _ in 0..acks {
                    flow.control.ca_state = abi::CA_OPEN;
                    flow.on_ack(&flow.ack(pkts));
                    reference.ack(f64::from(pkts), &values);
                    let (ours, theirs) = (f64::from(flow.control.cwnd_pkts), reference.whole());
                    prop_assert!((ours - theirs).abs() <= 1.0, "{ours} for {theirs} in {event:?} of {events:?}");
                },
                Event::Loss => {
                    flow.control.cwnd_pkts = reference.whole() as u32;
                    flow.on_loss();
                    flow.control.cwnd_pkts = flow.control.ssthresh_pkts;
                    reference.loss(&values);
                    prop_assert_eq!(flow.control.ssthresh_pkts, reference.ssthresh as u32);
                    flow.on_ack(&flow.ack(0));
                }
                Event::Timeout => {
                    flow.control.cwnd_pkts = reference.whole() as u32;
                    flow.on_ack(&flow.ack(0));
                    flow.on_rto();
                    reference.timeout(&values);
                    prop_assert_eq!(flow.control.ssthresh_pkts, reference.ssthresh as u32);
                }
            }
        }
    }
}

/// Round trips from the window after a loss at `w_max` until the search ends, 8 packets below it.
fn round_trips(pairs: &[(&str, f64)], w_max: u32) -> f64 {
    let mut flow = Flow::new("bic", pairs, w_max, 1);
    flow.control.cwnd_pkts = flow.on_loss();
    let mut trips = 0.0;
    while flow.control.cwnd_pkts + 8 < w_max {
        let cwnd = flow.control.cwnd_pkts;
        let chunk = cwnd.div_ceil(64);
        flow.on_ack(&flow.ack(chunk));
        trips += f64::from(chunk) / f64::from(cwnd);
    }
    trips
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn the_search_takes_a_logarithm_of_the_distance(
        w_max in (200f64.ln()..50_000f64.ln()).prop_map(|log| libm::exp(log) as u32),
    ) {
        // Goal: without a limit to the step the distance shrinks by a quarter a round trip, however large it is; with
        // one it takes (distance - 4 max_increment) / max_increment round trips more, and the search from there.
        let distance = f64::from(w_max - w_max * 819 / 1024);
        // A quarter a round trip: d(t) = distance exp(-t / 4), rounded down in favour of waiting: within two trips.
        let trips = round_trips(&[PLAIN, ("max_increment_pkts", 65_535.0)], w_max);
        let search = 4.0 * libm::log(distance / 8.0);
        prop_assert!(trips > search - 0.5 && trips < 1.25 * search + 2.0, "{trips} for {search} of {distance}");
        let limited = round_trips(&[PLAIN], w_max);
        let near = distance.min(64.0);
        let both = (distance - near) / 16.0 + 4.0 * libm::log(near / 8.0);
        prop_assert!(limited > 0.93 * both - 1.0 && limited < 1.25 * both + 2.0, "{limited} for {both} of {distance}");
    }
}

/// Losses until two flows that lose together have windows within a tenth of each other.
fn losses_to_fairness(pairs: &[(&str, f64)], capacity: u32) -> u32 {
    let mut flows = [capacity * 9 / 10, capacity / 10].map(|cwnd| Flow::new("bic", pairs, cwnd, 1));
    for losses in 0..200 {
        while flows[0].control.cwnd_pkts + flows[1].control.cwnd_pkts <= capacity {
            for flow in &mut flows {
                for _ in 0..16 {
                    let sixteenth = flow.control.cwnd_pkts.div_ceil(16);
                    flow.on_ack(&flow.ack(sixteenth));
                }
            }
        }
        let [large, small] = [&flows[0], &flows[1]].map(|flow| f64::from(flow.control.cwnd_pkts));
        if large <= 1.1 * small {
            return losses;
        }
        for flow in &mut flows {
            flow.control.cwnd_pkts = flow.on_loss();
            flow.control.ssthresh_pkts = 1;
        }
    }
    200
}

#[test]
fn flows_that_lose_together_become_equal() {
    // Goal: from shares of 9 to 1, additive steps and lowered targets bring two flows within a tenth of each other in a
    // few losses. Without fast convergence each searches for its own old window, which keeps the shares as they were.
    for capacity in [1000, 5000, 20_000] {
        let fast = losses_to_fairness(&[PLAIN], capacity);
        let slow = losses_to_fairness(&[PLAIN, ("fast_convergence", 0.0)], capacity);
        assert!(
            fast < 40 && slow > 4 * fast,
            "{capacity} packets: {fast} losses, {slow} without"
        );
    }
}
