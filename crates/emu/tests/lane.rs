//! Lanes, which have no clock: what comes out follows from what came in.

mod common;

use common::{MS, PACKET_BYTES, arrivals, fading, fair, jittering, link, out};
use fadelab_emu::Fate;
use fadelab_emu::record::Departed;

#[test]
fn whoever_drives_a_lane_gets_the_same_from_it() {
    // Goal: a lane that is looked at all the time, one that is looked at when packets come, and one that is left alone
    // in between deliver, lose, drop and mark the same packets at the same instants, under every law with a wire and
    // others, with and without fading and jitter, and where flows take turns.
    for law in ["droptail", "red", "vcp", "xcp", "codel"] {
        // Flows have queues of their own under the one that needs no more.
        let last = if law == "codel" { fair(law) } else { jittering(law) };
        for spec in [link(law), fading(law), last] {
            let arrivals = arrivals(law, 4000);
            let mut last_ns = 0;
            let often = |now_ns: u64| {
                let looks = (last_ns..now_ns).step_by(100_000).collect();
                last_ns = now_ns;
                looks
            };
            let mut lanes = [(); 2].map(|()| common::lane(&spec, 5, PACKET_BYTES));
            let driven = out(&mut lanes[0], &arrivals, often);
            let left_alone = out(&mut lanes[1], &arrivals, |_| Vec::new());
            assert_eq!(driven, left_alone, "{law}");
            assert_eq!(driven.len(), arrivals.len(), "{law}: each packet has a fate");
            assert!(lanes.iter().all(|lane| lane.held_pkts() == 0));
            let n = |fate| driven.iter().filter(|left| left.fate == fate).count();
            // Also those of CoDel, which drops what leaves the queue.
            let dropped_min = if law == "codel" { 0 } else { 50 };
            assert!(n(Fate::Delivered) > 1000 && n(Fate::Dropped) > dropped_min, "{law}");
            assert_eq!(n(Fate::Lost) > 0, spec.channel.is_some(), "{law}");
        }
    }
}

#[test]
fn a_packet_takes_its_time_on_the_air_and_the_delay() {
    // Goal: on an idle link of 10 Mbit/s and 20 ms a packet of 1250 bytes is there after 21 ms, the next one, which
    // comes with it, a millisecond later.
    let mut lane = common::lane(&link("droptail"), 1, PACKET_BYTES);
    let packet = common::datagram(1250 - 28);
    let left = out(&mut lane, &[(5 * MS, packet.clone()), (5 * MS, packet)], |_| Vec::new());
    let due: Vec<u64> = left.iter().map(|Departed { due_ns, .. }| *due_ns).collect();
    assert_eq!(due, [26 * MS, 27 * MS]);
}
