//! A two-state chain in continuous time, whose states last for many packets.
//!
//! New Jersey, section 2.1: the stays `T_G` and `T_B` are exponential with means `1 / P_GB` and `1 / P_BG`; bits are
//! wrong independently with `e_G` or `e_B`. The stationary probability of the good state is `f_G = E T_G / (E T_G + E
//! T_B)`.
//!
//! A byte takes `T` seconds on the air. With `t_G` and `t_B` of it in each state (fractions of bits count as such), it
//! is right with probability `exp(-8 (m_G t_G + m_B t_B) / T)`, where `m = -ln(1 - e)`: for a byte within one state
//! this is `(1 - e)^8`. A packet that straddles a change thus meets the errors of the time it spends in each state.
//!
//! - Given the changes, bytes are independent: [`LossGivenPath`] adds up the binomial numbers of wrong bytes of the
//!   whole bytes in each state and of the few bytes that contain a change, for each word of the code.
//! - Without knowing the changes, the bytes form a [`ByteChain`], by the matrix exponential of the chain with errors as
//!   a third, absorbing mark: exact for one word.
//!
//! [`Sojourns`] is the sequence of stays. It has a stream of its own and depends on time only, so that every law under
//! one seed meets the same good and bad times.

use crate::gilbert_elliott::{BAD, ByState, GOOD, Mixing, Transition, chained};
use crate::packet_error::ByteChain;
use crate::random::Stream;
use crate::reed_solomon::{Word, positions};

/// A two-state chain in continuous time with a bit error rate in each state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeChain {
    pub stay_ns_mean: ByState,
    /// Bit error rate in each state.
    pub bit_error: ByState,
}

impl TimeChain {
    /// Long-term share of time in each state (New Jersey: `f_G`, `f_B`).
    pub fn stationary(&self) -> ByState {
        let [good, bad] = self.stay_ns_mean;
        [good / (good + bad), bad / (good + bad)]
    }

    /// `8 m`: minus the logarithm of the probability that a byte is right, by state.
    fn byte_hazard(&self) -> ByState {
        self.bit_error.map(|error| -8.0 * libm::log1p(-error))
    }

    /// The chain seen byte by byte, where a byte takes `byte_ns`.
    pub fn bytes(&self, byte_ns: f64) -> ByteChain {
        let leave = self.stay_ns_mean.map(|mean| byte_ns / mean);
        let hazard = self.byte_hazard();
        // Uniformisation: with c the largest total rate, exp(h (G + c I)) has positive terms only. The step h is halved
        // until the series converges at once; then steps are doubled.
        let largest = (leave[GOOD] + hazard[GOOD]).max(leave[BAD] + hazard[BAD]);
        let halvings = (0..63).find(|&n| largest <= (1u64 << n) as f64).unwrap_or(63);
        let step = 1.0 / (1u64 << halvings) as f64;
        let (mut correct, mut wrong) = small_step(leave, hazard, largest, step);
        for _ in 0..halvings {
            let any = added(&correct, &wrong);
            wrong = added(&chained(&correct, &wrong), &chained(&wrong, &any));
            correct = chained(&correct, &correct);
        }
        ByteChain {
            correct,
            wrong,
            mixing: Mixing::in_time(leave[GOOD], leave[BAD]),
        }
    }
}

/// Sum of two matrices.
fn added(one: &Transition, other: &Transition) -> Transition {
    [GOOD, BAD].map(|from| [GOOD, BAD].map(|to| one[from][to] + other[from][to]))
}

/// The chain over a `step` of a byte, without and with an error, by the series of the uniformised generator.
fn small_step(leave: ByState, hazard: ByState, largest: f64, step: f64) -> (Transition, Transition) {
    let (rate, decay) = (largest * step, libm::exp(-largest * step));
    let stay = |state: usize| (largest - leave[state] - hazard[state]).max(0.0) / largest;
    let pass = [[stay(GOOD), leave[GOOD] / largest], [leave[BAD] / largest, stay(BAD)]];
    let fail = [[hazard[GOOD] / largest, 0.0], [0.0, hazard[BAD] / largest]];
    let any = added(&pass, &fail);
    let (mut term_correct, mut term_wrong) = ([[decay, 0.0], [0.0, decay]], [[0.0; 2]; 2]);
    let (mut correct, mut wrong) = (term_correct, term_wrong);
    // With a rate of at most 1, the thirtieth term is below 1e-32.
    for order in 1..30 {
        let scaled = |matrix: Transition| matrix.map(|row| row.map(|entry| entry * rate / f64::from(order)));
        term_wrong = scaled(added(&chained(&term_correct, &fail), &chained(&term_wrong, &any)));
        term_correct = scaled(chained(&term_correct, &pass));
        correct = added(&correct, &term_correct);
        wrong = added(&wrong, &term_wrong);
    }
    (correct, wrong)
}

