//! Recordings of laws in this machine's kernel under load.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::time::{Duration, Instant};

use common::calls::Calls;
use common::transfer::load;
use common::{Pair, possible, report, unique};
use fadelab_kernel::Version;
use fadelab_kernel::sender::Unit;
use fadelab_laws::recorded::RecordedHead;

#[test]
fn a_full_ring_leaves_gaps_that_are_known_as_lost() {
    // Goal: calls for which there was no room, because nobody took what was in the ring, are counted, and the chains of
    // the flow and of the receiving end go on behind the gap: what is read again is whole, and every call agrees.
    if !possible(&["ip", "iperf3"]) {
        return;
    }
    let pair = Pair::new();
    pair.one_segment();
    let law = fadelab_laws::sender("xcp").expect("registered");
    let unit = Unit {
        name: unique("r"),
        record: true,
        ..Unit::new(law, Version::running().expect("Linux"))
    };
    let sender = load(&unit, &pair);
    let head = RecordedHead::new(law, &unit.params, String::new());
    let written = Calls::default();
    let mut recorder = sender
        .recorder(&head, Box::new(written.clone()))
        .expect("compiled to be recorded");
    let _server = pair.start(&pair.receiver, "iperf3 -s -1");
    let client = format!("sh -c 'sleep 0.3; exec iperf3 -c 10.77.0.2 -t 60 -C {}'", unit.name);
    let _client = pair.start(&pair.sender, &client);
    let since = Instant::now();
    while recorder.lost() == 0 {
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "the ring of 16 MB is full at some time"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // Behind the gap there is more than the ring holds.
    let first = recorder.poll(Duration::from_millis(20)).expect("memory");
    while recorder.poll(Duration::from_millis(20)).expect("memory") < 2 * first {
        assert!(since.elapsed() < Duration::from_secs(60), "calls go on");
    }
    let (calls_n, lost_n) = recorder.finish().expect("memory");
    let (calls, receipts) = written.read();
    assert!(lost_n > 0);
    assert_eq!(calls_n as usize, calls.len() + receipts.len());
    assert!(calls.iter().all(|call| call.agrees(law, &unit.params)));
    let receiver = unit.receiver.expect("XCP has one");
    assert!(receipts.iter().all(|receipt| receipt.agrees(receiver)));
    report(&format!("{calls_n} calls, {lost_n} lost"));
}
