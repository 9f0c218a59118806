//! The sampler of the chain over bits against a plain simulation bit by bit.
//!
//! Both play the same schedule many times: a few packets with short gaps, then idle time until the chain has forgotten.
//! Each playing is then independent of the others, so that counts over playings are binomial and their intervals hold,
//! which would not be so for counts over the packets of one long run.

use fadelab_phy::channel::{Antennas, Channel, ChannelSpec, CodeMode, CodeSpec, Model, Modulation, PacketKind};
use fadelab_phy::gilbert_elliott::{BAD, BitChain, GOOD};
use fadelab_phy::interleaved::independent_words;
use fadelab_phy::packet_error::ByteChain;
use fadelab_phy::random::Stream;
use fadelab_phy::reed_solomon::{Word, positions};

/// Two-sided 99.9 % quantile of the normal law.
const QUANTILE: f64 = 3.2905;
/// Packets of a playing.
const PACKETS: usize = 4;
/// A link on which a bit takes one nanosecond, so that gaps are whole bits.
const RATE_BPS: u64 = 1_000_000_000;

/// A packet of the schedule, and the idle bits after it.
#[derive(Clone, Copy)]
struct Step {
    kind: PacketKind,
    ip_bytes: u32,
    gap_bits: u64,
}

/// Fates of the packets of each playing: whether lost.
type Fates = Vec<[bool; PACKETS]>;

/// Plays with the sampler.
fn by_sampler(spec: &ChannelSpec, schedule: &[Step; PACKETS], playings: usize, forget_bits: u64) -> Fates {
    let mut channel = Channel::new(spec, 5, "link", RATE_BPS);
    let mut now_ns = 0;
    let playing = |_| {
        let fates = schedule.map(|step| {
            let lost = channel.is_lost(now_ns, step.kind, step.ip_bytes);
            now_ns += u64::from(spec.air_bytes(step.kind, step.ip_bytes)) * 8 + step.gap_bits;
            lost
        });
        now_ns += forget_bits;
        fates
    };
    (0..playings).map(playing).collect()
}

/// The chain, one bit at a time. One draw decides the step (upper half) and the error (lower half).
struct Bits {
    stream: Stream,
    state: usize,
    leave: [u32; 2],
    error: [u32; 2],
}

impl Bits {
    fn new(chain: &BitChain, seed: u64) -> Self {
        let of_2_to_32 = |probability: f64| (probability * 4_294_967_296.0) as u32;
        Self {
            stream: Stream::new(seed, "bits"),
            state: GOOD,
            leave: [of_2_to_32(chain.step[GOOD][BAD]), of_2_to_32(chain.step[BAD][GOOD])],
            error: chain.error.map(of_2_to_32),
        }
    }

    fn restart(&mut self, stationary_good: f64) {
        self.state = if self.stream.uniform() < stationary_good {
            GOOD
        } else {
            BAD
        };
    }

    /// Sends one bit: whether it is wrong.
    fn send(&mut self) -> bool {
        let draw = self.stream.next_u64();
        if ((draw >> 32) as u32) < self.leave[self.state] {
            self.state = 1 - self.state;
        }
        (draw as u32) < self.error[self.state]
    }

    /// Sends a packet in words whose bytes are interleaved: whether one of them has more wrong bytes than it corrects.
    fn send_packet(&mut self, word_of_byte: &[usize], words: &[Word]) -> bool {
        let mut wrong = vec![0; words.len()];
        for &word in word_of_byte {
            wrong[word] += u32::from((0..8).fold(false, |any, _| self.send() | any));
        }
        words.iter().zip(wrong).any(|(word, wrong)| wrong > word.correctable())
    }
}

/// The word of each byte of a packet on the air.
fn word_of_byte(words: &[Word]) -> Vec<usize> {
    let mut owner = vec![0; words.iter().map(|word| word.bytes as usize).sum()];
    for (index, at) in positions(words).iter().enumerate() {
        for &position in at {
            owner[position as usize] = index;
        }
    }
    owner
}

