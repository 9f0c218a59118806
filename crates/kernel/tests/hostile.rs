//! What a network may do to the packets of a law.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use common::calls::Calls;
use common::meddler::{Change, Meddler, Random};
use common::{Namespace, Pair, possible, report, run, unique};
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::sender::{self as loaded, Unit};
use fadelab_laws::recorded::RecordedHead;
use fadelab_laws::{Params, Sender, abi};

/// In a third of the packets: other ECN bits, and an option of kind 254 with other bytes, another length, or cut short.
fn meddle(packet: &mut [u8], at: usize, random: &mut Random) -> bool {
    if !random.next().is_multiple_of(3) {
        return false;
    }
    packet[15] = packet[15] & 0xfc | (random.next() & 3) as u8;
    let header_bytes = usize::from(packet[at + 12] >> 4) * 4;
    let end = at + header_bytes;
    // VCP's option has 8 bytes and XCP's 12, at the end of the header. Where there is none a timestamp may begin with
    // 254, and no flow goes on once its peer has taken a wrong one (RFC 7323 section 5).
    let is_ours = |bytes: usize| {
        let begins = |option: &[u8]| option.starts_with(&[254, bytes as u8]);
        header_bytes >= 20 + bytes && begins(&packet[end - bytes..end])
    };
    let Some(place) = [8, 12]
        .into_iter()
        .find(|bytes| is_ours(*bytes))
        .map(|bytes| end - bytes)
    else {
        return true;
    };
    match random.next() % 4 {
        0 => packet[place + 1] = random.next() as u8,
        1 => packet[place..end].fill(1),
        _ => {
            for byte in &mut packet[place + 4..end] {
                *byte = random.next() as u8;
            }
        }
    }
    true
}

/// One packet with data in 64 goes to a port where nobody listens: it is lost, and nobody's device knows of it.
fn lose(packet: &mut [u8], at: usize, random: &mut Random) -> bool {
    let header_bytes = usize::from(packet[at + 12] >> 4) * 4;
    let is_lost = packet.len() > at + header_bytes + 100 && random.next().is_multiple_of(64);
    if is_lost {
        packet[at + 2..at + 4].copy_from_slice(&[0, 9]);
    }
    is_lost
}

/// Where a segment has its timestamps, RFC 7323 section 3.2.
fn timestamps(packet: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let end = at + usize::from(packet[at + 12] >> 4) * 4;
    let mut option = at + 20;
    while option + 1 < end {
        match packet[option] {
            0 => return None,
            1 => option += 1,
            8 if option + 10 <= end => return Some(option + 2..option + 10),
            _ => option += usize::from(packet[option + 1]).max(2),
        }
    }
    None
}

/// A receiver whose clock cannot be trusted, on a path that loses packets. Of each half second it stands for a quarter,
/// then makes up a hundred times that, and goes in ticks of 100 ms from there; one ACK in 16 has the time of a while
/// ago, and another echoes none. (What echoes a time of weeks ago gives Linux a timeout of minutes under any law.)
fn misdate() -> impl Change {
    const SYN: u8 = 2;
    const IPERF3: [u8; 2] = 5201_u16.to_be_bytes();
    // By the sender's port: nothing is connected by a first time that is not the receiver's.
    let mut begun_ms = BTreeMap::new();
    move |packet, at, random| {
        if packet[at..at + 2] != IPERF3 {
            return lose(packet, at, random);
        }
        let Some(place) = timestamps(packet, at) else {
            return false;
        };
        let time = place.start..place.start + 4;
        let real_ms = u32::from_be_bytes(packet[time.clone()].try_into().expect("four bytes"));
        let to = [packet[at + 2], packet[at + 3]];
        if packet[at + 13] & SYN != 0 {
            begun_ms.insert(to, real_ms);
        }
        let Some(begun_ms) = begun_ms.get(&to).filter(|begun_ms| **begun_ms != real_ms) else {
            return false;
        };
        let mut false_ms = begun_ms.wrapping_add(false_clock_ms(real_ms.wrapping_sub(*begun_ms)));
        match random.next() % 16 {
            0 => false_ms = false_ms.wrapping_sub(random.next() as u32 % 1000),
            1 => packet[place.start + 4..place.end].fill(0),
            _ => {}
        }
        packet[time].copy_from_slice(&false_ms.to_be_bytes());
        true
    }
}

/// What it shows so long after its beginning.
fn false_clock_ms(real_ms: u32) -> u32 {
    let (half_seconds, rest_ms) = (real_ms >> 9, real_ms & 511);
    let since_ms = match rest_ms {
        0..128 => 0,
        128..256 => (rest_ms - 127) * 100,
        _ => 12_800 + (rest_ms - 256) / 100 * 100,
    };
    half_seconds * 13_312 + since_ms
}

/// Puts the meddler's namespace between the two hosts.
fn cut(pair: &Pair, change: impl Change) -> (Namespace, Meddler) {
    let namespace = Namespace::new("flm");
    let middle = &namespace.0;
    run(&format!("ip -n {} link del wire", pair.sender));
    for (host, name, end) in [(&pair.sender, "left", 1), (&pair.receiver, "right", 2)] {
        run(&format!(
            "ip link add wire netns {host} type veth peer name {name} netns {middle}"
        ));
        run(&format!("ip -n {host} addr add 10.77.0.{end}/24 dev wire"));
        run(&format!("ip -n {host} link set wire up gso_max_segs 1"));
        run(&format!("ip -n {middle} link set {name} up"));
    }
    let device = |name: &str| Device {
        name: name.to_owned(),
        netns: Some(format!("/run/netns/{middle}").into()),
    };
    let meddler = Meddler::new(&device("left"), &device("right"), change);
    (namespace, meddler)
}

