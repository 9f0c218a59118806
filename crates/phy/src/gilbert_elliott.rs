//! The Gilbert-Elliott chain over bits: a good and a bad state, each with an error rate.
//!
//! # Equations (2) to (5) of VCP, corrected
//!
//! The chain stays in the good state with probability `gamma = 1 - 1/BL_G` and in the bad one with
//! `beta = 1 - 1/BL_B`, where `BL` are mean bursts in bits. A step is taken before each bit; the bit is sent in the
//! state reached. The probability that `r` of `t` bits are received right and that the last is sent in the good state
//! is
//!
//! ```text
//! phi(t,r,G) =  eps_G      [gamma phi(t-1,r,G)   + (1-beta) phi(t-1,r,B)]
//!            + (1 - eps_G) [gamma phi(t-1,r-1,G) + (1-beta) phi(t-1,r-1,B)]            (3)
//! ```
//!
//! and `phi(t,r,B)` likewise with `eps_B`, `1 - gamma` and `beta` (4). The printed equations lack the plus between
//! their lines. They hold for `0 <= r <= t` and `t >= 1` with `phi(t,-1,.) = 0` and `phi(t,r,.) = 0` for `r > t`, from
//! `phi(0,0,G) = (1-beta)/(2-gamma-beta)` and `phi(0,0,B) = (1-gamma)/(2-gamma-beta)`, the stationary chain (5); the
//! printed `phi(1,0,.)` follow from these. `phi(t,r)` is the sum over both states (2).
//!
//! # Many bits at once
//!
//! The second eigenvalue of a step is `lambda = gamma + beta - 1`. With the stationary `g` and `b`, `n` steps lead from
//! good to bad with probability `b (1 - lambda^n)` and from bad to good with `g (1 - lambda^n)`.

/// Index of the good state.
pub const GOOD: usize = 0;
/// Index of the bad state.
pub const BAD: usize = 1;

/// Probabilities by state.
pub type ByState = [f64; 2];
/// Probabilities by state before (first index) and after (second index).
pub type Transition = [ByState; 2];

/// A distribution over states, moved by a transition.
#[inline]
pub fn moved(before: ByState, transition: &Transition) -> ByState {
    [
        before[GOOD] * transition[GOOD][GOOD] + before[BAD] * transition[BAD][GOOD],
        before[GOOD] * transition[GOOD][BAD] + before[BAD] * transition[BAD][BAD],
    ]
}

/// One transition after another.
pub fn chained(first: &Transition, second: &Transition) -> Transition {
    [moved(first[GOOD], second), moved(first[BAD], second)]
}

/// How a two-state chain forgets: its stationary law and its second eigenvalue, from which any number of steps follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixing {
    stationary: ByState,
    /// Natural logarithm of the eigenvalue's size, for one step; at most 0.
    log_lambda: f64,
    /// Whether the eigenvalue is negative: the chain leaves its states more often than a coin would.
    alternates: bool,
}

impl Mixing {
    /// A chain in steps that leaves the good and the bad state with these probabilities, each in (0, 1].
    pub fn in_steps(leave_good: f64, leave_bad: f64) -> Self {
        let both = leave_good + leave_bad;
        Self {
            stationary: [leave_bad / both, leave_good / both],
            log_lambda: if both < 1.0 {
                libm::log1p(-both)
            } else {
                libm::log(both - 1.0)
            },
            alternates: both > 1.0,
        }
    }

    /// A chain in continuous time that leaves the good and the bad state at these rates; a step takes unit time.
    pub fn in_time(rate_good: f64, rate_bad: f64) -> Self {
        let both = rate_good + rate_bad;
        Self {
            stationary: [rate_bad / both, rate_good / both],
            log_lambda: -both,
            alternates: false,
        }
    }

    /// The chain that takes `steps` of this one at a time.
    #[must_use]
    pub fn every(&self, steps: u32) -> Self {
        Self {
            log_lambda: self.log_lambda * f64::from(steps),
            alternates: self.alternates && steps % 2 == 1,
            ..*self
        }
    }

    /// Probabilities of the states after a long time.
    pub fn stationary(&self) -> ByState {
        self.stationary
    }

    /// What is left of the memory of the state after some steps: `lambda^steps`.
    #[inline]
    pub fn memory(&self, steps: u64) -> f64 {
        let exponent = self.log_lambda * steps as f64;
        if steps == 0 {
            1.0
        } else if exponent < -700.0 {
            0.0
        } else if self.alternates && steps % 2 == 1 {
            -libm::exp(exponent)
        } else {
            libm::exp(exponent)
        }
    }

    /// Transition of some steps at once.
    pub fn transition(&self, steps: u64) -> Transition {
        // The difference 1 - lambda^n is taken by expm1 so that rare changes keep their digits.
        let forgotten = if steps == 0 {
            0.0
        } else if self.alternates && steps % 2 == 1 {
            1.0 - self.memory(steps)
        } else {
            -libm::expm1(self.log_lambda * steps as f64)
        };
        let [to_good, to_bad] = self.stationary.map(|probability| probability * forgotten);
        [[1.0 - to_bad, to_bad], [to_good, 1.0 - to_good]]
    }
}

