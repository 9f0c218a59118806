//! What the preset `linux` adds to the transport: each switch against hand-computed sequences.

mod common;

use common::{
    DELAY_NS, DROP, MARK, MS, kth, link, network, plain_router, random_loss, record_of, seen, sent_per_ack, wire,
};
use fadelab_laws::Codec;
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::{FeedbackForm, PartialAcks, Recovery, Transport};
use fadelab_sim::tap::Sighting;

const NOW: Span = Span::Fixed { ns: 0 };

fn transfer(law: &str, segments: u64, change: impl FnOnce(&mut Transport)) -> RunSpec {
    let mut spec = wire(law, segments * 1000);
    change(&mut spec.flows[0].transport);
    spec
}

#[test]
fn a_handshake_takes_a_round_trip() {
    // Goal: the first segment leaves when a SYN of 60 B and its answer are through, the transfer ends that much later,
    // and the SYN's round trip is the first sample: the timeout is of it, not the initial one.
    let end_ns = |greets| {
        let spec = transfer("reno", 7, |tcp| (tcp.handshake, tcp.rto_ns_initial) = (greets, 3 * MS));
        let record = record_of(&spec);
        assert_eq!(
            record.flows_end[0].timeouts > 0,
            !greets,
            "3 ms are less than the round trip"
        );
        record.completions[0].end_ns
    };
    let _ = end_ns(true);
    let end_ns = |greets| record_of(&transfer("reno", 7, |tcp| tcp.handshake = greets)).completions[0].end_ns;
    assert_eq!(end_ns(true) - end_ns(false), 2 * (60_000 + DELAY_NS));
}

#[test]
fn lost_syns_are_sent_again() {
    // Goal: SYNs leave at 0, 3, 9, 21 and 45 s where none is answered, and nothing else does.
    let mut spec = transfer("reno", 7, |tcp| tcp.handshake = true);
    spec.network.links[1].channel = Some(random_loss(0.0, 1.0));
    let record = record_of(&spec);
    assert_eq!((record.links_end[0].sent_pkts, record.flows_end[0].sent_pkts), (5, 0));
    spec.network.links[0].channel = Some(random_loss(0.5, 0.0));
    spec.network.links[1].channel = Some(random_loss(0.0, 0.5));
    for seed in 1..=20 {
        spec.seed = seed;
        spec.duration_ns = 1_000_000 * MS;
        assert_eq!(record_of(&spec).flows_end[0].delivered_bytes, 7000, "seed {seed}");
    }
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    // Goal: of 20 segments that come one after the other, 16 have an ACK each and the rest one for two; without quick
    // ACKs ten have one.
    let acks = |quick| {
        let spec = transfer("reno", 20, |tcp| {
            (tcp.cwnd_pkts_initial, tcp.delayed_ack_ns, tcp.quick_acks_pkts) = (20, Some(40 * MS), quick);
        });
        record_of(&spec).links_end[1].sent_pkts
    };
    assert_eq!((acks(16), acks(0)), (18, 10));
}

#[test]
fn the_end_of_what_is_written_is_acknowledged_at_once() {
    // Goal: each of 20 segments that an application writes one by one has an ACK of its own. Where it has written 21
    // before they leave, 4 are quick, the rest has one for two, and the last its own. A receiver that never hurries has
    // one for two of either, and the last of 21 waits for the delayed ACK.
    let one_by_one = App::Cbr {
        start: NOW,
        stop_ns: 199 * MS,
        rate_bps: 800_000,
    };
    let at_once = App::Transfer {
        start: NOW,
        bytes: 21_000,
    };
    let acks = |app: &App, quick| {
        let mut spec = transfer("reno", 21, |tcp| {
            (tcp.cwnd_pkts_initial, tcp.delayed_ack_ns, tcp.quick_acks_pkts) = (21, Some(40 * MS), quick);
        });
        spec.flows[0].app = *app;
        let (record, seen) = seen(&spec);
        assert_eq!(record.flows_end[0].retransmitted_pkts, 0);
        let pushed = seen.iter().filter(|packet| packet.is_data && packet.push).count();
        (record.flows_end[0].sent_pkts, pushed, record.links_end[1].sent_pkts)
    };
    assert_eq!(
        (acks(&one_by_one, 4), acks(&one_by_one, 0)),
        ((20, 20, 20), (20, 20, 10))
    );
    assert_eq!((acks(&at_once, 4), acks(&at_once, 0)), ((21, 1, 13), (21, 1, 11)));
}

