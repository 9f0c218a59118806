//! What a law's packets carry, in a log of the simulator and on a wire between two kernels: one dissector for both.

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../kernel/tests/common/mod.rs"]
mod common;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use common::tap::{open, read};
use common::{Pair, possible, run, unique};
use fadelab_kernel::Version;
use fadelab_kernel::sender::{Sender, Unit};
use fadelab_lab::Unwatched;
use fadelab_lab::packets::Log;
use fadelab_laws::Codec;
use pcap_file::pcapng::{Block, PcapNgReader};
use tempfile::TempDir;

/// A transfer under a law, in the profile that imitates Linux, where feedback takes room in headers; those of data have
/// `header_bytes` without it.
fn scenario(law: &str, header_bytes: u32) -> String {
    format!(
        "
        [run]
        duration = '3 s'
        [topology.bottleneck]
        rate = '20 Mbit/s'
        delay = '5 ms'
        [transport]
        preset = 'linux'
        header = '{header_bytes} B'
        [flow]
        law = '{law}'
        start = '0 s'
        "
    )
}

/// A packet as it stands in a log or came from a device: its IPv4 header and what follows.
type Bytes = Vec<u8>;

/// What a dissector tells of a packet.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    is_data: bool,
    /// Whether a router saw the data, and whether one saw what the echo answers.
    confirmed: [bool; 2],
    ecn: u8,
    said: Said,
}

/// The fields of an option, as `laws/wire` draws them.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// The echo, where the packet has one.
    Vcp { echo: Option<u8> },
    /// RTT, X and delta of data, and the echo, where the packet has them; floats, decoded.
    Xcp {
        data: Option<(u64, u64, i64)>,
        echo: Option<i64>,
    },
}

/// Reads a packet without the codec under test. `None`: no TCP over IPv4, or none with an option of ours.
fn dissect(packet: &[u8]) -> Option<Told> {
    let ip_bytes = usize::from(packet.first()? & 15) * 4;
    if packet[0] >> 4 != 4 || packet.get(9) != Some(&6) {
        return None;
    }
    let tcp = packet.get(ip_bytes..)?;
    let header_bytes = usize::from(tcp.get(12)? >> 4) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let option = experiment(tcp.get(20..header_bytes)?)?;
    Some(Told {
        is_data: total_bytes > ip_bytes + header_bytes,
        ecn: packet[1] & 3,
        confirmed: confirmed(option),
        said: said(option)?,
    })
}

fn confirmed(option: &[u8]) -> [bool; 2] {
    if option.len() == 8 {
        return [4, 8].map(|flag| option[4] & flag != 0);
    }
    let echo = [option[10], option[11]];
    let is_there = |code: [u8; 2]| code != [0x7f, 0xff];
    [
        option[4] & 0x80 != 0 && is_there([option[4] & 0x7f, option[5]]),
        is_there(echo) && echo != [0x80, 0],
    ]
}

/// The option for experiments among all of a header, found as any stack finds it (RFC 9293, section 3.1).
fn experiment(mut options: &[u8]) -> Option<&[u8]> {
    loop {
        match options {
            [1, rest @ ..] => options = rest,
            [254, bytes, ..] => return options.get(..usize::from(*bytes)),
            [0, ..] | [] | [_] => return None,
            [_, bytes, ..] => options = options.get(usize::from((*bytes).max(2))..)?,
        }
    }
}

fn said(option: &[u8]) -> Option<Said> {
    let word = |at: usize| u16::from_be_bytes([option[at], option[at + 1]]);
    let distance = Some(word(6)).filter(|&code| code != 0xffff);
    let round_trip = Some(word(4) & 0x7fff).filter(|&code| code != 0x7fff);
    let signed = |at: usize| {
        let code = Some(word(at)).filter(|&code| code != 0x7fff)?;
        // The largest float stands for more than the law's field of 32 bits holds.
        let magnitude = float(code & 0x7fff, 10).min(0x7fff_ffff) as i64;
        Some(if code & 0x8000 == 0 { magnitude } else { -magnitude })
    };
    match (word(2), option.len()) {
        (0xfad1, 8) => Some(Said::Vcp {
            echo: (option[4] & 2 != 0).then_some(option[5]),
        }),
        (0xfad2, 12) => Some(Said::Xcp {
            data: round_trip
                .zip(distance)
                .zip(signed(8))
                .map(|((rtt, x), delta)| (float(rtt, 10), float(x, 11), delta)),
            echo: signed(10),
        }),
        _ => None,
    }
}

/// A float with a mantissa of so many bits and an exponent of 5 in front of it.
fn float(code: u16, bits: u32) -> u64 {
    let (exponent, mantissa) = (u32::from(code) >> bits, u64::from(code) & ((1 << bits) - 1));
    match exponent {
        0 => mantissa,
        _ => (mantissa | 1 << bits) << (exponent - 1),
    }
}

