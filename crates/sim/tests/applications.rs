//! What applications write, and when.

mod common;

use common::{ACK_NS, DATA_NS, DELAY_NS, MS, RTT_NS, S, flow, record_of, wire};
use fadelab_run::app::{App, Span};
use fadelab_run::flow::FlowSpec;
use fadelab_run::spec::RunSpec;

const NOW: Span = Span::Fixed { ns: 0 };

/// A flow of datagrams, 1012 bytes of payload each, over link 0.
fn datagrams(name: &str, rate_bps: u64, start: Span, stop_ns: u64) -> FlowSpec {
    let app = App::Cbr {
        start,
        stop_ns,
        rate_bps,
    };
    let mut flow = flow(name, "reno", vec![0], vec![1]);
    (flow.sender, flow.receiver, flow.app) = (None, None, app);
    flow
}

fn with_app(law: &str, app: App) -> RunSpec {
    let mut spec = wire(law, 1);
    spec.flows[0].app = app;
    spec
}

#[test]
fn datagrams_come_at_their_rate() {
    // Goal: constant bit rate over UDP sends one datagram per payload time from its start until before its stop, also
    // where that time is no whole number of nanoseconds, and delivers them all.
    for (rate_bps, start_ns, stop_ns) in [
        (1_012_000, 0, 8 * S),
        (999_983, 123_456_789, 9 * S),
        (70_001, S, 50 * S),
    ] {
        let mut spec = wire("reno", 1);
        let start = Span::Fixed { ns: start_ns };
        spec.flows = vec![datagrams("cbr", rate_bps, start, stop_ns)];
        let record = record_of(&spec);
        let bits = u128::from(stop_ns - start_ns) * u128::from(rate_bps);
        let expected = bits.div_ceil(1012 * 8 * u128::from(S)) as u64;
        let flow = record.flows_end[0];
        assert_eq!(
            (flow.sent_pkts, flow.delivered_bytes),
            (expected, expected * 1012),
            "{rate_bps} bit/s"
        );
        assert_eq!(record.links_end[1].arrived_pkts, 0, "nobody acknowledges datagrams");
    }
}

#[test]
fn datagrams_leave_the_rest_to_tcp() {
    // Goal: CBR at 30 % of a link (on air) and a greedy TCP share it: all datagrams but a few drops arrive, TCP fills
    // the rest.
    let mut spec = with_app("reno", App::Greedy { start: NOW });
    spec.network.links[0].buffer.packets = Some(60);
    spec.warmup_ns = 10 * S;
    spec.duration_ns = 110 * S;
    spec.flows.push(datagrams("cbr", 2_400_000 / 1040 * 1012, NOW, 110 * S));
    let record = record_of(&spec);
    let rate = |index: usize| {
        let (before, after) = (record.flows_warmup[index], record.flows_end[index]);
        (after.delivered_bytes - before.delivered_bytes) as f64 * 8.0 / 100.0
    };
    let (tcp_on_air, cbr_on_air) = (rate(0) * 1.04, rate(1) * 1040.0 / 1012.0);
    assert!((cbr_on_air / 2.4e6 - 1.0).abs() < 0.02, "datagrams {cbr_on_air} bit/s");
    assert!(
        (tcp_on_air + cbr_on_air) / 8e6 > 0.97,
        "together {}",
        tcp_on_air + cbr_on_air
    );
}

#[test]
fn paced_writing_limits_the_window() {
    // Goal: CBR over TCP delivers what was written, and a window that is not used does not grow (RFC 7661): at a tenth
    // of the link's rate it stays near what is in flight, 5 segments, however long it lasts.
    let app = App::Cbr {
        start: NOW,
        stop_ns: 50 * S,
        rate_bps: 800_000,
    };
    let mut spec = with_app("reno", app);
    spec.flows[0].transport.cwnd_pkts_initial = 2;
    let flow = record_of(&spec).flows_end[0];
    assert_eq!((flow.sent_pkts, flow.delivered_bytes), (5000, 5_000_000));
    assert!((4..=12).contains(&flow.cwnd_pkts), "{flow:?}");
}

