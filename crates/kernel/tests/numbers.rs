//! DPCP's order of two numbers in the TCP header, in this machine's kernel, between two namespaces.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::tap::{only_arriving, open, read, tcp};
use common::transfer::{Showed, load, shaped, transfer_under};
use common::{Pair, possible, unique};
use fadelab_kernel::Version;
use fadelab_kernel::sender::{Sender, Unit};

fn unit() -> Unit<'static> {
    let name = unique("dpcp_");
    Unit {
        name: name[name.len().saturating_sub(15)..].to_owned(),
        record: true,
        ..Unit::new(
            fadelab_laws::sender("dpcp").expect("registered"),
            Version::running().expect("Linux"),
        )
    }
}

fn hosts() -> Pair {
    let pair = Pair::new();
    shaped(&pair, 60_000);
    pair.one_segment();
    pair
}

/// Of the data that arrive at the receiver's device: how many with the sequence number above the other one, how many
/// not, and how many of them follow one of the other kind.
#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    above: u64,
    below: u64,
    turns: u64,
}

fn orders_while<T>(pair: &Pair, act: impl FnOnce() -> T) -> (T, Orders) {
    let socket = open(&pair.device(&pair.receiver));
    only_arriving(&socket);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let looks = std::thread::spawn(move || {
        let (mut orders, mut last, mut packet) = (Orders::default(), None, vec![0; 1 << 17]);
        loop {
            match read(&socket, &mut packet) {
                Some(bytes) => count(&packet[..bytes], &mut orders, &mut last),
                None if stopped.load(Ordering::Relaxed) => return orders,
                None => {}
            }
        }
    });
    let done = act();
    stop.store(true, Ordering::Relaxed);
    (done, looks.join().expect("it looked"))
}

fn count(packet: &[u8], orders: &mut Orders, last: &mut Option<bool>) {
    let Some((at, _)) = tcp(packet) else { return };
    let word = |at: usize| {
        packet
            .get(at..at + 4)
            .map(|word| u32::from_be_bytes(word.try_into().expect("four")))
    };
    let header = packet.get(at + 12).map_or(0, |words| usize::from(words >> 4) * 4);
    let (Some(seq), Some(ack)) = (word(at + 4), word(at + 8)) else {
        return;
    };
    // Only data of full size: iperf3's own connection says little.
    if packet.len() < at + header + 1000 {
        return;
    }
    let is_above = seq > ack;
    *(if is_above { &mut orders.above } else { &mut orders.below }) += 1;
    orders.turns += u64::from(*last == Some(!is_above));
    *last = Some(is_above);
}

/// A second of data; all calls come to the same natively.
fn demand_whole(showed: &Showed, unit: &Unit<'_>) {
    let different = showed.calls.iter().find(|call| !call.agrees(unit.law, &unit.params));
    assert!(different.is_none(), "{different:?}");
    let receiver = unit.receiver.expect("it has one");
    let different = showed.receipts.iter().find(|receipt| !receipt.agrees(receiver));
    assert!(different.is_none(), "{different:?}");
}

/// Errors of checksums and headers that a host's TCP has counted.
fn damaged(pair: &Pair, host: &str) -> u64 {
    let text = pair.output(host, "cat /proc/net/snmp");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("Tcp:"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let of = |name: &str| {
        rows[0]
            .iter()
            .position(|known| *known == name)
            .expect("Linux counts it")
    };
    let number = |name: &str| rows[1][of(name)].parse::<u64>().expect("a number");
    number("InErrs") + number("InCsumErrors")
}

/// Whether the newest echo that a flow heard knows both halves (`part/pair_echo.h`).
fn knows_both(showed: &Showed) -> bool {
    let heard = showed.flows.iter().filter_map(|flow| flow.feedback.first().copied());
    heard.max().is_some_and(|echo| echo & 0x30 == 0x30)
}

#[test]
fn numbers_are_exchanged_by_turns_and_put_back() {
    // Goal: over both versions of IP, data of DPCP have either order in turn on the way; TCP at the other end sees none
    // exchanged and nothing damaged, its law both halves.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    for server in ["10.77.0.2", "fd77::2"] {
        let (pair, unit) = (hosts(), unit());
        let sender = load(&unit, &pair);
        let arguments = format!("-c {server} -C {}", unit.name);
        let (showed, orders) = orders_while(&pair, || transfer_under(&sender, &unit, &pair, &arguments, |_| {}));
        demand_whole(&showed, &unit);
        let all = orders.above + orders.below;
        assert!(all > 500, "{server}: {orders:?}");
        // All but the first window, and what retransmissions push in between.
        assert!(orders.turns > all * 9 / 10, "{server}: {orders:?}");
        assert!(knows_both(&showed), "{server}: {:?}", showed.flows);
        assert_eq!(damaged(&pair, &pair.receiver), 0, "{server}");
        assert_eq!(damaged(&pair, &pair.sender), 0, "{server}");
    }
}

#[test]
fn nothing_is_exchanged_where_nobody_puts_it_back() {
    // Goal: at the other end the law is loaded, but the device is not named: all data have the order that they had, and
    // arrive.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let (pair, unit) = (hosts(), unit());
    let object = unit.compile().expect("it compiles");
    let sender = Sender::load(&object, &pair.cgroup, &[pair.device(&pair.sender)]).expect("it loads");
    let arguments = format!("-c 10.77.0.2 -C {}", unit.name);
    let (showed, orders) = orders_while(&pair, || transfer_under(&sender, &unit, &pair, &arguments, |_| {}));
    demand_whole(&showed, &unit);
    assert!(orders.above + orders.below > 500, "{orders:?}");
    // Numbers wrap, and a flow of iperf3 has one order until they do.
    assert!(orders.turns <= 2, "{orders:?}");
    assert_eq!(damaged(&pair, &pair.receiver), 0);
}

#[test]
fn two_laws_at_a_device_put_numbers_back_once() {
    // Goal: with DPCP loaded twice at the same devices a flow under either is exchanged by turns and arrives whole.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let (pair, one, other) = (hosts(), unit(), unit());
    let (first, second) = (load(&one, &pair), load(&other, &pair));
    for (unit, sender) in [(&one, &first), (&other, &second)] {
        let arguments = format!("-c 10.77.0.2 -C {}", unit.name);
        let (showed, orders) = orders_while(&pair, || transfer_under(sender, unit, &pair, &arguments, |_| {}));
        let all = orders.above + orders.below;
        assert!(all > 500 && orders.turns > all * 9 / 10, "{}: {orders:?}", unit.name);
        assert!(!showed.calls.is_empty());
        assert_eq!(damaged(&pair, &pair.receiver), 0);
    }
}
