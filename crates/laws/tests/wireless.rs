//! Veno, both Westwoods, Jersey, New Jersey and their router: estimators against closed forms, and what a loss means.

mod common;

use common::{Flow, Hop, PACKET_BYTES, data};
use fadelab_laws::abi;

/// A flow over a path of constant rate: an ACK every `gap_us`, of one packet, with the receiver's clock.
struct Path {
    flow: Flow,
    gap_us: u64,
    tick_us: u64,
    /// What the receiver's clock shows beside its ticks.
    offset: u32,
    flags: u32,
}

impl Path {
    fn new(law: &str, pairs: &[(&str, f64)], gap_us: u64, srtt_us: u32) -> Self {
        let mut flow = Flow::new(law, pairs, 20, 20);
        (flow.srtt_us, flow.now_us) = (srtt_us, 1_000_000);
        flow.control.ecn = abi::ECN_ECT0;
        Self {
            flow,
            gap_us,
            tick_us: 1000,
            offset: u32::MAX - 2000,
            flags: abi::ACK_CWND_LIMITED | abi::ACK_TIMESTAMPS,
        }
    }

    /// The next packet's ACK.
    fn ack(&mut self, acked_pkts: u32) {
        self.flow.now_us += self.gap_us * u64::from(acked_pkts);
        let mut ack = self.flow.ack(acked_pkts);
        ack.flags = self.flags;
        ack.ts_val = self.offset.wrapping_add((self.flow.now_us / self.tick_us) as u32);
        self.flow.on_ack(&ack);
    }

    fn acks(&mut self, count: usize) {
        for _ in 0..count {
            self.ack(1);
        }
    }

    fn rate(&self) -> f64 {
        self.flow.watched("rate")
    }

    /// Whether it says that it goes on as `NewReno` for now.
    fn is_newreno(&self) -> bool {
        self.flow.watched("is_newreno") > 0.0
    }

    /// Bytes per second that arrive.
    fn true_rate(&self) -> f64 {
        f64::from(PACKET_BYTES) * 1e6 / self.gap_us as f64
    }
}

const ESTIMATORS: [&str; 4] = ["westwood", "westwood_plus", "jersey", "new_jersey"];

#[test]
fn a_constant_rate_is_estimated_within_a_hundredth() {
    // Goal: every estimator, over slow and fast paths and short and long round trips, finds a constant rate.
    for law in ESTIMATORS {
        for (gap_us, srtt_us) in [(8_000, 60_000), (1_000, 20_000), (40_000, 600_000), (83, 200_000)] {
            let mut path = Path::new(law, &[], gap_us, srtt_us);
            path.acks((20_000_000 / gap_us) as usize);
            let error = path.rate() / path.true_rate() - 1.0;
            assert!(error.abs() < 0.01, "{law}, {gap_us} us, {srtt_us} us: {error:+.4}");
        }
    }
}

#[test]
fn a_step_is_followed_with_the_filter_s_own_time_constant() {
    // Goal: from nothing the estimate rises as each filter's equation says, by hand.
    let (gap_us, srtt_us) = (1000, 60_000);
    let steps = 60;
    let of = |law: &str| {
        let mut path = Path::new(law, &[], gap_us, srtt_us);
        path.acks(1 + steps);
        path.rate() / path.true_rate()
    };
    // Equation (1): each ACK leaves RTT / (RTT + gap) of what is missing.
    let kept = (60.0f64 / 61.0).powi(steps as i32);
    assert!((of("jersey") - (1.0 - kept)).abs() < 1e-3, "{}", of("jersey"));
    assert!((of("new_jersey") - (1.0 - kept)).abs() < 1e-3, "{}", of("new_jersey"));
    // Tustin, tau 500 ms: (1000 - 1) / (1000 + 1) is left by each, and the first sample counts half.
    let mut rate = 0.0f64;
    for k in 0..steps {
        rate = (999.0 * rate + if k == 0 { 1.0 } else { 2.0 }) / 1001.0;
    }
    assert!((of("westwood") - rate).abs() < 1e-3, "{} for {rate}", of("westwood"));
    // Westwood+: one sample of 60 ms has closed by the 61st ACK, and the first is taken as it is.
    let mut plus = Path::new("westwood_plus", &[], gap_us, srtt_us);
    plus.acks(60);
    assert!(plus.rate() < 1.0);
    plus.acks(1);
    assert!((plus.rate() / plus.true_rate() - 1.0).abs() < 1e-3);
}