/// Plays bit by bit.
fn by_bits(spec: &ChannelSpec, schedule: &[Step; PACKETS], playings: usize) -> Fates {
    let chain = spec.bit_chain().expect("a chain over bits");
    let packets = schedule.map(|step| {
        let words = spec.words(step.kind, step.ip_bytes);
        (word_of_byte(&words), words, step.gap_bits)
    });
    let mut bits = Bits::new(&chain, 17);
    let playing = |_| {
        bits.restart(chain.mixing.stationary()[GOOD]);
        let mut fates = [false; PACKETS];
        for (fate, (owner, words, gap_bits)) in fates.iter_mut().zip(&packets) {
            *fate = bits.send_packet(owner, words);
            (0..*gap_bits).for_each(|_| {
                bits.send();
            });
        }
        fates
    };
    (0..playings).map(playing).collect()
}

/// A question whose answer is a share of playings: losses of a packet, among all playings or those in which an earlier
/// packet had a given fate.
#[derive(Clone, Copy, Debug)]
struct Question {
    packet: usize,
    given: Option<(usize, bool)>,
}

/// Loss of every packet; given each fate of the packet before; and of the last given each fate of the first.
fn questions() -> Vec<Question> {
    let alone = (0..PACKETS).map(|packet| Question { packet, given: None });
    let pairs = (1..PACKETS)
        .map(|packet| (packet, packet - 1))
        .chain([(PACKETS - 1, 0)]);
    let given = pairs.flat_map(|(packet, earlier)| {
        [true, false].map(|lost| Question {
            packet,
            given: Some((earlier, lost)),
        })
    });
    alone.chain(given).collect()
}

/// Playings that count for a question, and those of them with a loss.
fn count(fates: &Fates, question: Question) -> (f64, f64) {
    let counting = || {
        fates
            .iter()
            .filter(|fates| question.given.is_none_or(|(earlier, lost)| fates[earlier] == lost))
    };
    (
        counting().count() as f64,
        counting().filter(|fates| fates[question.packet]).count() as f64,
    )
}

/// Distance of two shares in standard errors of their difference; `None` if fewer than 5 losses or receptions were seen
/// on either side, too few for the normal law.
fn distance(one: (f64, f64), other: (f64, f64)) -> Option<f64> {
    let few = |(all, lost): (f64, f64)| lost < 5.0 || all - lost < 5.0;
    if few(one) || few(other) {
        return None;
    }
    let pooled = (one.1 + other.1) / (one.0 + other.0);
    let error = (pooled * (1.0 - pooled) * (1.0 / one.0 + 1.0 / other.0)).sqrt();
    Some((one.1 / one.0 - other.1 / other.0).abs() / error)
}

/// Questions on which two ways of playing differ at 99.9 % confidence, and how many questions could be asked.
fn differences(one: &Fates, other: &Fates) -> (Vec<String>, usize) {
    let distances: Vec<(Question, f64)> = questions()
        .into_iter()
        .filter_map(|question| distance(count(one, question), count(other, question)).map(|d| (question, d)))
        .collect();
    let differing = distances.iter().filter(|(_, distance)| *distance > QUANTILE);
    (
        differing
            .map(|(question, distance)| format!("{question:?}: {distance:.2}"))
            .collect(),
        distances.len(),
    )
}

fn bpsk(antennas: Antennas, snr_good_db: f64, bursts: (f64, f64), code: CodeSpec) -> ChannelSpec {
    ChannelSpec {
        model: Model::GilbertElliott {
            modulation: Modulation::Bpsk,
            antennas,
            snr_good_db,
            snr_bad_db: snr_good_db - 10.0,
            burst_good_bits: bursts.0,
            burst_bad_bits: bursts.1,
        },
        code,
    }
}

#[test]
fn chain_of_the_paper() {
    // Goal: with VCP's chain (2x2, 5 dB, code 0.9 for data and 0.93 for ACKs) the sampler loses as many packets of each
    // size as the simulation bit by bit, on the whole and after each fate of an earlier packet, at 99.9 % confidence
    // each.
    let code = CodeSpec {
        data_rate: 0.9,
        ack_rate: 0.93,
        mode: CodeMode::Ideal,
    };
    let spec = bpsk(Antennas::TwoByTwo, 5.0, (800.0, 8.0), code);
    let data = Step {
        kind: PacketKind::Data,
        ip_bytes: 1040,
        gap_bits: 0,
    };
    let ack = Step {
        kind: PacketKind::Ack,
        ip_bytes: 40,
        gap_bits: 3,
    };
    let schedule = [data, ack, ack, data];
    let (differing, asked) = differences(
        &by_sampler(&spec, &schedule, 200_000, 100_000),
        &by_bits(&spec, &schedule, 6_000),
    );
    assert!(differing.is_empty() && asked >= 11, "{asked} asked: {differing:#?}");
}

