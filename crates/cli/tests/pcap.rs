//! Packet logs: read back by a reader of their own, and compared with what was simulated.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::Scratch;

const SCENARIO: &str = r#"
[run]
duration = "20 s"
seeds = "1..2"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "20 ms"

[channel]
model = "random"
loss_data = 0.03

[transport]
preset = "linux"

[flow]
law = "reno"

[flow.file]
app = "transfer"
size = "200001 B"

[flow.noise]
app = "cbr"
rate = "100 kbit/s"
law = "udp"
"#;

/// A folder with the scenario of this file.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("s.toml", SCENARIO);
    scratch
}

fn run(scratch: &Scratch, arguments: &[&str]) -> Output {
    scratch.fadelab(&[&["run", "s.toml", "--quiet", "--out", "r"], arguments].concat())
}

/// A packet of a log.
#[derive(Debug)]
struct Packet {
    interface: u32,
    time_ns: u64,
    ip_bytes: u32,
    bytes: Vec<u8>,
    comment: String,
}

impl Packet {
    fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.bytes[at..at + 2].try_into().unwrap())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    fn is_data(&self) -> bool {
        self.bytes[12..14] == [10, 1]
    }

    /// Bytes of payload that the lengths in the headers tell.
    fn payload(&self) -> u32 {
        u32::from(self.u16(2)) - 20 - u32::from(self.bytes[32] >> 4) * 4
    }
}

/// Reads the blocks of a file in the byte order of its first one (pcapng, draft-ietf-opsawg-pcapng).
fn read(path: &Path) -> Vec<Packet> {
    let file = fs::read(path).unwrap();
    assert_eq!(file[..4], 0x0a0d_0d0au32.to_be_bytes());
    let is_big = file[8..12] == 0x1a2b_3c4du32.to_be_bytes();
    let u32_at = |at: usize| {
        let bytes = file[at..at + 4].try_into().unwrap();
        if is_big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    };
    let u16_at = |at: usize| {
        let bytes = file[at..at + 2].try_into().unwrap();
        if is_big {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        }
    };
    let (mut packets, mut at) = (Vec::new(), 0);
    while at < file.len() {
        let length = u32_at(at + 4) as usize;
        assert_eq!(u32_at(at + length - 4) as usize, length, "a block ends with its length");
        match u32_at(at) {
            1 => {
                // IPv4, and an option 9 of one byte: nanoseconds.
                assert_eq!(u16_at(at + 8), 228);
                let options = file[at + 16..at + length - 4].windows(5);
                let resolution = if is_big { [0, 9, 0, 1, 9] } else { [9, 0, 1, 0, 9] };
                assert!(options.into_iter().any(|option| option == resolution), "nanoseconds");
            }
            6 => {
                let captured = u32_at(at + 20) as usize;
                let options = at + 28 + captured.div_ceil(4) * 4;
                let has_comment = options + 4 < at + length && u16_at(options) == 1;
                let comment = if has_comment {
                    String::from_utf8_lossy(&file[options + 4..options + 4 + u16_at(options + 2) as usize]).into()
                } else {
                    String::new()
                };
                packets.push(Packet {
                    interface: u32_at(at + 8),
                    time_ns: u64::from(u32_at(at + 12)) << 32 | u64::from(u32_at(at + 16)),
                    ip_bytes: u32_at(at + 24),
                    bytes: file[at + 28..at + 28 + captured].to_vec(),
                    comment,
                });
            }
            _ => {}
        }
        at += length;
    }
    packets
}

/// The Internet checksum (RFC 1071); over data with a right checksum in them it is 0.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn assert_valid(packet: &Packet, protocol: u8) {
    assert_eq!(packet.bytes[0], 0x45, "IPv4 without options");
    assert_eq!(u32::from(packet.u16(2)), packet.ip_bytes, "the true length");
    assert_eq!(packet.bytes[9], protocol);
    assert_eq!(checksum(&packet.bytes[..20]), 0, "IP header");
    // The pseudo header (RFC 9293 section 3.1); payload counts as zeros.
    let length = packet.u16(2) - 20;
    let mut summed = packet.bytes[12..20].to_vec();
    summed.extend_from_slice(&[0, protocol]);
    summed.extend_from_slice(&length.to_be_bytes());
    summed.extend_from_slice(&packet.bytes[20..]);
    assert_eq!(checksum(&summed), 0, "{packet:?}");
}