#[test]
fn one_byte_takes_one_round_trip() {
    // Goal: the smallest transfer is one packet of 41 bytes, done after the round trip of that packet.
    let record = record_of(&wire("reno", 1));
    assert_eq!(record.links_end[0].sent_bytes, 41);
    assert_eq!(record.completions[0].end_ns, 41_000 + ACK_NS + 2 * DELAY_NS);
    assert_eq!(record.flows_end[0].delivered_bytes, 1);
}

fn sessions(law: &str, on: Span, off: Option<Span>) -> RunSpec {
    let start = Span::Fixed { ns: S / 2 };
    with_app(law, App::Sessions { start, on, off })
}

#[test]
fn sessions_come_one_after_the_other() {
    // Goal: sessions of random length complete, begin only after a pause, account for every byte that arrived, and are
    // silent in between; each slow-starts anew.
    let on = Span::Uniform {
        min_ns: 300 * MS,
        max_ns: 900 * MS,
    };
    let mut spec = sessions("reno", on, Some(Span::Exponential { mean_ns: S }));
    spec.record_interval_ns = Some(MS);
    let record = record_of(&spec);
    let done = &record.completions;
    assert!(done.len() > 20, "{} sessions in 60 s", done.len());
    assert_eq!(done[0].start_ns, S / 2);
    let sent_at = |time_ns: u64| {
        let index = record.series.time_ns.partition_point(|&at| at < time_ns);
        record.series.flows[0][index].sent_pkts
    };
    for (this, next) in done.iter().zip(&done[1..]) {
        assert!(next.start_ns >= this.end_ns, "{this:?} {next:?}");
        let lasted_ns = this.end_ns - this.start_ns;
        // What was written is delivered within the time that a full slow start leaves in the queue.
        assert!((300 * MS..3 * S).contains(&lasted_ns), "{this:?}");
        if next.start_ns > this.end_ns + 2 * MS {
            assert_eq!(
                sent_at(this.end_ns + MS),
                sent_at(next.start_ns - MS),
                "silent in between"
            );
        }
    }
    // Nothing is under way at the end of a session: what arrived by then is the sum of the sessions.
    let mut whole = 0;
    for session in done {
        whole += session.bytes;
        let index = record.series.time_ns.partition_point(|&at| at < session.end_ns);
        let sample = record.series.flows[0][index];
        let next = done
            .iter()
            .any(|next| next.start_ns > session.start_ns && next.start_ns < session.end_ns + MS);
        assert!(
            sample.delivered_bytes == whole || next,
            "{session:?} {whole} {sample:?}"
        );
    }
    let lengths: Vec<u64> = done.iter().map(|session| session.bytes).collect();
    assert!(
        lengths.iter().any(|&bytes| bytes != lengths[0]),
        "lengths are drawn anew"
    );
}

#[test]
fn sessions_end_even_when_nothing_is_under_way() {
    // Goal: a session whose last segment is acknowledged before it is closed completes at the closing, and the next one
    // begins: a sender that paces one packet a second has nothing in flight most of the time.
    let mut spec = sessions(
        "paced",
        Span::Fixed { ns: 2500 * MS },
        Some(Span::Fixed { ns: 500 * MS }),
    );
    let law = spec.flows[0].sender.expect("a law");
    spec.flows[0].params = law.params_from(&[("rate_Bps", 1040.0)]).expect("valid parameters");
    let ends: Vec<_> = record_of(&spec)
        .completions
        .iter()
        .map(|done| (done.start_ns, done.end_ns, done.bytes))
        .collect();
    let expected: Vec<_> = (0..20).map(|k| (S / 2 + k * 3 * S, 3 * S + k * 3 * S, 3000)).collect();
    assert_eq!(ends, expected);
}

#[test]
fn a_session_does_not_end_before_its_connection_stands() {
    // Goal: a session that writes for less time than the handshake takes has nothing to send and ends with the answer
    // to its SYN, a round trip after its beginning; the answer is not left to the next session.
    let (on, off) = (Span::Fixed { ns: MS }, Span::Fixed { ns: 2 * MS });
    let mut spec = sessions("reno", on, Some(off));
    (spec.flows[0].transport.handshake, spec.duration_ns) = (true, 5 * S);
    let greeting_ns = 2 * (60_000 + DELAY_NS);
    for rto_ns_initial in [S, 3 * MS] {
        // With the shorter timeout SYNs are repeated, so that the answers to one session reach into the next.
        spec.flows[0].transport.rto_ns_initial = rto_ns_initial;
        let record = record_of(&spec);
        assert!(record.completions.len() > 100 && greeting_ns > 3 * MS);
        for done in &record.completions {
            assert_eq!((done.end_ns - done.start_ns, done.bytes), (greeting_ns, 0), "{done:?}");
        }
    }
}

