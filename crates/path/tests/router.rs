//! What a link tells the law at its queue.

use fadelab_laws::{abi, capacity, router};
use fadelab_path::layer::Arq;
use fadelab_path::node::{Arrival, Departure, Node};
use fadelab_path::packet::{FeedbackBytes, Header, PacketId, Parcel, Store};
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, RouterSpec};
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model, PacketKind};

const MS: u64 = 1_000_000;

/// VCP's interval between two codes.
const INTERVAL_NS: u64 = 200 * MS;

/// Packets by number.
#[derive(Default)]
struct Packets(Vec<Header>, FeedbackBytes);

impl Store for Packets {
    fn header(&mut self, id: PacketId) -> &mut Header {
        &mut self.0[id as usize]
    }

    fn flow(&self, _: PacketId) -> u32 {
        0
    }

    fn header_and_feedback(&mut self, id: PacketId) -> (&mut Header, Option<&mut FeedbackBytes>) {
        let header = &mut self.0[id as usize];
        let feedback = (header.feedback_len > 0).then_some(&mut self.1);
        (header, feedback)
    }
}

/// VCP's router behind 8 Mbit/s, a packet of 1000 bytes per millisecond, which it measures by itself.
fn link() -> LinkSpec {
    let (law, part) = (router("vcp").expect("a law"), capacity("measured").expect("a part"));
    LinkSpec::new(
        "link",
        true,
        LinkKind::new(
            CapacitySpec::Constant { rate_bps: 8_000_000 },
            MS,
            Buffer {
                packets: Some(10_000),
                bytes: None,
            },
            RouterSpec {
                law,
                params: law.default_params(),
                capacity: part,
                capacity_params: part.default_params(),
            },
        ),
    )
}

/// Sends a packet of VCP and of 1000 bytes at each of the times. Returns delivery and code of those that came through
/// by the last.
fn codes(spec: &LinkSpec, times_ns: impl Iterator<Item = u64>) -> Vec<(u64, u32)> {
    codes_of(spec, times_ns, &[abi::WIRE_VCP])
}

/// The same with packets of these formats by turns.
fn codes_of(spec: &LinkSpec, times_ns: impl Iterator<Item = u64>, wires: &[u32]) -> Vec<(u64, u32)> {
    let (mut link, mut packets, mut codes) = (Node::new(spec, 1, 1000), Packets::default(), Vec::new());
    let (mut under_way, mut end_ns) = (Vec::new(), 0);
    for now_ns in times_ns {
        while link.next_due() <= now_ns {
            let due_ns = link.next_due();
            match link.service(due_ns, &mut packets).expect("sound") {
                Departure::None => {}
                Departure::Delivered(parcel) => codes.push((due_ns, u32::from(packets.0[parcel.id() as usize].ecn))),
                Departure::Lost(parcel) | Departure::Dropped(parcel) => panic!("{parcel:?} is lost"),
            }
        }
        packets.0.push(Header {
            ip_bytes: 1000,
            flags: abi::PACKET_DATA,
            ecn: abi::ECN_ECT1 as u8,
            outer_ecn: abi::ECN_ECT1 as u8,
            wire: wires[packets.0.len() % wires.len()] as u8,
            ..Header::default()
        });
        let id = (packets.0.len() - 1) as PacketId;
        let parcel = Parcel::new(id, 0, 1000);
        let arrival = link.arrive(now_ns, parcel, PacketKind::Data, &mut packets);
        if let Arrival::Leaves { due_ns } = arrival.expect("sound") {
            under_way.push((due_ns, id));
        }
        end_ns = now_ns;
    }
    for (due_ns, id) in under_way.into_iter().filter(|&(due_ns, _)| due_ns <= end_ns) {
        link.settle(end_ns, &mut packets).expect("sound");
        codes.push((due_ns, u32::from(packets.0[id as usize].ecn)));
    }
    codes
}

#[test]
fn intervals_are_told_apart() {
    // Goal: a capacity part and a law are told what came in an interval and what could have been sent in it, however
    // long the link has been at work: at loads of 0.5, 0.9 and 1.25 the code is low, high and overload and stays so.
    for (gap_ns, code) in [(2_000_000, 1), (1_111_111, 2), (800_000, 3)] {
        // The first code is that of the first interval; what waits when it is written still goes out.
        let settled: Vec<_> = codes(&link(), (0..2_000 * MS).step_by(gap_ns))
            .into_iter()
            .filter(|&(at_ns, _)| at_ns > INTERVAL_NS + 2 * MS)
            .collect();
        assert!(settled.len() > 800, "{}", settled.len());
        for (at_ns, found) in settled {
            assert_eq!(found, code, "at {at_ns} ns, a packet every {gap_ns} ns");
        }
    }
}

#[test]
fn what_the_law_is_not_shown_counts_as_load() {
    // Goal: packets of another format, half of a load of 1.25, leave as they came and make the others' code overload.
    let found = codes_of(
        &link(),
        (0..2_000 * MS).step_by(800_000),
        &[abi::WIRE_VCP, abi::WIRE_NONE],
    );
    let settled: Vec<u32> = found[1000..].iter().map(|&(_, code)| code).collect();
    assert!(settled.len() > 500, "{}", settled.len());
    let by_turns = settled
        .chunks_exact(2)
        .all(|pair| pair[0].min(pair[1]) == 1 && pair[0].max(pair[1]) == 3);
    assert!(by_turns, "{settled:?}");
}

#[test]
fn timers_have_times_of_their_own() {
    // Goal: a law's second timer is run when it is due and not when the first one is, twenty times as often: a link
    // that is full for 100 ms and idle for 100 ms has a load of one half in each interval of 200 ms, which is low.
    let full = |&at_ns: &u64| at_ns % INTERVAL_NS < INTERVAL_NS / 2;
    let found = codes(&link(), (0..2_000 * MS).step_by(1_000_000).filter(full));
    assert!(found.len() > 900, "{}", found.len());
    assert!(found.iter().all(|&(_, code)| code == 1), "{found:?}");
}

#[test]
fn repetitions_are_no_capacity_for_new_packets() {
    // Goal: at a loss of one half each packet takes two tries, so that a load of 0.45 leaves 0.55 of the link for new
    // packets, of which it is 0.83: a part that measures is told so, and the code is high on average, not low.
    let mut spec = link();
    spec.channel = Some(ChannelSpec {
        model: Model::Random { data: 0.5, ack: 0.5 },
        code: CodeSpec::NONE,
    });
    spec.layer.arq = Some(Arq {
        tries_max: None,
        retry_ns: 0,
        in_order: true,
    });
    let found = codes(&spec, (0..20_000 * MS).step_by(2_200_000));
    let settled: Vec<u32> = found
        .iter()
        .filter(|(at_ns, _)| *at_ns > INTERVAL_NS)
        .map(|(_, code)| *code)
        .collect();
    let mean = settled.iter().sum::<u32>() as f64 / settled.len() as f64;
    assert!((1.6..2.7).contains(&mean), "{mean}");
}
