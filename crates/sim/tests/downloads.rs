//! Downloads (`app = "http"`): the receiving end asks for a connection and then for the bytes.

mod common;

use common::{ACK_NS, DATA_NS, DELAY_NS, DROP, MS, S, flow, kth, random_loss, record_of, wire};
use fadelab_path::layer::Reorder;
use fadelab_run::app::{App, REQUEST_BYTES, RESPONSE_HEADER_BYTES, Span};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Recovery;

/// Of a SYN and its answer; a byte takes a microsecond.
const SYN_NS: u64 = 60_000;
/// From the beginning until the server has the request: SYN and answer, then an ACK of 40 bytes before the request.
const ASKED_NS: u64 = 2 * SYN_NS + 40_000 + (40 + REQUEST_BYTES as u64) * 1000 + 3 * DELAY_NS;

fn downloads(bytes: u64, off: Option<Span>) -> RunSpec {
    let mut spec = wire("reno", 1);
    let start = Span::Fixed { ns: 0 };
    spec.flows[0].app = App::Http { start, bytes, off };
    spec
}

/// When the downloads began, and how long they took.
fn took(record: &RunRecord) -> Vec<(u64, u64)> {
    let ended = record.completions.iter();
    ended.map(|done| (done.start_ns, done.end_ns - done.start_ns)).collect()
}

