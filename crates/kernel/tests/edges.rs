//! The edges of the domain on packets that they are handed one by one: extended, fragmented and hostile.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/hostile.rs"]
mod hostile;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;
#[path = "common/whose.rs"]
mod whose;

use std::net::IpAddr;

use common::{possible, report};
use fadelab_kernel::object::load;
use fadelab_kernel::router::edge;
use hostile::{Chance, check, extend, extension_bytes, hostile};
use libbpf_rs::{MapCore, MapFlags, Object, ProgramInput};
use packet::{ETHERNET, Esp, Made, Read, folded, vcp_option, xcp_option};
use whose::{AUTHENTICATION, EXTENSIONS, Edge, FRAGMENT, HEADERS_MAX, Whose};

const PACKETS: usize = 20_000;

fn loaded() -> Object {
    load(&edge().expect("it compiles"), |_| Ok(())).expect("it loads")
}

/// Marked packets that the edge could not tell.
fn unknown(object: &Object) -> u64 {
    let map = object
        .maps()
        .find(|map| map.name() == "bleach_map")
        .expect("it is there");
    let counters = map
        .lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
        .expect("a map")
        .expect("a value");
    u64::from_ne_bytes(counters[16..24].try_into().expect("eight bytes"))
}

fn bleached(object: &Object, frame: &[u8]) -> Vec<u8> {
    let program = object.progs_mut().find(|program| program.name() == "bleach_ethernet");
    let mut out = vec![0; frame.len()];
    let input = ProgramInput {
        data_in: Some(frame),
        data_out: Some(&mut out),
        ..ProgramInput::default()
    };
    let output = program
        .expect("it is there")
        .test_run(input)
        .expect("the kernel takes it");
    assert_eq!(output.return_value, u32::MAX, "the edge lets all packets go on");
    out
}

/// What leaves the edge of a packet, which differs from it in the ECN field alone, and whether that was cleared.
fn is_cleared(object: &Object, frame: &[u8]) -> bool {
    let out = bleached(object, frame);
    check(frame, &out, &[], true);
    let (before, after) = (Read::of(frame).ecn, Read::of(&out).ecn);
    assert!(after == before || after == 0, "{frame:x?}\nbecame {out:x?}");
    assert_ne!(before, 0, "an unmarked packet is no test");
    after == 0
}

/// A marked packet with these options in front of the last one.
fn marked(ipv6: bool, before: Vec<u8>, option: Vec<u8>) -> Vec<u8> {
    let made = Made {
        ipv6,
        ecn: 3,
        payload: 100,
        before,
        option,
    };
    made.frame()
}

#[test]
fn ours_are_found_behind_whatever_headers() {
    // Goal: of IPv6 with up to sixteen extension headers of any kind, atomic fragments and the authentication header
    // among them, and of IPv4 with the latter, our marks are cleared and others' stay; what lies deeper keeps its mark
    // and is counted.
    if !possible(&["clang"]) {
        return;
    }
    let object = loaded();
    let kinds = [&EXTENSIONS[..], &[FRAGMENT, AUTHENTICATION]].concat();
    for depth in [1, 4, 5, 15, HEADERS_MAX, HEADERS_MAX + 1] {
        for (at, kind) in kinds.iter().enumerate() {
            for is_mixed in [false, true] {
                let extended = |option: Vec<u8>| {
                    let mut frame = marked(true, vec![], option);
                    for number in 0..depth {
                        let kind = if is_mixed {
                            kinds[(at + number) % kinds.len()]
                        } else {
                            *kind
                        };
                        let units = (number % 3) as u8;
                        extend(&mut frame, kind, &vec![0; extension_bytes(kind, units)], units);
                    }
                    frame
                };
                let before = unknown(&object);
                let is_known = depth <= HEADERS_MAX;
                let what = format!("{depth} headers of kind {kind}, mixed {is_mixed}");
                assert_eq!(is_cleared(&object, &extended(vcp_option(1))), is_known, "{what}");
                assert!(!is_cleared(&object, &extended(vec![])), "{what}");
                assert_eq!(unknown(&object), before + if is_known { 0 } else { 2 }, "{what}");
            }
        }
    }
    let authenticated = |option: Vec<u8>| {
        let mut frame = marked(false, vec![], option);
        frame.splice(34..34, [&[6, 4][..], &[0; 22]].concat());
        let length = u16::from_be_bytes([frame[16], frame[17]]) + 24;
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        frame[23] = AUTHENTICATION;
        frame
    };
    assert!(is_cleared(&object, &authenticated(xcp_option([1, 2, 3, 4]))));
    assert!(!is_cleared(&object, &authenticated(vec![])));
}

