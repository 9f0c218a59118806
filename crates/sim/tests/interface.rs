//! What `law.h` promises senders, seen through laws that exist to use it (`tests/laws`).

mod common;

use common::{
    ACK_NS, DATA_NS, DELAY_NS, DROP, MARK, MS, RTT_NS, kth, plain_router, random_loss, record_of, seen, wire,
};
use fadelab_path::layer::Reorder;
use fadelab_run::record::FlowCounters;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::{Recovery, Transport};

/// A transfer of `segments` under a law with these parameters.
fn transfer(law: &str, pairs: &[(&str, f64)], segments: u64) -> RunSpec {
    let mut spec = wire(law, segments * 1000);
    let law = spec.flows[0].sender.expect("a law");
    spec.flows[0].params = law.params_from(pairs).expect("valid parameters");
    spec
}

fn end(spec: &RunSpec) -> FlowCounters {
    record_of(spec).flows_end[0]
}

/// When the segments of flow 0 leave.
fn departures_ns(spec: &RunSpec) -> Vec<u64> {
    let (_, seen) = seen(spec);
    let data = seen.iter().filter(|packet| packet.is_data);
    data.map(|packet| packet.time_ns).collect()
}

#[test]
fn the_host_keeps_what_is_less_than_a_packet() {
    // Goal: a law without memory adds 0.3 packets with each of 20 ACKs to a window of 2.0 and comes to 7.996; one lost
    // segment later half of that is left, and a timeout leaves 1.0 and nothing of the fraction.
    let pairs = [("window", 2.0), ("growth", 307.0 / 1024.0)];
    let mut spec = transfer("fraction", &pairs, 20);
    assert_eq!(end(&spec).cwnd_pkts, 7);
    // 13 segments more would make it 8 without the fraction that 7 leaves out.
    spec = transfer("fraction", &pairs, 21);
    assert_eq!(end(&spec).cwnd_pkts, 8);
    // The only segment is lost, and comes again: 1 + 0.3.
    spec = transfer("fraction", &[("window", 2.9), ("growth", 307.0 / 1024.0)], 1);
    spec.network.links[0].router = kth(1, 0, 1, DROP);
    let flow = end(&spec);
    assert_eq!((flow.timeouts, flow.cwnd_pkts), (1, 1));
}

#[test]
fn a_window_below_a_packet_is_a_distance() {
    // Goal: under a window of a quarter of a packet single segments leave four round trips apart from the first sample
    // on; under one of two and a half, two at a time.
    let spec = transfer("fraction", &[("window", 0.25)], 6);
    let departures_ns = departures_ns(&spec);
    let expected: Vec<u64> = (0..6).map(|index| 4 * RTT_NS * index).collect();
    assert_eq!(departures_ns, expected);
    let spec = transfer("fraction", &[("window", 2.5)], 6);
    let starts = self::departures_ns(&spec);
    assert_eq!(
        starts,
        [0, 0, RTT_NS, RTT_NS + DATA_NS, 2 * RTT_NS, 2 * RTT_NS + DATA_NS]
    );
}

#[test]
fn a_timeout_of_a_window_below_a_packet_repairs_at_once() {
    // Goal: the retransmission of a lone segment waits for the timer and for nothing else, and the next one for the
    // distance again.
    let mut spec = transfer("fraction", &[("window", 0.5)], 4);
    spec.network.links[0].router = kth(3, 0, 3, DROP);
    let flow = end(&spec);
    assert_eq!((flow.timeouts, flow.retransmitted_pkts), (1, 1));
    assert_eq!(flow.delivered_bytes, 4000);
}

/// The count of `shows` that law `told` comes to.
fn told(shows: &str, segments: u64, change: impl FnOnce(&mut RunSpec)) -> u32 {
    let law = fadelab_laws::sender("told").expect("a test law");
    let choice = law.params().iter().find(|info| info.name == "shows").expect("declared");
    let index = choice.unit.split('|').position(|word| word == shows).expect("a count");
    let mut spec = transfer("told", &[("shows", index as f64)], segments);
    spec.flows[0].transport.cwnd_pkts_initial = 10;
    change(&mut spec);
    end(&spec).ssthresh_pkts - 1
}

