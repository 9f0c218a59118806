//! The transport against closed forms and against its standards.

mod common;

use common::{ACK_NS, DATA_NS, DELAY_NS, DROP, MS, RTT_NS, S, kth, random_loss, record_of, seen, wire};
use fadelab_path::spec::{Buffer, CapacitySpec};
use fadelab_run::app::{App, Span};
use fadelab_run::record::{Completion, FlowCounters, RunRecord};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::{Recovery, RecoveryExit, RttSamples};
use fadelab_sim::tap::Sighting;

/// When a clean slow start from 2 segments has all `segments` acknowledged, the last one `last_ns` long on the wire.
///
/// Round k sends 2^(k+1) segments. Its first one leaves k round trips after the start, and the ACKs of the round before
/// come no further apart than segments take, so the link is busy from there on until the round is over.
fn slow_start_ns(segments: u64, last_ns: u64) -> u64 {
    let (mut rest, mut window, mut start_ns) = (segments, 2, 0);
    while rest > window {
        assert!(window * DATA_NS < RTT_NS, "a round must not run into the next one");
        rest -= window;
        window *= 2;
        start_ns += RTT_NS;
    }
    start_ns + (rest - 1) * DATA_NS + last_ns + DELAY_NS + ACK_NS + DELAY_NS
}

fn only_completion(record: &RunRecord) -> Completion {
    assert_eq!(record.completions.len(), 1, "{:?}", record.completions);
    record.completions[0]
}

fn end(record: &RunRecord) -> FlowCounters {
    record.flows_end[0]
}

#[test]
fn transfers_take_what_slow_start_takes() {
    // Goal: on a clean path a transfer delivers its bytes, completes once and at the closed form's nanosecond, for one
    // byte, whole segments, a short last segment, and across round trips.
    for bytes in [1, 999, 1000, 1001, 2000, 2001, 6000, 13_999, 14_001, 29_500, 61_234] {
        let record = record_of(&wire("reno", bytes));
        let segments = bytes.div_ceil(1000);
        let last_payload = bytes - (segments - 1) * 1000;
        let end_ns = slow_start_ns(segments, (last_payload + 40) * 1000);
        let expected = Completion {
            flow: 0,
            start_ns: 0,
            end_ns,
            bytes,
        };
        assert_eq!(only_completion(&record), expected, "{bytes} B");
        let flow = end(&record);
        assert_eq!((flow.delivered_bytes, flow.sent_pkts), (bytes, segments), "{bytes} B");
        assert_eq!((flow.retransmitted_pkts, flow.timeouts, flow.recoveries), (0, 0, 0));
        assert_eq!(record.links_end[0].sent_bytes, bytes + 40 * segments);
        assert_eq!(record.links_end[1].sent_pkts, segments, "each segment is acknowledged");
    }
}

#[test]
fn the_initial_window_leaves_at_once() {
    // Goal: after the start exactly the initial window is in flight until the first ACK comes.
    for initial in [1, 2, 10] {
        let mut spec = wire("reno", 100_000);
        spec.flows[0].transport.cwnd_pkts_initial = initial;
        spec.duration_ns = RTT_NS - 1;
        assert_eq!(end(&record_of(&spec)).sent_pkts, u64::from(initial));
        spec.duration_ns = RTT_NS;
        assert_eq!(
            end(&record_of(&spec)).sent_pkts,
            u64::from(initial) + 2,
            "slow start doubles"
        );
    }
}

#[test]
fn idle_paths_show_their_round_trip() {
    // Goal: RTT samples of packets that meet no queue are the path's round trip to the microsecond, whatever the tick
    // of the timestamps, and the smoothed RTT is the same.
    for tick_ns in [1000, MS, 10 * MS] {
        let mut spec = wire("reno", 5000);
        spec.flows[0].transport.cwnd_pkts_initial = 1;
        spec.flows[0].transport.rwnd_pkts = 1;
        spec.flows[0].transport.ts_tick_ns = tick_ns;
        let flow = end(&record_of(&spec));
        assert_eq!(flow.rtt_samples, 5);
        assert_eq!(flow.rtt_us_sum, 5 * RTT_NS / 1000);
        assert_eq!(u64::from(flow.srtt_us), RTT_NS / 1000);
    }
}