#[test]
fn a_lower_rate_goes_through_both_filters_of_westwood_plus() {
    // Goal: after a step down from 1 to 1/2 the n-th sample leaves what two filters of 7/8 in a row leave.
    let mut path = Path::new("westwood_plus", &[], 1000, 60_000);
    path.acks(2000);
    let before = path.rate();
    path.gap_us = 2000;
    let (mut once, mut twice) = (1.0f64, 1.0f64);
    // A sample closes with the first ACK 60 ms behind the last one: 30 packets each.
    path.acks(30 * 10);
    for _ in 0..10 {
        once = (7.0 * once + 0.5) / 8.0;
        twice = (7.0 * twice + once) / 8.0;
    }
    let found = path.rate() / before;
    assert!((found - twice).abs() < 0.02, "{found} for {twice}");
}

#[test]
fn westwood_plus_counts_time_in_ticks_where_it_is_told_to() {
    // Goal: in ticks of 4 ms a round trip of 61 ms is one of 64, while a constant rate is still estimated within a
    // hundredth.
    for (ticks, rtt_us_min) in [(0.0, 61_000.0), (1.0, 64_000.0)] {
        let mut path = Path::new("westwood_plus", &[("ticks", ticks)], 1000, 61_000);
        path.acks(5_000);
        let found_us = path.flow.watched("rtt_min");
        assert!((found_us - rtt_us_min).abs() < 0.5, "{ticks}: {found_us}");
        let part = path.rate() / path.true_rate();
        assert!((part - 1.0).abs() < 0.01, "{ticks}: {part}");
    }
}

#[test]
fn westwood_forgets_in_a_pause() {
    // Goal: samples of 0 every tau / m while no ACK comes: the estimate falls by (2m - 1) / (2m + 1) with each, m = 2.
    for (pause_us, left) in [(2_000_000u64, 0.6f64.powi(7)), (60_000_000, 0.0)] {
        let mut path = Path::new("westwood", &[], 1000, 60_000);
        path.acks(20_000);
        let before = path.rate();
        path.flow.now_us += pause_us - 1000;
        path.ack(1);
        let found = path.rate() / before;
        // The first sample of 0 has the last one at its other end: (0.75 + 0.25) / 1.25. The ACK itself adds a little.
        let expected = left * 0.8 / 0.6;
        assert!((found - expected).abs() < 0.02, "{pause_us}: {found} for {expected}");
    }
}

#[test]
fn abe_and_tabe_are_one_where_acks_are_undisturbed_and_part_where_they_are_squeezed() {
    // Goal: with the same gaps at both ends the estimates are equal; ACKs that pile up and come at once move only ABE.
    let mut paths = ["jersey", "new_jersey"].map(|law| Path::new(law, &[], 2000, 100_000));
    for path in &mut paths {
        path.acks(5000);
    }
    let [abe, tabe] = paths.each_ref().map(|path| path.rate() / path.true_rate());
    assert!((abe - tabe).abs() < 0.005, "{abe} {tabe}");
    for path in &mut paths {
        // 50 ACKs wait for 100 ms and come within 50 us; the receiver's clock went on.
        let begun_us = path.flow.now_us;
        for at in 0..50u64 {
            path.flow.now_us = begun_us + 100_000 + at;
            let mut ack = path.flow.ack(1);
            ack.flags = path.flags;
            ack.ts_val = path.offset.wrapping_add(((begun_us + (at + 1) * 2000) / 1000) as u32);
            path.flow.on_ack(&ack);
        }
    }
    let [abe, tabe] = paths.each_ref().map(|path| path.rate() / path.true_rate());
    assert!((tabe - 1.0).abs() < 0.02, "{tabe}");
    assert!(!(0.9..1.1).contains(&abe), "{abe}");
}

