//! What a link does behind its transmitter: ARQ, random delay, reordering.

mod common;

use common::{Bench, DATA, MS, constant, spec};
use fadelab_path::counters::LinkCounters;
use fadelab_path::layer::{Arq, DelayLaw, Jitter, LinkLayer, Reorder};
use fadelab_path::spec::LinkSpec;
use fadelab_phy::channel::{Channel, ChannelSpec, CodeSpec, Model, PacketKind};

/// A packet of 1000 bytes takes a millisecond.
const RATE_BPS: u64 = 8_000_000;
const DELAY_NS: u64 = 5 * MS;
const END: u64 = u64::MAX - 1;

fn random(data: f64) -> ChannelSpec {
    ChannelSpec {
        model: Model::Random { data, ack: 0.0 },
        code: CodeSpec::NONE,
    }
}

fn link(channel: Option<ChannelSpec>, layer: LinkLayer) -> LinkSpec {
    let mut link = spec(constant(RATE_BPS), DELAY_NS, None, None);
    (link.channel, link.layer) = (channel, layer);
    link
}

fn arq(tries_max: Option<u32>, retry_ns: u64, in_order: bool) -> LinkLayer {
    LinkLayer {
        arq: Some(Arq {
            tries_max,
            retry_ns,
            in_order,
        }),
        ..LinkLayer::default()
    }
}

fn jitter(delay: DelayLaw, in_order: bool) -> LinkLayer {
    LinkLayer {
        jitter: Some(Jitter { delay, in_order }),
        ..LinkLayer::default()
    }
}

/// Whether the link's channel loses what begins to be sent at each of the times, asked without the link.
fn fates(channel: &ChannelSpec, starts_ns: &[u64]) -> Vec<bool> {
    let mut channel = Channel::new(channel, 1, "link", RATE_BPS);
    let lost = |&at_ns: &u64| channel.is_lost(at_ns, PacketKind::Data, 1000);
    starts_ns.iter().map(lost).collect()
}

/// Sends `pkts` packets of 1000 bytes at `gap_ns`, and returns the bench at its end with its counters.
fn sent(spec: &LinkSpec, pkts: u64, gap_ns: u64) -> (Bench, LinkCounters) {
    let mut bench = Bench::new(spec);
    for number in 0..pkts {
        assert!(bench.arrive(number * gap_ns, 1000, DATA));
    }
    bench.run(END);
    let counters = bench
        .link
        .snapshot(pkts * gap_ns + 1_000_000 * MS, &mut bench.packets)
        .expect("sound");
    (bench, counters)
}

#[test]
fn what_is_left_is_the_loss_to_the_power_of_the_tries() {
    // Goal: at a loss of p a packet is lost for good with p^N and sent (1 - p^N) / (1 - p) times on average, in packets
    // and in bytes on the air; each within what a binomial share leaves once in 10^5 runs. Without a limit nothing is
    // lost.
    let (loss, pkts) = (0.3, 40_000);
    for tries in [1, 2, 4] {
        let spec = link(Some(random(loss)), arq(Some(tries), 8 * MS, true));
        let (_, counters) = sent(&spec, pkts, 2 * MS);
        let expected = loss.powi(tries as i32);
        let margin = 4.5 * (expected * (1.0 - expected) / pkts as f64).sqrt();
        let residual = counters.lost_air_pkts as f64 / pkts as f64;
        assert!(
            (residual - expected).abs() < margin,
            "{residual} for {expected} after {tries} tries"
        );
        let repeats = counters.retransmitted_pkts as f64 / pkts as f64;
        let mean = (1.0 - expected) / (1.0 - loss) - 1.0;
        // Tries of a packet are a truncated geometric number, whose variance is below p / (1 - p)^2.
        let margin = 4.5 * (loss / (1.0 - loss) / (1.0 - loss) / pkts as f64).sqrt();
        assert!(
            (repeats - mean).abs() < margin,
            "{repeats} for {mean} after {tries} tries"
        );
        assert_eq!(counters.sent_pkts, pkts);
        assert_eq!(counters.sent_bytes, 1000 * (pkts + counters.retransmitted_pkts));
    }
    let (bench, counters) = sent(&link(Some(random(loss)), arq(None, 8 * MS, true)), pkts, 2 * MS);
    assert_eq!((counters.lost_air_pkts, bench.out.len() as u64), (0, pkts));
    let recovered = counters.recovered_pkts as f64 / pkts as f64;
    assert!(
        (recovered - loss).abs() < 4.5 * (loss * (1.0 - loss) / pkts as f64).sqrt(),
        "{recovered}"
    );
}

