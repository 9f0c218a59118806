//! What of a connection waits in its host's own queue.

mod common;

use common::{DATA_NS, DROP, S, kth, link, plain_router, record_of, seen, wire};
use fadelab_path::spec::{CapacitySpec, RouterSpec};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Recovery;

/// When the data of a window of 10 leave their sender, whose first link takes [`DATA_NS`] for each.
fn departures_ns(change: impl FnOnce(&mut RunSpec)) -> Vec<u64> {
    let mut spec = wire("reno", 10_000);
    (
        spec.flows[0].transport.small_queue,
        spec.flows[0].transport.cwnd_pkts_initial,
    ) = (true, 10);
    change(&mut spec);
    let (record, packets) = seen(&spec);
    // A log changes nothing.
    assert_eq!(record.flows_end, record_of(&spec).flows_end);
    packets
        .iter()
        .filter(|packet| packet.is_data)
        .map(|packet| packet.time_ns)
        .collect()
}

#[test]
fn two_packets_wait_and_the_rest_when_one_has_left() {
    // Goal: two packets of a window leave at once, each further one when one before has gone out of the host; without
    // small queues all do at once. So it is at a wire, behind a law, and at a link that others share.
    let waits: Vec<u64> = (0..10).map(|n: u64| n.saturating_sub(1) * DATA_NS).collect();
    assert_eq!(departures_ns(|_| {}), waits);
    assert_eq!(
        departures_ns(|spec| spec.network.links[0].router = plain_router("cw")),
        waits
    );
    assert_eq!(
        departures_ns(|spec| spec.flows[0].transport.small_queue = false),
        [0; 10]
    );
    let shared = departures_ns(|spec| spec.flows.push(spec.flows[0].clone()));
    let waits: Vec<u64> = (0..10).map(|n: u64| n.saturating_sub(1) * 2 * DATA_NS).collect();
    // Both have two packets there from the beginning, and the other one's are between.
    assert_eq!(shared[..2], [0, 0]);
    assert!(
        shared
            .iter()
            .zip(&waits)
            .skip(2)
            .all(|(at, wait)| at.abs_diff(*wait) <= 2 * DATA_NS),
        "{shared:?}"
    );
}

/// A second link behind the first one, which is told to drop: a law that drops at departure does not tell when.
fn lossy(spec: &mut RunSpec, router: RouterSpec) {
    spec.network.join(0, 0, link("second", 80_000_000, 0, 1 << 20));
    spec.flows[0].route = vec![0, 2];
    spec.network.links[2].router = router;
}

#[test]
fn a_fast_connection_may_have_a_millisecond_there() {
    // Goal: at 1 Gbit/s, over a round trip of 21 us, a window of 100 packets is paced at 200 in 21 us, of which a
    // millisecond has room for all: they leave at once. Over 100 ms it has room for none but two.
    let at_once = |delay_ns| {
        let mut spec = wire("reno", 100_000);
        for link in &mut spec.network.links {
            (link.capacity, link.delay_ns) = (
                CapacitySpec::Constant {
                    rate_bps: 1_000_000_000,
                },
                delay_ns,
            );
        }
        let tcp = &mut spec.flows[0].transport;
        (tcp.small_queue, tcp.cwnd_pkts_initial, tcp.handshake) = (true, 100, true);
        tcp.ts_tick_ns = 1_000;
        let (_, packets) = seen(&spec);
        let mut data = packets
            .iter()
            .filter(|packet| packet.is_data && packet.greeting.is_none());
        let first_ns = data.next().expect("it sends").time_ns;
        1 + data.take_while(|packet| packet.time_ns == first_ns).count()
    };
    assert_eq!((at_once(10_000), at_once(50_000_000)), (100, 2));
}

#[test]
fn four_repetitions_wait() {
    // Goal: of a window of which nearly all were lost, four repetitions leave at once where two new packets would.
    let mut spec = wire("reno", 40_000);
    let tcp = &mut spec.flows[0].transport;
    (tcp.small_queue, tcp.cwnd_pkts_initial, tcp.recovery) = (true, 40, Recovery::Sack);
    lossy(&mut spec, kth(2, 1, 30, DROP));
    let (_, packets) = seen(&spec);
    let data: Vec<(u32, u64)> = packets
        .iter()
        .filter(|packet| packet.is_data)
        .map(|p| (p.segment, p.time_ns))
        .collect();
    let again: Vec<u64> = data[40..].iter().map(|&(_, at_ns)| at_ns).collect();
    let at_once = again.iter().filter(|&&at_ns| at_ns == again[0]).count();
    assert_eq!(at_once, 4, "{again:?}");
}

#[test]
fn nothing_stalls() {
    // Goal: whatever window, loss and first link, all is delivered, as without small queues.
    for law in ["reno", "cubic", "vcp"] {
        for (rate_bps, lost) in [(80_000, 150), (8_000_000, 7), (800_000_000, 3)] {
            let mut spec = wire(law, 200_000);
            spec.network.links[0].capacity = CapacitySpec::Constant { rate_bps };
            lossy(&mut spec, kth(lost, lost, 150, DROP));
            spec.flows[0].transport.small_queue = true;
            spec.duration_ns = 600 * S;
            let flow = record_of(&spec).flows_end[0];
            assert_eq!(flow.delivered_bytes, 200_000, "{law} {rate_bps}: {flow:?}");
        }
    }
}