#[test]
fn feedback_takes_its_room() {
    // Goal: VCP's option is 8 bytes and XCP's 12, of every segment and every ACK; a law without feedback has none.
    for (law, option) in [("vcp", 8), ("xcp", 12), ("reno", 0)] {
        let spec = transfer(law, 0, |tcp| tcp.option_space = true);
        let mut spec = spec;
        spec.flows[0].app = fadelab_run::app::App::Transfer {
            start: fadelab_run::app::Span::Fixed { ns: 0 },
            bytes: 10 * (1000 - option),
        };
        let (record, seen) = seen(&spec);
        let (data, acks): (Vec<_>, Vec<_>) = seen.into_iter().partition(|packet| packet.is_data);
        assert_eq!((data.len(), acks.len()), (10, 10), "{law}");
        assert!(data.iter().all(|packet| packet.ip_bytes == 1040), "{law}");
        assert!(
            acks.iter().all(|packet| u64::from(packet.ip_bytes) == 40 + option),
            "{law}"
        );
        assert_eq!(record.completions[0].bytes, 10 * (1000 - option), "{law}");
    }
}

#[test]
fn feedback_is_rounded_as_its_option_rounds_it() {
    // Goal: in the form of the option XCP's fields are what floats of 16 bits can say, on data and on ACKs, which sum
    // the fields of two segments; in the exact form most are not.
    let sender = fadelab_laws::sender("xcp").expect("registered");
    let codec = Codec::of(sender, fadelab_laws::receiver("xcp")).expect("it has feedback");
    let moved = |form| {
        let mut spec = transfer("xcp", 200, |tcp| {
            (tcp.feedback, tcp.delayed_ack_ns) = (form, Some(40 * MS));
        });
        spec.network.links[0].router = plain_router("xcp");
        let (_, seen) = seen(&spec);
        let moves = |packet: &&Sighting| {
            let rounded = if packet.is_data {
                codec.rounded_data(&packet.feedback)
            } else {
                codec.rounded_echo(&packet.feedback, packet.confirmed)
            };
            packet.feedback_len > 0 && rounded != packet.feedback
        };
        let (data, acks): (Vec<&Sighting>, Vec<&Sighting>) =
            seen.iter().filter(moves).partition(|packet| packet.is_data);
        (data.len(), acks.len())
    };
    assert_eq!(moved(FeedbackForm::Option), (0, 0));
    let (data, acks) = moved(FeedbackForm::Exact);
    assert!(data > 100 && acks > 10, "{data} {acks}");
}

#[test]
fn sack_blocks_come_first() {
    // Goal: timestamps leave 28 bytes: one block and 12 of feedback, two blocks and 8, or three blocks and none.
    for (law, most) in [("vcp", 2), ("xcp", 1)] {
        let mut spec = transfer(law, 60, |tcp| {
            (tcp.option_space, tcp.sack_on_wire, tcp.cwnd_pkts_initial) = (true, true, 30);
        });
        spec.network.links[0].router = kth(3, 3, 12, DROP);
        let (_, seen) = seen(&spec);
        let option = if law == "vcp" { 8 } else { 12 };
        let mut found = [0; 4];
        for ack in seen.iter().filter(|packet| !packet.is_data) {
            let blocks = u16::from(ack.sack_blocks);
            let has_room = blocks <= most;
            let sack_bytes = if blocks > 0 { 4 + 8 * blocks } else { 0 };
            assert_eq!(ack.feedback_len > 0, has_room, "{law}: {ack:?}");
            assert_eq!(
                ack.ip_bytes,
                40 + sack_bytes + if has_room { option } else { 0 },
                "{law}: {ack:?}"
            );
            found[usize::from(ack.sack_blocks)] += 1;
        }
        assert!(found.iter().all(|&acks| acks > 0), "{law}: {found:?}");
    }
}