#[test]
fn an_option_of_ours_is_found_wherever_it_stands() {
    // Goal: marks of a packet with an option of ours before, between or behind others are cleared; what only looks like
    // one inside of another option, or stands behind the end of the list, is none.
    if !possible(&["clang"]) {
        return;
    }
    let object = loaded();
    let (nothing, times) = (vec![1; 4], vec![8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1]);
    let odd = [&[1][..], &vcp_option(1), &[1, 1, 1]].concat();
    let hidden = [&[253, 12, 0xab, 0xcd][..], &vcp_option(1)].concat();
    let behind_end = [&[0, 0, 0, 0][..], &vcp_option(1)].concat();
    for ipv6 in [false, true] {
        for (before, option, is_ours) in [
            (vcp_option(1), nothing.clone(), true),
            (xcp_option([1, 2, 3, 4]), times.clone(), true),
            ([times.clone(), vcp_option(1)].concat(), times.clone(), true),
            (times.clone(), odd.clone(), true),
            ([vec![1; 28], vcp_option(1)].concat(), nothing.clone(), true),
            (hidden.clone(), nothing.clone(), false),
            (behind_end.clone(), nothing.clone(), false),
            (times.clone(), times.clone(), false),
        ] {
            let frame = marked(ipv6, before, option);
            assert_eq!(is_cleared(&object, &frame), is_ours, "{frame:x?}");
        }
    }
    assert_eq!(unknown(&object), 0);
}

