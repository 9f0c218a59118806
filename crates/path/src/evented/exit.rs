//! The far end of a link: random delay, reordering, and the order in which packets come out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fadelab_phy::random::CounterDraw;

use super::arq::Flight;
use crate::layer::{DelayLaw, Jitter, Reorder};
use crate::spec::LinkSpec;

/// Uniform numbers by the time slot in which a packet reaches the far end, as for the channel: two runs that send at
/// the same time meet the same delay.
#[derive(Debug)]
struct SlotDraws {
    draw: CounterDraw,
    slot_ns: u64,
    slot: u64,
    /// Numbers already used of this slot.
    used: u64,
}

impl SlotDraws {
    fn new(spec: &LinkSpec, seed: u64, what: &str) -> Self {
        Self {
            draw: CounterDraw::new(seed, &format!("{}.{what}", spec.name)),
            // The air time of 40 bytes: larger packets have a slot each.
            slot_ns: (40 * 8 * 1_000_000_000 / spec.capacity.rate_bps_mean().max(1)).max(1),
            slot: u64::MAX,
            used: 0,
        }
    }

    /// Goes to the slot of `at_ns`, where numbers begin anew.
    fn go_to(&mut self, at_ns: u64) {
        let slot = at_ns / self.slot_ns;
        if slot != self.slot {
            (self.slot, self.used) = (slot, 0);
        }
    }

    fn uniform(&mut self) -> f64 {
        self.used += 1;
        self.draw.uniform_at(self.slot, self.used - 1)
    }

    /// A delay, in whole ns.
    fn delay_ns(&mut self, law: DelayLaw) -> u64 {
        match law {
            DelayLaw::Uniform { min_ns, max_ns } => {
                let span = (max_ns - min_ns + 1) as f64;
                (min_ns + (self.uniform() * span) as u64).min(max_ns)
            }
            DelayLaw::Normal { mean_ns, sd_ns } => self.normal_ns(mean_ns as f64, sd_ns as f64),
            DelayLaw::Exponential { mean_ns } => (-(mean_ns as f64) * libm::log1p(-self.uniform())) as u64,
        }
    }

    /// Box and Muller's transform, drawn again while it is negative: with a mean of at least 0 half of them are not.
    fn normal_ns(&mut self, mean_ns: f64, sd_ns: f64) -> u64 {
        loop {
            let radius = libm::sqrt(-2.0 * libm::log1p(-self.uniform()));
            let delay_ns = mean_ns + sd_ns * radius * libm::cos(std::f64::consts::TAU * self.uniform());
            if delay_ns >= 0.0 {
                return delay_ns as u64;
            }
        }
    }
}

/// A packet on its way out. Those of the same instant leave in the order in which they came.
#[derive(Clone, Copy, Debug)]
struct Passing {
    at_ns: u64,
    number: u64,
    flight: Flight,
    is_lost: bool,
}

impl PartialEq for Passing {
    fn eq(&self, other: &Self) -> bool {
        (self.at_ns, self.number) == (other.at_ns, other.number)
    }
}

impl Eq for Passing {}

impl PartialOrd for Passing {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Passing {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub at_ns: u64,
    pub flight: Flight,
    pub is_lost: bool,
    /// Whether one that left the queue later was delivered before it.
    pub is_reordered: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Exit {
    jitter: Option<(Jitter, SlotDraws)>,
    reorder: Option<(Reorder, SlotDraws)>,
    passing: BinaryHeap<Reverse<Passing>>,
    /// Held back until `gap_pkts` have passed, at the latest until their time: with how many still have to pass.
    held: Vec<(u32, Passing)>,
    numbers: u64,
    /// When the last packet leaves of those that keep their order.
    last_ns: u64,
    /// The order of the next packet, if none had been late.
    order_next: u64,
}

impl Exit {
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        let draws = |what| SlotDraws::new(spec, seed, what);
        Self {
            jitter: spec.layer.jitter.map(|jitter| (jitter, draws("jitter"))),
            reorder: spec.layer.reorder.map(|reorder| (reorder, draws("reorder"))),
            passing: BinaryHeap::new(),
            held: Vec::new(),
            numbers: 0,
            last_ns: 0,
            order_next: 0,
        }
    }

    /// Packets on their way out.
    pub fn held_pkts(&self) -> u64 {
        (self.passing.len() + self.held.len()) as u64
    }

    /// A packet, or the gap that it leaves, reaches the far end at `at_ns`. Times never go back from call to call.
    pub fn enter(&mut self, at_ns: u64, flight: Flight, is_lost: bool) {
        let mut passing = Passing {
            at_ns,
            number: self.numbers,
            flight,
            is_lost,
        };
        self.numbers += 1;
        if let Some((jitter, draws)) = &mut self.jitter {
            draws.go_to(at_ns);
            passing.at_ns += draws.delay_ns(jitter.delay);
            if jitter.in_order {
                passing.at_ns = passing.at_ns.max(self.last_ns);
                self.last_ns = passing.at_ns;
            }
        }
        if let Some((reorder, draws)) = &mut self.reorder {
            draws.go_to(at_ns);
            if draws.uniform() < reorder.probability && !is_lost {
                passing.at_ns += reorder.delay_ns;
                if let Some(gap_pkts) = reorder.gap_pkts {
                    self.held.push((gap_pkts, passing));
                    return;
                }
            }
        }
        self.passing.push(Reverse(passing));
    }

    /// When the next packet leaves; `u64::MAX`: there is none.
    pub fn next_due(&self) -> u64 {
        let held_ns = self.held.iter().map(|(_, held)| held.at_ns).min().unwrap_or(u64::MAX);
        self.passing
            .peek()
            .map_or(u64::MAX, |Reverse(first)| first.at_ns)
            .min(held_ns)
    }

    /// The packet that leaves at `now_ns`, if one does.
    pub fn leave(&mut self, now_ns: u64) -> Option<Leaving> {
        let overdue = self.held.iter().position(|(_, held)| held.at_ns <= now_ns);
        let leaving = if let Some(index) = overdue {
            self.held.remove(index).1
        } else {
            self.passing.peek().filter(|Reverse(first)| first.at_ns <= now_ns)?;
            self.passing.pop()?.0
        };
        let (order, is_lost) = (leaving.flight.order, leaving.is_lost);
        if !is_lost {
            self.overtake(now_ns, order);
        }
        let is_reordered = !is_lost && order < self.order_next;
        if !is_lost {
            self.order_next = self.order_next.max(order + 1);
        }
        Some(Leaving {
            at_ns: leaving.at_ns,
            flight: leaving.flight,
            is_lost,
            is_reordered,
        })
    }

    /// A packet passes those that are held back; the last one that has to takes them along.
    fn overtake(&mut self, now_ns: u64, order: u64) {
        for (to_pass, held) in &mut self.held {
            // One that has been passed often enough may still stand here, if several leave at this instant.
            if held.flight.order < order && *to_pass > 0 {
                *to_pass -= 1;
                if *to_pass == 0 {
                    held.at_ns = now_ns;
                }
            }
        }
    }

    /// Lets the next packet leave so much before its time. Returns whether there was one.
    #[cfg(feature = "fault-injection")]
    pub fn hurry(&mut self, by_ns: u64) -> bool {
        let Some(Reverse(mut first)) = self.passing.pop() else {
            return false;
        };
        first.flight.waiting.arrived_ns = first.at_ns - by_ns;
        self.passing.push(Reverse(first));
        true
    }
}