/// A Gilbert-Elliott chain over bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitChain {
    /// One step: `[[gamma, 1 - gamma], [1 - beta, beta]]`.
    pub step: Transition,
    /// Error rate of a bit in each state (VCP: `eps_G`, `eps_B`).
    pub error: ByState,
    /// Many steps at once.
    pub mixing: Mixing,
}

impl BitChain {
    /// The chain with these mean bursts in bits, each at least 1, and these bit error rates.
    pub fn from_bursts(burst_good_bits: f64, burst_bad_bits: f64, error: ByState) -> Self {
        let (leave_good, leave_bad) = (1.0 / burst_good_bits, 1.0 / burst_bad_bits);
        Self {
            step: [[1.0 - leave_good, leave_good], [leave_bad, 1.0 - leave_bad]],
            error,
            mixing: Mixing::in_steps(leave_good, leave_bad),
        }
    }

    /// Probability that `right` of `sent` bits are received right and that the last is sent in the good or bad state,
    /// from the stationary chain: equations (3) to (5). Their sum is equation (2).
    pub fn received(&self, sent: u32, right: u32) -> ByState {
        if right > sent {
            return [0.0; 2];
        }
        let mut phi = vec![[0.0; 2]; right as usize + 1];
        phi[0] = self.mixing.stationary();
        for _ in 0..sent {
            for r in (0..phi.len()).rev() {
                let same = moved(phi[r], &self.step);
                let fewer = if r > 0 { moved(phi[r - 1], &self.step) } else { [0.0; 2] };
                for state in [GOOD, BAD] {
                    phi[r][state] = self.error[state] * same[state] + (1.0 - self.error[state]) * fewer[state];
                }
            }
        }
        phi[right as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over all paths of states and all patterns of errors: `phi(sent, right, .)` by its definition.
    fn by_enumeration(chain: &BitChain, sent: u32, right: u32) -> ByState {
        let mut phi = [0.0; 2];
        for path in 0..1u32 << (sent + 1) {
            for pattern in (0..1u32 << sent).filter(|pattern| sent - pattern.count_ones() == right) {
                let state = |bit: u32| (path >> bit & 1) as usize;
                let mut probability = chain.mixing.stationary()[state(0)];
                for bit in 0..sent {
                    let error = chain.error[state(bit + 1)];
                    probability *= chain.step[state(bit)][state(bit + 1)];
                    probability *= if pattern >> bit & 1 == 1 { error } else { 1.0 - error };
                }
                phi[state(sent)] += probability;
            }
        }
        phi
    }

    #[test]
    fn recursion_equals_enumeration() {
        // Goal: the corrected recursion is the probability it claims to be, against all paths written out.
        let chain = BitChain::from_bursts(5.0, 2.5, [0.05, 0.3]);
        for sent in 0..=6 {
            for right in 0..=sent + 1 {
                let (recursion, sum) = (chain.received(sent, right), by_enumeration(&chain, sent, right));
                for state in [GOOD, BAD] {
                    assert!((recursion[state] - sum[state]).abs() < 1e-15, "{sent} {right}");
                }
            }
        }
    }

    #[test]
    fn burst_lengths_give_the_probabilities_of_the_paper() {
        // Goal: bursts of 800, 8 and 12 bits are VCP's gamma = 0.99875 and beta = 0.875 and 0.91667 (its section III).
        let step = BitChain::from_bursts(800.0, 8.0, [0.0; 2]).step;
        assert_eq!((step[GOOD][GOOD], step[BAD][BAD]), (0.99875, 0.875));
        assert!((BitChain::from_bursts(800.0, 12.0, [0.0; 2]).step[BAD][BAD] - 0.91667).abs() < 5e-6);
    }

    #[test]
    fn many_steps_equal_single_steps() {
        // Goal: the closed form equals repeated steps, for chains that linger, alternate and forget at once.
        for (good, bad) in [(800.0, 8.0), (1.25, 1.0), (2.0, 2.0), (1.0, 1.0), (1e9, 1e7)] {
            let chain = BitChain::from_bursts(good, bad, [0.0; 2]);
            let mut repeated = [[1.0, 0.0], [0.0, 1.0]];
            for steps in 0..200 {
                let closed = chain.mixing.transition(steps);
                let every = chain.mixing.every(3).transition(steps);
                let thrice = chain.mixing.transition(3 * steps);
                for (from, to) in [(GOOD, GOOD), (GOOD, BAD), (BAD, GOOD), (BAD, BAD)] {
                    assert!(
                        (closed[from][to] - repeated[from][to]).abs() < 1e-13,
                        "{good} {bad} {steps}"
                    );
                    assert!(
                        (every[from][to] - thrice[from][to]).abs() < 1e-13,
                        "{good} {bad} {steps}"
                    );
                }
                let [good_now, _] = chain.mixing.stationary();
                let remembered = good_now + (1.0 - good_now) * chain.mixing.memory(steps);
                assert!((remembered - closed[GOOD][GOOD]).abs() < 1e-13);
                repeated = chained(&repeated, &chain.step);
            }
        }
    }
}