#[test]
fn one_segment_is_timed_at_a_time() {
    // Goal: without timestamps each round trip gives one sample, of the round trip itself; none is taken of a segment
    // that waits at the receiver for another's repair, be it found by duplicates or by the timer.
    //
    // With a receive window of four, segments leave in rounds: 0 1, 2 to 5, 6 to 9, 10 to 13. The first of each is
    // timed: 0, 2, 6, 10. Lost are, counted from 1:
    //   7       the timed one, 6, itself; repaired, at a window of two, 10 and 12 are: 4 samples
    //   8       7 is lost, 10 leaves with the ACK of 6 and is timed until duplicates tell of 7; then 11, 13: 5 samples
    //   12, 13  11 and 12 are lost, 14 leaves with the ACK of 10, is timed, and no third duplicate comes: 4 samples
    let cases = [
        (14, 1000, 1000, 4, 0),
        (14, 7, 7, 4, 0),
        (14, 8, 8, 5, 0),
        (15, 12, 13, 4, 1),
    ];
    for recovery in [Recovery::Sack, Recovery::NewReno, Recovery::Reno] {
        for (segments, first, last, samples, timeouts) in cases {
            let mut spec = wire("reno", segments * 1000);
            spec.network.links[0].router = kth(first, 1, last, DROP);
            let tcp = &mut spec.flows[0].transport;
            (tcp.recovery, tcp.rwnd_pkts, tcp.rtt_samples) = (recovery, 4, RttSamples::PerRoundTrip);
            let flow = end(&record_of(&spec));
            let counted = (flow.rtt_samples, flow.rtt_us_sum, flow.timeouts);
            let expected = (samples, samples * RTT_NS / 1000, timeouts);
            assert_eq!(counted, expected, "{recovery:?}, lost {first} to {last}: {flow:?}");
            assert_eq!(flow.delivered_bytes, segments * 1000);
        }
    }
}

#[test]
fn a_timed_segment_counts_the_ticks_between() {
    // Goal: who times a segment counts how often its clock ticks until the ACK, four or five times of 10 ms in a round
    // trip of 41.08 ms, so that the timeout after one sample is 12 or 15 ticks; timestamps are rounded, to four.
    let timeout_ns = |start_ns, rtt_samples| {
        let mut spec = wire("reno", 3000);
        spec.network.links[0].router = kth(2, 1, 1000, DROP);
        spec.flows[0].app = App::Transfer {
            start: Span::Fixed { ns: start_ns },
            bytes: 3000,
        };
        let tcp = &mut spec.flows[0].transport;
        (tcp.cwnd_pkts_initial, tcp.rto_ns_min, tcp.rtt_samples) = (1, 1, rtt_samples);
        spec.record_interval_ns = Some(10_000);
        spec.duration_ns = S;
        let record = record_of(&spec);
        let fired = record.series.flows[0].iter().position(|sample| sample.timeouts > 0);
        record.series.time_ns[fired.expect("it fires")] - RTT_NS - start_ns
    };
    assert_eq!(timeout_ns(0, RttSamples::PerRoundTrip), 120 * MS);
    assert_eq!(timeout_ns(9 * MS, RttSamples::PerRoundTrip), 150 * MS);
    assert_eq!(timeout_ns(0, RttSamples::PerAck), 120 * MS);
    assert_eq!(timeout_ns(9 * MS, RttSamples::PerAck), 120 * MS);
}

/// A transfer of 60 segments of which data packet `lost` is dropped once.
fn one_loss(recovery: Recovery, lost: u32) -> RunSpec {
    let mut spec = wire("reno", 60_000);
    spec.network.links[0].router = kth(lost, 0, 1, DROP);
    spec.flows[0].transport.recovery = recovery;
    spec
}