/// The sequence of stays of one link, unrolled as time goes on.
#[derive(Clone, Debug)]
pub struct Sojourns {
    stream: Stream,
    stay_ns_mean: ByState,
    state: usize,
    next_change_ns: f64,
}

impl Sojourns {
    /// The stays of `component` under `seed`, stationary at time 0.
    pub fn new(chain: &TimeChain, seed: u64, component: &str) -> Self {
        let mut stream = Stream::new(seed, component);
        let state = if stream.uniform() < chain.stationary()[GOOD] {
            GOOD
        } else {
            BAD
        };
        let next_change_ns = stream.exponential(chain.stay_ns_mean[state]);
        Self {
            stream,
            stay_ns_mean: chain.stay_ns_mean,
            state,
            next_change_ns,
        }
    }

    /// Moves to `start_ns` and on to `end_ns`: gives the state at the start, and collects into `changes_ns` (emptied
    /// first) the times of changes in between. Starts must not lie before an earlier end.
    pub fn pass(&mut self, start_ns: f64, end_ns: f64, changes_ns: &mut Vec<f64>) -> usize {
        while self.next_change_ns <= start_ns {
            self.change();
        }
        let at_start = self.state;
        changes_ns.clear();
        while self.next_change_ns < end_ns {
            changes_ns.push(self.next_change_ns);
            self.change();
        }
        at_start
    }

    /// The state after the last end that was asked for, and the time in ns at which it changes.
    pub fn stay(&self) -> (usize, f64) {
        (self.state, self.next_change_ns)
    }

    fn change(&mut self) {
        self.state = 1 - self.state;
        self.next_change_ns += self.stream.exponential(self.stay_ns_mean[self.state]);
    }
}

/// Loss of packets of one size when the changes of state during the packet are known.
#[derive(Clone, Debug)]
pub struct LossGivenPath {
    byte_ns: f64,
    hazard: ByState,
    words: Vec<PlacedWord>,
    log_factorial: Vec<f64>,
    /// Loss of a packet within one state.
    pure: ByState,
    /// Air time of the packet, ns.
    pub air_ns: f64,
}

/// A word and where its bytes are in the packet.
#[derive(Clone, Debug)]
struct PlacedWord {
    correctable: usize,
    positions: Vec<u32>,
}

/// Memory for the computation, kept between packets so that none is allocated.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Whole bytes in one state: state, first byte, one past the last.
    runs: Vec<(usize, u32, u32)>,
    /// Bytes that contain a change, and minus the logarithm of the probability that they are right.
    mixed: Vec<(u32, f64)>,
    /// Probabilities of numbers of wrong bytes.
    count: Vec<f64>,
    other: Vec<f64>,
}

impl LossGivenPath {
    /// For packets that are coded in these words, where a byte takes `byte_ns`.
    pub fn new(chain: &TimeChain, words: &[Word], byte_ns: f64) -> Self {
        let bytes: u32 = words.iter().map(|word| word.bytes).sum();
        let longest = words.iter().map(|word| word.bytes).max().unwrap_or(0);
        let placed = words
            .iter()
            .zip(positions(words))
            .map(|(word, positions)| PlacedWord {
                correctable: word.correctable() as usize,
                positions,
            })
            .collect();
        let mut law = Self {
            byte_ns,
            hazard: chain.byte_hazard(),
            words: placed,
            log_factorial: (0..=longest).map(|n| libm::lgamma(f64::from(n) + 1.0)).collect(),
            pure: [0.0; 2],
            air_ns: f64::from(bytes) * byte_ns,
        };
        law.pure = [GOOD, BAD].map(|state| law.loss_of_path(state, &[], &mut Scratch::default()));
        law
    }