/// The packet as two fragments, of which the first has that many bytes behind the IP header.
fn fragments(frame: &[u8], first_bytes: usize, id: u8) -> [Vec<u8>; 2] {
    let is_ipv6 = frame[12] == 0x86;
    let rest = ETHERNET + if is_ipv6 { 40 } else { 20 };
    let part = |bytes: &[u8], offset: usize, has_more: bool| {
        let mut part = frame[..rest].to_vec();
        if is_ipv6 {
            let word = offset as u16 | u16::from(has_more);
            part[20] = FRAGMENT;
            part[18..20].copy_from_slice(&(8 + bytes.len() as u16).to_be_bytes());
            part.extend([6, 0, (word >> 8) as u8, word as u8, 0, 0, 7, id]);
        } else {
            let word = (offset / 8) as u16 | u16::from(has_more) << 13;
            part[16..18].copy_from_slice(&(20 + bytes.len() as u16).to_be_bytes());
            part[18..22].copy_from_slice(&[7, id, (word >> 8) as u8, word as u8]);
            part[24..26].fill(0);
            let sum = !folded(&part[ETHERNET..]);
            part[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        part.extend(bytes);
        part
    };
    let (first, later) = frame[rest..].split_at(first_bytes);
    [part(first, 0, true), part(later, first_bytes, false)]
}

#[test]
fn fragments_are_known_by_the_first_one() {
    // Goal: of a packet of ours all fragments leave unmarked, also where the first came unmarked; those of others keep
    // their mark; what belongs to no first fragment, or to one that ends before an option of ours begins, keeps it and
    // is counted.
    if !possible(&["clang"]) {
        return;
    }
    let object = loaded();
    for ipv6 in [false, true] {
        let ours = marked(ipv6, vec![], vcp_option(1));
        let others = marked(ipv6, vec![], vec![]);
        let clear = |frame: &[u8]| is_cleared(&object, frame);
        let [first, later] = fragments(&ours, 32, 1);
        assert!(clear(&first) && clear(&later) && clear(&later), "ipv6 {ipv6}");
        // The head of the option is there, its data are not.
        let [first, later] = fragments(&ours, 24, 2);
        assert!(clear(&first) && clear(&later), "ipv6 {ipv6}");
        let [first, later] = fragments(&others, 32, 3);
        assert!(!clear(&first) && !clear(&later), "ipv6 {ipv6}");
        // Another edge was there before.
        let [first, _] = fragments(&bleached(&object, &ours), 32, 4);
        assert_eq!(bleached(&object, &first), first);
        let [_, later] = fragments(&ours, 32, 4);
        assert!(clear(&later), "ipv6 {ipv6}");
        let before = unknown(&object);
        let [first, later] = fragments(&ours, 16, 6);
        assert!(!clear(&first) && !clear(&later), "ipv6 {ipv6}");
        let [_, later] = fragments(&ours, 32, 7);
        assert!(!clear(&later), "ipv6 {ipv6}");
        assert_eq!(unknown(&object), before + 3, "ipv6 {ipv6}");
    }
}

#[test]
fn the_edge_clears_our_marks_and_nobody_elses() {
    // Goal: with an option of any of our wires the ECN field leaves as zero, hostile packets included; without one the
    // packet is as it was, and those of which nobody can tell are counted.
    if !possible(&["clang"]) {
        return;
    }
    let object = loaded();
    let mut seen = Edge::default();
    let mut chance = Chance(2);
    let (mut cleared, mut unknown_n, mut of_fragments) = (0, 0, 0);
    for _ in 0..PACKETS {
        let frame = hostile(&mut chance);
        let read = Read::of(&frame);
        let whose = seen.see(&frame);
        let is_ours = whose == Whose::Ours;
        let out = bleached(&object, &frame);
        check(&frame, &out, &[], is_ours);
        assert_eq!(
            Read::of(&out).ecn,
            if is_ours { 0 } else { read.ecn },
            "{whose:?} {frame:x?}"
        );
        cleared += usize::from(out != frame);
        of_fragments += usize::from(out != frame && read.tcp.is_none());
        unknown_n += u64::from(whose == Whose::Unknown && read.ecn != 0);
    }
    report(&format!(
        "{PACKETS} hostile packets: {cleared} marks cleared, {of_fragments} of them where routers find no TCP; \
         {unknown_n} unknown"
    ));
    assert_eq!(unknown(&object), unknown_n);
    assert!(
        cleared > PACKETS / 20 && of_fragments > PACKETS / 100 && unknown_n > PACKETS as u64 / 1000,
        "the packets are too hostile to be any test"
    );
}

#[test]
fn marks_on_esp_of_named_tunnels_stay_inside() {
    // Goal: of a tunnel that the router is told of, over IPv4 and IPv6, each mark leaves as zero, in the direction that
    // was named alone, and of its fragments, too, over IPv4; ESP of other tunnels keeps its field, as does all of it
    // where no tunnel is named.
    if !possible(&["clang"]) {
        return;
    }
    let (plain, told) = (loaded(), loaded());
    let map = told.maps().find(|map| map.name() == "tunnel_map");
    let map = map.expect("it is there");
    let wide = |end: &str| match end.parse().expect("an address") {
        IpAddr::V4(end) => end.to_ipv6_mapped().octets(),
        IpAddr::V6(end) => end.octets(),
    };
    for tunnel in [Esp::TUNNEL, Esp::TUNNEL_IPV6] {
        let (from, to) = tunnel.split_once('-').expect("two ends");
        let key = [wide(from), wide(to)].concat();
        map.update(&key, &[1, 0, 0, 0, 0, 0, 0, 0], MapFlags::ANY)
            .expect("room");
    }
    for n in 0..24 {
        let (ipv6, is_from_here, ecn) = (n & 1 != 0, n & 2 != 0, 1 + n / 4 % 3);
        let esp = Esp {
            ipv6,
            in_udp: n % 5 == 0,
            is_from_here,
            id: 7,
            spi: 1,
            is_fragment: n >= 12 && !ipv6,
            sequence: 9,
            ecn,
        };
        assert_eq!(is_cleared(&told, &esp.frame()), is_from_here, "IPv6 {ipv6}, {ecn}");
        assert!(!is_cleared(&plain, &esp.frame()));
        let mut other = esp.frame();
        let last = ETHERNET + if ipv6 { 39 } else { 19 };
        other[last] ^= 0x40;
        assert_eq!(bleached(&told, &other), other, "of another tunnel");
    }
}
