//! What Linux's TCP does where there is no SACK.

mod common;

use common::{DROP, MS, RTT_NS, kth, record_of, seen, sent_per_ack, wire};
use fadelab_run::app::{App, Span};
use fadelab_run::transport::{Recovery, RtoVariance};

#[test]
fn a_receive_window_grows_in_order() {
    // Goal: a receiver without SACK takes 64 KiB at first, of these segments 65, and two more with each that comes in
    // order; behind a hole it takes no more, so that duplicates release nothing there. With SACK it is never in the
    // way.
    let sent = |recovery, lost| {
        let mut spec = wire("reno", 400_000);
        let tcp = &mut spec.flows[0].transport;
        (tcp.rwnd_grows, tcp.recovery, tcp.rate_reduction) = (true, recovery, true);
        (tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial) = (200, 200);
        if lost {
            spec.network.links[0].router = kth(1, 0, 1, DROP);
        }
        sent_per_ack(&seen(&spec).1)
    };
    assert_eq!(sent(Recovery::NewReno, false)[..4], [65, 3, 3, 3]);
    assert_eq!(sent(Recovery::Sack, false)[..4], [200, 1, 1, 1]);
    let behind_hole = sent(Recovery::NewReno, true);
    assert_eq!(behind_hole[..4], [65, 0, 0, 1], "the third duplicate brings the repair");
    assert!(
        behind_hole[4..65].iter().all(|&segments| segments == 0),
        "{behind_hole:?}"
    );
    assert_eq!(behind_hole[65], 67, "only the repair came in order");
}

#[test]
fn a_timeout_remembers_for_round_trips() {
    // Goal: a burst makes the fourth round trip half as long again. The variance of RFC 6298, of ten samples a round
    // trip, has come down to nothing by then, and there is a timeout; Linux's has not.
    let timeouts = |rto_variance| {
        let mut spec = wire("reno", 200_000);
        let tcp = &mut spec.flows[0].transport;
        (tcp.recovery, tcp.rto_variance, tcp.rto_min_over_srtt) = (Recovery::NewReno, rto_variance, true);
        (tcp.rto_ns_min, tcp.ts_tick_ns) = (1_000_000, 1000);
        (tcp.cwnd_pkts_initial, tcp.rwnd_pkts) = (10, 10);
        let mut burst = spec.flows[0].clone();
        burst.name = "burst".into();
        (burst.transport.cwnd_pkts_initial, burst.transport.rwnd_pkts) = (20, 20);
        burst.app = App::Transfer {
            start: Span::Fixed { ns: 3 * RTT_NS - MS },
            bytes: 20_000,
        };
        spec.flows.push(burst);
        record_of(&spec).flows_end[0].timeouts
    };
    assert_eq!(timeouts(RtoVariance::RoundTrip), 0);
    assert_eq!(timeouts(RtoVariance::Sample), 1);
}