/// Five megabytes under a law that is recorded: its parameters, its calls and how many there are.
fn transferred(pair: &Pair, law: &'static Sender) -> (Params, Calls, u64) {
    let name = unique("h");
    let unit = Unit {
        name: name[..name.len().min(15)].to_owned(),
        record: true,
        ..Unit::new(law, Version::running().expect("Linux"))
    };
    let object = unit.compile().expect("clang");
    let devices = [pair.device(&pair.sender), pair.device(&pair.receiver)];
    let sender = loaded::Sender::load(&object, &pair.cgroup, &devices).expect("root");
    let head = RecordedHead::new(law, &unit.params, String::new());
    let written = Calls::default();
    let mut recorder = sender
        .recorder(&head, Box::new(written.clone()))
        .expect("compiled to be recorded");
    let _server = pair.start(&pair.receiver, "iperf3 -s -1");
    let client = format!("sh -c 'sleep 0.3; exec iperf3 -c 10.77.0.2 -n 5M -C {}'", unit.name);
    let mut client = pair.start(&pair.sender, &client);
    let since = Instant::now();
    while !client.has_ended() {
        recorder.poll(Duration::from_millis(20)).expect("memory");
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "{}: the transfer stalls",
            law.name()
        );
    }
    let (calls_n, _) = recorder.finish().expect("memory");
    (unit.params, written, calls_n)
}

#[test]
fn the_ack_that_ends_a_recovery_is_none_to_grow_by() {
    // Goal: it acknowledges all that left the network in the meantime, and is shown as one of the recovery: the first
    // ACK that is none finds the window at ssthresh and acknowledges a segment or two.
    if !possible(&["ip", "iperf3"]) {
        return;
    }
    let pair = Pair::new();
    let _path = cut(&pair, lose);
    let (_, written, _) = transferred(&pair, fadelab_laws::sender("reno").expect("registered"));
    let calls = written.read().0;
    let (mut ended, mut large) = (0, 0);
    for pair in calls.windows(2).filter(|pair| pair[0].flow == pair[1].flow) {
        let (last, next) = (&pair[0], &pair[1]);
        let states = [last, next].map(|call| (call.name(), call.before.ca_state));
        // Elsewhere the kernel found that nothing was lost, and took the reduction back.
        let is_at_ssthresh = next.before.cwnd_pkts == next.before.ssthresh_pkts;
        if states == [("on_ack", abi::CA_RECOVERY), ("on_ack", abi::CA_OPEN)] && is_at_ssthresh {
            ended += 1;
            large += u32::from(next.ack().is_some_and(|ack| ack.acked_pkts > 3));
        }
    }
    assert!(ended > 5 && large * 2 <= ended, "{ended} {large}");
}

#[test]
fn a_meddled_flow_neither_stalls_nor_leaves_its_law() {
    // Goal: whatever arrives in options and ECN bits, the transfer ends, each window is the one that the law gives for
    // what it was told, and VCP's never grows by more than a packet for each that arrived.
    if !possible(&["ip", "iperf3"]) {
        return;
    }
    for law in ["vcp", "xcp"] {
        let pair = Pair::new();
        let (_middle, meddler) = cut(&pair, meddle);
        let law = fadelab_laws::sender(law).expect("registered");
        let since = Instant::now();
        let (unit, written, calls_n) = transferred(&pair, law);
        let changed_n = meddler.changed_n();
        drop(meddler);
        assert!(changed_n > 500, "{}: {changed_n} packets were changed", law.name());
        for call in written.read().0 {
            assert!(call.agrees(law, &unit), "{}: {call:?}", law.name());
            if law.name() == "vcp" && call.name() == "on_ack" {
                let most = call.before.cwnd_pkts + call.ack().expect("an ACK").delivered_pkts + 1;
                assert!(call.after.cwnd_pkts <= most, "{call:?}");
            }
        }
        let seconds = since.elapsed().as_secs_f64();
        report(&format!(
            "{}: {calls_n} calls, {changed_n} packets changed, {seconds:.1} s",
            law.name()
        ));
    }
}

#[test]
fn a_false_clock_neither_stalls_a_flow_nor_opens_its_window() {
    // Goal: under laws that go by arrivals a transfer ends whatever the receiver's timestamps say, each window is the
    // one that the law gives for what it was told, none is empty, and none is larger than all that was sent.
    if !possible(&["ip", "iperf3"]) {
        return;
    }
    for law in ["veno", "westwood", "westwood_plus", "jersey", "new_jersey"] {
        let pair = Pair::new();
        let (_middle, meddler) = cut(&pair, misdate());
        let law = fadelab_laws::sender(law).expect("registered");
        let (unit, written, calls_n) = transferred(&pair, law);
        let changed_n = meddler.changed_n();
        drop(meddler);
        assert!(changed_n > 300, "{}: {changed_n} packets were changed", law.name());
        let mut cwnd_pkts_max = 0;
        for call in written.read().0 {
            assert!(call.agrees(law, &unit), "{}: {call:?}", law.name());
            assert!(call.after.cwnd_pkts > 0, "{}: {call:?}", law.name());
            cwnd_pkts_max = cwnd_pkts_max.max(call.after.cwnd_pkts);
        }
        report(&format!(
            "{}: {calls_n} calls, {changed_n} packets changed, windows up to {cwnd_pkts_max} packets",
            law.name()
        ));
        assert!(
            cwnd_pkts_max < 4000,
            "{}: a window of {cwnd_pkts_max} packets",
            law.name()
        );
    }
}
