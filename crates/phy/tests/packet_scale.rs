//! The chain in continuous time: its realisation, its sampler and its exact law against closed forms and each other.

use fadelab_phy::channel::{Channel, ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};
use fadelab_phy::gilbert_elliott::{BAD, GOOD};
use fadelab_phy::packet_scale::{LossGivenPath, Scratch, Sojourns, TimeChain};
use fadelab_phy::reed_solomon::{gf256, ideal, positions};

/// Two-sided 99.9 % quantile of the normal law.
const QUANTILE: f64 = 3.2905;

fn spec(stay_ns_mean: [f64; 2], bit_error: [f64; 2], code: CodeSpec) -> ChannelSpec {
    let spec = ChannelSpec {
        model: Model::PacketScale {
            good_ns_mean: stay_ns_mean[GOOD],
            bad_ns_mean: stay_ns_mean[BAD],
            bit_error_good: bit_error[GOOD],
            bit_error_bad: bit_error[BAD],
        },
        code,
    };
    spec.validate().expect("a valid channel");
    spec
}

/// Probability that no bit is wrong over `ns`, from the stationary chain, where bits take `bit_ns`: the chain is killed
/// at the rate of errors, and the 2x2 exponential of its generator has this closed form.
fn survival(stay_ns_mean: [f64; 2], bit_error: [f64; 2], bit_ns: f64, ns: f64) -> f64 {
    let leave = stay_ns_mean.map(|mean| 1.0 / mean);
    let kill = bit_error.map(|error| -(-error).ln_1p() / bit_ns);
    let (a, d) = (-leave[GOOD] - kill[GOOD], -leave[BAD] - kill[BAD]);
    let (middle, half) = (f64::midpoint(a, d), (a - d) / 2.0);
    let root = (half * half + leave[GOOD] * leave[BAD]).sqrt();
    // Hyperbolic functions times exp(middle ns), written so that nothing overflows.
    let (slow, fast) = (((middle + root) * ns).exp(), ((middle - root) * ns).exp());
    let (cosh, sinh) = (f64::midpoint(slow, fast), (slow - fast) / 2.0 / root);
    let from_good = cosh + sinh * (half + leave[GOOD]);
    let from_bad = cosh + sinh * (leave[BAD] - half);
    let good = leave[BAD] / (leave[GOOD] + leave[BAD]);
    good * from_good + (1.0 - good) * from_bad
}

#[test]
fn uncoded_law_equals_the_closed_form() {
    // Goal: without a code the exact packet error is the closed form of the killed chain, from stays far shorter than a
    // packet to far longer.
    for stays in [[1e4, 2e3], [1e6, 1e5], [1e9, 1e8]] {
        for errors in [[0.0, 0.5], [1e-6, 1e-3], [1e-5, 1e-5]] {
            let (law, rate_bps) = (spec(stays, errors, CodeSpec::NONE), 2_000_000);
            let error = law.packet_error_at(PacketKind::Data, 1040, rate_bps);
            let closed = 1.0 - survival(stays, errors, 500.0, 1040.0 * 8.0 * 500.0);
            assert!((error - closed).abs() < 1e-11, "{stays:?} {errors:?}: {error} {closed}");
        }
    }
}

#[test]
fn packet_error_is_the_limit_of_short_packets() {
    // Goal: without a rate the packet error is that of packets within one state, weighted by time in each.
    let (stays, errors) = ([1e8, 3e7], [1e-6, 1e-4]);
    let error = spec(stays, errors, CodeSpec::NONE).packet_error(PacketKind::Data, 1040);
    let within = errors.map(|error: f64| 1.0 - (1.0 - error).powi(8320));
    let expected = (within[GOOD] * 1e8 + within[BAD] * 3e7) / 1.3e8;
    assert!((error - expected).abs() < 1e-12, "{error} {expected}");
}

/// Losses of packets that are so far apart that each meets a chain of its own.
fn lost_of(spec: &ChannelSpec, rate_bps: u64, packets: u64, apart_ns: u64) -> u64 {
    let mut channel = Channel::new(spec, 3, "link", rate_bps);
    (0..packets)
        .map(|packet| u64::from(channel.is_lost(packet * apart_ns, PacketKind::Data, 1040)))
        .sum()
}

