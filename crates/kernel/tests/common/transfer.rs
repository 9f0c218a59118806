//! A transfer under a law that is recorded.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fadelab_kernel::sender::{LiveFlow, Sender, Unit, flows};
use fadelab_laws::recorded::{Receipt, Recorded, RecordedHead};
use libbpf_rs::MapCore;

use super::calls::Calls;
use super::tap::{Seen, Tap};
use super::{Pair, run};

/// Loads a law for both ends.
pub fn load(unit: &Unit<'_>, pair: &Pair) -> Sender {
    let object = unit
        .compile()
        .unwrap_or_else(|error| panic!("{}: {error}", unit.law.name()));
    let devices = [pair.device(&pair.sender), pair.device(&pair.receiver)];
    Sender::load(&object, &pair.cgroup, &devices).unwrap_or_else(|error| panic!("{}: {error}", unit.law.name()))
}

/// What a transfer showed.
pub struct Showed {
    /// Flows as they were last seen.
    pub flows: Vec<LiveFlow>,
    /// All calls of the law.
    pub calls: Vec<Recorded>,
    /// All calls of its receiver.
    pub receipts: Vec<Receipt>,
    /// What the sender's device carried, by the destination's port.
    pub seen: BTreeMap<u16, Seen>,
}

/// iperf3 under a recorded law, for a second unless `arguments`, which go to the client, say how much it sends.
pub fn transfer(unit: &Unit<'_>, pair: &Pair, arguments: &str) -> Showed {
    transfer_while(unit, pair, arguments, |_| {})
}

/// The same; `meanwhile` is called again and again with how many calls the law has had.
pub fn transfer_while(unit: &Unit<'_>, pair: &Pair, arguments: &str, meanwhile: impl FnMut(usize)) -> Showed {
    let sender = load(unit, pair);
    let arguments = format!("{arguments} -C {}", unit.name);
    transfer_under(&sender, unit, pair, &arguments, meanwhile)
}

/// The same under a law that is loaded already, if `arguments` choose it.
pub fn transfer_under(
    sender: &Sender,
    unit: &Unit<'_>,
    pair: &Pair,
    arguments: &str,
    mut meanwhile: impl FnMut(usize),
) -> Showed {
    let tap = Tap::new(&pair.device(&pair.sender));
    let head = RecordedHead::new(unit.law, &unit.params, String::new());
    let written = Calls::default();
    let mut recorder = sender
        .recorder(&head, Box::new(written.clone()))
        .expect("compiled to be recorded");
    let _server = pair.start(&pair.receiver, "iperf3 -s -1");
    let length = if arguments.contains(" -n ") { "" } else { "-t 1" };
    let mut client = pair.start(
        &pair.sender,
        &format!("sh -c 'sleep 0.3; exec iperf3 {arguments} {length}'"),
    );
    let live = sender
        .object()
        .maps()
        .find(|map| map.name() == "live")
        .expect("each law has it");
    let (mut seen, since) = (BTreeMap::new(), Instant::now());
    while !client.has_ended() {
        let calls_n = recorder.poll(Duration::from_millis(20)).expect("memory");
        meanwhile(calls_n as usize);
        seen.extend(flows(&live).expect("root").into_iter().map(|flow| (flow.id, flow)));
        assert!(since.elapsed() < Duration::from_secs(30), "iperf3 comes to an end");
    }
    let (_, lost_n) = recorder.finish().expect("memory");
    assert_eq!(lost_n, 0, "the ring has room");
    let (calls, receipts) = written.read();
    Showed {
        flows: seen.into_values().collect(),
        calls,
        receipts,
        seen: tap.seen(),
    }
}

/// The sender's device at 20 Mbit/s, behind a queue of so many bytes.
pub fn shaped(pair: &Pair, limit_bytes: u32) {
    shaped_at(&pair.sender, limit_bytes);
}

/// Both devices, for data that go both ways: without it the other direction is as fast as the machine, and calls come
/// faster than a busy one reads them.
#[allow(dead_code, reason = "one way is enough for most tests")]
pub fn shaped_both_ways(pair: &Pair, limit_bytes: u32) {
    for host in [&pair.sender, &pair.receiver] {
        shaped_at(host, limit_bytes);
    }
}

fn shaped_at(host: &str, limit_bytes: u32) {
    run(&format!(
        "tc -n {host} qdisc add dev wire root tbf rate 20mbit burst 5kb limit {limit_bytes}"
    ));
}