#[test]
fn one_loss_costs_one_retransmission() {
    // Goal: wherever three duplicates can follow, one lost segment is repaired by one retransmission in one recovery
    // without a timeout, with SACK and without, and all bytes arrive.
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        for lost in (3..=56).step_by(7) {
            let record = record_of(&one_loss(recovery, lost));
            let flow = end(&record);
            let what = format!("{recovery:?}, packet {lost}: {flow:?}");
            assert_eq!(
                (flow.retransmitted_pkts, flow.timeouts, flow.recoveries),
                (1, 0, 1),
                "{what}"
            );
            assert_eq!((flow.delivered_bytes, flow.sent_pkts), (60_000, 61), "{what}");
            assert_eq!(only_completion(&record).bytes, 60_000);
            assert_eq!(record.links_end[0].dropped_law_pkts, 1);
        }
    }
}

#[test]
fn a_fast_retransmission_gets_a_timeout_of_its_own() {
    // Goal: where three duplicates take longer than the timeout exceeds the round trip, one lost segment still costs
    // one retransmission and no timeout (RFC 6675, section 6): the timer counts from the retransmission, not from the
    // last new ACK.
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let mut spec = one_loss(recovery, 40);
        for link in &mut spec.network.links {
            // A segment takes 16.6 ms: the third duplicate comes 50 ms after the last new ACK, and the ACK of the
            // retransmission 57 ms after that. The timeout is seven ticks of 10 ms and three of variance.
            link.capacity = CapacitySpec::Constant { rate_bps: 500_000 };
        }
        spec.flows[0].transport.rto_ns_min = MS;
        spec.flows[0].transport.rwnd_pkts = 4;
        let flow = end(&record_of(&spec));
        let counted = (flow.retransmitted_pkts, flow.timeouts, flow.recoveries);
        assert_eq!(counted, (1, 0, 1), "{recovery:?}: {flow:?}");
        assert_eq!(flow.delivered_bytes, 60_000);
    }
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    // Goal: without duplicates only the timer repairs, and it does after the RTO in force: here the minimum.
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let mut spec = one_loss(recovery, 60);
        spec.flows[0].transport.rto_ns_min = 700 * MS;
        let record = record_of(&spec);
        let flow = end(&record);
        assert_eq!(
            (flow.timeouts, flow.retransmitted_pkts, flow.recoveries),
            (1, 1, 0),
            "{flow:?}"
        );
        // The timer was last armed by the ACK of segment 59; the retransmission then takes one round trip.
        let armed_ns = slow_start_ns(60, DATA_NS) - DATA_NS;
        assert_eq!(only_completion(&record).end_ns, armed_ns + 700 * MS + RTT_NS);
    }
}

#[test]
fn a_burst_of_losses_needs_one_recovery() {
    // Goal: five losses in one window are repaired in one recovery without a timeout: by SACK within a round trip of
    // their detection, by NewReno one a round trip (RFC 6582, section 3.2: each partial ACK shows one more).
    let repair_rtts = |recovery| {
        let mut spec = wire("reno", 200_000);
        spec.network.links[0].router = kth(31, 2, 39, DROP);
        spec.flows[0].transport.recovery = recovery;
        spec.record_interval_ns = Some(MS / 10);
        spec.duration_ns = 2 * S;
        let record = record_of(&spec);
        let flow = end(&record);
        let counts = (flow.retransmitted_pkts, flow.timeouts, flow.recoveries);
        assert_eq!(counts, (5, 0, 1), "{recovery:?} {flow:?}");
        assert_eq!(flow.delivered_bytes, 200_000);
        let repaired = record.series.flows[0]
            .iter()
            .filter(|sample| (1..5).contains(&sample.retransmitted_pkts));
        repaired.count() as f64 * (MS / 10) as f64 / RTT_NS as f64
    };
    let (sack, new_reno) = (repair_rtts(Recovery::Sack), repair_rtts(Recovery::NewReno));
    assert!(sack < 1.0, "SACK needs {sack} round trips");
    assert!((3.9..5.0).contains(&new_reno), "NewReno needs {new_reno} round trips");
}