#[test]
fn a_download_takes_the_handshake_the_request_and_its_bytes() {
    // Goal: a download of one packet ends at the client, with that packet's last bit: SYN, answer, ACK and request, and
    // the answer's header before its one byte; it counts as that byte, and what was delivered has the header, too.
    let record = record_of(&downloads(1, None));
    let data_ns = (40 + RESPONSE_HEADER_BYTES + 1) * 1000 + DELAY_NS;
    assert_eq!(took(&record), [(0, ASKED_NS + data_ns)]);
    assert_eq!(record.completions[0].bytes, 1);
    assert_eq!(record.flows_end[0].delivered_bytes, 1 + RESPONSE_HEADER_BYTES);
    assert_eq!(record.flows_end[0].sent_pkts, 1);
    // There SYN's answer and the data, back SYN, ACK, request and the ACK of the data.
    let crossed = record.links_end.iter().map(|link| link.sent_pkts);
    assert_eq!(crossed.collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn who_has_it_all_says_so_at_once() {
    // Goal: where ACKs wait 40 ms for a second segment, that of a download's only one does not: a millisecond behind
    // the end it has left, behind SYN, ACK and request.
    let mut spec = downloads(1, None);
    spec.flows[0].transport.delayed_ack_ns = Some(40 * MS);
    let (start_ns, took_ns) = took(&record_of(&spec))[0];
    spec.duration_ns = start_ns + took_ns + MS;
    assert_eq!(record_of(&spec).links_end[1].arrived_pkts, 4);
}

#[test]
fn a_handshake_gives_the_server_its_first_round_trip() {
    // Goal: with the initial timeout of 50 ms, which the first segment would not survive, nothing is sent twice where
    // the handshake takes 41 ms: the server's timer knows the round trip before any data.
    let mut spec = downloads(20_000, None);
    spec.flows[0].transport.rto_ns_initial = 50 * MS;
    spec.flows[0].transport.rto_ns_min = MS;
    let record = record_of(&spec);
    assert_eq!(record.flows_end[0].retransmitted_pkts, 0);
    assert_eq!(record.completions.len(), 1);
    assert!(record.flows_end[0].srtt_us as u64 >= 2 * DELAY_NS / 1000);
}

#[test]
fn downloads_follow_each_other_on_connections_of_their_own() {
    // Goal: with a pause of 1 s each download begins that long after the end of the one before and takes as long as the
    // first, for each slow-starts anew; what was delivered is all of them with their headers.
    let mut spec = downloads(30_000, Some(Span::Fixed { ns: S }));
    spec.duration_ns = 30 * S;
    let record = record_of(&spec);
    let all = took(&record);
    assert!(all.len() > 20, "{all:?}");
    for (this, next) in all.iter().zip(&all[1..]) {
        assert_eq!((next.0, next.1), (this.0 + this.1 + S, this.1));
    }
    // In the pause behind one of them.
    spec.duration_ns = all[19].0 + all[19].1 + S / 2;
    let whole = 20 * (30_000 + RESPONSE_HEADER_BYTES);
    assert_eq!(record_of(&spec).flows_end[0].delivered_bytes, whole);
}

#[test]
fn downloads_without_a_pause_leave_nothing_behind() {
    // Goal: where the next download begins at the instant at which the last byte is there, before the server has heard
    // of it, they do not meet: each takes as long as the first, also with ACKs that wait for a second segment.
    for delayed_ack_ns in [None, Some(40 * MS)] {
        let mut spec = downloads(5_000, Some(Span::Fixed { ns: 0 }));
        spec.flows[0].transport.delayed_ack_ns = delayed_ack_ns;
        let all = took(&record_of(&spec));
        assert!(all.len() > 100);
        // The last ACK of the one before is in the way of a SYN for 40 us at most.
        let later = &all[1..];
        assert!(
            later.iter().all(|(_, took_ns)| took_ns.abs_diff(later[0].1) == 0),
            "{all:?}"
        );
        assert!(later[0].1 - all[0].1 <= 40_000, "{all:?}");
    }
}

#[test]
fn a_lost_answer_is_repeated_by_whoever_misses_it_first() {
    // Goal: with the answer to the SYN lost, client and server repeat theirs after the initial timeout of 3 s, and
    // the download is as late as that; with the first data lost, it is as late as the server's timeout.
    let whole_ns = took(&record_of(&downloads(1, None)))[0].1;
    let late_ns = |lost: u32| {
        let mut spec = downloads(1, None);
        spec.network.links[0].router = kth(lost, 0, 1, DROP);
        took(&record_of(&spec))[0].1 - whole_ns
    };
    // The server's timer fires when the client's next SYN comes.
    assert_eq!(late_ns(1), 3 * S);
    let rto_ns = late_ns(2);
    assert!((200 * MS..400 * MS).contains(&rto_ns), "{rto_ns}");
}

#[test]
fn who_hears_nothing_asks_again() {
    // Goal: SYNs leave at 0, 3, 9, 21 and 45 s where none arrives, and nothing else does; with the answers lost, the
    // server's leave as often, and for each SYN that comes.
    let mut spec = downloads(1, None);
    spec.network.links[1].channel = Some(random_loss(0.0, 1.0));
    let record = record_of(&spec);
    assert_eq!(
        (record.links_end[1].sent_pkts, record.links_end[0].arrived_pkts),
        (5, 0)
    );
    assert!(record.completions.is_empty());
    let mut spec = downloads(1, None);
    spec.network.links[0].router = kth(1, 1, 1_000_000, DROP);
    let record = record_of(&spec);
    assert_eq!(record.links_end[1].sent_pkts, 5);
    assert!((5..=10).contains(&record.links_end[0].arrived_pkts));
}

#[test]
fn all_downloads_end_over_a_link_that_loses_anything() {
    // Goal: with a quarter of all packets lost each way, SYNs, answers, requests, data and ACKs among them, downloads
    // go on, each has its bytes and takes at least what it takes without losses, and those that meet none take just
    // that; with each way to find losses.
    for (recovery, handshake) in [
        (Recovery::NewReno, false),
        (Recovery::Sack, true),
        (Recovery::Rack, false),
    ] {
        let mut spec = downloads(3_000, Some(Span::Exponential { mean_ns: 100 * MS }));
        (spec.duration_ns, spec.flows[0].transport.rto_ns_initial) = (600 * S, S);
        (spec.flows[0].transport.recovery, spec.flows[0].transport.handshake) = (recovery, handshake);
        let whole_ns = took(&record_of(&spec))[0].1;
        for link in &mut spec.network.links {
            link.channel = Some(random_loss(0.25, 0.25));
        }
        let record = record_of(&spec);
        let all = took(&record);
        assert!(all.len() > 100, "{recovery:?}: {}", all.len());
        assert!(record.completions.iter().all(|done| done.bytes == 3_000));
        // A SYN may wait for an ACK that is before it.
        let least_ns = all.iter().map(|&(_, took_ns)| took_ns).min();
        assert!(least_ns.is_some_and(|least_ns| (whole_ns..whole_ns + 40_000).contains(&least_ns)));
        assert!(
            all.iter().any(|&(_, took_ns)| took_ns > whole_ns + S),
            "some SYN or request was lost"
        );
        let whole = all.len() as u64 * (3_000 + RESPONSE_HEADER_BYTES);
        let delivered = record.flows_end[0].delivered_bytes;
        assert!((whole..whole + 3_000 + RESPONSE_HEADER_BYTES).contains(&delivered));
    }
}

#[test]
fn packets_of_another_download_are_not_taken_for_those_of_this() {
    // Goal: where a third of the packets are held back for 150 ms each way, so that both ends ask and answer more than
    // once, requests come when their download has begun or is over, SYNs when their connection is over, and answers in
    // the middle of the next handshake: downloads go on, each has its bytes, and the server sends them once but for
    // what it takes for lost.
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut spec = downloads(3_000, Some(Span::Fixed { ns: 0 }));
        spec.duration_ns = 600 * S;
        let transport = &mut spec.flows[0].transport;
        (transport.recovery, transport.rto_ns_min, transport.rto_ns_initial) = (recovery, MS, 60 * MS);
        for link in &mut spec.network.links {
            link.layer.reorder = Some(Reorder {
                probability: 0.3,
                delay_ns: 150 * MS,
                gap_pkts: None,
            });
        }
        let record = record_of(&spec);
        let all = took(&record);
        assert!(all.len() > 1000, "{recovery:?}: {}", all.len());
        let slowest_ns = all.iter().map(|&(_, took_ns)| took_ns).max();
        assert!(slowest_ns < Some(5 * S), "{recovery:?}: {slowest_ns:?}");
        let one_bytes = 3_000 + RESPONSE_HEADER_BYTES;
        let whole = all.len() as u64 * one_bytes;
        let end = &record.flows_end[0];
        assert!((whole..whole + one_bytes).contains(&end.delivered_bytes));
        let first_pkts = end.sent_pkts - end.retransmitted_pkts;
        let one_pkts = one_bytes.div_ceil(1000);
        let needed_pkts = all.len() as u64 * one_pkts;
        assert!(
            (needed_pkts..=needed_pkts + one_pkts).contains(&first_pkts),
            "{first_pkts} {needed_pkts}"
        );
    }
}

#[test]
fn a_lost_request_is_probed_for_where_ends_of_flights_are() {
    // Goal: with the probe of RFC 8985 a client asks again two round trips and the smallest timeout after its request,
    // without it after its timeout of three round trips: of many downloads with lost requests the first have it there.
    let late_ns = |recovery: Recovery| {
        let mut spec = downloads(1, Some(Span::Fixed { ns: S }));
        (spec.duration_ns, spec.flows[0].transport.recovery) = (2000 * S, recovery);
        (
            spec.flows[0].transport.rto_ns_min,
            spec.flows[0].transport.rto_ns_initial,
        ) = (MS, 50 * S);
        let whole_ns = took(&record_of(&spec))[0].1;
        spec.network.links[1].channel = Some(random_loss(0.0, 0.2));
        let all = took(&record_of(&spec));
        let late = all
            .iter()
            .map(|&(_, took_ns)| took_ns - whole_ns)
            .filter(|&late_ns| late_ns > 0);
        late.min().expect("some request was lost")
    };
    let handshake_ns = 2 * SYN_NS + 2 * DELAY_NS;
    // The first request leaves behind an ACK. In ticks of 10 ms the round trip is 4 and the timeout 12.
    assert_eq!(late_ns(Recovery::Sack), 120 * MS - ACK_NS);
    assert_eq!(late_ns(Recovery::Rack), 2 * handshake_ns + MS - ACK_NS);
}

#[test]
fn two_downloads_share_a_link_with_a_flow_that_has_always_data() {
    // Goal: beside a greedy flow, over the same links, downloads of a window's size go on and end; all that is on the
    // way is accounted for (the engine's own checks).
    let mut spec = downloads(20_000, Some(Span::Exponential { mean_ns: S }));
    let mut other = spec.flows[0].clone();
    other.name = "other".into();
    spec.flows.push(other);
    spec.flows.push(flow("greedy", "reno", vec![0], vec![1]));
    spec.network.links[0].buffer.packets = Some(40);
    let record = record_of(&spec);
    for number in 0..2 {
        let mine = record.completions.iter().filter(|done| done.flow == number);
        assert!(mine.clone().count() > 10);
        assert!(
            mine.clone()
                .all(|done| done.end_ns - done.start_ns > ASKED_NS + DELAY_NS + 20 * DATA_NS)
        );
    }
    assert!(record.links_end[0].sent_pkts * DATA_NS > 50 * S, "the link is busy");
}