    /// Probability of loss of a packet that starts in `state` and meets changes at `changes_ns` after its start.
    pub fn loss(&self, state: usize, changes_ns: &[f64], scratch: &mut Scratch) -> f64 {
        if changes_ns.is_empty() {
            self.pure[state]
        } else {
            self.loss_of_path(state, changes_ns, scratch)
        }
    }

    fn loss_of_path(&self, state: usize, changes_ns: &[f64], scratch: &mut Scratch) -> f64 {
        self.lay_out(state, changes_ns, scratch);
        let received: f64 = self
            .words
            .iter()
            .map(|word| self.word_received(word, scratch))
            .product();
        1.0 - received
    }

    /// Cuts the packet into runs of whole bytes in one state and bytes that contain a change.
    fn lay_out(&self, mut state: usize, changes_ns: &[f64], scratch: &mut Scratch) {
        scratch.runs.clear();
        scratch.mixed.clear();
        let bytes = self.words.iter().map(|word| word.positions.len()).sum::<usize>() as u32;
        let end = f64::from(bytes);
        let mut here = 0.0;
        for change in changes_ns
            .iter()
            .map(|ns| (ns / self.byte_ns).clamp(0.0, end))
            .chain([end])
        {
            // The rest of a byte that was begun, then whole bytes, then the part of a byte before the change.
            let begun = libm::floor(here);
            if here > begun {
                self.add_part(scratch, begun as u32, state, change.min(begun + 1.0) - here);
            }
            let (first, last) = (libm::ceil(here), libm::floor(change));
            if first < last {
                scratch.runs.push((state, first as u32, last as u32));
            }
            if change > last && last >= first {
                self.add_part(scratch, last as u32, state, change - last);
            }
            here = change;
            state = 1 - state;
        }
    }

    /// Adds a part of a byte, spent in `state`, to the bytes that contain a change.
    fn add_part(&self, scratch: &mut Scratch, byte: u32, state: usize, part: f64) {
        let hazard = part * self.hazard[state];
        match scratch.mixed.last_mut() {
            Some((last, sum)) if *last == byte => *sum += hazard,
            _ => scratch.mixed.push((byte, hazard)),
        }
    }

    /// Probability that a word has at most as many wrong bytes as it corrects.
    fn word_received(&self, word: &PlacedWord, scratch: &mut Scratch) -> f64 {
        let below = |byte: u32| word.positions.partition_point(|&position| position < byte);
        let mut whole = [0; 2];
        for &(state, first, last) in &scratch.runs {
            whole[state] += below(last) - below(first);
        }
        self.binomial(whole[GOOD], self.hazard[GOOD], word.correctable, &mut scratch.count);
        for &(byte, hazard) in &scratch.mixed {
            if below(byte + 1) > below(byte) {
                let (right, wrong) = (libm::exp(-hazard), -libm::expm1(-hazard));
                for number in (0..scratch.count.len()).rev() {
                    let fewer = if number > 0 { scratch.count[number - 1] } else { 0.0 };
                    scratch.count[number] = scratch.count[number] * right + fewer * wrong;
                }
            }
        }
        self.binomial(whole[BAD], self.hazard[BAD], word.correctable, &mut scratch.other);
        let mut at_most = 0.0;
        let mut received = 0.0;
        for (good, bad) in scratch.count.iter().rev().zip(&scratch.other) {
            at_most += bad;
            received += good * at_most;
        }
        received.min(1.0)
    }

    /// Probabilities of 0 to `limit` wrong bytes among `bytes` whose hazard is given.
    fn binomial(&self, bytes: usize, hazard: f64, limit: usize, count: &mut Vec<f64>) {
        count.clear();
        count.resize(limit + 1, 0.0);
        count[0] = libm::exp(-hazard * bytes as f64);
        if hazard > 0.0 {
            let log_wrong = libm::log(-libm::expm1(-hazard));
            for (wrong, probability) in count.iter_mut().enumerate().take(bytes + 1).skip(1) {
                let ways = self.log_factorial[bytes] - self.log_factorial[wrong] - self.log_factorial[bytes - wrong];
                *probability = libm::exp(ways + log_wrong * wrong as f64 - hazard * (bytes - wrong) as f64);
            }
        }
    }
}