/// The packets of a simulated flow, from its log.
fn simulated(law: &str, header_bytes: u32) -> Vec<Bytes> {
    let folder = TempDir::new().unwrap();
    let text = scenario(law, header_bytes);
    let plan = fadelab_scenario::parse(
        text.as_bytes(),
        "one.toml",
        Path::new(""),
        &fadelab_scenario::Options::default(),
    )
    .unwrap();
    Log::of(&["1".to_owned()], &plan)
        .unwrap()
        .write(&plan, folder.path(), 1, &Unwatched)
        .unwrap();
    let name = format!("packets/run0-{law}-seed1-flow.1.pcapng");
    let mut reader = PcapNgReader::new(File::open(folder.path().join(name)).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push(packet.data.into_owned());
        }
    }
    packets
}

/// The packets of a second of iperf3 between two namespaces, from the sender's device.
fn recorded(law: &str) -> Vec<Bytes> {
    const ETHERNET_BYTES: usize = 14;
    let pair = Pair::new();
    pair.one_segment();
    run(&format!(
        "tc -n {} qdisc add dev wire root tbf rate 20mbit burst 5kb limit 60000",
        pair.sender
    ));
    let law = fadelab_laws::sender(law).unwrap();
    let name = unique("w");
    let unit = Unit {
        name: name[..name.len().min(15)].to_owned(),
        ..Unit::new(law, Version::running().unwrap())
    };
    let devices = [pair.device(&pair.sender), pair.device(&pair.receiver)];
    let _loaded = Sender::load(&unit.compile().unwrap(), &pair.cgroup, &devices).unwrap();
    let socket = open(&devices[0]);
    let _server = pair.start(&pair.receiver, "iperf3 -s -1");
    let client = format!("sh -c 'sleep 0.3; exec iperf3 -c 10.77.0.2 -t 1 -C {}'", unit.name);
    let mut client = pair.start(&pair.sender, &client);
    let (mut packets, mut packet, since) = (Vec::new(), vec![0; 1 << 17], Instant::now());
    while !client.has_ended() {
        while let Some(bytes) = read(&socket, &mut packet) {
            packets.extend(packet.get(ETHERNET_BYTES..bytes).map(<[u8]>::to_vec));
        }
        assert!(since.elapsed() < Duration::from_secs(30), "iperf3 comes to an end");
    }
    packets
}

/// What is true of the packets of a law wherever they come from; gives how many data and ACKs had an option.
fn look(law: &str, place: &str, packets: &[Bytes]) -> [usize; 2] {
    let codec = Codec::of(fadelab_laws::sender(law).unwrap(), fadelab_laws::receiver(law)).unwrap();
    let (mut told_n, mut with_feedback_n) = ([0, 0], [0, 0]);
    for packet in packets {
        let Some(told) = dissect(packet) else { continue };
        told_n[usize::from(!told.is_data)] += 1;
        let tcp = &packet[20..];
        let options = &tcp[20..usize::from(tcp[12] >> 4) * 4];
        let option = codec.find(options).expect("it stands at the end of the header");
        let (data, echo) = (codec.data(option), codec.echo(option));
        let by_codec = [codec.is_confirmed(option), codec.is_echo_confirmed(option)];
        assert_eq!(told.confirmed, by_codec, "{law}, {place}: {packet:02x?}");
        let field = |bytes: &[u8; 20], at: usize| i32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let by_codec = match told.said {
            Said::Vcp { .. } => Said::Vcp {
                echo: echo.map(|bytes| bytes[0]),
            },
            Said::Xcp { .. } => Said::Xcp {
                data: data.map(|bytes| {
                    let [rtt, x] = [0, 4].map(|at| u64::from(field(&bytes, at).cast_unsigned()));
                    (rtt, x, i64::from(field(&bytes, 8)))
                }),
                echo: echo.map(|bytes| i64::from(field(&bytes, 0))),
            },
        };
        assert_eq!(told.said, by_codec, "{law}, {place}: {packet:02x?}");
        let has_feedback = match (&told.said, told.is_data) {
            (Said::Vcp { .. }, true) => told.ecn != 0,
            (Said::Vcp { echo }, false) => echo.is_some_and(|code| (1..=3).contains(&code)),
            (Said::Xcp { data, .. }, true) => data.is_some_and(|(rtt, x, _)| rtt == 0 || x > 0),
            (Said::Xcp { echo, .. }, false) => echo.is_some(),
        };
        with_feedback_n[usize::from(!told.is_data)] += usize::from(has_feedback);
    }
    for (with, told) in with_feedback_n.into_iter().zip(told_n) {
        assert!(told > 100 && with * 10 > told * 9, "{law}, {place}: {with} of {told}");
    }
    told_n
}

#[test]
fn one_dissector_reads_a_simulated_log_and_a_kernels_packets() {
    // Goal: kind, identifier, place and fields of a law's option are the same in a packet log as on a wire between
    // kernels, read by rules of the test's own and by the codec alike.
    for law in ["vcp", "xcp"] {
        // Those of Linux are full with timestamps; what longer ones have left over is padding.
        for header_bytes in [52, 60] {
            let told_n = look(law, "simulated", &simulated(law, header_bytes));
            println!("{law}, simulated, {header_bytes} B: {told_n:?} data packets and ACKs");
        }
    }
    if !possible(&["ip", "tc", "iperf3", "clang"]) {
        return;
    }
    for law in ["vcp", "xcp"] {
        let told_n = look(law, "kernel", &recorded(law));
        println!("{law}, kernel: {told_n:?} data packets and ACKs");
    }
}