#[test]
fn reno_repairs_one_loss_of_a_window_and_leaves_the_next_to_the_timer() {
    // Goal: RFC 5681's fast recovery ends with the first new ACK: one loss costs one retransmission as it does with
    // NewReno, two of the same window cost a timeout, before which nothing leaves, and all bytes arrive.
    for lost in (3..=56).step_by(7) {
        let flow = end(&record_of(&one_loss(Recovery::Reno, lost)));
        let counts = (flow.retransmitted_pkts, flow.timeouts, flow.recoveries);
        assert_eq!(counts, (1, 0, 1), "packet {lost}: {flow:?}");
    }
    let mut spec = wire("reno", 200_000);
    spec.network.links[0].router = kth(31, 2, 33, DROP);
    spec.flows[0].transport.recovery = Recovery::Reno;
    let (record, packets) = seen(&spec);
    let flow = end(&record);
    assert_eq!((flow.timeouts, flow.recoveries), (1, 1), "{flow:?}");
    let again = |segment| move |packet: &Sighting| packet.is_data && packet.segment == segment;
    let repaired = packets.iter().rposition(again(30)).unwrap();
    let timer = packets.iter().rposition(again(32)).unwrap();
    let mut waiting = packets[repaired..timer].iter();
    assert!(waiting.any(|packet| !packet.is_data && packet.segment == 32));
    assert!(waiting.all(|packet| !packet.is_data), "more is under way than ssthresh");
    assert_eq!(flow.delivered_bytes, 200_000);
}

#[test]
fn the_ack_that_ends_a_recovery_grows_the_window_where_it_shall() {
    // Goal: RFC 5681 leaves the window at ssthresh, 10, and it is 11 a window of ACKs later, after a round trip; ns-2
    // takes the ACK that ends the recovery as one to grow by. It acknowledges 23 segments, of which a window's worth
    // counts: 11 at once.
    //
    // Segment 19 is lost when the window has grown to 2 + 19, and segments up to 39 have left; two duplicates
    // release 40 and 41, the third one begins the recovery. All of 19 to 41 is acknowledged by the repair.
    for recovery in [Recovery::NewReno, Recovery::Reno] {
        let [held_ns, acted_ns] = [RecoveryExit::Hold, RecoveryExit::Act].map(|exit| {
            let mut spec = wire("reno", 200_000);
            spec.network.links[0].router = kth(20, 0, 1, DROP);
            spec.flows[0].transport.recovery = recovery;
            spec.flows[0].transport.recovery_exit = exit;
            spec.record_interval_ns = Some(MS / 10);
            let record = record_of(&spec);
            let windows = &record.series.flows[0];
            let last = windows.iter().rposition(|sample| sample.cwnd_pkts == 10);
            last.expect("the window was halved") as u64 * (MS / 10)
        });
        assert!(
            held_ns >= acted_ns + RTT_NS,
            "{recovery:?}: 11 packets after {held_ns} and {acted_ns} ns"
        );
    }
}

#[test]
fn new_reno_is_slower_than_sack_after_an_overshoot() {
    // Goal: slow start into a full buffer loses about half a window, which NewReno repairs one a round trip: SACK is
    // done sooner whatever the buffer.
    for buffer_pkts in [5, 10, 20, 40] {
        let end_ns = |recovery| {
            let mut spec = wire("reno", 300_000);
            spec.network.links[0].buffer.packets = Some(buffer_pkts);
            spec.flows[0].transport.recovery = recovery;
            only_completion(&record_of(&spec)).end_ns
        };
        let (sack_ns, new_reno_ns) = (end_ns(Recovery::Sack), end_ns(Recovery::NewReno));
        assert!(
            sack_ns < new_reno_ns,
            "{buffer_pkts} packets: SACK {sack_ns} ns, NewReno {new_reno_ns} ns"
        );
    }
}

#[test]
fn the_receive_window_limits_what_is_under_way() {
    // Goal: with a receive window of w segments, w a round trip are delivered however large the congestion window is.
    for rwnd_pkts in [1, 5, 20] {
        let mut spec = wire("reno", 1);
        spec.flows[0].app = App::Greedy {
            start: Span::Fixed { ns: 0 },
        };
        spec.flows[0].transport.rwnd_pkts = rwnd_pkts;
        spec.flows[0].transport.cwnd_pkts_initial = 100;
        spec.duration_ns = 100 * RTT_NS - 1;
        let flow = end(&record_of(&spec));
        assert_eq!(flow.sent_pkts, 100 * u64::from(rwnd_pkts));
        assert_eq!(flow.cwnd_pkts, 100, "a window that does not limit does not grow");
    }
}