#[test]
fn words_of_the_paper() {
    // Goal: the same for interleaved words over GF(256), where words are taken as independent given the states at ends
    // of segments: at VCP's bursts no difference shows.
    let code = CodeSpec {
        data_rate: 0.85,
        ack_rate: 0.93,
        mode: CodeMode::Gf256,
    };
    let spec = bpsk(Antennas::TwoByTwo, 5.0, (800.0, 8.0), code);
    let data = Step {
        kind: PacketKind::Data,
        ip_bytes: 1040,
        gap_bits: 0,
    };
    let ack = Step {
        kind: PacketKind::Ack,
        ip_bytes: 40,
        gap_bits: 3,
    };
    let schedule = [data, ack, data, ack];
    let (differing, asked) = differences(
        &by_sampler(&spec, &schedule, 200_000, 100_000),
        &by_bits(&spec, &schedule, 6_000),
    );
    assert!(differing.is_empty() && asked >= 10, "{asked} asked: {differing:#?}");
}

/// Bursts that last for hundreds of small packets, with gaps.
fn long_bursts() -> (ChannelSpec, [Step; PACKETS]) {
    let spec = bpsk(Antennas::TwoByOne, 20.0, (100_000.0, 10_000.0), CodeSpec::NONE);
    let packet = |gap_bits| Step {
        kind: PacketKind::Ack,
        ip_bytes: 40,
        gap_bits,
    };
    (spec, [packet(0), packet(300), packet(3000), packet(0)])
}

#[test]
fn bursts_longer_than_packets() {
    // Goal: with bursts of 100,000 and 10,000 bits and packets of 40 bytes, where fates are tied together, the sampler
    // still agrees with the simulation bit by bit at 99.9 % confidence each.
    let (spec, schedule) = long_bursts();
    let (differing, asked) = differences(
        &by_sampler(&spec, &schedule, 200_000, 1_000_000),
        &by_bits(&spec, &schedule, 20_000),
    );
    assert!(differing.is_empty() && asked == 12, "{asked} asked: {differing:#?}");
}

#[test]
fn bursts_as_long_as_packets() {
    // Goal: where the chain forgets much within a packet of 320 bits (bursts of 2000 and 400 bits), memory is counted
    // over the gap and not from the start of the packet before: agreement at 99.9 % confidence each.
    let spec = bpsk(Antennas::TwoByOne, 20.0, (2_000.0, 400.0), CodeSpec::NONE);
    let packet = |gap_bits| Step {
        kind: PacketKind::Ack,
        ip_bytes: 40,
        gap_bits,
    };
    let schedule = [packet(0), packet(50), packet(200), packet(0)];
    let (differing, asked) = differences(
        &by_sampler(&spec, &schedule, 200_000, 100_000),
        &by_bits(&spec, &schedule, 20_000),
    );
    assert!(differing.is_empty() && asked == 12, "{asked} asked: {differing:#?}");
}

#[test]
fn independent_losses_would_be_noticed() {
    // Goal: the test above has power. A sampler with the right loss and without memory passes the questions about
    // single packets and fails every question about earlier fates.
    let (spec, schedule) = long_bursts();
    let loss = spec.packet_error(PacketKind::Ack, 40);
    let mut stream = Stream::new(23, "independent");
    let independent: Fates = (0..200_000)
        .map(|_| [(); PACKETS].map(|()| stream.uniform() < loss))
        .collect();
    let (differing, asked) = differences(&independent, &by_bits(&spec, &schedule, 20_000));
    let given = questions().iter().filter(|question| question.given.is_some()).count();
    assert_eq!((asked, differing.len()), (12, given), "{differing:#?}");
    assert!(
        differing.iter().all(|question| question.contains("Some")),
        "{differing:#?}"
    );
}

