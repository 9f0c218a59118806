//! A send buffer that is full ends what is sent behind a hole.

mod common;

use common::{DROP, kth, seen, wire};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Recovery;
use fadelab_sim::tap::Sighting;

/// The most segments that are outstanding at a time, of those that the sender's host saw.
fn most_outstanding(packets: &[Sighting]) -> u32 {
    let (mut highest, mut acknowledged, mut most) = (0, 0, 0);
    for packet in packets {
        if packet.is_data {
            highest = highest.max(packet.segment + 1);
        } else {
            acknowledged = acknowledged.max(packet.segment);
        }
        most = most.max(highest - acknowledged);
    }
    most
}

/// What a send buffer leaves of that, and what would be without it.
fn limited_and_free(mut spec: RunSpec) -> [u32; 2] {
    [true, false].map(|send_buffer| {
        spec.flows[0].transport.send_buffer = send_buffer;
        most_outstanding(&seen(&spec).1)
    })
}

#[test]
fn holes_that_are_repaired_one_a_round_trip_fill_it() {
    // Goal: without SACK forty holes in one window of 120 are repaired one a round trip. Meanwhile no more is
    // outstanding than a buffer made for a window of 120 takes: 552,960 B, of which a segment of 1000 B takes 2280.
    let mut spec = wire("reno", 4_000_000);
    let tcp = &mut spec.flows[0].transport;
    (tcp.recovery, tcp.rate_reduction) = (Recovery::NewReno, true);
    (tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial) = (120, 120);
    spec.network.links[0].router = kth(1, 3, 40, DROP);
    let [limited, free] = limited_and_free(spec);
    assert!((200..=243).contains(&limited), "{limited}");
    assert!(free > 400, "{free}");
}

#[test]
fn a_hole_whose_repetitions_are_lost_fills_it() {
    // Goal: a window of 150 goes on behind a hole whose repetition, each 150th packet, is lost again and again, until
    // the buffer is full: made for 150, it has 691,200 B, of which segments that are selectively acknowledged take 1000
    // each, which leaves room for 499 in all.
    let mut spec = wire("paced", 4_000_000);
    let flow = &mut spec.flows[0];
    flow.params = flow
        .sender
        .expect("a law")
        .params_from(&[("window_pkts", 150.0), ("rate_Bps", 1e8)])
        .expect("valid");
    (flow.transport.recovery, flow.transport.dupthresh) = (Recovery::Rack, 1);
    spec.network.links[0].router = kth(200, 150, 200 + 8 * 150, DROP);
    let [limited, free] = limited_and_free(spec);
    assert!((400..=500).contains(&limited), "{limited}");
    assert!(free > 1000, "{free}");
}

#[test]
fn a_timeout_leaves_it_as_large_as_the_window_was() {
    // Goal: of a window of 120 and two more all but the first are lost. Behind the timeout the window is one, and the
    // buffer, which has room for 242, takes the new data that tell whether it was right (RFC 5682); one that is made
    // for small windows has room for 114.
    let mut spec = wire("reno", 1_000_000);
    let tcp = &mut spec.flows[0].transport;
    (tcp.recovery, tcp.frto, tcp.send_buffer) = (Recovery::NewReno, true, true);
    (tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial) = (120, 200);
    spec.network.links[0].router = kth(2, 1, 122, DROP);
    let data: Vec<u32> = seen(&spec)
        .1
        .iter()
        .filter(|packet| packet.is_data)
        .map(|packet| packet.segment)
        .collect();
    assert_eq!(data[..122], (0..122).collect::<Vec<_>>());
    assert_eq!(data[122..125], [1, 122, 123]);
}