#[test]
fn acks_say_what_they_are() {
    // Goal: each ACK has timestamps; of segments that come alone the ACK was delayed, and of pairs none; with SACK and
    // without.
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let change = |delayed_ack_ns| {
            move |spec: &mut RunSpec| {
                let tcp = &mut spec.flows[0].transport;
                (tcp.recovery, tcp.delayed_ack_ns) = (recovery, delayed_ack_ns);
            }
        };
        assert_eq!(told("timestamps", 10, change(None)), 10);
        assert_eq!(told("timestamps", 10, change(Some(40 * MS))), 5);
        assert_eq!(told("delayed", 10, change(Some(40 * MS))), 0);
        assert_eq!(told("delayed", 11, change(Some(40 * MS))), 1);
    }
}

#[test]
fn flights_are_told_apart() {
    // Goal: with a window of ten the largest flight before an ACK is ten, and nine were in flight when a segment left.
    assert_eq!(told("flight_before", 100, |_| {}), 10);
    assert_eq!(told("flight_when_sent", 100, |_| {}), 9);
}

#[test]
fn a_kernel_s_guess_of_the_flight_is_measured() {
    // Goal: what a segment left behind, reconstructed as kernels do from what was delivered since, is exact where
    // nothing is lost or reordered, and off by 2 % of the flight at most where one packet in a hundred is either.
    let error = |change: &dyn Fn(&mut RunSpec)| {
        told("flight_error", 20_000, |spec| {
            spec.flows[0].transport.recovery = Recovery::Rack;
            change(spec);
        })
    };
    assert_eq!(error(&|_| {}), 0);
    let lossy = error(&|spec| spec.network.links[0].channel = Some(random_loss(0.01, 0.01)));
    let reordered = error(&|spec| {
        spec.network.links[0].layer.reorder = Some(Reorder {
            probability: 0.01,
            delay_ns: 5 * MS,
            gap_pkts: None,
        });
    });
    assert!(lossy > 0 && lossy <= 20, "{lossy}");
    assert!(reordered > 0 && reordered <= 20, "{reordered}");
}

#[test]
fn a_probe_that_repairs_is_told() {
    // Goal: where the last of a flight is lost, its repetition is the probe's, and one ACK says so; where nothing is
    // lost none does.
    let rack = |spec: &mut RunSpec| spec.flows[0].transport.recovery = Recovery::Rack;
    let lost = |spec: &mut RunSpec| {
        rack(spec);
        spec.network.links[0].router = kth(10, 0, 10, DROP);
        // It goes on behind the probe, or nothing would be acknowledged beyond it.
        spec.flows[0].transport.rwnd_pkts = 1;
    };
    assert_eq!(told("probed", 30, rack), 0);
    assert_eq!(told("probed", 30, lost), 1);
}

#[test]
fn each_lost_segment_is_told() {
    // Goal: of a window of ten the third and the fifth are lost: two are told, with what was in flight when the later
    // one left (four), that nothing was delivered before it that came behind it but six segments, and that it is the
    // second loss since. With SACK, RACK and, one a round trip, without.
    for recovery in [Recovery::Sack, Recovery::Rack, Recovery::NewReno] {
        let lose = |spec: &mut RunSpec| {
            spec.flows[0].transport.recovery = recovery;
            spec.network.links[0].router = kth(3, 2, 5, DROP);
        };
        assert_eq!(told("lost", 10, lose), 2, "{recovery:?}");
        assert_eq!(told("lost_again", 10, lose), 0, "{recovery:?}");
        assert_eq!(told("lost_flight", 10, lose), 4, "{recovery:?}");
        assert_eq!(told("lost_lost", 10, lose), 2, "{recovery:?}");
    }
    // The same further on, behind a loss, with nine in flight before each: they arrive, and three that tell of it.
    let later = |shows| {
        told(shows, 60, |spec| {
            spec.network.links[0].router = kth(3, 36, 39, DROP);
        })
    };
    assert_eq!(later("lost"), 2);
    assert_eq!(later("lost_flight"), 9);
    assert_eq!(later("lost_delivered"), 9 + 3);
    assert_eq!(later("lost_lost"), 1);
}

#[test]
fn what_is_lost_twice_is_told_twice() {
    // Goal: a repetition that is lost too is told as one, whether time tells of it or the timer.
    for recovery in [Recovery::Sack, Recovery::Rack] {
        let lose = |spec: &mut RunSpec| {
            spec.flows[0].transport.recovery = recovery;
            // The first of all, and the eleventh packet, which is its repetition.
            spec.network.links[0].router = kth(1, 10, 11, DROP);
        };
        assert_eq!(told("lost_again", 10, lose), 1, "{recovery:?}");
    }
}

