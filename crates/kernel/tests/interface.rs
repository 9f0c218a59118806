//! What `law.h` promises senders, held against this machine's kernel, through laws that exist to use it (`tests/laws`),
//! brought as a user brings one.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::own::bring;
use common::transfer::{Showed, shaped, transfer, transfer_while};
use common::{Pair, possible, run, unique};
use fadelab_kernel::Version;
use fadelab_kernel::sender::Unit;
use fadelab_laws::recorded::Recorded;
use fadelab_laws::{Sender, abi};

fn law(name: &str, change: impl Fn(String) -> String) -> &'static Sender {
    fadelab_laws::sender(&bring(name, change)).expect("it has a sender")
}

fn unit<'a>(law: &'a Sender, pairs: &[(&str, f64)]) -> Unit<'a> {
    let name = unique("ki");
    Unit {
        name: name[name.len().saturating_sub(15)..].to_owned(),
        params: law.params_from(pairs).expect("valid parameters"),
        record: true,
        ..Unit::new(law, Version::running().expect("Linux"))
    }
}

/// A second of a law with these parameters, each segment by itself, through a queue of `limit_bytes` at 20 Mbit/s, or
/// through none.
fn second_of(law: &Sender, pairs: &[(&str, f64)], limit_bytes: Option<u32>) -> Showed {
    let pair = Pair::new();
    if let Some(limit_bytes) = limit_bytes {
        shaped(&pair, limit_bytes);
    }
    pair.one_segment();
    transfer(&unit(law, pairs), &pair, "-c 10.77.0.2")
}

/// The calls of each flow, in order.
fn by_flow(showed: &Showed) -> Vec<Vec<&Recorded>> {
    let last = showed.calls.iter().map(|call| call.flow).max().unwrap_or(0);
    let calls = |flow| showed.calls.iter().filter(move |call| call.flow == flow);
    (1..=last).map(|flow| calls(flow).collect()).collect()
}

#[test]
fn the_kernel_keeps_what_is_less_than_a_packet() {
    // Goal: a law without memory finds the fraction that it left, in the window and in ssthresh, as long as the kernel
    // did not set the window itself; its window grows by 0.3 packets an ACK, so by whole ones too.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let law = law("fraction", |text| text);
    let showed = second_of(law, &[("growth", 0.3)], Some(60_000));
    let (mut kept, mut fractions) = (0, 0);
    for calls in by_flow(&showed) {
        for pair in calls.windows(2) {
            let (left, found) = (&pair[0].after, &pair[1].before);
            if left.cwnd_pkts == found.cwnd_pkts {
                assert_eq!(left.cwnd_fraction, found.cwnd_fraction, "{:?} {:?}", pair[0], pair[1]);
                kept += 1;
                fractions += usize::from(left.cwnd_fraction > 0);
            }
        }
    }
    assert!(kept > 100 && fractions > 50, "{kept} {fractions}");
}

#[test]
fn a_window_below_a_packet_is_a_distance() {
    // Goal: under a window of an eighth of a packet segments leave one at a time and, nearly always, more than four
    // smoothed round trips apart; a law that keeps to a whole packet never finds less than that.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let law = law("fraction", |text| text);
    let acks = |window: f64| {
        let showed = second_of(law, &[("window", window)], None);
        let flows = by_flow(&showed).into_iter().map(|calls| {
            let acks = calls
                .iter()
                .filter(|call| call.name() == "on_ack" && call.before.cwnd_pkts == 0);
            acks.filter_map(|call| call.ack()).collect::<Vec<abi::Ack>>()
        });
        flows.max_by_key(Vec::len).expect("a flow")
    };
    let acks_below = acks(0.125);
    // A segment leaves at a distance from the one before that was set when that one left: by the ACK before it.
    let is_apart = |acks: &[abi::Ack]| acks[2].now_us - acks[1].now_us > 4 * u64::from(acks[0].srtt_us);
    // The kernel paces none of the first ten segments (tcp_update_skb_after_send).
    let paced = &acks_below[9.min(acks_below.len())..];
    let apart = paced.windows(3).filter(|acks| is_apart(acks)).count();
    assert!(paced.len() > 5, "{}", acks_below.len());
    assert!(apart * 10 >= (paced.len() - 2) * 8, "{apart} of {}", paced.len());
    assert!(
        acks_below.iter().all(|ack| ack.prior_in_flight_pkts <= 1),
        "{acks_below:?}"
    );
    assert_eq!(acks(1.0).len(), 0);
}

