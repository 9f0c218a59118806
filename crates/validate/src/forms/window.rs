//! The stationary window of Reno when each packet is lost, or marked, independently with probability p.
//!
//! In the limit of small p the window between losses grows by 1/W per packet and a loss halves it (Ott, Kemperman and
//! Mathis 1996). Counted in packets the losses are a Poisson process of rate p, so that W^2 p / 2 just before a loss is
//! Y = E0 + E1/4 + E2/16 + ... with exponential E of mean 1, and the throughput is C / (RTT sqrt(p)) with
//! C = sqrt(2) / E[sqrt(Y)] = 1.31. Losses at equal distances have C = sqrt(3/2) instead (Mathis and others 1997).
//!
//! At finite p a sender learns of a loss a round trip later, spends one in repairing it, and windows are whole numbers.
//! [`Reno`] is the Markov chain of the window at the beginning of a recovery with all of that in it.

/// Probabilities below this are left out of sums.
const NEGLIGIBLE: f64 = 1e-7;
/// A cycle forgets half of what was before it: after so many nothing is left.
const CYCLES: usize = 50;

/// E[sqrt(Y)] for Y = E0 + E1/4 + E2/16 + ...: Y is hypoexponential with rates 4^k, whose density is a sum of
/// exponentials with weights prod over j != k of 4^j / (4^j - 4^k), and E[sqrt] of one of them is sqrt(pi) / 2 / 2^k.
fn mean_sqrt_y() -> f64 {
    let rate = |k: i32| libm::pow(4.0, f64::from(k));
    let weight = |k: i32| -> f64 {
        let others = (0..26).filter(|&j| j != k);
        others.map(|j| 1.0 / (1.0 - rate(k) / rate(j))).product()
    };
    let sum: f64 = (0..13).map(|k| weight(k) / libm::pow(2.0, f64::from(k))).sum();
    sum * std::f64::consts::PI.sqrt() / 2.0
}

/// C of the law throughput = C / (RTT sqrt(p)) for independent losses, in the limit of small p.
pub fn constant_of_random_losses() -> f64 {
    std::f64::consts::SQRT_2 / mean_sqrt_y()
}

/// C for losses at equal distances (Mathis, Semke, Mahdavi and Ott 1997).
pub fn constant_of_periodic_losses() -> f64 {
    1.5_f64.sqrt()
}

/// What tells the sender to halve its window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// A loss, found by three duplicate ACKs and repaired with SACK; if the repair is lost too, a timeout so many round
    /// trips later.
    Loss {
        /// Retransmission timeout over the round trip.
        rto_rtts: f64,
    },
    Mark,
}

/// Reno under independent losses or marks.
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    /// Of each packet.
    pub probability: f64,
    /// What a hit packet means.
    pub signal: Signal,
}

/// A cycle: from the packet after one reduction to the next reduction.
struct Cycle {
    /// Mean duration in round trips.
    rtts: f64,
    /// Mean number of new packets.
    pkts: f64,
    /// Probability of each next state.
    next: Vec<f64>,
}

/// State of the chain: window at the beginning of a recovery, and whether a further loss of the same window delays
/// growth.
fn state(window: usize, delayed: bool) -> usize {
    2 * window + usize::from(delayed)
}

impl Reno {
    /// Mean number of new packets per round trip.
    pub fn pkts_per_rtt(&self) -> f64 {
        let longest = (libm::log(NEGLIGIBLE) / libm::log1p(-self.probability)) as usize;
        let window_max = libm::sqrt(2.0 * longest as f64 / 3.0) as usize + 3;
        let cycles: Vec<Cycle> = (0..=state(window_max, true))
            .map(|state| self.cycle((state / 2).max(2), state % 2 == 1, longest, window_max))
            .collect();
        let mut shares = vec![0.0; cycles.len()];
        shares[state(2, false)] = 1.0;
        for _ in 0..CYCLES {
            let mut after = vec![0.0; cycles.len()];
            for (cycle, share) in cycles.iter().zip(&shares).filter(|(_, share)| **share > 0.0) {
                for (sum, probability) in after.iter_mut().zip(&cycle.next) {
                    *sum += share * probability;
                }
            }
            shares = after;
        }
        let mean = |of: fn(&Cycle) -> f64| -> f64 { cycles.iter().zip(&shares).map(|(c, share)| share * of(c)).sum() };
        mean(|cycle| cycle.pkts) / mean(|cycle| cycle.rtts)
    }