#[test]
fn a_law_may_send_less_by_choice() {
    // Goal: of a law that says so all rate samples are limited by the application, of one that does not none, on a path
    // where there is always more to send.
    let samples = |idles| {
        told("app_limited", 1000, |spec| {
            let law = spec.flows[0].sender.expect("a law");
            let pairs = [("shows", 11.0), ("idles", idles)];
            spec.flows[0].params = law.params_from(&pairs).expect("valid");
            spec.duration_ns = 800 * MS;
        })
    };
    assert_eq!(samples(0.0), 0);
    // All but those of segments that left before the first ACK.
    assert!(samples(1.0) > 100);
}

#[test]
fn a_spurious_reduction_is_taken_back() {
    // Goal: where segments come late and nothing is lost, each reduction is taken back, the law hears of it with its
    // cause (a loss: 1), and the window is as before; where segments are lost, or timestamps may not tell, none is.
    for recovery in [Recovery::Sack, Recovery::NewReno, Recovery::Reno, Recovery::Rack] {
        let late = |undo| {
            move |spec: &mut RunSpec| {
                (spec.flows[0].transport.recovery, spec.flows[0].transport.undo) = (recovery, undo);
                spec.network.links[0].layer.reorder = Some(Reorder {
                    probability: 0.01,
                    delay_ns: 30 * MS,
                    gap_pkts: None,
                });
            }
        };
        let lossy = |spec: &mut RunSpec| {
            (spec.flows[0].transport.recovery, spec.flows[0].transport.undo) = (recovery, true);
            spec.network.links[0].router = kth(20, 40, 1000, DROP);
        };
        let (taken_back, without) = (told("undone", 2000, late(true)), told("undone", 2000, late(false)));
        assert!(taken_back > 3, "{recovery:?}: {taken_back}");
        assert_eq!(without, 0, "{recovery:?}");
        assert_eq!(told("undone", 1000, lossy), 0, "{recovery:?}");
    }
}

#[test]
fn a_spurious_timeout_is_taken_back() {
    // Goal: a lone segment that comes 180 ms late is on its way back when the timer of 200 ms sends it again; the ACK
    // of the original takes the timeout back, which is told with its cause (3), once, and that of the repetition
    // changes nothing.
    let late = |spec: &mut RunSpec| {
        spec.flows[0].transport.undo = true;
        spec.flows[0].transport.rwnd_pkts = 1;
        spec.network.links[0].layer.reorder = Some(Reorder {
            probability: 0.2,
            delay_ns: 180 * MS,
            gap_pkts: None,
        });
    };
    let undone = told("undone", 20, late);
    assert!(undone > 0 && undone.is_multiple_of(3), "{undone}");
}

/// Law `estimator` with a window of 20, whose answer to a loss or mark is `share` of its window.
fn estimator(share: f64, segments: u64, change: impl FnOnce(&mut Transport)) -> RunSpec {
    let mut spec = transfer("estimator", &[("estimate_pkts", 30.0), ("share", share)], segments);
    let tcp = &mut spec.flows[0].transport;
    (tcp.cwnd_pkts_initial, tcp.rwnd_pkts) = (20, 20);
    change(tcp);
    spec
}

#[test]
fn the_ack_that_ends_a_recovery_grows_no_window() {
    // Goal: the first of twenty is lost; when all are acknowledged, recovery is over, the window is half, and the ACK
    // that ended it added nothing. The second shape reduces over the round trip.
    for rate_reduction in [false, true] {
        let mut spec = estimator(0.5, 20, |tcp| tcp.rate_reduction = rate_reduction);
        spec.network.links[0].router = kth(1, 0, 1, DROP);
        let flow = end(&spec);
        assert_eq!((flow.recoveries, flow.cwnd_pkts), (1, 10), "{rate_reduction}");
    }
}