#[test]
fn words_under_long_bursts() {
    // Goal: the loss of interleaved words stays within 0.015 (and the simulation's own 99.9 % interval) of the
    // simulation bit by bit where bursts are as long as a round of the words, as a packet, and longer. Independent
    // words, which would be 0.2 and more off for the long ones, show that the test has power.
    for (bursts, snr_db, code_rate) in [
        ((200.0, 40.0), 5.0, 0.6),
        ((3e3, 1e3), 7.0, 0.8),
        ((2e4, 4e3), 7.0, 0.8),
    ] {
        let code = CodeSpec {
            data_rate: code_rate,
            ack_rate: code_rate,
            mode: CodeMode::Gf256,
        };
        let spec = bpsk(Antennas::TwoByTwo, snr_db, bursts, code);
        let (chain, words) = (
            spec.bit_chain().expect("a chain over bits"),
            spec.words(PacketKind::Data, 1040),
        );
        let (owner, mut bits, packets) = (word_of_byte(&words), Bits::new(&chain, 29), 8_000);
        let lost = (0..packets).filter(|_| {
            bits.restart(chain.mixing.stationary()[GOOD]);
            bits.send_packet(&owner, &words)
        });
        let simulated = lost.count() as f64 / f64::from(packets);
        let interval = QUANTILE * (simulated * (1.0 - simulated) / f64::from(packets)).sqrt();
        let law = spec.packet_error(PacketKind::Data, 1040);
        assert!(
            (law - simulated).abs() < 0.015 + interval,
            "{bursts:?}: {law}, simulated {simulated}"
        );
        let independent = independent_words(&ByteChain::from_bits(&chain), &words);
        assert!(
            bursts.0 < 1e3 || (independent - simulated).abs() > 0.2,
            "{bursts:?}: {independent}"
        );
    }
}

#[test]
fn agrees_with_the_exact_error_at_any_rate() {
    // Goal: over a million packets at a rate whose bits are no whole nanoseconds, the sampler's loss is the exact
    // packet error within 99.9 % confidence. VCP's chain forgets within a packet, so that losses are independent here.
    let code = CodeSpec {
        data_rate: 0.9,
        ack_rate: 0.5,
        mode: CodeMode::Ideal,
    };
    let spec = bpsk(Antennas::TwoByTwo, 5.0, (800.0, 8.0), code);
    let mut channel = Channel::new(&spec, 9, "link", 54_000_000);
    let air_ns = u64::from(spec.air_bytes(PacketKind::Data, 1040)) * 8_000_000_000 / 54_000_000;
    let packets = 1_000_000;
    let lost = (0..packets)
        .filter(|packet| channel.is_lost(packet * (air_ns + 1), PacketKind::Data, 1040))
        .count();
    let exact = spec.packet_error(PacketKind::Data, 1040);
    let error = (exact * (1.0 - exact) / packets as f64).sqrt();
    assert!(
        (lost as f64 / packets as f64 - exact).abs() < QUANTILE * error,
        "{lost} of {packets}, exact {exact}"
    );
}

#[test]
fn same_seed_same_fates() {
    // Goal: a channel is a function of seed, link and questions; another seed or link has other fates.
    let (spec, _) = long_bursts();
    let fates = |seed, link: &str| -> Vec<bool> {
        let mut channel = Channel::new(&spec, seed, link, 1_000_000);
        (0..2_000)
            .map(|packet| channel.is_lost(packet * 320_000, PacketKind::Ack, 40))
            .collect()
    };
    assert_eq!(fates(1, "a"), fates(1, "a"));
    assert_ne!(fates(1, "a"), fates(2, "a"));
    assert_ne!(fates(1, "a"), fates(1, "b"));
}

#[test]
fn laws_meet_the_same_draws() {
    // Goal: a packet's draw belongs to its time: with random loss, whoever sends at a time meets the same fate,
    // whatever was sent before; and small packets within one slot still have draws of their own.
    let spec = ChannelSpec {
        model: Model::Random { data: 0.3, ack: 0.3 },
        code: CodeSpec::NONE,
    };
    let (mut busy, mut lazy) = (
        Channel::new(&spec, 1, "a", 1_000_000),
        Channel::new(&spec, 1, "a", 1_000_000),
    );
    for packet in 0..3_000 {
        let lost = busy.is_lost(packet * 320_000, PacketKind::Ack, 40);
        if packet % 3 == 0 {
            assert_eq!(lost, lazy.is_lost(packet * 320_000, PacketKind::Ack, 40));
        }
    }
    let mut tiny = Channel::new(&spec, 1, "a", 1_000_000);
    let fates: Vec<bool> = (0..1_000)
        .map(|packet| tiny.is_lost(packet * 8_000, PacketKind::Ack, 1))
        .collect();
    let same_slot_differs = fates.chunks(40).any(|slot| slot.iter().any(|fate| fate != &slot[0]));
    assert!(same_slot_differs);
}