#[test]
fn acks_say_what_they_are() {
    // Goal: each ACK of a connection with timestamps says so, what was in flight before it, or taken for lost, is at
    // least what it delivered and no more than the receiver takes, and the most that a segment left behind, which is
    // reconstructed, is about the most that was in flight.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let law = law("told", |text| text);
    let showed = second_of(law, &[("window_pkts", 30.0)], Some(60_000));
    let acks: Vec<abi::Ack> = showed
        .calls
        .iter()
        .filter(|call| call.name() == "on_ack")
        .filter_map(Recorded::ack)
        .collect();
    assert!(acks.len() > 300, "{}", acks.len());
    // What was taken for lost is not in flight, and arrives all the same where it was only late.
    let mut lost_pkts = 0;
    for ack in &acks {
        assert!(ack.flags & abi::ACK_TIMESTAMPS != 0, "{ack:?}");
        let most = ack.prior_in_flight_pkts + lost_pkts;
        assert!(most >= ack.delivered_pkts, "{lost_pkts} lost before {ack:?}");
        lost_pkts += ack.lost_pkts;
        assert!((10..100_000).contains(&ack.rwnd_pkts), "{ack:?}");
        assert!(ack.in_flight_pkts <= ack.rwnd_pkts, "{ack:?}");
    }
    let sampled = acks.iter().filter(|ack| ack.rate_interval_us > 0);
    let reconstructed = sampled.map(|ack| ack.rate_prior_in_flight_pkts).max().expect("samples");
    let flight = acks.iter().map(|ack| ack.prior_in_flight_pkts).max().expect("ACKs");
    assert!(
        (flight / 2..=flight).contains(&reconstructed),
        "{reconstructed} of {flight}"
    );
}

#[test]
fn what_a_law_sends_less_by_choice_is_app_limited() {
    // Goal: of a law that says that it sends less for reasons of its own nearly all rate samples are limited by the
    // application; of the same law that does not say so hardly any.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let law = law("told", |text| text);
    let limited = |idles| {
        let showed = second_of(law, &[("idles", idles)], Some(60_000));
        let acks: Vec<abi::Ack> = showed.calls.iter().filter_map(Recorded::ack).collect();
        let is_limited = |ack: &&abi::Ack| ack.flags & abi::ACK_APP_LIMITED != 0;
        acks.iter().filter(is_limited).count() as f64 / acks.len() as f64
    };
    let (says, says_not) = (limited(1.0), limited(0.0));
    assert!(says > 0.9 && says_not < 0.2, "{says} {says_not}");
}

#[test]
fn ssthresh_is_the_host_s_while_it_repairs() {
    // Goal: what a law writes into ssthresh with each ACK is not what the next call finds while the kernel repairs a
    // loss, and is otherwise; the window after the repair is no larger than before the loss, though the law answers it
    // with three times that.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let law = law("estimator", |text| text);
    let pairs = [("estimate_pkts", 7.0), ("share", 3.0)];
    let showed = second_of(law, &pairs, Some(30_000));
    let (mut repairing, mut others, mut losses) = (0, 0, 0);
    for calls in by_flow(&showed) {
        for pair in calls.windows(2) {
            let (left, found) = (&pair[0], &pair[1].before);
            let repairs = [abi::CA_CWR, abi::CA_RECOVERY].contains(&left.before.ca_state);
            if left.name() == "on_ack" && repairs {
                assert_ne!(found.ssthresh_pkts, 7, "{left:?}");
                repairing += 1;
            } else if left.name() == "on_ack" && pair[1].name() == "on_ack" {
                assert_eq!(found.ssthresh_pkts, 7, "{left:?}\n{:?}", pair[1]);
                others += 1;
            }
        }
        for (at, loss) in calls.iter().enumerate().filter(|(_, call)| call.name() == "on_loss") {
            let ends = calls[at..]
                .iter()
                .skip(1)
                .find(|call| call.before.ca_state <= abi::CA_DISORDER);
            if let Some(end) = ends {
                assert!(end.before.cwnd_pkts <= loss.before.cwnd_pkts, "{loss:?} {end:?}");
                losses += 1;
            }
        }
    }
    assert!(
        repairing > 50 && others > 50 && losses > 0,
        "{repairing} {others} {losses}"
    );
}