/// The times at which packets leave if the first one is lost so often, repeated 8 ms after each loss.
fn drill(in_order: bool) -> (Vec<(u64, u32, bool)>, Vec<bool>, LinkCounters) {
    let channel = random(0.5);
    let layer = arq(Some(3), 8 * MS, in_order);
    let (bench, counters) = sent(&link(Some(channel.clone()), layer), 3, 20 * MS);
    // Nothing else is on the air at 20 ms distance, so that tries begin at 0, 9 and 18 ms.
    let starts: Vec<u64> = (0..3)
        .flat_map(|packet| [0, 9, 18].map(|at| (20 * packet + at) * MS))
        .collect();
    (bench.out, fates(&channel, &starts), counters)
}

#[test]
fn delays_follow_from_the_fates() {
    // Goal: a packet that comes through at try k is delivered at its arrival + k transmissions + (k - 1) pauses + the
    // propagation; one that is lost k = N times is handed back when its last try would have arrived.
    let (out, fates, counters) = drill(true);
    let (mut expected, mut repeats, mut lost) = (Vec::new(), 0, 0);
    for packet in 0..3u64 {
        let tries = &fates[3 * packet as usize..][..3];
        let good = tries.iter().position(|lost| !lost);
        let last = good.unwrap_or(2) as u64;
        repeats += last;
        lost += u64::from(good.is_none());
        expected.push((
            20 * packet * MS + (last + 1) * MS + last * 8 * MS + DELAY_NS,
            packet as u32,
            good.is_none(),
        ));
    }
    assert!(repeats > 0, "{fates:?}");
    // In order, a packet that is through waits for those before it.
    for index in 1..3 {
        expected[index].0 = expected[index].0.max(expected[index - 1].0);
    }
    assert_eq!(out, expected);
    assert_eq!((counters.retransmitted_pkts, counters.lost_air_pkts), (repeats, lost));
}

#[test]
fn order_is_kept_or_not() {
    // Goal: in order, packets come out as they went in and none is counted as late; out of order, a packet is late
    // exactly when one sent after it came before, and each comes at the end of its own last try.
    let channel = random(0.2);
    let outcome = |in_order| sent(&link(Some(channel.clone()), arq(None, 8 * MS, in_order)), 2000, 2 * MS);
    let (ordered, counters) = outcome(true);
    assert!(ordered.out.windows(2).all(|pair| pair[0].1 < pair[1].1));
    assert_eq!(counters.reordered_pkts, 0);
    let (unordered, counters) = outcome(false);
    let mut newest = 0;
    let late = unordered.out.iter().filter(|out| {
        newest = newest.max(out.1);
        out.1 < newest
    });
    let late = late.count() as u64;
    assert_eq!(counters.reordered_pkts, late);
    assert!(late > 300, "{late}");
    // The same tries at the same times: each packet comes no later than in order, and the last of all at the same time.
    let mut by_id = unordered.out.clone();
    by_id.sort_by_key(|out| out.1);
    assert!(by_id.iter().zip(&ordered.out).all(|(own, held)| own.0 <= held.0));
    assert_eq!(
        by_id.iter().map(|out| out.0).max(),
        ordered.out.iter().map(|out| out.0).max()
    );
}

