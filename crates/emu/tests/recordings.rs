//! Recordings of lanes, and what may happen to their files.

mod common;

use std::fs;
use std::path::Path;

use common::{MS, PACKET_BYTES, arrivals, fading, link};
use fadelab_emu::record::{Head, Recorder};
use fadelab_emu::replay::{Again, Recording, is_recording};
use fadelab_emu::{Fate, Lane, Left};
use fadelab_path::spec::LinkSpec;
use fadelab_phy::random::Stream;

fn lanes(spec: &LinkSpec) -> [Lane; 2] {
    [5, 6].map(|seed| common::lane(spec, seed, PACKET_BYTES))
}

/// Both lanes under arrivals of chance, recorded as an emulator does, which serves them now and then.
fn record(path: &Path, spec: &LinkSpec, packets_n: usize) {
    let head = Head {
        ways: vec![serde_json::json!("up"), serde_json::json!("down")],
        version: "1".to_owned(),
    };
    let mut recorder = Recorder::new(path, &head).expect("a file");
    let mut lanes = lanes(spec);
    for (number, (now_ns, packet)) in arrivals("vcp", packets_n).into_iter().enumerate() {
        if number % 7 == 0 {
            for (way, lane) in lanes.iter_mut().enumerate() {
                let mut sink = |left: &Left<'_>| recorder.left(way, left, 7);
                lane.serve(now_ns, &mut sink).expect("no invariant breaks");
            }
            recorder.served(now_ns);
        }
        // More comes the first way, which drops some.
        for (way, lane) in lanes.iter_mut().enumerate().take(1 + number % 2) {
            recorder.arrived(way, now_ns, &packet);
            let mut sink = |left: &Left<'_>| recorder.left(way, left, 7);
            lane.arrive(now_ns, &packet, &mut sink).expect("no invariant breaks");
        }
    }
    assert!(recorder.finish().expect("a disk"), "it is whole");
}

fn again(bytes: &[u8], spec: &LinkSpec) -> Option<Again> {
    if !is_recording(&mut &bytes[..]).expect("memory") {
        return None;
    }
    let recording = Recording::open(bytes).ok()?;
    Some(recording.again(&mut lanes(spec)).expect("no invariant breaks"))
}

#[test]
fn a_recording_comes_to_the_same() {
    // Goal: arrivals that are put through the same lanes come to the same fates, instants and headers; through lanes of
    // another seed they do not.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("link");
    record(&path, &fading("vcp"), 3000);
    let bytes = fs::read(&path).expect("it was written");
    let same = again(&bytes, &fading("vcp")).expect("a recording");
    assert!(same.agrees(), "{same:?}");
    assert_eq!(same.arrived_pkts, 4500);
    assert!(same.same_pkts.iter().all(|pkts| *pkts > 20), "{same:?}");
    let recording = Recording::open(&bytes[..]).expect("a recording");
    let mut others = [7, 8].map(|seed| common::lane(&fading("vcp"), seed, PACKET_BYTES));
    let other = recording.again(&mut others).expect("no invariant breaks");
    assert!(other.different_pkts > 10 && !other.agrees(), "{other:?}");
}

#[test]
fn a_recording_tells_what_became_of_each_packet() {
    // Goal: each packet that left, was lost or was dropped is shown once, with its size, when it came and how late it
    // left; as many of each fate as are made again; of one that was dropped the instant is that at which it came, and
    // some packets left with another ECN field than they came with.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("link");
    record(&path, &fading("vcp"), 3000);
    let bytes = fs::read(&path).expect("it was written");
    let mut passed = Vec::new();
    let recording = Recording::open(&bytes[..]).expect("a recording");
    recording
        .packets(2, |packet| passed.push(*packet))
        .expect("it is whole");
    let same = again(&bytes, &fading("vcp")).expect("a recording");
    let of_fate = |fate: Fate| passed.iter().filter(|packet| packet.fate == fate).count() as u64;
    assert_eq!(
        [Fate::Delivered, Fate::Lost, Fate::Dropped].map(of_fate),
        same.same_pkts
    );
    let mut numbers: Vec<_> = passed.iter().map(|packet| (packet.way, packet.number)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), passed.len());
    assert!(
        passed
            .iter()
            .all(|packet| packet.late_ns == 7 && packet.ip_bytes > 0 && packet.due_ns >= packet.arrived_ns)
    );
    let dropped = passed.iter().filter(|packet| packet.fate == Fate::Dropped);
    assert!(dropped.into_iter().all(|packet| packet.due_ns == packet.arrived_ns));
    assert!(passed.iter().any(|packet| packet.ecn[0] != packet.ecn[1]));
    let recording = Recording::open(&bytes[..bytes.len() - 9]).expect("a recording");
    assert!(recording.packets(2, |_| ()).is_err());
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    // Goal: a bit that was changed anywhere, a piece cut off at the end or doubled in the middle, two events exchanged:
    // none of them passes for whole, and none is waited for.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("link");
    record(&path, &link("vcp"), 300);
    let whole = fs::read(&path).expect("it was written");
    assert!(again(&whole, &link("vcp")).is_some_and(|again| again.agrees()));
    let mut random = Stream::new(4, "damage");
    let mut at = || random.below(whole.len() as u64) as usize;
    for round in 0..200 {
        let mut damaged = whole.clone();
        let (one, other) = (at(), at());
        match round % 4 {
            0 | 1 => damaged[one] ^= 1 << (round % 8),
            2 => damaged.truncate(one),
            _ => {
                let (from, to) = (one.min(other), one.max(other));
                let piece = damaged[from..to].to_vec();
                damaged.splice(from..from, piece);
                if from == to {
                    continue;
                }
            }
        }
        let agrees = again(&damaged, &link("vcp")).is_some_and(|again| again.agrees());
        assert!(!agrees, "round {round}, {one} and {other} of {}", whole.len());
    }
}

#[test]
fn one_arrival_moved_is_told_from_all_others() {
    // Goal: a packet that came a microsecond later in the file than it did, with a checksum that fits again, leads to
    // other departures.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("link");
    record(&path, &link("vcp"), 300);
    let mut bytes = fs::read(&path).expect("it was written");
    let head_end = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(1)
        .expect("two lines")
        .0
        + 1;
    // Kind and way stand before the time.
    let time = head_end + 2..head_end + 10;
    let moved_ns = u64::from_le_bytes(bytes[time.clone()].try_into().expect("eight bytes")) + MS / 1000;
    bytes[time].copy_from_slice(&moved_ns.to_le_bytes());
    let sum_at = bytes.len() - 16;
    let sum = twox_hash::XxHash3_128::oneshot(&bytes[..sum_at]);
    bytes[sum_at..].copy_from_slice(&sum.to_le_bytes());
    let moved = again(&bytes, &link("vcp")).expect("a recording");
    assert_eq!(moved.damage, None);
    assert!(moved.different_pkts > 0, "{moved:?}");
}