#[test]
fn a_spurious_timeout_is_told() {
    // Goal: the link stands still for longer than the timer and then goes on with what it held: the kernel takes the
    // timeout back, and the law is told of it with its cause.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let law = law("told", |text| text);
    let pair = Pair::new();
    shaped(&pair, 60_000);
    pair.one_segment();
    let unit = unit(law, &[("window_pkts", 30.0)]);
    let change = |rate: &str| {
        let sender = &pair.sender;
        run(&format!(
            "tc -n {sender} qdisc change dev wire root tbf rate {rate} burst 5kb limit 60000"
        ));
    };
    // Calls when the link stood still, and polls of 20 ms without another. It stands still until the timer has called
    // the law, however long that takes: no ACK comes before, since a packet takes 1.5 s.
    let mut still: Option<(usize, u32)> = None;
    let mut goes_on = false;
    let showed = transfer_while(&unit, &pair, "-c 10.77.0.2", |calls_n| match &mut still {
        None if calls_n > 300 => {
            change("8kbit");
            still = Some((calls_n, 0));
        }
        Some((before_n, quiet_polls)) if *before_n == calls_n => *quiet_polls += 1,
        Some((_, quiet_polls)) if *quiet_polls > 4 && !goes_on => {
            change("20mbit");
            goes_on = true;
        }
        Some(since) => *since = (calls_n, 0),
        None => {}
    });
    let timeouts = showed.calls.iter().filter(|call| call.name() == "on_rto").count();
    assert!(timeouts > 0, "the link stood still");
    // Of the last reduction. A repair may have been for nothing as well, where the machine stood still.
    let (mut cause, mut undone) = (None, Vec::new());
    for call in &showed.calls {
        match call.name() {
            "on_loss" => cause = Some(call.arguments[0]),
            "on_rto" => cause = Some(u64::from(abi::LOSS_RTO)),
            "on_undo" => {
                assert_eq!(Some(call.arguments[0]), cause, "{call:?}");
                assert!(call.after.cwnd_pkts >= call.before.cwnd_pkts, "{call:?}");
                undone.push(call.arguments[0]);
            }
            _ => {}
        }
    }
    let is_told = undone.contains(&u64::from(abi::LOSS_RTO));
    assert!(is_told, "{timeouts} timeouts, taken back with the causes {undone:?}");
}

#[test]
fn what_no_kernel_tells_is_refused_by_name() {
    // Goal: a law that uses what a stock kernel cannot tell does not compile for one, and the message names the field,
    // the reason and the line, for a field, a flag and a hook.
    for (name, from, to, what, reason) in [
        (
            "told",
            "#ifndef __bpf__",
            "#if 1",
            "on_lost",
            "no hook tells a congestion control which segments are lost",
        ),
        (
            "greeting",
            "#ifndef __bpf__",
            "#if 1",
            "feedback",
            "the programs read no option of a SYN yet",
        ),
        (
            "estimator",
            "LAW_SENDER_PLAIN_ACKS",
            "LAW_SENDER_PLAIN_ACKS | LAW_SENDER_FEEDBACK_ON_SYN",
            "LAW_SENDER_FEEDBACK_ON_SYN",
            "the programs write no option on a SYN yet",
        ),
    ] {
        let text = |text: String| text.replace(from, to);
        let law = law(name, text);
        let refused = Unit::new(law, Version::running().expect("Linux")).compile();
        let message = refused.expect_err("a kernel does not have it").to_string();
        assert!(message.contains(what) && message.contains(reason), "{message}");
        assert!(message.contains(&format!("{}.h:", law.name())), "{message}");
    }
}