#[test]
fn repetitions_cost_capacity_and_go_first() {
    // Goal: on a link that is always busy, tries fill the air without a gap: what is sent, repetitions included, is
    // what the rate allows, and a lost packet is sent again before those that wait.
    let (mut bench, pkts) = (Bench::new(&link(Some(random(0.25)), arq(None, 0, true))), 400);
    for _ in 0..pkts {
        assert!(bench.arrive(0, 1000, DATA));
    }
    let halfway = bench
        .link
        .snapshot(200 * MS + MS / 4, &mut bench.packets)
        .expect("sound");
    bench.run(END);
    let end_ns = bench.out.last().expect("packets").0 - DELAY_NS;
    let end = bench.link.snapshot(end_ns, &mut bench.packets).expect("sound");
    assert_eq!((end.sent_bytes, end.sent_pkts), (end.offered_bytes, pkts));
    assert_eq!(end_ns, (pkts + end.retransmitted_pkts) * MS);
    assert!(end.retransmitted_pkts > 80, "{end:?}");
    // At once and first: like a packet that is sent until it is through. Order needs no waiting then.
    assert!(
        bench
            .out
            .windows(2)
            .all(|pair| pair[0].1 + 1 == pair[1].1 && pair[0].0 < pair[1].0)
    );
    // A quarter of a packet counts as what is on the air of it.
    assert_eq!(halfway.sent_bytes, 200_250);
    assert_eq!(halfway.sent_pkts + halfway.retransmitted_pkts, 200);
}

#[test]
fn fates_belong_to_the_time() {
    // Goal: two links that send at the same times meet the same losses and delays, whatever was sent before: sixty
    // packets more in front change nothing afterwards.
    let layer = LinkLayer {
        jitter: Some(Jitter {
            delay: DelayLaw::Exponential { mean_ns: 2 * MS },
            in_order: false,
        }),
        ..arq(Some(2), 3 * MS, false)
    };
    let spec = link(Some(random(0.3)), layer);
    let run = |in_front: u64| {
        let mut bench = Bench::new(&spec);
        for number in 0..in_front {
            bench.arrive(number * 2 * MS, 1000, DATA);
        }
        for number in 0..400 {
            bench.arrive(1000 * MS + number * 10 * MS, 1000, DATA);
        }
        bench.run(END);
        let out = bench.out.into_iter().filter(|out| u64::from(out.1) >= in_front);
        out.map(|(at_ns, id, lost)| (at_ns, u64::from(id) - in_front, lost))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(0), run(60));
}

/// Mean and variance, in ms, of the delay that packets get beyond transmission and propagation.
fn moments(delay: DelayLaw) -> (f64, f64) {
    let pkts = 40_000;
    let (bench, _) = sent(&link(None, jitter(delay, false)), pkts, 2 * MS);
    assert_eq!(bench.out.len() as u64, pkts);
    let extra = |out: &(u64, u32, bool)| (out.0 - u64::from(out.1) * 2 * MS - MS - DELAY_NS) as f64 / MS as f64;
    let mean = bench.out.iter().map(extra).sum::<f64>() / pkts as f64;
    let variance = bench.out.iter().map(|out| (extra(out) - mean).powi(2)).sum::<f64>() / pkts as f64;
    (mean, variance)
}

