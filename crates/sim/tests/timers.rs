//! Timers of a stack whose clock ticks, by hand.

mod common;

use common::{ACK_NS, DATA_NS, DELAY_NS, DROP, MS, RTT_NS, kth, random_loss, record_of, wire};
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::{Recovery, Transport};

fn transfer(segments: u64, change: impl FnOnce(&mut Transport)) -> RunSpec {
    let mut spec = wire("reno", segments * 1000);
    change(&mut spec.flows[0].transport);
    spec
}

#[test]
fn timers_wait_for_their_slot_of_the_wheel() {
    // Goal: with ticks of 4 ms, by hand. SYNs that nobody answers wait for 750, 1500, 3000 and 6000 ticks, which lie in
    // slots of 64, 64, 64 and 512: the next ones leave at 12, 36, 83 times 256 ms and at 23 times 2048 ms.
    const TICK_NS: u64 = 4 * MS;
    let mut silent = transfer(7, |tcp| (tcp.handshake, tcp.timer_tick_ns) = (true, TICK_NS));
    silent.network.links[1].channel = Some(random_loss(0.0, 1.0));
    for (sent_pkts, due_ns) in [(1, 12 * 256), (2, 36 * 256), (3, 83 * 256), (4, 23 * 2048)].map(|(n, ms)| (n, ms * MS))
    {
        for (more_ns, more_pkts) in [(0, 0), (MS, 1)] {
            silent.duration_ns = due_ns + more_ns;
            assert_eq!(
                record_of(&silent).links_end[0].sent_pkts,
                sent_pkts + more_pkts,
                "{due_ns} {more_ns}"
            );
        }
    }

    // The last of three segments comes at 23.12 ms, in tick 5, and its ACK waits for ten ticks and one.
    let end_ns = |tick_ns| {
        let spec = transfer(3, |tcp| {
            (tcp.cwnd_pkts_initial, tcp.delayed_ack_ns, tcp.timer_tick_ns) = (3, Some(40 * MS), tick_ns);
        });
        record_of(&spec).completions[0].end_ns
    };
    let back_ns = ACK_NS + DELAY_NS;
    assert_eq!(end_ns(0), 3 * DATA_NS + DELAY_NS + 40 * MS + back_ns);
    assert_eq!(end_ns(TICK_NS), 16 * TICK_NS + back_ns);

    // The ninth of ten is missing when the tenth arrives: a quarter of the smallest round trip later, and 2 ms, it is
    // sent again (`tcp_rack_mark_lost` of `net/ipv4/tcp_recovery.c`), or with tick 37 and four more and one.
    let start_ns = 100 * MS;
    let end_ns = |tick_ns| {
        let mut spec = transfer(10, |tcp| {
            (tcp.cwnd_pkts_initial, tcp.recovery, tcp.timer_tick_ns) = (10, Recovery::Rack, tick_ns);
        });
        spec.flows[0].app = App::Transfer {
            start: Span::Fixed { ns: start_ns },
            bytes: 10_000,
        };
        spec.network.links[0].router = kth(9, 0, 1, DROP);
        record_of(&spec).completions[0].end_ns
    };
    let told_ns = start_ns + 9 * DATA_NS + DELAY_NS + back_ns;
    assert_eq!(end_ns(0), told_ns + RTT_NS / 4 + 2 * MS + RTT_NS);
    assert_eq!(end_ns(TICK_NS), 42 * TICK_NS + RTT_NS);
}
