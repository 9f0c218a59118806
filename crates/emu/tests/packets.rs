//! What routers write into real packets.

mod common;

use std::collections::BTreeSet;

use common::{MS, PACKET_BYTES, datagram, link, option, segment, stranger};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use fadelab_emu::{Fate, Left};
use fadelab_laws::{Codec, router};
use fadelab_phy::random::Stream;

/// Puts packets through a link twice as fast as it can carry them, and gives what arrived.
fn through(law: &str, packets: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    through_at(law, 400, packets)
}

/// The same with a byte in so many nanoseconds; the link takes 800.
fn through_at(law: &str, byte_ns: u64, packets: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut lane = common::lane(&link(law), 1, PACKET_BYTES);
    let mut arrived = Vec::new();
    let mut sink = |left: &Left<'_>| {
        if left.fate == Fate::Delivered {
            arrived.push(left.bytes.to_vec());
        }
    };
    let mut now_ns = 0;
    for packet in packets {
        lane.arrive(now_ns, &packet, &mut sink).expect("no invariant breaks");
        now_ns += packet.len() as u64 * byte_ns;
    }
    lane.serve(now_ns + 1000 * MS, &mut sink).expect("no invariant breaks");
    arrived
}

/// By another program's account: the ECN field and the options of a segment whose checksums are right.
fn sound(packet: &[u8]) -> (u8, Vec<u8>) {
    let sliced = SlicedPacket::from_ip(packet).expect("a packet");
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (&sliced.net, &sliced.transport) else {
        panic!("a segment over IPv4");
    };
    let header = ip.header().to_header();
    assert_eq!(header.calc_header_checksum(), header.header_checksum);
    let sum = tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination());
    assert_eq!(sum.expect("it fits"), tcp.checksum());
    (header.ecn.value(), tcp.options().to_vec())
}

#[test]
fn an_overloaded_link_marks_vcp_s_packets_and_no_others() {
    // Goal: VCP's router brings its packets to code 3 and confirms that it saw them, with checksums that another
    // program finds right; packets without the option, and datagrams, arrive as they were sent.
    let own = option("vcp");
    let kinds = [segment(1000, 1, &own), stranger(1000), datagram(1000)];
    let arrived = through("vcp", (0..3000).map(|number| kinds[number % 3].clone()));
    let (mut marked, mut others) = (0, 0);
    let codec = Codec::on_wire(router("vcp").expect("registered").wire());
    for packet in &arrived {
        if kinds[1..].contains(packet) {
            others += 1;
            continue;
        }
        let (ecn, options) = sound(packet);
        let option = codec.find(&options).expect("its option");
        assert!(codec.is_confirmed(option), "{option:?} {packet:?}");
        marked += u32::from(ecn == 3);
    }
    assert!(marked > 200 && others > 500, "{marked} marked, {others} of others");
}

#[test]
fn halves_of_dpcp_go_by_the_order_of_numbers() {
    // Goal: of a load of 35 %, level 3 of sixteen, the least significant half 11 goes to packets whose sequence number
    // is not above the other one, whatever their IP ID, and the most significant half 00 to the others.
    let own = option("dpcp");
    let numbered = |number: u16, is_above: bool| {
        let mut packet = segment(1000, 0, &own);
        let low = packet[24..28] <= packet[28..32];
        assert_ne!(packet[24..28], packet[28..32]);
        if low == is_above {
            // Exchanged words leave the checksum as it is.
            let (seq, rest) = packet[24..32].split_at_mut(4);
            seq.swap_with_slice(rest);
        }
        packet[4..6].copy_from_slice(&number.to_be_bytes());
        let mut header = etherparse::Ipv4Header::from_slice(&packet).expect("IPv4").0;
        header.header_checksum = header.calc_header_checksum();
        packet[..20].copy_from_slice(&header.to_bytes());
        packet
    };
    let packets = (0..2000_u16).map(|number| numbered(number, number / 2 % 2 == 0));
    let arrived = through_at("dpcp", 2286, packets);
    let (mut most, mut least) = ([0; 4], [0; 4]);
    for packet in &arrived[500..] {
        let (ecn, _) = sound(packet);
        let is_above = packet[24..28] > packet[28..32];
        (if is_above { &mut most } else { &mut least })[usize::from(ecn)] += 1;
    }
    assert_eq!(
        (most[1..].iter().sum::<u32>(), least[..3].iter().sum::<u32>()),
        (0, 0),
        "{most:?} {least:?}"
    );
    assert!(most[0] > 700 && least[3] > 700, "{most:?} {least:?}");
}

#[test]
fn xcp_s_requests_come_down_to_what_the_router_grants() {
    // Goal: the delta in each option that arrives is lower than what was asked for, and the checksums are right.
    let codec = Codec::on_wire(router("xcp").expect("registered").wire());
    let mut request = codec.option();
    let mut feedback = [0; 20];
    // A round trip of 100 ms, packets 1 ms apart, and all that can be asked for.
    feedback[..4].copy_from_slice(&26_843_546_u32.to_be_bytes());
    feedback[4..8].copy_from_slice(&268_435_u32.to_be_bytes());
    feedback[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
    codec.put_data(&mut request, &feedback);
    let delta = |option: &[u8]| {
        let bytes = codec.data(option).expect("data")[8..12].try_into().expect("four bytes");
        i32::from_be_bytes(bytes)
    };
    let asked = delta(&request);
    let arrived = through("xcp", (0..1000).map(|_| segment(1000, 0, &request)));
    assert!(arrived.len() > 400, "{}", arrived.len());
    for packet in arrived {
        let (_, options) = sound(&packet);
        let option = codec.find(&options).expect("its option");
        assert!(codec.is_confirmed(option));
        assert!(delta(option) < asked / 100, "{} of {asked}", delta(option));
    }
}

#[test]
fn whatever_comes_goes_on() {
    // Goal: packets of chance, and good ones with bytes changed or cut off anywhere, never break anything and arrive as
    // long as they were; under VCP and XCP, which mark their own packets alone, others arrive to the byte.
    let mut random = Stream::new(9, "packets");
    let own = option("vcp");
    let mut sent = Vec::new();
    for number in 0..40_000 {
        let mut packet = match number % 4 {
            0 => (0..random.below(200)).map(|_| random.below(256) as u8).collect(),
            1 => datagram(random.below(300) as usize),
            _ => segment(random.below(300) as usize, (random.below(4)) as u8, &own),
        };
        for _ in 0..random.below(4) {
            if !packet.is_empty() {
                let at = random.below(packet.len() as u64) as usize;
                packet[at] = random.below(256) as u8;
            }
        }
        packet.truncate(packet.len() - random.below(packet.len() as u64 / 2 + 1) as usize);
        sent.push(packet);
    }
    for law in ["vcp", "xcp", "red", "droptail"] {
        let arrived = through(law, sent.iter().cloned());
        assert!(arrived.len() > 10_000, "{law}: {}", arrived.len());
        let lengths: BTreeSet<usize> = sent.iter().map(Vec::len).collect();
        assert!(arrived.iter().all(|packet| lengths.contains(&packet.len())), "{law}");
    }
    let strangers: Vec<_> = (0..2000).map(|number| stranger(number % 700)).collect();
    for law in ["vcp", "xcp"] {
        let arrived = through(law, strangers.iter().cloned());
        assert!(
            arrived.len() > 500 && arrived.iter().all(|packet| strangers.contains(packet)),
            "{law}"
        );
    }
}