#[test]
fn delayed_acks_halve_the_acks() {
    // Goal: with delayed ACKs every second segment is acknowledged, an odd last one after the delay.
    for (segments, acks) in [(60, 30), (61, 31)] {
        let mut spec = wire("reno", segments * 1000);
        spec.flows[0].transport.cwnd_pkts_initial = 200;
        spec.flows[0].transport.delayed_ack_ns = Some(200 * MS);
        // Longer than the delay, or the timer takes the delayed ACK for a loss.
        spec.flows[0].transport.rto_ns_min = S;
        let record = record_of(&spec);
        assert_eq!(record.links_end[1].sent_pkts, acks);
        let waits_ns = if segments % 2 == 1 { 200 * MS } else { 0 };
        let end_ns = segments * DATA_NS + DELAY_NS + waits_ns + ACK_NS + DELAY_NS;
        assert_eq!(only_completion(&record).end_ns, end_ns);
        assert_eq!(end(&record).delivered_bytes, segments * 1000);
    }
}

#[test]
fn delayed_acks_leave_losses_to_be_seen_at_once() {
    // Goal: out of order segments are acknowledged at once (RFC 5681, section 4.2), so that one loss under delayed ACKs
    // still needs no timeout.
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let mut spec = one_loss(recovery, 25);
        spec.flows[0].transport.delayed_ack_ns = Some(200 * MS);
        let flow = end(&record_of(&spec));
        assert_eq!(
            (flow.retransmitted_pkts, flow.timeouts, flow.recoveries),
            (1, 0, 1),
            "{flow:?}"
        );
        assert_eq!(flow.delivered_bytes, 60_000);
    }
}

#[test]
fn limited_transmit_lets_small_windows_recover() {
    // Goal: with a window of three, one loss yields two duplicates only; limited transmit (RFC 3042) makes a third one,
    // without it the timer repairs.
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        for limited_transmit in [true, false] {
            let mut spec = wire("reno", 30_000);
            spec.network.links[0].router = kth(4, 0, 1, DROP);
            let tcp = &mut spec.flows[0].transport;
            (tcp.recovery, tcp.limited_transmit) = (recovery, limited_transmit);
            (tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial) = (3, 1);
            let flow = end(&record_of(&spec));
            assert_eq!(flow.timeouts, u64::from(!limited_transmit), "{recovery:?} {flow:?}");
            assert_eq!(flow.recoveries, u64::from(limited_transmit), "{recovery:?} {flow:?}");
            assert_eq!(flow.delivered_bytes, 30_000);
        }
    }
}

#[test]
fn timeouts_back_off_between_their_bounds() {
    // Goal: with nobody answering the timer fires after the initial timeout, then after twice as long each time, and no
    // later than the maximum (RFC 6298, section 5).
    let mut spec = wire("reno", 1000);
    spec.network.links[0].channel = Some(random_loss(1.0, 1.0));
    spec.flows[0].transport.rto_ns_initial = S;
    spec.flows[0].transport.rto_ns_max = 5 * S;
    // Due at 1, 3, 7, 12 and 17 s.
    for (at_s, timeouts) in [(1, 1), (3, 2), (7, 3), (12, 4), (17, 5)] {
        spec.duration_ns = at_s * S - 1;
        assert_eq!(end(&record_of(&spec)).timeouts, timeouts - 1, "before {at_s} s");
        spec.duration_ns = at_s * S;
        assert_eq!(end(&record_of(&spec)).timeouts, timeouts, "at {at_s} s");
    }
}