#[test]
fn delays_have_the_moments_of_their_law() {
    // Goal: mean and variance of 40,000 delays lie within 4.5 standard errors (sqrt(variance / n), and sqrt((m4 -
    // variance^2) / n)) of those of the law. A normal one of mean 0 that is never negative is the half-normal law.
    let half = 2.0 / std::f64::consts::PI;
    let half_m4 = 3.0 - 2.0 * half - 3.0 * half * half;
    let laws = [
        (
            DelayLaw::Uniform {
                min_ns: 2 * MS,
                max_ns: 8 * MS,
            },
            5.0,
            3.0,
            16.2,
        ),
        (DelayLaw::Exponential { mean_ns: 3 * MS }, 3.0, 9.0, 729.0),
        // At ten standard deviations above 0 nothing is left out.
        (
            DelayLaw::Normal {
                mean_ns: 20 * MS,
                sd_ns: 2 * MS,
            },
            20.0,
            4.0,
            48.0,
        ),
        (
            DelayLaw::Normal { mean_ns: 0, sd_ns: MS },
            half.sqrt(),
            1.0 - half,
            half_m4,
        ),
    ];
    for (delay, mean, variance, m4) in laws {
        let found = moments(delay);
        let n: f64 = 40_000.0;
        assert!(
            (found.0 - mean).abs() < 4.5 * (variance / n).sqrt(),
            "{delay:?}: mean {found:?}"
        );
        let error = ((m4 - variance * variance) / n).sqrt();
        assert!(
            (found.1 - variance).abs() < 4.5 * error,
            "{delay:?}: variance {found:?}, expected {variance}"
        );
    }
}

#[test]
fn jitter_keeps_order_where_it_shall() {
    // Goal: in order, a packet leaves at its own time or with the one before it, whichever is later; otherwise each at
    // its own.
    let delay = DelayLaw::Uniform {
        min_ns: 0,
        max_ns: 20 * MS,
    };
    let outcome = |in_order| sent(&link(None, jitter(delay, in_order)), 1000, 2 * MS);
    let ((free, late), (ordered, kept)) = (outcome(false), outcome(true));
    let mut own = free.out.clone();
    own.sort_by_key(|out| out.1);
    let mut last_ns = 0;
    let expected = own.iter().map(|out| {
        last_ns = out.0.max(last_ns);
        (last_ns, out.1, false)
    });
    let expected: Vec<_> = expected.collect();
    assert_eq!(ordered.out, expected);
    assert_eq!(kept.reordered_pkts, 0);
    assert!(late.reordered_pkts > 300, "{late:?}");
}

#[test]
fn held_packets_are_overtaken() {
    // Goal: a packet that is held back leaves its delay later, with a gap of two behind the second packet after it, and
    // with a gap that is not reached at its delay; p of all are held, within a binomial interval.
    let reordered = |delay_ns, gap_pkts| {
        let layer = LinkLayer {
            reorder: Some(Reorder {
                probability: 0.1,
                delay_ns,
                gap_pkts,
            }),
            ..LinkLayer::default()
        };
        sent(&link(None, layer), 4000, 2 * MS)
    };
    let on_time = |id: u32| u64::from(id) * 2 * MS + MS + DELAY_NS;
    let (bench, counters) = reordered(7 * MS, None);
    let held: Vec<u32> = bench
        .out
        .iter()
        .filter(|out| out.0 != on_time(out.1))
        .map(|out| out.1)
        .collect();
    assert!(
        bench
            .out
            .iter()
            .all(|out| out.0 == on_time(out.1) || out.0 == on_time(out.1) + 7 * MS)
    );
    let share = held.len() as f64 / 4000.0;
    assert!((share - 0.1).abs() < 4.5 * (0.09f64 / 4000.0).sqrt(), "{share}");
    assert!(counters.reordered_pkts > 300, "{counters:?}");
    // The same packets are held whatever becomes of them. Alone, one leaves with the second behind it, 4 ms late.
    let (gapped, _) = reordered(7 * MS, Some(2));
    let alone = |id: &u32| held.iter().all(|other| other == id || other.abs_diff(*id) > 4);
    let lateness = |bench: &Bench, id: u32| {
        let out = bench.out.iter().find(|out| out.1 == id).expect("delivered");
        out.0 - on_time(id)
    };
    let alone: Vec<u32> = held.iter().copied().filter(alone).collect();
    assert!(alone.len() > 50);
    // The last packets have none behind them.
    for &id in alone.iter().filter(|id| **id < 3990) {
        assert_eq!(lateness(&gapped, id), 4 * MS, "packet {id}");
    }
    let (too_wide, _) = reordered(7 * MS, Some(50));
    assert!(held.iter().all(|id| lateness(&too_wide, *id) == 7 * MS));
}
