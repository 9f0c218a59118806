//! Packets that are nearly right, by chance, and what a program may have changed of one.

use crate::packet::{ETHERNET, Made, Read, folded, vcp_option, xcp_option};

/// Packets of both versions, with and without payload, with options before the last one.
pub fn made(option: &[u8], ecn: u8) -> Vec<Made> {
    let mut packets = Vec::new();
    for ipv6 in [false, true] {
        for payload in [0, 1, 1000] {
            for before in [vec![], vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]] {
                packets.push(Made {
                    ipv6,
                    ecn,
                    payload,
                    before,
                    option: option.to_vec(),
                });
            }
        }
    }
    packets
}

/// Numbers of chance, the same in every run (Marsaglia, Xorshift RNGs, 2003).
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A packet that is nearly right: bytes flipped in the headers, cut short, lengths that lie, extension headers.
pub fn hostile(chance: &mut Chance) -> Vec<u8> {
    let options = [
        vcp_option(1),
        xcp_option([0x5000, 0x4000, 0x5800, 0x1234]),
        vec![254, 12, 0xfa, 0xd7, 3, 1, 9, 9, 9, 9, 9, 9],
    ];
    let packets = made(&options[chance.below(3)], chance.below(4) as u8);
    let mut frame = packets[chance.below(packets.len())].frame();
    match chance.below(8) {
        0 | 1 if frame[12] == 0x86 => {
            let most = if chance.below(4) == 0 { 20 } else { 3 };
            for _ in 0..=chance.below(most) {
                let next = [0, 43, 60, 44, 51, 135][chance.below(6)];
                let units = chance.below(3) as u8;
                extend(&mut frame, next, &vec![0; extension_bytes(next, units)], units);
            }
        }
        0 | 1 => {
            frame.splice(12..12, [0x81, 0, 0, 7]);
        }
        // A fragment of IPv4: the flag that more follow, or an offset.
        2 if frame[12] == 8 => frame[20 + chance.below(2)] = 1 + chance.below(2) as u8 * 0x1f,
        _ => {}
    }
    let headers = frame.len().min(ETHERNET + 100);
    for _ in 0..chance.below(4) {
        let at = 12 + chance.below(headers - 12);
        frame[at] = if chance.below(2) == 0 {
            chance.next() as u8
        } else {
            frame[at] ^ 1 << chance.below(8)
        };
    }
    if chance.below(3) == 0 {
        // Behind an Ethernet header the kernel takes no less than an IP header here, behind a tag anything.
        let least = if frame[12] == 0x81 { ETHERNET + 1 } else { ETHERNET + 40 };
        frame.truncate(least + chance.below(frame.len() - least));
    }
    frame
}

/// What may differ between a packet and what became of it: bytes of the ECN field, of the checksums, and those of the
/// option at `places`.
pub fn check(frame: &[u8], out: &[u8], places: &[usize], ecn_may_change: bool) {
    let read = Read::of(frame);
    assert_eq!(out.len(), frame.len());
    for (at, (before, after)) in frame
        .iter()
        .zip(out)
        .enumerate()
        .filter(|(_, (before, after))| before != after)
    {
        let is_ecn = ecn_may_change && at == read.ip + 1 && {
            let bits = if read.version == 4 { 3 } else { 0x30 };
            (before ^ after) & !bits == 0
        };
        let is_ip_sum = ecn_may_change && read.version == 4 && (read.ip + 10..read.ip + 12).contains(&at);
        let is_feedback = places.contains(&at);
        let is_tcp_sum = !places.is_empty() && read.tcp.is_some_and(|(tcp, _)| (tcp + 16..tcp + 18).contains(&at));
        assert!(
            is_ecn || is_ip_sum || is_feedback || is_tcp_sum,
            "byte {at} of {frame:x?}\nbecame {after:x}: {read:?}"
        );
    }
    if read.version == 4 && out != frame {
        let header = |frame: &[u8]| folded(&frame[read.ip..read.ip + 20]);
        assert_eq!(
            header(frame),
            header(out),
            "the error of IPv4's checksum is another: {frame:x?}"
        );
    }
    if let Some((tcp, _)) = read.tcp {
        assert_eq!(
            folded(&frame[tcp..]),
            folded(&out[tcp..]),
            "the error of TCP's checksum is another: {frame:x?}"
        );
    }
}

/// Bytes of an extension header of IPv6 that says so many units: of fragments always 8, the authentication header
/// counts in words.
pub fn extension_bytes(kind: u8, units: u8) -> usize {
    match kind {
        44 => 8,
        51 => (usize::from(units) + 2) * 4,
        _ => (usize::from(units) + 1) * 8,
    }
}

/// Puts an extension header in front of all that a packet of IPv6 without a VLAN tag has behind its IP header.
pub fn extend(frame: &mut Vec<u8>, kind: u8, text: &[u8], units: u8) {
    let mut header = text.to_vec();
    header[0] = frame[20];
    if kind != 44 {
        header[1] = units;
    }
    frame[20] = kind;
    let length = u16::from_be_bytes([frame[18], frame[19]]) + header.len() as u16;
    frame[18..20].copy_from_slice(&length.to_be_bytes());
    frame.splice(54..54, header);
}