#[test]
fn a_receiver_s_tick_is_learnt_within_two_seconds() {
    // Goal: ticks of 1 us to 100 ms, round trips of 2 to 600 ms, a wrapping clock: within 5 % after 2 s.
    for tick_us in [1u64, 100, 1_000, 3_333, 10_000, 100_000] {
        for (gap_us, srtt_us) in [(500u64, 2_000u32), (8_000, 60_000), (40_000, 600_000)] {
            let mut path = Path::new("new_jersey", &[], gap_us, srtt_us);
            path.tick_us = tick_us;
            path.acks((2_100_000 / gap_us) as usize);
            let learnt = path.flow.watched("peer_tick");
            let error = learnt / tick_us as f64 - 1.0;
            assert!(
                error.abs() < 0.05,
                "{tick_us} us, gaps of {gap_us} us: {learnt} ({error:+.3})"
            );
            assert!(!path.is_newreno());
        }
    }
}

#[test]
fn a_clock_that_lies_makes_it_newreno_until_it_stops() {
    // Goal: a clock that stands, runs backwards or changes its tick is found out, the flow halves at a loss and says
    // so, the estimate stays finite, and some seconds behind all is as before.
    type Lie = fn(u64) -> u32;
    let lies: [(&str, Lie); 3] = [
        ("stands", |_| 77),
        ("runs backwards", |now_us| 0u32.wrapping_sub((now_us / 1000) as u32)),
        ("jumps", |now_us| {
            ((now_us / 1000) as u32).wrapping_add(((now_us / 700_000) as u32).wrapping_mul(900_000_000))
        }),
    ];
    for (what, lie) in lies {
        let mut path = Path::new("new_jersey", &[], 2_000, 60_000);
        path.acks(2_000);
        assert!(!path.is_newreno(), "{what}: not yet");
        let mut doubted = 0;
        for _ in 0..2_500 {
            path.flow.now_us += path.gap_us;
            let mut ack = path.flow.ack(1);
            (ack.flags, ack.ts_val) = (path.flags, lie(ack.now_us));
            path.flow.on_ack(&ack);
            doubted += u32::from(path.is_newreno());
            assert!(path.flow.control.cwnd_pkts >= 1 && path.flow.control.ssthresh_pkts >= 1);
        }
        assert!(doubted > 1_000, "{what}: {doubted} of 2500 ACKs");
        if path.is_newreno() {
            path.flow.control.cwnd_pkts = 100;
            assert_eq!(path.flow.on_loss(), 50, "{what}: as NewReno");
        }
        path.acks(3_000);
        assert!(!path.is_newreno(), "{what}: over");
        let error = path.rate() / path.true_rate() - 1.0;
        assert!(error.abs() < 0.02, "{what}: {error}");
    }
}

#[test]
fn a_tick_that_changes_is_followed() {
    // Goal: from 1 ms to 10 ms and back, as when a peer moves: learnt anew within some seconds.
    let mut path = Path::new("new_jersey", &[], 2_000, 60_000);
    for (tick_us, acks) in [(1_000u64, 20_000), (10_000, 5_000), (1_000, 5_000)] {
        path.tick_us = tick_us;
        path.acks(acks);
        let learnt = path.flow.watched("peer_tick");
        assert!((learnt / tick_us as f64 - 1.0).abs() < 0.05, "{learnt} for {tick_us}");
        assert!(!path.is_newreno());
    }
}

#[test]
fn a_tick_that_was_learnt_over_long_is_not_given_up_for_two_seconds() {
    // Goal: ACKs that a full way back holds up for 0.3 s, again and again, move a settled tick by hardly anything, also
    // when the time that it is taken from begins anew.
    let mut path = Path::new("new_jersey", &[], 2_000, 60_000);
    let mut sent_us = path.flow.now_us;
    for at in 0..60_000u64 {
        sent_us += path.gap_us;
        let held_us = if at / 850 % 2 == 1 { 300_000 } else { 0 };
        // Nothing is overtaken.
        path.flow.now_us = path.flow.now_us.max(sent_us + held_us);
        let mut ack = path.flow.ack(1);
        (ack.flags, ack.ts_val) = (path.flags, (sent_us / path.tick_us) as u32);
        path.flow.on_ack(&ack);
        let learnt = path.flow.watched("peer_tick");
        assert!(at < 10_000 || (learnt / 1000.0 - 1.0).abs() < 0.03, "{at}: {learnt}");
        assert!(!path.is_newreno(), "{at}");
    }
}