#[test]
fn acks_of_an_earlier_session_say_nothing_of_the_next() {
    // Goal: timeouts shorter than the round trip leave duplicate ACKs behind that reach the sender while the next
    // session asks for its connection: its window stays shut, and it goes on with the answer.
    let mut spec = sessions("reno", Span::Fixed { ns: 50 * MS }, Some(Span::Fixed { ns: 0 }));
    let tcp = &mut spec.flows[0].transport;
    (tcp.handshake, tcp.rto_ns_min, tcp.rto_ns_max) = (true, MS, 5 * MS);
    let record = record_of(&spec);
    assert!(record.flows_end[0].retransmitted_pkts > 0 && record.completions.len() > 100);
}

#[test]
fn single_sessions_end() {
    // Goal: without a pause there is one session, and then silence.
    let record = record_of(&sessions("reno", Span::Fixed { ns: S }, None));
    assert_eq!(record.completions.len(), 1);
    assert_eq!(record.completions[0].bytes, record.flows_end[0].delivered_bytes);
    assert_eq!(record.flows_end[0].in_flight_pkts, 0);
}

#[test]
fn starts_are_drawn_from_the_seed() {
    // Goal: random start times differ between seeds and flows, repeat for one seed, and lie in their range.
    let starts = |seed| {
        let mut spec = wire("reno", 1000);
        spec.seed = seed;
        spec.flows[0].app = App::Transfer {
            start: Span::Uniform {
                min_ns: S,
                max_ns: 2 * S,
            },
            bytes: 1000,
        };
        spec.flows.push(FlowSpec {
            name: "second".into(),
            ..spec.flows[0].clone()
        });
        let mut done = record_of(&spec).completions;
        done.sort_by_key(|done| done.flow);
        done.iter().map(|done| done.start_ns).collect::<Vec<_>>()
    };
    let all: Vec<Vec<u64>> = (0..20).map(starts).collect();
    assert_eq!(all[3], starts(3));
    let mut flat: Vec<u64> = all.concat();
    assert!(flat.iter().all(|start_ns| (S..2 * S).contains(start_ns)));
    let mean_ns = flat.iter().sum::<u64>() as f64 / flat.len() as f64;
    // 40 draws: the standard error of the mean is 0.29 / sqrt(40) = 0.046 s.
    assert!((mean_ns / S as f64 - 1.5).abs() < 0.2, "mean {mean_ns}");
    flat.sort_unstable();
    flat.dedup();
    assert_eq!(flat.len(), 40, "no two of 40 draws of 10^9 are equal");
}

#[test]
fn acks_share_links_with_data() {
    // Goal: greedy flows in both directions over the same two links deliver, and each link carries the data of one and
    // the ACKs of the other.
    let mut spec = with_app("reno", App::Greedy { start: NOW });
    for link in &mut spec.network.links {
        link.buffer.packets = Some(40);
    }
    let mut against = flow("against", "reno", vec![1], vec![0]);
    against.app = App::Greedy { start: NOW };
    spec.flows.push(against);
    let record = record_of(&spec);
    for (link, own) in record.links_end.iter().zip(&record.flows_end) {
        let used = link.sent_bytes as f64 / link.offered_bytes as f64;
        assert!(used > 0.7, "{used} used");
        assert!(
            own.delivered_bytes as f64 * 1.04 < link.sent_bytes as f64,
            "some of it is ACKs"
        );
        assert!(link.sent_data_pkts < link.sent_pkts || link.sent_data_pkts == 0);
    }
}

#[test]
fn unlimited_writing_keeps_the_link_busy() {
    // Goal: a greedy flow on a link without losses has used all of it but its slow start: 5 rounds of 41 ms.
    let mut spec = with_app("reno", App::Greedy { start: NOW });
    spec.flows[0].transport.rwnd_pkts = 60;
    let record = record_of(&spec);
    let idle_ns = 60 * S - record.links_end[0].sent_pkts * DATA_NS;
    assert!(idle_ns < 5 * RTT_NS, "{idle_ns} ns idle");
}