#[test]
fn ssthresh_is_the_host_s_while_it_repairs() {
    // Goal: a law that writes ssthresh on each ACK does not move where a reduction goes, after a loss and after a mark,
    // reduced at once or over a round trip; before and behind the reduction what it writes stands.
    for action in [DROP, MARK] {
        for rate_reduction in [false, true] {
            let mut spec = estimator(0.5, 400, |tcp| tcp.rate_reduction = rate_reduction);
            spec.network.links[0].router = kth(100, 0, 100, action);
            spec.record_interval_ns = Some(MS);
            let record = record_of(&spec);
            let samples = &record.series.flows[0];
            let behind = samples.iter().skip_while(|sample| sample.ssthresh_pkts != 30);
            let reduced = behind.filter(|sample| sample.ssthresh_pkts != 30);
            let at: Vec<u32> = reduced.map(|sample| sample.ssthresh_pkts).collect();
            let reduces = action == DROP || rate_reduction;
            // For as long as the repair takes: a round trip, of which there is a sample each millisecond.
            assert_eq!(at.len() > 20, reduces, "{action} {rate_reduction}: {at:?}");
            let half = samples.iter().map(|sample| sample.cwnd_pkts).max().expect("samples") / 2;
            assert!(at.iter().all(|pkts| (10..=half).contains(pkts)), "{at:?}");
        }
    }
}

#[test]
fn a_loss_never_raises_the_window() {
    // Goal: a law answers a loss or a mark with an ssthresh of three windows, and the window stays.
    for action in [DROP, MARK] {
        for rate_reduction in [false, true] {
            let mut spec = estimator(3.0, 20, |tcp| tcp.rate_reduction = rate_reduction);
            spec.network.links[0].router = kth(1, 0, 1, action);
            let flow = end(&spec);
            let grown = if action == MARK { 20 } else { 0 };
            assert!(
                flow.cwnd_pkts <= 20 + grown && flow.cwnd_pkts >= 20,
                "{action} {rate_reduction}: {flow:?}"
            );
        }
    }
}

#[test]
fn a_syn_asks_and_its_answer_grants() {
    // Goal: a window that the SYN asked for, 100, is granted by a router, 20, which confirms it, and the connection
    // begins with it; without a router the request comes back unconfirmed, and half of it is taken; without SYNs
    // nothing is heard. As an option it takes room on the wire.
    let first_burst = |router: &str, handshake, option_space| {
        let mut spec = transfer("greeting", &[("wish_pkts", 100.0)], 300);
        spec.flows[0].receiver = fadelab_laws::receiver("greeting");
        let tcp = &mut spec.flows[0].transport;
        (tcp.handshake, tcp.option_space, tcp.packet_bytes) = (handshake, option_space, 1048);
        spec.network.links[0].router = plain_router(router);
        let departures_ns = departures_ns(&spec);
        departures_ns.iter().filter(|&&at| at == departures_ns[0]).count()
    };
    assert_eq!(first_burst("greeting", true, false), 20);
    assert_eq!(first_burst("greeting", true, true), 20);
    assert_eq!(first_burst("droptail", true, false), 50);
    assert_eq!(first_burst("greeting", false, false), 2);
    let start_ns = |option_space| {
        let mut spec = transfer("greeting", &[], 3);
        spec.flows[0].receiver = fadelab_laws::receiver("greeting");
        let tcp = &mut spec.flows[0].transport;
        (tcp.handshake, tcp.option_space, tcp.packet_bytes) = (true, option_space, 1048);
        departures_ns(&spec)[0]
    };
    let option_bytes = 8;
    assert_eq!(start_ns(false), 2 * (DELAY_NS + 60_000));
    assert_eq!(start_ns(true), 2 * (DELAY_NS + 60_000 + 1000 * option_bytes));
}

#[test]
fn acks_and_a_timer_clock_segments_out() {
    // Goal: a law that asks for it sends one segment with each ACK and one more when a segment's time has passed since,
    // though its window holds twenty: at 10.4 kB/s the second leaves after 100 ms, with no burst in between.
    let mut spec = transfer("greeting", &[("timer_Bps", 10_400.0)], 10);
    spec.flows[0].transport.handshake = true;
    spec.flows[0].receiver = fadelab_laws::receiver("greeting");
    spec.network.links[0].router = plain_router("greeting");
    let departures_ns = departures_ns(&spec);
    let since: Vec<u64> = departures_ns.iter().map(|at| at - departures_ns[0]).collect();
    let round_ns = DATA_NS + ACK_NS + 2 * DELAY_NS;
    // The timer waits behind the last segment that ACKs let go.
    assert_eq!(since[..3], [0, round_ns, 2 * round_ns]);
    assert!(since.windows(2).all(|pair| pair[0] < pair[1]), "{since:?}");
}