#[test]
fn ssthresh_follows_the_estimate_and_slow_start_ends_by_itself() {
    // Goal: with each new ACK New Jersey's ssthresh is RTT R / segment; Jersey's and the others' stays.
    let mut path = Path::new("new_jersey", &[], 2_000, 60_000);
    path.acks(3_000);
    // 60 ms over 2 ms a packet.
    assert_eq!(path.flow.watched("ownd") as u32, path.flow.control.ssthresh_pkts);
    assert!((29..=31).contains(&path.flow.control.ssthresh_pkts));
    for law in ["westwood", "westwood_plus", "jersey"] {
        let mut path = Path::new(law, &[], 2_000, 60_000);
        path.acks(3_000);
        assert_eq!(path.flow.control.ssthresh_pkts, 20, "{law}");
    }
}

#[test]
fn what_a_loss_costs_is_told_by_the_mark() {
    // Goal: Jersey and New Jersey keep the window behind a loss without a mark, take the estimate behind a mark, and
    // are NewReno without ECN or, the second, without timestamps; a timeout is NewReno's always.
    for law in ["jersey", "new_jersey"] {
        let lose = |path: &mut Path, cause| {
            path.flow.control.cwnd_pkts = 100;
            let ack = path.flow.ack(0);
            let flow = &mut path.flow;
            flow.law
                .on_loss(&mut flow.state, &flow.params, &ack, cause, &mut flow.control);
            flow.control.ssthresh_pkts
        };
        let mut path = Path::new(law, &[], 2_000, 60_000);
        path.acks(3_000);
        assert_eq!(lose(&mut path, abi::LOSS_DUPACK), 100, "{law}");
        assert!(
            (29..=31).contains(&lose(&mut path, abi::LOSS_ECN)),
            "{law}: 60 ms over 2 ms"
        );
        path.flow.control.cwnd_pkts = 100;
        path.acks(1);
        assert_eq!(path.flow.on_rto(), 50, "{law}");
        for (ecn, flags) in [(0, path.flags), (2, abi::ACK_CWND_LIMITED)] {
            let mut path = Path::new(law, &[], 2_000, 60_000);
            (path.flow.control.ecn, path.flags) = (ecn, flags);
            path.acks(3_000);
            let is_newreno = ecn == 0 || law == "new_jersey";
            assert_eq!(path.is_newreno(), is_newreno);
            assert_eq!(lose(&mut path, abi::LOSS_DUPACK), if is_newreno { 50 } else { 100 });
        }
    }
}

#[test]
fn veno_tells_losses_apart_by_its_backlog() {
    // Goal: N = cwnd (RTT - base) / RTT by hand, on both sides of beta; a cut of a fifth or a half; growth halves.
    for (rtt_us, backlog, ssthresh) in [(100_000, 0.0, 80), (103_000, 2.875, 80), (104_000, 3.8125, 50)] {
        let mut flow = Flow::new("veno", &[("rtt", 1.0)], 100, 10);
        flow.srtt_us = 100_000;
        for _ in 0..3 {
            let ack = flow.ack(0);
            flow.on_ack(&ack);
        }
        flow.srtt_us = rtt_us;
        let ack = flow.ack(0);
        flow.on_ack(&ack);
        assert!((flow.watched("backlog_pkts") - backlog).abs() < 1e-9, "{rtt_us}");
        let before = flow.window();
        let ack = flow.ack(1);
        flow.on_ack(&ack);
        let grown = (flow.window() - before) * 100.0;
        let expected = if backlog < 3.0 { 1.0 } else { 0.5 };
        assert!((grown - expected).abs() < 0.01, "{rtt_us}: {grown}");
        flow.control.cwnd_pkts = 100;
        assert_eq!(flow.on_loss(), ssthresh, "{rtt_us}");
    }
    // Too few samples: Reno.
    let mut flow = Flow::new("veno", &[], 100, 10);
    flow.srtt_us = 100_000;
    let ack = flow.ack(1);
    flow.on_ack(&ack);
    assert_eq!(flow.on_loss(), 50);
}