    /// What follows a reduction to `window`, packet by packet until the next one that is hit.
    ///
    /// The first half round trip is silent, until the flight has shrunk to the window; then each ACK releases a packet.
    /// From the end of the recovery on the window grows by 1/window per ACK.
    fn cycle(&self, window: usize, delayed: bool, longest: usize, window_max: usize) -> Cycle {
        let (duplicates, limited_transmit) = match self.signal {
            Signal::Loss { .. } => (3, 2.0),
            Signal::Mark => (0, 0.0),
        };
        let still = if delayed { window / 2 } else { 0 };
        // When packet m leaves, in round trips since the reduction, and the window once the ACKs of m packets came.
        let mut leaves: Vec<f64> = (0..=window).map(|m| 0.5 + 0.5 * m as f64 / window as f64).collect();
        let mut windows = vec![window as f64];
        let mut cycle = Cycle {
            rtts: 0.0,
            pkts: 0.0,
            next: vec![0.0; state(window_max, true) + 1],
        };
        let mut unhit = 1.0;
        for hit in 1..=longest {
            let acked = hit - 1;
            while leaves.len() <= hit + duplicates || windows.len() < hit {
                let ack = windows.len();
                let grown = windows[ack - 1] + if ack > still { 1.0 / windows[ack - 1] } else { 0.0 };
                windows.push(grown);
                leaves.resize((ack + grown as usize + 1).max(leaves.len()), leaves[ack] + 1.0);
            }
            let cwnd = libm::floor(windows[acked]);
            let probability = unhit * if hit == longest { 1.0 } else { self.probability };
            unhit -= probability;
            cycle.rtts += probability * (leaves[hit + duplicates] + 1.0);
            cycle.pkts += probability * (acked as f64 + cwnd + limited_transmit);
            self.reduce(&mut cycle, probability, cwnd, window_max);
        }
        cycle
    }

    /// The reduction that ends a cycle: where the chain goes from a window of `cwnd`.
    fn reduce(&self, cycle: &mut Cycle, probability: f64, cwnd: f64, window_max: usize) {
        let halved = |window: f64| (libm::floor(window / 2.0).max(2.0) as usize).min(window_max);
        let Signal::Loss { rto_rtts } = self.signal else {
            cycle.next[state(halved(cwnd), false)] += probability;
            return;
        };
        let half = halved(cwnd);
        // Further losses of the same window are repaired in the same recovery, each in the place of a new packet. Those
        // in the later half of the window prolong it, and the window grows later.
        let further = self.probability * cwnd;
        let prolonged = 0.5 * (1.0 - libm::exp(-further));
        let lost_again = (self.probability * (1.0 + further)).min(1.0);
        cycle.pkts -= probability * further;
        cycle.next[state(half, false)] += probability * (1.0 - lost_again) * (1.0 - prolonged);
        cycle.next[state(half, true)] += probability * (1.0 - lost_again) * prolonged;
        // Until the timeout the flight turns over; then slow start to half of the half.
        let quarter = halved(half as f64);
        cycle.next[state(quarter, false)] += probability * lost_again;
        cycle.rtts += probability * lost_again * (rto_rtts + libm::log2(quarter as f64));
        cycle.pkts += probability * lost_again * ((rto_rtts - 1.0) * half as f64 + quarter as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;

    #[test]
    fn the_constant_is_that_of_the_recursion_played_out() {
        // Goal: C by its series equals C from two million cycles of W^2 -> W^2 / 4 + 2 E, drawn at random.
        let mut random = Stream::new(1, "window");
        let (mut square, mut pkts, mut rtts) = (2.0_f64, 0.0, 0.0);
        for _ in 0..2_000_000 {
            let gap = random.exponential(1.0);
            let start = square / 4.0;
            square = start + 2.0 * gap;
            pkts += gap;
            rtts += square.sqrt() - start.sqrt();
        }
        let played = pkts / rtts;
        assert!((constant_of_random_losses() / played - 1.0).abs() < 2e-3, "{played}");
        assert!(
            (constant_of_random_losses() - 1.3098).abs() < 1e-4,
            "{}",
            constant_of_random_losses()
        );
    }

    #[test]
    fn the_chain_tends_to_the_law_as_losses_become_rare() {
        // Goal: what the chain lacks of C / sqrt(p) shrinks as sqrt(p) does, for marks and for losses; waiting for
        // timeouts costs, and losses cost more than marks.
        let pkts = |probability, signal| Reno { probability, signal }.pkts_per_rtt();
        let lacks = |p: f64, signal| 1.0 - pkts(p, signal) * p.sqrt() / constant_of_random_losses();
        for signal in [Signal::Mark, Signal::Loss { rto_rtts: 2.0 }] {
            let ratio = lacks(0.004, signal) / lacks(0.001, signal);
            assert!((1.6..2.6).contains(&ratio), "{signal:?}: {ratio}");
        }
        let of = |rto_rtts| pkts(0.01, Signal::Loss { rto_rtts });
        assert!(of(20.0) < of(2.0) && of(2.0) < pkts(0.01, Signal::Mark));
    }
}
