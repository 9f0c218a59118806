//! Whatever the path does, a transfer arrives whole.

mod common;

use common::{MARK, MS, S, kth, link, random_loss, record_of, wire};
use fadelab_path::spec::Buffer;
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Recovery;
use proptest::prelude::*;

/// A path with losses both ways and marks, and a transport of any kind; a second flow of the same kind shares it.
fn any_path() -> impl Strategy<Value = RunSpec> {
    let path = (
        0.0..0.35f64,
        0.0..0.35f64,
        0..80u64,
        1..40u32,
        any::<bool>(),
        200_000..40_000_000u64,
        prop_oneof![Just(0u32), 1..60u32],
    );
    let transport = (
        (any::<[bool; 7]>(), 0..3usize),
        1..60u32,
        1..5u32,
        1..12u32,
        1..1_000_000u64,
    );
    (path, transport, any::<u64>()).prop_map(|(path, transport, seed)| {
        let (loss, loss_back, delay_ms, buffer_pkts, in_bytes, rate_bps, mark_every) = path;
        let (
            ([delayed, limited, on_wire, over_srtt, prr, greets, quick], recovery),
            rwnd_pkts,
            dupthresh,
            initial,
            bytes,
        ) = transport;
        let mut spec = wire("reno", bytes);
        spec.seed = seed;
        // Where ACKs are lost, a repetition's ACK echoes what arrived before, and timeouts become minutes (RFC 7323): a
        // thousand segments may each need some of 60 s.
        spec.duration_ns = 1_000_000 * S;
        for (index, loss) in [loss, loss_back].into_iter().enumerate() {
            let mut lossy = link(["there", "back"][index], rate_bps, delay_ms * MS, buffer_pkts);
            if in_bytes {
                lossy.buffer = Buffer {
                    packets: None,
                    bytes: Some(u64::from(buffer_pkts) * 1040),
                };
            }
            lossy.channel = Some(random_loss(loss, loss));
            spec.network.links[index].link = lossy;
        }
        if mark_every > 0 {
            spec.network.links[0].router = kth(mark_every, mark_every, 1_000_000_000, MARK);
        }
        let tcp = &mut spec.flows[0].transport;
        tcp.ecn = mark_every > 0;
        tcp.recovery = [Recovery::Sack, Recovery::Rack, Recovery::NewReno][recovery];
        tcp.delayed_ack_ns = delayed.then_some(100 * MS);
        (tcp.limited_transmit, tcp.sack_on_wire, tcp.rto_min_over_srtt) = (limited, on_wire, over_srtt);
        (tcp.rate_reduction, tcp.handshake, tcp.quick_acks_pkts) = (prr, greets, u16::from(quick) * 16);
        // A window that grows begins with 65 packets.
        tcp.rwnd_grows = greets;
        let rwnd_pkts = rwnd_pkts * if greets { 4 } else { 1 };
        (tcp.rwnd_pkts, tcp.dupthresh, tcp.cwnd_pkts_initial) = (rwnd_pkts, dupthresh, initial);
        let mut other = spec.flows[0].clone();
        other.name = "other".into();
        other.app = App::Transfer {
            start: Span::Uniform { min_ns: 0, max_ns: S },
            bytes: bytes / 2 + 1,
        };
        spec.flows.push(other);
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transfers_arrive_whole(spec in any_path()) {
        // Goal: over random losses of data and ACKs, delays, rates, buffers, windows, thresholds and both recoveries,
        // two transfers deliver all their bytes and complete once each, and no invariant breaks.
        let record = record_of(&spec);
        prop_assert_eq!(record.completions.len(), 2);
        for (id, (flow, end)) in spec.flows.iter().zip(&record.flows_end).enumerate() {
            let App::Transfer { bytes, .. } = flow.app else { unreachable!("both are transfers") };
            prop_assert_eq!(end.delivered_bytes, bytes);
            let done = record.completions.iter().find(|done| done.flow as usize == id).expect("completed");
            prop_assert_eq!(done.bytes, bytes);
            prop_assert_eq!(end.sent_pkts, bytes.div_ceil(1000) + end.retransmitted_pkts);
            prop_assert_eq!(end.in_flight_pkts, 0);
        }
        let link = record.links_end[0];
        let lost = link.dropped_full_pkts + link.lost_air_pkts;
        let greetings = if spec.flows[0].transport.handshake { 2 } else { 0 };
        let segments: u64 = record.flows_end.iter().map(|flow| flow.delivered_bytes.div_ceil(1000)).sum();
        prop_assert!(link.arrived_pkts >= segments + greetings + lost, "each loss is repaired at least once");
    }
}