/// Twenty segments in flight, of which the first is lost, and a window that stays at twenty.
fn one_of_twenty(change: impl FnOnce(&mut Transport)) -> RunSpec {
    let mut spec = transfer("reno", 200, |tcp| {
        (tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial, tcp.rate_reduction) = (20, 20, true);
        change(tcp);
    });
    spec.network.links[0].router = kth(1, 0, 1, DROP);
    spec
}

#[test]
fn a_reduction_is_spread_over_the_round_trip() {
    // Goal: RFC 6937 by hand, 20 in flight and ssthresh 10. Duplicates 1 and 2 release a segment each (RFC 3042); 3
    // begins the recovery with the retransmission, and from there on every second ACK releases one, because
    // ceil(delivered / 2) of them may have left, until 10 are in flight at duplicate 19; then the bound keeps those 10.
    // Without SACK duplicates tell as much.
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let (record, packets) = seen(&one_of_twenty(|tcp| tcp.recovery = recovery));
        let sent = sent_per_ack(&packets);
        assert_eq!(sent[..3], [20, 1, 1]);
        assert_eq!(sent[3..20], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(
            sent[20..23],
            [1, 1, 1],
            "two more duplicates, and the ACK that ends the recovery"
        );
        assert_eq!(
            (record.flows_end[0].recoveries, record.flows_end[0].retransmitted_pkts),
            (1, 1)
        );
    }
    // Without it the window is 10 at once, and nothing leaves until half of the flight is gone.
    let sent = sent_per_ack(&seen(&one_of_twenty(|tcp| tcp.rate_reduction = false)).1);
    assert_eq!(sent[3..20], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn a_reduction_ends_at_ssthresh() {
    // Goal: when the recovery is over the window is ssthresh, whatever the reduction made of it in between.
    let mut spec = one_of_twenty(|_| {});
    spec.record_interval_ns = Some(MS);
    let record = record_of(&spec);
    let recovered = record.series.flows[0].iter().rfind(|sample| sample.cwnd_pkts == 10);
    let sample = recovered.expect("the window was 10");
    assert_eq!(sample.ssthresh_pkts, 10);
    let last = record.series.flows[0]
        .iter()
        .position(|sample| sample.retransmitted_pkts == 1)
        .unwrap();
    let windows: Vec<u32> = record.series.flows[0][last..]
        .iter()
        .map(|sample| sample.cwnd_pkts)
        .collect();
    assert!(windows[0] > 10, "it shrinks by and by: {windows:?}");
}

/// A transfer of 60 segments with losses where `router` says.
fn with_losses(recovery: Recovery, router: fadelab_path::spec::RouterSpec) -> RunSpec {
    let mut spec = transfer("reno", 60, |tcp| (tcp.recovery, tcp.rate_reduction) = (recovery, true));
    spec.network.links[0].router = router;
    spec
}

#[test]
fn time_finds_what_duplicates_find() {
    // Goal: wherever three duplicates can follow a lost segment, RACK repairs it by one retransmission in one recovery,
    // as early as three duplicates do.
    for lost in (3..=56).step_by(7) {
        let of = |recovery| record_of(&with_losses(recovery, kth(lost, 0, 1, DROP)));
        let (sack, rack) = (of(Recovery::Sack), of(Recovery::Rack));
        let flow = rack.flows_end[0];
        assert_eq!(
            (flow.retransmitted_pkts, flow.timeouts, flow.recoveries),
            (1, 0, 1),
            "packet {lost}: {flow:?}"
        );
        assert_eq!(rack.completions, sack.completions, "packet {lost}");
    }
}

#[test]
fn a_lost_retransmission_is_found() {
    // Goal: what is lost once more is found when later segments arrive, without a timeout, which is all that duplicates
    // leave.
    let with_losses = |recovery, router| {
        let mut spec = transfer("reno", 200, |tcp| (tcp.recovery, tcp.rate_reduction) = (recovery, true));
        spec.network.links[0].router = router;
        spec
    };
    let first = seen(&with_losses(Recovery::Rack, kth(40, 0, 1, DROP))).1;
    let again = first.iter().filter(|packet| packet.is_data).enumerate();
    let again = again.skip(40).find(|(_, packet)| packet.segment == 39).unwrap().0 as u32 + 1;
    let both = kth(40, again - 40, again, DROP);
    let counted = |recovery| {
        let record = record_of(&with_losses(recovery, both.clone()));
        assert_eq!(record.links_end[0].dropped_law_pkts, 2);
        let flow = record.flows_end[0];
        (flow.retransmitted_pkts, flow.timeouts, flow.recoveries)
    };
    assert_eq!(counted(Recovery::Rack), (2, 0, 1));
    assert_eq!(counted(Recovery::Sack).1, 1);
}

#[test]
fn partial_acks_keep_a_long_recovery_from_its_timeout() {
    // Goal: ten of 40 segments that leave at once are lost. Without SACK each hole takes a round trip of 41 ms, all of
    // them longer than the timeout of 0.2 s. Where the first partial ACK alone restarts it the rest is left to slow
    // start; where each does, ten retransmissions are all.
    let of = |partial_acks| {
        let mut spec = transfer("reno", 40, |tcp| {
            (tcp.recovery, tcp.cwnd_pkts_initial) = (Recovery::NewReno, 40);
            tcp.partial_acks = partial_acks;
        });
        spec.network.links[0].router = kth(2, 2, 20, DROP);
        record_of(&spec).flows_end[0]
    };
    let (first, each) = (of(PartialAcks::First), of(PartialAcks::Each));
    assert_eq!((each.retransmitted_pkts, each.timeouts, each.recoveries), (10, 0, 1));
    assert_eq!((first.timeouts, first.delivered_bytes), (1, 40_000), "{first:?}");
}

#[test]
fn sacks_keep_a_long_recovery_from_its_timeout() {
    // Goal: of 400 segments that leave at once the second is lost. Its repetition gets through behind all others, 0.4 s
    // later, when a timeout of 0.2 s is over: RFC 6298 times out, Linux sets the timer anew at SACKs of what left
    // before the repetition.
    let of = |recovery| {
        let mut spec = transfer("reno", 400, |tcp| {
            (tcp.recovery, tcp.cwnd_pkts_initial) = (recovery, 400);
        });
        spec.network.links[0].router = kth(2, 0, 1, DROP);
        record_of(&spec).flows_end[0]
    };
    let (sack, rack) = (of(Recovery::Sack), of(Recovery::Rack));
    assert_eq!((rack.retransmitted_pkts, rack.timeouts), (1, 0));
    assert!(sack.timeouts > 0, "{sack:?}");
}

#[test]
fn a_lost_tail_is_probed() {
    // Goal: the last three of a transfer are lost. Two smoothed round trips and 2 ms after the last ACK the very last
    // is sent again; its SACK shows that the two before are missing, which are sent again a quarter of the smallest
    // round trip later. No timeout, which is all that the transport has without probes.
    let spec = with_losses(Recovery::Rack, kth(58, 1, 60, DROP));
    let (record, packets) = seen(&spec);
    let flow = record.flows_end[0];
    assert_eq!((flow.timeouts, flow.recoveries, flow.retransmitted_pkts), (0, 1, 3));
    let probe = packets
        .iter()
        .rposition(|packet| packet.is_data && packet.segment == 59)
        .unwrap();
    let (before, after) = packets.split_at(probe);
    let last_ack = before.iter().rfind(|packet| !packet.is_data).unwrap();
    let waited_ns = packets[probe].time_ns - last_ack.time_ns;
    let srtt_ns = u64::from(flow.srtt_us) * 1000;
    assert!(
        waited_ns.abs_diff(2 * srtt_ns + 2 * MS) < srtt_ns / 4,
        "{waited_ns} and twice {srtt_ns}"
    );
    let sack_ns = after.iter().find(|packet| !packet.is_data).unwrap().time_ns;
    let repaired: Vec<(u32, u64)> = after[1..]
        .iter()
        .filter(|packet| packet.is_data)
        .map(|packet| (packet.segment, packet.time_ns - sack_ns))
        .collect();
    let quarter_ns = common::RTT_NS / 4 / 1000 * 1000;
    // The probe itself took a round trip, so what is missing was sent long enough ago by then.
    assert_eq!(
        repaired.iter().map(|(segment, _)| *segment).collect::<Vec<_>>(),
        [57, 58]
    );
    assert!(
        repaired
            .iter()
            .all(|(_, after_ns)| *after_ns <= quarter_ns + common::RTT_NS),
        "{repaired:?}"
    );
    let timer = record_of(&with_losses(Recovery::Sack, kth(58, 1, 60, DROP)));
    assert_eq!(timer.flows_end[0].timeouts, 1);
    assert!(record.completions[0].end_ns < timer.completions[0].end_ns);
}

#[test]
fn a_lost_last_segment_costs_the_window_once() {
    // Goal: where the probe alone repairs the loss, nobody sees it but by its ACK: no recovery, no timeout, and the
    // window is halved when the next data are acknowledged (RFC 8985, section 7.4.2). Here none follow.
    let record = record_of(&with_losses(Recovery::Rack, kth(60, 0, 1, DROP)));
    let flow = record.flows_end[0];
    assert_eq!((flow.timeouts, flow.recoveries, flow.retransmitted_pkts), (0, 0, 1));
    assert_eq!(record.completions.len(), 1);
}

#[test]
fn reordering_is_waited_for() {
    // Goal: where one segment in twenty comes 5 ms late, duplicates tell of losses that are none all the time; RACK is
    // taken in until a segment came late that it had not sent again, which is soon, and then waits a quarter of the
    // round trip, 10 ms.
    let recoveries = |recovery, seed| {
        let mut spec = transfer("reno", 3000, |tcp| {
            (tcp.recovery, tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial) = (recovery, 30, 30);
        });
        spec.seed = seed;
        spec.network.links[0].layer.reorder = Some(fadelab_path::layer::Reorder {
            probability: 0.05,
            delay_ns: 5 * MS,
            gap_pkts: None,
        });
        let flow = record_of(&spec).flows_end[0];
        assert_eq!(flow.timeouts, 0, "{recovery:?}");
        flow.recoveries
    };
    let seeds = 1..=20;
    let rack: Vec<u64> = seeds.clone().map(|seed| recoveries(Recovery::Rack, seed)).collect();
    assert!(rack.iter().all(|&count| count <= 6), "{rack:?}");
    assert!(rack.iter().sum::<u64>() <= 3 * 20, "{rack:?}");
    assert!(seeds.into_iter().all(|seed| recoveries(Recovery::Sack, seed) > 10));
}

#[test]
fn what_a_recovery_left_is_not_probed_twice() {
    // Goal: the ACK that ends a recovery begins the next one where what that recovery sent was lost as well. Nothing is
    // probed then, and each loss is repaired once: 8 packets are dropped of 19 segments and what is sent again.
    let mut spec = with_losses(Recovery::Rack, kth(5, 3, 26, DROP));
    spec.flows[0].transport.cwnd_pkts_initial = 10;
    spec.flows[0].app = App::Transfer {
        start: NOW,
        bytes: 19_000,
    };
    let record = record_of(&spec);
    let flow = record.flows_end[0];
    assert_eq!(record.links_end[0].dropped_law_pkts, 8);
    assert_eq!((flow.sent_pkts, flow.retransmitted_pkts), (19 + 8, 8));
    assert_eq!(
        (flow.recoveries, flow.timeouts),
        (2, 1),
        "the last one is left to the timer"
    );
}

/// Ten segments that take the link 130 ms each, where the handshake took a round trip of 17 ms.
fn early_probe() -> RunSpec {
    let mut spec = transfer("reno", 10, |tcp| {
        (tcp.recovery, tcp.rate_reduction, tcp.handshake) = (Recovery::Rack, true, true);
        tcp.cwnd_pkts_initial = 10;
    });
    spec.network = network(["there", "back"].map(|name| link(name, 64_000, MS, 1000)));
    spec
}

#[test]
fn a_probe_that_came_too_early_begins_no_recovery() {
    // Goal: the tenth segment is probed long before it is through, though nothing is lost. The ACKs of the first nine
    // leave it the oldest, which does not make it a lost one (RFC 8985, section 7.3).
    let flow = record_of(&early_probe()).flows_end[0];
    assert_eq!((flow.retransmitted_pkts, flow.timeouts, flow.recoveries), (1, 0, 0));
}

/// A segment a second, each long after the one before it is acknowledged.
fn one_by_one() -> RunSpec {
    let mut spec = with_losses(Recovery::Rack, common::plain_router("droptail"));
    spec.flows[0].app = App::Cbr {
        start: NOW,
        stop_ns: 20_000 * MS,
        rate_bps: 8000,
    };
    spec
}

#[test]
fn a_lone_segment_is_probed() {
    // Goal: where each segment is a flight of its own no ACK tells that the timer is to be a probe's. A lost one is
    // sent again without a timeout, and the ACK of the next one halves the window (RFC 8985, section 7.4.2).
    let mut spec = one_by_one();
    let whole = record_of(&spec).flows_end[0];
    spec.network.links[0].router = kth(10, 0, 1, DROP);
    let flow = record_of(&spec).flows_end[0];
    assert_eq!((flow.retransmitted_pkts, flow.timeouts, flow.recoveries), (1, 0, 0));
    assert_eq!((flow.cwnd_pkts, flow.ssthresh_pkts), (2, 2));
    assert!(whole.ssthresh_pkts > 1000, "{whole:?}");
}

#[test]
fn a_late_segment_costs_no_window() {
    // Goal: a segment that comes 300 ms late is probed, and its ACK is followed by the one of the repetition, which
    // tells that nothing was lost: the window is as it would be without (RFC 8985, section 7.4.2).
    let mut spec = one_by_one();
    spec.network.links[0].layer.reorder = Some(fadelab_path::layer::Reorder {
        probability: 0.3,
        delay_ns: 300 * MS,
        gap_pkts: None,
    });
    let flow = record_of(&spec).flows_end[0];
    assert_eq!((flow.retransmitted_pkts, flow.timeouts, flow.recoveries), (3, 0, 0));
    assert!(flow.ssthresh_pkts > 1000, "{flow:?}");
}

#[test]
fn a_lost_flight_costs_the_window_once() {
    // Goal: a whole flight of 16 is lost. The probe's SACK begins a recovery, which halves the window, and what the
    // probe's ACK may tell thereafter is known.
    let mut spec = with_losses(Recovery::Rack, kth(40, 1, 55, DROP));
    spec.flows[0].app = App::Transfer {
        start: NOW,
        bytes: 100_000,
    };
    spec.flows[0].transport.rwnd_pkts = 16;
    let flow = record_of(&spec).flows_end[0];
    assert_eq!((flow.retransmitted_pkts, flow.timeouts, flow.recoveries), (16, 0, 1));
    assert_eq!(flow.ssthresh_pkts, 8);
}

#[test]
fn an_echo_while_a_probe_is_out_begins_no_recovery() {
    // Goal: the window is reduced for an echo of ECN in between, and what the probe repeated is no more a lost segment
    // than before.
    let mut spec = early_probe();
    spec.flows[0].transport.ecn = true;
    spec.network.links[0].router = kth(5, 0, 1, MARK);
    let flow = record_of(&spec).flows_end[0];
    assert_eq!((flow.retransmitted_pkts, flow.timeouts, flow.recoveries), (1, 0, 0));
    assert_eq!((flow.ecn_reductions, flow.ssthresh_pkts), (1, 5));
}