#[test]
fn both_westwoods_answer_a_loss_with_what_the_rate_is_worth() {
    // Goal: ssthresh = B RTT_min / segment, half without an estimate; Westwood+ ends a repair there even from below.
    for law in ["westwood", "westwood_plus"] {
        let mut fresh = Flow::new(law, &[], 100, 10);
        assert_eq!(fresh.on_loss(), 50, "{law}: nothing is known");
        let mut path = Path::new(law, &[], 2_000, 60_000);
        path.acks(5_000);
        // The least round trip stays 60 ms while the last ones are twice as long.
        path.flow.srtt_us = 120_000;
        path.flow.control.cwnd_pkts = 10;
        let ssthresh = path.flow.on_loss();
        assert!((29..=31).contains(&ssthresh), "{law}: {ssthresh}");
        path.flow.control.ca_state = abi::CA_RECOVERY;
        path.acks(1);
        assert_eq!(path.flow.control.cwnd_pkts, 10, "{law}: the host repairs");
        path.flow.control.ca_state = abi::CA_OPEN;
        path.flags = abi::ACK_TIMESTAMPS;
        path.acks(1);
        let expected = if law == "westwood" {
            10
        } else {
            path.flow.control.ssthresh_pkts
        };
        assert_eq!(path.flow.control.cwnd_pkts, expected, "{law}");
    }
    let mut path = Path::new("westwood_plus", &[("raise", 0.0)], 2_000, 60_000);
    path.acks(5_000);
    path.flow.control.cwnd_pkts = 10;
    path.flow.on_loss();
    path.flags = abi::ACK_TIMESTAMPS;
    path.acks(1);
    assert_eq!(path.flow.control.cwnd_pkts, 10, "raise = false");
    // As Linux's module: half while it is repaired, at the end what the estimate is worth, some sixty packets.
    let mut path = Path::new("westwood_plus", &[("halve", 1.0), ("raise", 0.0)], 2_000, 60_000);
    path.acks(5_000);
    path.flow.control.cwnd_pkts = 10;
    path.flow.on_loss();
    assert_eq!(path.flow.control.ssthresh_pkts, 5, "halve = true");
    path.flags = abi::ACK_TIMESTAMPS;
    path.acks(1);
    let (cwnd_pkts, ssthresh_pkts) = (path.flow.control.cwnd_pkts, path.flow.control.ssthresh_pkts);
    assert!(
        cwnd_pkts > 20 && cwnd_pkts == ssthresh_pkts,
        "halve = true: {cwnd_pkts} {ssthresh_pkts}"
    );
}

#[test]
fn cw_marks_every_packet_above_its_threshold_and_none_below() {
    // Goal: the average of equal queues decides alone; what is not ECN-capable passes unmarked; idleness lowers it.
    let link = abi::Link {
        capacity_Bps: 250_000,
        limit_bytes: 60_000,
        packet_bytes: 1000,
        ..Default::default()
    };
    // A third of 60 packets, and 5 as given.
    for (pairs, threshold) in [(&[("q_w", 0.5)][..], 20), (&[("q_w", 0.5), ("threshold_pkts", 5.0)], 5)] {
        for (queue_pkts, is_marked) in [(threshold, false), (threshold + 1, true)] {
            let mut hop = Hop::new("cw", pairs, &link);
            hop.queue.queue_pkts = queue_pkts;
            for _ in 0..60 {
                hop.enqueue(&mut data(abi::WIRE_NONE, 2, 1000));
            }
            for ecn in [0, 1, 2, 3] {
                let mut packet = data(abi::WIRE_NONE, ecn, 1000);
                assert_eq!(hop.enqueue(&mut packet), abi::PASS);
                let expected = if is_marked && ecn > 0 { 3 } else { ecn };
                assert_eq!(
                    u32::from(packet.ecn),
                    expected,
                    "{queue_pkts} of {threshold}, ecn {ecn}"
                );
            }
            // Idle for a second, in which 250 packets could have left.
            (hop.queue.queue_pkts, hop.queue.now_us) = (0, 1_000_000);
            let mut packet = data(abi::WIRE_NONE, 2, 1000);
            hop.enqueue(&mut packet);
            assert_eq!(packet.ecn, 2, "behind a pause");
        }
    }
}