#[test]
fn every_size_is_computed_once_and_may_be_beforehand() {
    // Goal: over bits and over time, what is known of a kind and size of packets is computed once, however many there
    // are and whatever came in between, and none is left to be computed when packets come whose sizes were prepared.
    let code = CodeSpec {
        data_rate: 0.9,
        ack_rate: 0.5,
        mode: CodeMode::Ideal,
    };
    let over_time = ChannelSpec {
        model: Model::PacketScale {
            good_ns_mean: 1e6,
            bad_ns_mean: 1e5,
            bit_error_good: 1e-6,
            bit_error_bad: 1e-2,
        },
        code,
    };
    for spec in [bpsk(Antennas::TwoByTwo, 5.0, (800.0, 8.0), code), over_time] {
        let [mut told, mut asked] = [(); 2].map(|()| Channel::new(&spec, 5, "link", RATE_BPS));
        let sizes: Vec<u32> = (40..300).step_by(3).collect();
        for kind in [PacketKind::Data, PacketKind::Ack] {
            for &ip_bytes in &sizes {
                told.prepare(kind, ip_bytes);
            }
        }
        assert_eq!(told.sizes_known(), 2 * sizes.len());
        for (step, &ip_bytes) in (0..).zip(sizes.iter().cycle().take(600)) {
            let kind = [PacketKind::Data, PacketKind::Ack][step as usize % 2];
            let lost = [&mut told, &mut asked].map(|channel| channel.is_lost(step * 100_000, kind, ip_bytes));
            assert_eq!(lost[0], lost[1], "packet {step}");
        }
        assert_eq!(told.sizes_known(), 2 * sizes.len());
        assert!(asked.sizes_known() <= 2 * sizes.len() && asked.sizes_known() > 64);
    }
}

#[test]
fn sizes_that_would_take_long_are_made_coarser() {
    // Goal: where all sizes would take too long, none is left to be computed when packets come; each is lost as one of
    // the next larger multiple is, by fewer than 64 bytes, and takes on the air what it took.
    let code = CodeSpec {
        data_rate: 0.6,
        ack_rate: 0.5,
        mode: CodeMode::Gf256,
    };
    let spec = bpsk(Antennas::TwoByTwo, 0.0, (800.0, 8.0), code);
    let mut coarse = Channel::new(&spec, 5, "link", RATE_BPS);
    coarse.prepare_all(1500);
    let known = coarse.sizes_known();
    let mut exact = Channel::new(&spec, 5, "link", RATE_BPS);
    let (mut lost_n, mut coarser_n) = (0, 0);
    for (step, ip_bytes) in (0..).zip((41..1500).step_by(97).cycle().take(3000)) {
        assert_eq!(
            coarse.make_ready(PacketKind::Data, ip_bytes),
            spec.air_bytes(PacketKind::Data, ip_bytes)
        );
        // So far apart that the chain has forgotten what was.
        let start_ns = step * 10_000_000;
        let counted_as = coarse.counted_as(PacketKind::Data, ip_bytes);
        assert!(
            (ip_bytes..ip_bytes + 64).contains(&counted_as),
            "{ip_bytes} {counted_as}"
        );
        coarser_n += u32::from(counted_as > ip_bytes);
        let lost = [(&mut coarse, ip_bytes), (&mut exact, counted_as)]
            .map(|(channel, ip_bytes)| channel.is_lost(start_ns, PacketKind::Data, ip_bytes));
        assert_eq!(lost[0], lost[1], "packet {step} of {ip_bytes} bytes");
        lost_n += u32::from(lost[0]);
    }
    assert!(lost_n > 20 && coarser_n > 100, "{lost_n} are lost");
    assert_eq!(coarse.sizes_known(), known);
}