#[test]
fn sampler_agrees_with_the_exact_law() {
    // Goal: stays shorter than, like and longer than a packet of 4 to 5 ms, without a code, as one word and as
    // interleaved words: the sampler, which plays stays and adds errors up given the path, loses what the matrix law
    // says, within 99.9 %.
    let coded = |mode| CodeSpec {
        data_rate: 0.9,
        ack_rate: 0.9,
        mode,
    };
    for (stays, errors) in [
        ([2e6, 1e5], [1e-4, 2e-2]),
        ([2e7, 3e6], [1e-4, 1e-2]),
        ([2e8, 3e7], [3e-3, 8e-3]),
    ] {
        for code in [CodeSpec::NONE, coded(CodeMode::Ideal), coded(CodeMode::Gf256)] {
            let (channel, rate_bps, packets) = (spec(stays, errors, code), 2_000_000, 20_000);
            let lost = lost_of(&channel, rate_bps, packets, 2_000_000_000) as f64 / packets as f64;
            let exact = channel.packet_error_at(PacketKind::Data, 1040, rate_bps);
            let interval = QUANTILE * (exact * (1.0 - exact) / packets as f64).sqrt();
            assert!(
                (lost - exact).abs() < interval + 1e-9,
                "{stays:?} {code:?}: {lost}, exact {exact}"
            );
        }
    }
}

#[test]
fn bursts_of_losses_equal_the_closed_form() {
    // Goal: packets back to back see bursts as long as the chain makes them. A loss after a reception has probability
    // S(1) - S(2), where S(n) is the survival of n packets; so a burst of losses lasts (1 - S(1)) / (S(1) - S(2))
    // packets on average. Measured over runs far apart, within 99.9 %.
    let (stays, errors, rate_bps) = ([5e7, 1e7], [1e-7, 1e-2], 2_000_000);
    let law = spec(stays, errors, CodeSpec::NONE);
    let mut channel = Channel::new(&law, 7, "link", rate_bps);
    let (runs, packet_ns) = (40_000u64, 1040 * 8 * 500);
    let (mut lost, mut begun) = (0.0, 0.0);
    for run in 0..runs {
        let fates =
            [0, 1].map(|packet| channel.is_lost(run * 2_000_000_000 + packet * packet_ns, PacketKind::Data, 1040));
        lost += f64::from(u8::from(fates[1]));
        begun += f64::from(u8::from(fates[1] && !fates[0]));
    }
    let survives = |packets: u64| survival(stays, errors, 500.0, (packets * packet_ns) as f64);
    for (name, seen, expected) in [
        ("lost", lost, 1.0 - survives(1)),
        ("begun", begun, survives(1) - survives(2)),
    ] {
        let interval = QUANTILE * (expected * (1.0 - expected) / runs as f64).sqrt();
        assert!(
            (seen / runs as f64 - expected).abs() < interval,
            "{name}: {} {expected}",
            seen / runs as f64
        );
    }
    // Independent losses would last 1 / (1 - loss) packets: the bursts measured here are longer.
    assert!(lost / begun > 1.5 * survives(1).recip(), "{}", lost / begun);
}

#[test]
fn stays_do_not_depend_on_traffic() {
    // Goal: whoever looks at a time sees the same state, however often anyone looked before; and a law that sends less
    // meets the same fates at the times it does send.
    let chain = TimeChain {
        stay_ns_mean: [3e6, 1e6],
        bit_error: [0.0, 0.4],
    };
    let (mut often, mut seldom) = (Sojourns::new(&chain, 1, "a"), Sojourns::new(&chain, 1, "a"));
    let mut changes = Vec::new();
    let fates = |stride: u64| -> Vec<bool> {
        let law = spec(chain.stay_ns_mean, chain.bit_error, CodeSpec::NONE);
        let mut channel = Channel::new(&law, 1, "a", 1_000_000);
        (0..2_000 / stride)
            .map(|n| channel.is_lost(n * stride * 500_000, PacketKind::Ack, 40))
            .collect()
    };
    let all = fates(1);
    assert!(all.iter().step_by(5).eq(fates(5).iter()));
    assert!(all.iter().any(|lost| *lost) && !all.iter().all(|lost| *lost));
    for look in 0..20_000 {
        let start = f64::from(look) * 1e5;
        let state = often.pass(start, start + 4e4, &mut changes);
        if look % 7 == 0 {
            assert_eq!(state, seldom.pass(start, start, &mut changes));
        }
    }
}