#[test]
fn a_transfer_reads_back_as_it_was() {
    // Goal: valid headers with true lengths; every byte of the transfer is sent, acknowledged and counted once; lost
    // ones are sent again and reported by SACK; timestamps echo each other.
    let scratch = scratch();
    let output = run(&scratch, &["--pcap", "file.1", "--seeds", "1"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(scratch.entries("r/packets"), ["run0-reno-seed1-file.1.pcapng"]);
    let packets = read(&scratch.0.join("r/packets/run0-reno-seed1-file.1.pcapng"));
    assert!(packets.is_sorted_by_key(|packet| packet.time_ns));
    let (mut sent, mut acknowledged, mut again, mut sacks, mut echo) = (1, 1, 0, 0, 0);
    for packet in &packets {
        assert_valid(packet, 6);
        let is_last = packet.is_data() && packet.u32(24) + packet.payload() == 200_002;
        assert_eq!(
            packet.bytes[33],
            if is_last { 0x18 } else { 0x10 },
            "ACK, at the end PSH"
        );
        assert_eq!(packet.bytes[40..44], [1, 1, 8, 10], "timestamps");
        if packet.is_data() {
            let (first, payload) = (packet.u32(24), packet.payload());
            assert_eq!(packet.bytes.len() as u32, packet.ip_bytes - payload, "headers only");
            assert!(first <= sent, "no byte is left out");
            again += u32::from(first + payload <= sent);
            sent = sent.max(first + payload);
            assert_eq!(packet.u32(48), echo, "data echo the newest ACK");
        } else {
            assert_eq!((packet.payload(), packet.u32(24)), (0, 1));
            assert!((acknowledged..=sent).contains(&packet.u32(28)), "{packet:?}");
            (acknowledged, echo) = (packet.u32(28), packet.u32(44));
            if packet.bytes.len() > 52 {
                sacks += 1;
                assert_eq!((packet.bytes[54], packet.bytes[55]), (5, packet.bytes.len() as u8 - 54));
                assert!(packet.u32(56) > acknowledged && packet.u32(60) <= sent, "{packet:?}");
            }
        }
        assert!(packet.comment.is_empty(), "all of Reno fits in the headers");
    }
    assert_eq!((sent, acknowledged), (200_002, 200_002));
    // 139 segments at 3 % lose some.
    assert!(again > 0 && sacks >= again, "{again} retransmissions, {sacks} SACKs");
}

#[test]
fn datagrams_are_udp() {
    // Goal: a flow without a law is logged as UDP, by its number as well as by its name.
    let scratch = scratch();
    let output = run(&scratch, &["--pcap", "2"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        scratch.entries("r/packets"),
        ["run0-reno-seed1-noise.1.pcapng", "run1-reno-seed2-noise.1.pcapng"]
    );
    let packets = read(&scratch.0.join("r/packets/run0-reno-seed1-noise.1.pcapng"));
    for packet in &packets {
        assert_valid(packet, 17);
        assert_eq!(
            u32::from(packet.u16(24)),
            packet.ip_bytes - 20,
            "length of the datagram"
        );
    }
    // 100 kbit/s of 1472 bytes each for 20 s.
    assert!(packets.len().abs_diff(170) <= 1, "{}", packets.len());
}

#[test]
fn feedback_of_a_law_is_shown() {
    // Goal: what a law says to its receiver and back is in the log: in an option where headers have room, else in a
    // comment; VCP's data leave with the code for low load, and its ACKs say that a router saw them.
    let scratch = scratch();
    let vcp = ["--pcap", "file.1", "--seeds", "1", "--set", "flow.law=vcp"];
    let full = ["--set", "transport.option_space=false"];
    assert_eq!(run(&scratch, &[&vcp[..], &full].concat()).status.code(), Some(0));
    let packets = read(&scratch.0.join("r/packets/run0-vcp-seed1-file.1.pcapng"));
    for packet in &packets {
        assert_valid(packet, 6);
        if packet.is_data() {
            assert_eq!(packet.bytes[1] & 3, 1, "the code for low load");
        } else {
            assert!(packet.comment.starts_with("vcp feedback 0"), "{packet:?}");
        }
    }
    fs::remove_dir_all(scratch.0.join("r")).unwrap();
    let roomy = ["--set", "transport.ack=60 B", "--set", "transport.sack_on_wire=false"];
    assert_eq!(
        run(&scratch, &[&vcp[..], &full, &roomy].concat()).status.code(),
        Some(0)
    );
    let packets = read(&scratch.0.join("r/packets/run0-vcp-seed1-file.1.pcapng"));
    for ack in packets.iter().filter(|packet| !packet.is_data()) {
        assert_valid(ack, 6);
        assert_eq!(ack.bytes[52..57], [254, 8, 0xfa, 0xd1, 2 | 8]);
        assert!(
            (1..=3).contains(&ack.bytes[57]) && !ack.comment.contains("feedback"),
            "{ack:?}"
        );
    }
    // What has no room any more stands in the comment.
    assert!(packets.iter().any(|ack| ack.comment.starts_with("SACK ")));
}

#[test]
fn links_show_what_crosses_them() {
    // Goal: with two links and a flow the log has an interface for each; behind the bottleneck are the flow's data but
    // for those that were lost, byte for byte as they left, and behind the way back its ACKs; links show the handshake.
    let scratch = scratch();
    let names = ["--pcap", "bottleneck", "--pcap", "file.1", "--pcap", "bottleneck.back"];
    let output = run(&scratch, &[&names[..], &["--seeds", "1"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let name = "run0-reno-seed1-bottleneck+file.1+bottleneck.back.pcapng";
    assert_eq!(scratch.entries("r/packets"), [name]);
    let packets = read(&scratch.0.join("r/packets").join(name));
    assert!(packets.is_sorted_by_key(|packet| packet.time_ns));
    let of = |interface: u32| {
        packets
            .iter()
            .filter(move |packet| packet.interface == interface && packet.bytes[9] == 6)
    };
    let left: Vec<&Packet> = of(1).filter(|packet| packet.is_data()).collect();
    let crossed: Vec<&Packet> = of(0).collect();
    let is_syn = |packet: &&&Packet| packet.bytes[33] & 2 != 0;
    let greeting: Vec<u8> = of(0)
        .chain(of(2))
        .collect::<Vec<_>>()
        .iter()
        .filter(is_syn)
        .map(|syn| syn.bytes[33])
        .collect();
    assert_eq!(greeting, [0x02, 0x12], "SYN and its answer");
    for packet in &crossed {
        assert_valid(packet, 6);
        assert!(packet.is_data());
        let is_it = |sent: &&&Packet| sent.bytes == packet.bytes && sent.time_ns + 20_000_000 < packet.time_ns;
        assert!(is_syn(&packet) || left.iter().any(|sent| is_it(&sent)), "{packet:?}");
    }
    let lost = left.len() + 1 - crossed.len();
    assert!((1..=15).contains(&lost), "{lost} of {} at 3 %", left.len());
    assert!(of(2).all(|packet| !packet.is_data()));
}

#[test]
fn what_cannot_be_logged_is_refused() {
    // Goal: an unknown flow, too many files and headers that make no packet are refused before anything runs.
    let scratch = scratch();
    for (arguments, part) in [
        (&["--pcap", "file.9"][..], "allowed are the flows file.1, noise.1"),
        (&["--pcap", "3"], "a number from 1 to 2"),
        (&["--pcap", "up"], "the links bottleneck, bottleneck.back"),
        (&["--pcap", "1", "--seeds", "1..101"], "allowed are 100"),
        (
            &["--pcap", "1", "--set", "transport.header=54 B"],
            "40 to 80 in steps of 4",
        ),
    ] {
        let output = run(&scratch, arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(part), "`{part}` is missing in: {message}");
        assert!(!scratch.0.join("r").exists(), "nothing is written");
    }
}
