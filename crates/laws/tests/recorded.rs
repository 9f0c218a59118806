//! Recordings of a kernel as files: what was written is read again, and damage is found where it is.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use fadelab_laws::abi;
use fadelab_laws::recorded::{Damage, RECORDED_VERSION, Reader, RecordedHead, Refusal, Step, Writer};

const HEAD: usize = 64;
/// Head, event, two controls.
const SENDER: usize = HEAD + 208 + 2 * 40;
/// Head, event.
const RECEIVER: usize = HEAD + 96;
const ON_RESTART: u32 = 5;
const ON_DATA: u32 = 1;

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn head() -> RecordedHead {
    let law = fadelab_laws::sender("vcp").expect("registered");
    RecordedHead::new(law, &law.default_params(), "6.18".to_owned())
}

/// What a call begins with: role, instance, number, how many were lost before it, function, bytes of the event.
fn begin([role, id, sequence, lost_n, function, event_bytes]: [u64; 6]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for long in [id, sequence, lost_n, 1_000_000 * sequence] {
        bytes.extend(long.to_ne_bytes());
    }
    for word in [role as u32, function as u32, event_bytes as u32, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend([0; 16]);
    bytes
}

/// A call of a sender whose state is filled with these bytes before and after.
fn call(flow: u64, sequence: u64, lost_n: u64, [before, after]: [u8; 2]) -> Vec<u8> {
    let mut bytes = begin([0, flow, sequence, lost_n, u64::from(ON_RESTART), 0]);
    bytes.resize(SENDER, 0);
    let state_bytes = head().state_bytes;
    bytes.resize(SENDER + state_bytes, before);
    bytes.resize(SENDER + 2 * state_bytes, after);
    bytes
}

fn receipt(end: u64, sequence: u64, [before, after]: [u8; 2]) -> Vec<u8> {
    let mut bytes = begin([1, end, sequence, 0, u64::from(ON_DATA), size_of::<abi::Data>() as u64]);
    bytes.resize(RECEIVER, 0);
    let state_bytes = head().receiver_state_bytes.expect("VCP has a receiver");
    bytes.resize(RECEIVER + state_bytes, before);
    bytes.resize(RECEIVER + 2 * state_bytes, after);
    bytes
}

fn written(calls: &[Vec<u8>], lost_n: u64) -> Vec<u8> {
    let memory = Memory::default();
    let mut writer = Writer::new(&head(), Box::new(memory.clone())).expect("memory");
    for call in calls {
        writer.call(call).expect("a call of this law");
    }
    writer.end(lost_n).expect("memory");
    let bytes = memory.0.lock().expect("one thread");
    bytes.clone()
}

/// Three flows and two receiving ends, taking turns.
fn calls() -> Vec<Vec<u8>> {
    let mut calls = Vec::new();
    for sequence in 1..=4 {
        let states = [sequence as u8, sequence as u8 + 1];
        calls.extend((1..=3).map(|flow| call(flow, sequence, 0, states)));
        calls.extend((1..=2).map(|end| receipt(end, sequence, states)));
    }
    calls
}

/// Reads to the end: how many calls there were and how many were lost, or where the damage is.
fn read(bytes: &[u8]) -> Result<(u64, u64), Damage> {
    let mut reader = match Reader::new(Cursor::new(bytes)) {
        Ok(reader) => reader,
        Err(Refusal::Damaged(damage)) => return Err(damage),
        Err(other) => panic!("{other:?}"),
    };
    let mut calls_n = 0;
    loop {
        match reader.step()? {
            Step::Call(_) | Step::Receipt(_) | Step::Passage(_) | Step::Transit(_) => calls_n += 1,
            Step::End { lost_n } => return Ok((calls_n, lost_n)),
        }
    }
}

/// Where the calls begin, the end of the file among them, and behind it.
fn places(bytes: &[u8], calls: &[Vec<u8>]) -> Vec<usize> {
    let first = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1 + 8;
    let lengths = calls.iter().map(|call| call.len() + 8).chain([HEAD + 8]);
    let mut places = vec![first];
    places.extend(lengths.scan(first, |at, length| {
        *at += length;
        Some(*at)
    }));
    assert_eq!(places.last(), Some(&bytes.len()));
    places
}

/// Demands that damage is found at a call, counted from 1, or in the first line.
fn demand(bytes: &[u8], call: usize, case: &str) {
    match read(bytes) {
        Err(damage) => assert_eq!(damage.call, call as u64, "{case}: {damage}"),
        Ok(read) => panic!("{case}: {read:?}"),
    }
}

#[test]
fn a_file_is_read_as_it_was_written() {
    // Goal: all calls of all instances come back, with how many were lost.
    let calls = calls();
    assert_eq!(read(&written(&calls, 7)), Ok((calls.len() as u64, 7)));
    assert_eq!(read(&written(&[], 0)), Ok((0, 0)));
}

#[test]
fn a_changed_byte_is_found_at_its_call() {
    // Goal: whichever byte of a file is changed, one bit or all of them, the place that is named is the call in which
    // it stands, or the first line.
    let calls = calls();
    let bytes = written(&calls, 0);
    let places = places(&bytes, &calls);
    for at in 0..bytes.len() {
        let call = places.iter().filter(|place| **place <= at).count();
        for change in [1 << (at % 8), 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            demand(&changed, call, &format!("byte {at} ^ {change:#x}"));
        }
    }
}

#[test]
fn a_cut_file_is_read_up_to_its_cut() {
    // Goal: wherever a file ends too early, the calls before are read and the one that is cut is named.
    let calls = calls();
    let bytes = written(&calls, 0);
    let places = places(&bytes, &calls);
    for at in 1..bytes.len() {
        let call = places.iter().filter(|place| **place <= at).count();
        demand(&bytes[..at], call, &format!("cut at {at}"));
    }
    let longer = [&bytes[..], &[0]].concat();
    demand(&longer, calls.len() + 1, "a byte behind the end");
}

#[test]
fn removed_doubled_and_swapped_calls_are_found() {
    // Goal: each call that is removed, is there twice, or stands in the place of any other is found where the file is
    // first another, with those of other instances in between or not.
    let calls = calls();
    let bytes = written(&calls, 0);
    let places = places(&bytes, &calls);
    let piece = |number: usize| &bytes[places[number]..places[number + 1]];
    let end = calls.len();
    for number in 0..=end {
        let removed = [&bytes[..places[number]], &bytes[places[number + 1]..]].concat();
        demand(&removed, number + 1, &format!("without {number}"));
        let doubled = [&bytes[..places[number + 1]], &bytes[places[number]..]].concat();
        // Behind the end nothing is read.
        let place = if number == end { number + 1 } else { number + 2 };
        demand(&doubled, place, &format!("twice {number}"));
        for other in number + 1..=end {
            let between = &bytes[places[number + 1]..places[other]];
            let pieces = [&bytes[..places[number]], piece(other), between, piece(number)];
            let swapped = [&pieces.concat()[..], &bytes[places[other + 1]..]].concat();
            demand(&swapped, number + 1, &format!("{number} and {other} swapped"));
        }
    }
}

#[test]
fn the_chain_of_an_instance_tells_what_was_lost_from_what_was_removed() {
    // Goal: with checksums that are right, a gap is lost where the next call of the instance counts it as lost, and
    // removed where it does not; a call that is there twice, a state that is not the one after the call before, and
    // calls that are counted as lost and are there are told as such.
    let first = call(1, 1, 0, [1, 2]);
    let of = |second: Vec<u8>| read(&written(&[first.clone(), call(2, 1, 0, [0, 0]), second], 0));
    assert_eq!(of(call(1, 2, 0, [2, 3])), Ok((3, 0)));
    assert_eq!(of(call(1, 5, 3, [9, 3])), Ok((3, 0)));
    for (second, why) in [
        (call(1, 5, 1, [9, 3]), "2 calls of its flow were removed before it"),
        (call(1, 1, 0, [1, 2]), "it is there twice or out of its place"),
        (
            call(1, 2, 0, [3, 3]),
            "its state is not the one after the call before it",
        ),
        (call(1, 2, 1, [2, 3]), "it counts lost calls that are there"),
        (call(3, 2, 0, [0, 0]), "a call of its flow was removed before it"),
    ] {
        let damage = of(second).expect_err(why);
        assert_eq!(damage.call, 3);
        assert!(damage.why.contains(why), "{damage}");
    }
}

#[test]
fn other_files_and_versions_are_told_apart_from_damage() {
    // Goal: a recording of version 1, one of the version before this and one of a version to come are refused by their
    // number, and what is no recording is left to others.
    let refused = |bytes: &[u8]| Reader::new(Cursor::new(bytes.to_vec())).err();
    let old = br#"{"fadelab_kernel_calls":1,"law":"vcp","params":{},"state_bytes":8,"kernel":"6.1","laws":[]}"#;
    assert_eq!(refused(&[&old[..], b"\n"].concat()), Some(Refusal::Version(1)));
    for version in [RECORDED_VERSION - 1, RECORDED_VERSION + 1] {
        let memory = Memory::default();
        let other = RecordedHead {
            fadelab_kernel_calls: version,
            ..head()
        };
        Writer::new(&other, Box::new(memory.clone())).expect("memory");
        let refused = refused(&memory.0.lock().expect("one thread"));
        assert_eq!(refused, Some(Refusal::Version(version)));
    }
    for other in [&b""[..], b"\n", b"{\"fadelab_calls\":1}\n", b"hello", &[0xff; 4000]] {
        assert_eq!(refused(other), Some(Refusal::NotOne), "{other:?}");
    }
}

#[test]
fn a_file_has_calls_of_its_law_alone() {
    // Goal: a call of a sender is none in a recording of a router, and the reverse: it is refused when it is written.
    let (law, part) = (fadelab_laws::router("vcp"), fadelab_laws::capacity("configured"));
    let (law, part) = (law.expect("registered"), part.expect("registered"));
    let head_of_router = RecordedHead::of_router(
        (law, &law.default_params()),
        (part, &part.default_params()),
        "eth0",
        String::new(),
    );
    let router = head_of_router.router.clone().expect("of a router");
    let memory_bytes = router.host_bytes + head_of_router.state_bytes + router.part_state_bytes;
    let mut passage = begin([2, 1, 1, 0, 1, 168]);
    passage.resize(HEAD + 168 + 2 * memory_bytes, 0);
    let sender = call(1, 1, 0, [0, 0]);
    for (head, own, other) in [(head(), &sender, &passage), (head_of_router, &passage, &sender)] {
        let mut writer = Writer::new(&head, Box::new(Memory::default())).expect("memory");
        writer.call(own).expect("a call of its law");
        let refused = writer.call(other).expect_err("a call of another");
        assert!(refused.to_string().contains("which the law has not"), "{refused}");
    }
}

/// `struct law_fill`.
fn fill_bytes(fill: &abi::Fill) -> Vec<u8> {
    let mut bytes = vec![0; size_of::<abi::Fill>()];
    bytes[..4].copy_from_slice(&fill.size.to_ne_bytes());
    bytes[4..8].copy_from_slice(&fill.ecn.to_ne_bytes());
    bytes[8..16].copy_from_slice(&fill.now_us.to_ne_bytes());
    bytes[16..36].copy_from_slice(&fill.feedback.bytes);
    (bytes[36], bytes[37]) = (fill.feedback.len, fill.feedback.present);
    bytes
}

#[test]
fn a_receiver_s_echo_is_compared() {
    // Goal: a call of a receiver that came to another echo in the kernel than here is told, and one that came to the
    // same is not.
    let law = fadelab_laws::receiver("vcp").expect("registered");
    let given = abi::Fill {
        now_us: 5,
        ..abi::Fill::default()
    };
    let (mut state, mut came_to) = (law.new_state(), given);
    law.fill_ack(&mut state, &mut came_to);
    let state: Vec<u8> = state.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let agrees = |echo: &[u8]| {
        let given = fill_bytes(&given);
        let mut bytes = begin([1, 1, 1, 0, 2, given.len() as u64]);
        bytes.extend(given);
        bytes.resize(HEAD + 48, 0);
        bytes.extend(echo);
        bytes.resize(RECEIVER + state.len(), 0);
        bytes.extend(&state);
        let file = written(&[bytes], 0);
        match Reader::new(Cursor::new(file)).expect("a recording").step() {
            Ok(Step::Receipt(receipt)) => receipt.agrees(law),
            other => panic!("{other:?}"),
        }
    };
    let echo = fill_bytes(&came_to);
    assert!(agrees(&echo));
    let mut other = echo;
    other[16] ^= 1;
    assert!(!agrees(&other));
}