/// When the timer fires after one RTT sample: a transfer of three segments, the first alone, the second and third lost.
fn timeout_after_one_sample(set: impl Fn(&mut fadelab_run::transport::Transport)) -> u64 {
    let mut spec = wire("reno", 3000);
    spec.network.links[0].router = kth(2, 1, 1000, DROP);
    let tcp = &mut spec.flows[0].transport;
    (tcp.cwnd_pkts_initial, tcp.ts_tick_ns) = (1, 1000);
    set(tcp);
    spec.record_interval_ns = Some(10_000);
    spec.duration_ns = 2 * S;
    let record = record_of(&spec);
    let fired = record.series.flows[0].iter().position(|sample| sample.timeouts > 0);
    record.series.time_ns[fired.expect("it fires")] - RTT_NS
}

#[test]
fn timeouts_follow_the_first_sample() {
    // Goal: after one sample R the timeout is R + max(G, 4 R / 2) = 3 R (RFC 6298, (2.2)), at least the minimum, which
    // counts from zero or on top of SRTT.
    let cases = [
        (1, false, 3 * RTT_NS),
        (500 * MS, false, 500 * MS),
        (1, true, 3 * RTT_NS),
        (500 * MS, true, RTT_NS + 500 * MS),
    ];
    for (rto_ns_min, over_srtt, expected_ns) in cases {
        let after_ns = timeout_after_one_sample(|tcp| {
            (tcp.rto_ns_min, tcp.rto_min_over_srtt) = (rto_ns_min, over_srtt);
        });
        assert_eq!(
            after_ns,
            expected_ns.div_ceil(10_000) * 10_000,
            "minimum {rto_ns_min}, {over_srtt}"
        );
    }
    let capped_ns = timeout_after_one_sample(|tcp| (tcp.rto_ns_min, tcp.rto_ns_max) = (1, 80 * MS));
    assert_eq!(capped_ns, 80 * MS);
}

#[test]
fn sack_blocks_are_paid_for_on_the_wire() {
    // Goal: an ACK with n blocks is 4 + 8 n bytes longer if that is asked for, and not otherwise.
    let bytes_back = |on_wire| {
        let mut spec = one_loss(Recovery::Sack, 30);
        spec.flows[0].transport.sack_on_wire = on_wire;
        let back = record_of(&spec).links_end[1];
        (back.sent_pkts, back.sent_bytes)
    };
    let (acks, plain_bytes) = bytes_back(false);
    assert_eq!((acks, plain_bytes), (60, 60 * 40));
    let (acks_on_wire, bytes) = bytes_back(true);
    // One loss leaves one block; the ACKs that carry it are those of segments that arrive between loss and repair.
    let with_block = (bytes - acks_on_wire * 40) / 12;
    assert_eq!(bytes, acks_on_wire * 40 + 12 * with_block);
    assert!((3..=30).contains(&with_block), "{with_block} ACKs with a block");
    let mut spec = one_loss(Recovery::NewReno, 30);
    spec.flows[0].transport.sack_on_wire = true;
    assert_eq!(
        record_of(&spec).links_end[1].sent_bytes,
        60 * 40,
        "NewReno has no blocks"
    );
}

#[test]
fn tiny_buffers_lose_and_repair() {
    // Goal: byte limits and packet limits alike lose packets of a slow start, which repairs them all.
    for buffer in [(Some(3), None), (None, Some(3 * 1040))] {
        let mut spec = wire("reno", 500_000);
        (spec.network.links[0].buffer.packets, spec.network.links[0].buffer.bytes) = buffer;
        let record = record_of(&spec);
        let (link, flow) = (record.links_end[0], end(&record));
        assert!(
            link.dropped_full_pkts > 0 && flow.delivered_bytes == 500_000,
            "{flow:?}"
        );
        assert_eq!(only_completion(&record).bytes, 500_000);
        assert!(flow.retransmitted_pkts >= link.dropped_full_pkts);
    }
    let both = [(Some(3), None), (None, Some(3 * 1040))].map(|(packets, bytes)| {
        let mut spec = wire("reno", 500_000);
        spec.network.links[0].buffer = Buffer { packets, bytes };
        record_of(&spec)
    });
    assert_eq!(
        both[0].links_end, both[1].links_end,
        "three full packets are 3120 bytes"
    );
}
