//! Repetition of what was lost on the air, and order at the far end.

use std::collections::VecDeque;

use super::exit::Exit;
use super::queue::Waiting;
use crate::layer::Arq;

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub waiting: Waiting,
    /// Its place among the packets that left the queue.
    pub order: u64,
    /// Which time it is sent, from 1.
    pub tries: u32,
}

impl Flight {
    pub fn is_repetition(&self) -> bool {
        self.tries > 1
    }
}

/// What becomes of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It arrives.
    Sound,
    /// It is lost and will be repeated.
    Repeated,
    /// It is lost for good.
    Lost,
}

/// The two ends of a link layer that repeats; without ARQ it passes packets on.
#[derive(Debug)]
pub(super) struct Repeater {
    arq: Option<Arq>,
    order_next: u64,
    /// Lost packets by the time from which on they may be sent again, earliest first.
    lost: VecDeque<(u64, Flight)>,
    /// At the far end: packets from `order_due` on, in order, as far as they are decided.
    window: VecDeque<Option<(Flight, Outcome)>>,
    order_due: u64,
    window_pkts: u64,
}

impl Repeater {
    pub fn new(arq: Option<Arq>) -> Self {
        Self {
            arq,
            order_next: 0,
            lost: VecDeque::new(),
            window: VecDeque::new(),
            order_due: 0,
            window_pkts: 0,
        }
    }

    pub fn retry_ns(&self) -> u64 {
        self.arq.map_or(0, |arq| arq.retry_ns)
    }

    /// Packets to be repeated, and held back at the far end.
    pub fn held_pkts(&self) -> u64 {
        self.lost.len() as u64 + self.window_pkts
    }

    /// Numbers a packet that leaves the queue.
    pub fn number(&mut self, waiting: Waiting) -> Flight {
        self.order_next += 1;
        Flight {
            waiting,
            order: self.order_next - 1,
            tries: 1,
        }
    }

    /// When there is something to repeat; `u64::MAX`: never.
    pub fn ready_ns(&self) -> u64 {
        self.lost.front().map_or(u64::MAX, |&(ready_ns, _)| ready_ns)
    }

    /// The packet to be repeated at `now_ns`, if there is one.
    pub fn take(&mut self, now_ns: u64) -> Option<Flight> {
        if self.ready_ns() > now_ns {
            return None;
        }
        self.lost.pop_front().map(|(_, flight)| Flight {
            tries: flight.tries.saturating_add(1),
            ..flight
        })
    }

    /// What becomes of a transmission that the channel lost or not.
    pub fn outcome(&self, flight: &Flight, is_lost: bool) -> Outcome {
        let may_repeat = |arq: Arq| arq.tries_max.is_none_or(|tries_max| flight.tries < tries_max);
        match is_lost {
            false => Outcome::Sound,
            true if self.arq.is_some_and(may_repeat) => Outcome::Repeated,
            true => Outcome::Lost,
        }
    }

    /// A transmission whose end reaches the far end at `arrives_ns`, and which may be repeated from `retry_ns` on. What
    /// is decided by it goes to the exit, in order of time.
    pub fn conclude(&mut self, flight: Flight, outcome: Outcome, arrives_ns: u64, retry_ns: u64, exit: &mut Exit) {
        if outcome == Outcome::Repeated {
            self.lost.push_back((retry_ns, flight));
            return;
        }
        if !self.arq.is_some_and(|arq| arq.in_order) {
            exit.enter(arrives_ns, flight, outcome == Outcome::Lost);
            return;
        }
        let place = (flight.order - self.order_due) as usize;
        if self.window.len() <= place {
            self.window.resize(place + 1, None);
        }
        self.window[place] = Some((flight, outcome));
        self.window_pkts += 1;
        // The last one that was missing lets all behind it go; what is lost for good is not waited for.
        while let Some(&Some((flight, outcome))) = self.window.front() {
            self.window.pop_front();
            self.order_due += 1;
            self.window_pkts -= 1;
            exit.enter(arrives_ns, flight, outcome == Outcome::Lost);
        }
    }
}