#[test]
fn stays_have_their_means_and_shares() {
    // Goal: stays last their mean and the chain is good for its share of time, within five standard errors.
    let chain = TimeChain {
        stay_ns_mean: [3e6, 1e6],
        bit_error: [0.0; 2],
    };
    let mut sojourns = Sojourns::new(&chain, 2, "b");
    let mut changes = Vec::new();
    let first = sojourns.pass(0.0, 4e11, &mut changes);
    let stays: Vec<f64> = changes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The stay after the first change is of the other state.
    for (offset, state) in [(0, 1 - first), (1, first)] {
        let of_state: Vec<f64> = stays.iter().skip(offset).step_by(2).copied().collect();
        let (mean, expected) = (
            of_state.iter().sum::<f64>() / of_state.len() as f64,
            chain.stay_ns_mean[state],
        );
        assert!(
            (mean / expected - 1.0).abs() < 5.0 / (of_state.len() as f64).sqrt(),
            "{state}: {mean}"
        );
    }
}

#[test]
fn loss_given_a_path_equals_byte_by_byte() {
    // Goal: runs and binomials give the loss that an addition byte by byte gives, each byte with the time it spends in
    // each state, for paths with no change, one, several and several in one byte, for one word and for interleaved
    // ones.
    let chain = TimeChain {
        stay_ns_mean: [1e6, 1e6],
        bit_error: [2e-4, 1.5e-2],
    };
    let byte_ns = 4_000.0;
    let paths: [&[f64]; 5] = [
        &[],
        &[1_000_000.0],
        &[4_000.0, 2_000_000.0],
        &[1_001_000.0, 1_001_500.0, 1_003_000.0, 3_000_000.0],
        &[500.0, 1_234_567.8, 4_470_500.0],
    ];
    let mut scratch = Scratch::default();
    for words in [vec![ideal(1040, 0.93)], gf256(1040, 0.93), vec![ideal(1040, 1.0)]] {
        let law = LossGivenPath::new(&chain, &words, byte_ns);
        for start in [GOOD, BAD] {
            for changes in paths {
                let byte_error = |byte: u32| {
                    let (begin, end) = (f64::from(byte) * byte_ns, f64::from(byte + 1) * byte_ns);
                    let edges = changes
                        .iter()
                        .copied()
                        .filter(|at| (begin..end).contains(at))
                        .chain([end]);
                    let (mut here, mut hazard) = (begin, 0.0);
                    let mut state = (start + changes.iter().filter(|at| **at < begin).count()) % 2;
                    for edge in edges {
                        hazard -= 8.0 * (edge - here) / byte_ns * (-chain.bit_error[state]).ln_1p();
                        (here, state) = (edge, 1 - state);
                    }
                    1.0 - (-hazard).exp()
                };
                let received: f64 = words
                    .iter()
                    .zip(positions(&words))
                    .map(|(word, at)| {
                        let mut count = vec![0.0; word.correctable() as usize + 1];
                        count[0] = 1.0;
                        for error in at.into_iter().map(byte_error) {
                            for number in (0..count.len()).rev() {
                                let fewer = if number > 0 { count[number - 1] } else { 0.0 };
                                count[number] = count[number] * (1.0 - error) + fewer * error;
                            }
                        }
                        count.iter().sum::<f64>()
                    })
                    .product();
                let loss = law.loss(start, changes, &mut scratch);
                assert!(
                    (loss - (1.0 - received)).abs() < 1e-10,
                    "{start} {changes:?}: {loss} {}",
                    1.0 - received
                );
            }
        }
    }
}
