//! Links, packets and what comes out of lanes.
#![allow(dead_code, reason = "each test file uses its part")]

use etherparse::{PacketBuilder, TcpOptionElement};
use fadelab_emu::record::Departed;
use fadelab_emu::{Lane, LaneSpec, Left};
use fadelab_laws::{Codec, capacity, router};
use fadelab_path::layer::{DelayLaw, Jitter};
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, Queues, RouterSpec};
use fadelab_phy::channel::{Antennas, ChannelSpec, CodeMode, CodeSpec, Model, Modulation};
use fadelab_phy::random::Stream;

pub const MS: u64 = 1_000_000;

/// Of full packets.
pub const PACKET_BYTES: u16 = 1500;

/// A link of 10 Mbit/s and 20 ms with a queue of 30 packets under a router's law.
pub fn link(law: &str) -> LinkSpec {
    let (law, part) = (
        router(law).expect("registered"),
        capacity("configured").expect("registered"),
    );
    let router = RouterSpec {
        law,
        params: law.default_params(),
        capacity: part,
        capacity_params: part.default_params(),
    };
    let buffer = Buffer {
        packets: Some(30),
        bytes: None,
    };
    let rate = CapacitySpec::Constant { rate_bps: 10_000_000 };
    LinkSpec::new("link", true, LinkKind::new(rate, 20 * MS, buffer, router))
}

/// The same where packets fade.
pub fn fading(law: &str) -> LinkSpec {
    let mut spec = link(law);
    spec.channel = Some(ChannelSpec {
        model: Model::GilbertElliott {
            modulation: Modulation::Bpsk,
            antennas: Antennas::TwoByOne,
            snr_good_db: 10.0,
            snr_bad_db: 0.0,
            burst_good_bits: 800.0,
            burst_bad_bits: 8.0,
        },
        code: CodeSpec {
            data_rate: 0.9,
            ack_rate: 0.5,
            mode: CodeMode::Ideal,
        },
    });
    spec
}

/// The same where packets overtake each other, which goes step by step.
pub fn jittering(law: &str) -> LinkSpec {
    let mut spec = fading(law);
    spec.layer.jitter = Some(Jitter {
        delay: DelayLaw::Uniform {
            min_ns: 0,
            max_ns: 5 * MS,
        },
        in_order: false,
    });
    spec
}

/// The same where flows take turns (FQ-CoDel with the law `codel`).
pub fn fair(law: &str) -> LinkSpec {
    let mut spec = fading(law);
    spec.queues = Queues::Fair {
        hashed: Some(64),
        quantum_bytes: 1514,
    };
    spec
}

/// A segment of TCP over IPv4 with so much payload, an ECN field and an option of a law at the end of its header.
pub fn segment(payload_bytes: usize, ecn: u8, option: &[u8]) -> Vec<u8> {
    let options = [option, &[1, 1, 0, 0][..(4 - option.len() % 4) % 4]].concat();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(4000, 80, 1, 1000)
        .ack(7)
        .options_raw(&options)
        .expect("options fit");
    let mut packet = Vec::new();
    builder.write(&mut packet, &vec![7; payload_bytes]).expect("memory");
    packet[1] = packet[1] & 0xfc | ecn;
    sum_again(&mut packet);
    packet
}

/// The same without an option of a law, but one that others have.
pub fn stranger(payload_bytes: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 0, 0, 3], [10, 0, 0, 2], 64)
        .tcp(4001, 80, 1, 1000)
        .ack(7)
        .options(&[TcpOptionElement::Timestamp(7, 8)])
        .expect("options fit");
    let mut packet = Vec::new();
    builder.write(&mut packet, &vec![7; payload_bytes]).expect("memory");
    packet
}

/// A datagram of UDP.
pub fn datagram(payload_bytes: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 0, 0, 4], [10, 0, 0, 2], 64).udp(53, 53);
    let mut packet = Vec::new();
    builder.write(&mut packet, &vec![7; payload_bytes]).expect("memory");
    packet
}

/// Makes the checksum of an IPv4 header.
pub fn sum_again(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum: u32 = packet[..20]
        .chunks(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// The option of a law's wire with nothing in it.
pub fn option(law: &str) -> Vec<u8> {
    Codec::on_wire(router(law).expect("registered").wire()).option()
}

/// Packets of several kinds and sizes at instants of chance: 120 % of the link.
pub fn arrivals(law: &str, packets_n: usize) -> Vec<(u64, Vec<u8>)> {
    let mut random = Stream::new(3, "arrivals");
    let own = option(law);
    let mut now_ns = 0;
    let mut one = |_| {
        now_ns += random.below(600_000);
        let bytes = random.below(1300) as usize;
        let packet = match random.below(4) {
            0 => stranger(bytes),
            1 => datagram(bytes),
            2 => segment(0, 0, &own),
            _ => segment(bytes, 2, &own),
        };
        (now_ns, packet)
    };
    (0..packets_n).map(&mut one).collect()
}

/// What comes out of a lane, as recordings have it.
pub fn out(lane: &mut Lane, arrivals: &[(u64, Vec<u8>)], mut looks: impl FnMut(u64) -> Vec<u64>) -> Vec<Departed> {
    let mut out = Vec::new();
    let mut sink = |left: &Left<'_>| out.push(Departed::of(0, left));
    for (now_ns, bytes) in arrivals {
        for look_ns in looks(*now_ns) {
            lane.serve(look_ns, &mut sink).expect("no invariant breaks");
        }
        lane.arrive(*now_ns, bytes, &mut sink).expect("no invariant breaks");
    }
    let last_ns = arrivals.last().map_or(0, |(now_ns, _)| *now_ns);
    lane.serve(last_ns + 1000 * MS, &mut sink).expect("no invariant breaks");
    out
}

/// A lane for all sizes of packets.
pub fn lane(link: &LinkSpec, seed: u64, packet_bytes: u16) -> Lane {
    let spec = LaneSpec {
        link: link.clone(),
        seed,
        packet_bytes,
        sizes: None,
    };
    spec.lane()
}
