//! Fair queueing (RFC 8290, section 4): a queue for each flow, which take turns by deficit round robin, and flows that
//! send little go first. With the law `codel` in each queue it is FQ-CoDel.
//!
//! A flow that begins to send, or that begins anew after its queue was empty for a round, stands in the list of new
//! queues, which are served before the old ones until they have used up a quantum. A packet that finds no room makes
//! room at the head of the queue that holds most bytes. As in the RFC, laws do not hear of what is dropped so; Linux
//! also raises the count of `CoDel`.

use std::collections::VecDeque;

use fadelab_phy::random::CounterDraw;

use super::queue::{LawQueue, Ledger, Waiting};
use crate::packet::{PacketId, Store};
use crate::queue::Limits;
use crate::router::LawHost;
use crate::spec::LinkSpec;

/// Most packets that are dropped at once for want of room (RFC 8290, section 4.1.3).
const DROP_BATCH: u32 = 64;

/// A queue in its turn.
#[derive(Debug)]
struct Turn {
    queue: LawQueue,
    /// On-air bytes that it may still send.
    credit_bytes: i64,
    /// Whether it stands in one of the lists.
    is_listed: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct FairQueue {
    spec: LinkSpec,
    seed: u64,
    packet_bytes: u32,
    quantum_bytes: i64,
    /// A hash keyed by seed and link, and the number of queues that it chooses from; `None`: each flow has its own.
    hash: Option<(CounterDraw, u32)>,
    /// The queue of each flow and direction, given at its first packet; `u32::MAX`: not seen yet.
    numbers: Vec<u32>,
    /// Built when their first packet comes.
    turns: Vec<Option<Box<Turn>>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    pkts: u32,
    bytes: u64,
}

impl FairQueue {
    pub fn new(spec: &LinkSpec, seed: u64, packet_bytes: u32, hashed: Option<u32>, quantum_bytes: u32) -> Self {
        let draw = || CounterDraw::new(seed, &format!("{}.queues", spec.name));
        Self {
            spec: spec.clone(),
            seed,
            packet_bytes,
            quantum_bytes: i64::from(quantum_bytes.max(1)),
            hash: hashed.map(|queues| (draw(), queues.max(1))),
            numbers: Vec::new(),
            turns: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            pkts: 0,
            bytes: 0,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn pkts(&self) -> u32 {
        self.pkts
    }

    pub fn packets(&self) -> impl Iterator<Item = &Waiting> {
        self.turns.iter().flatten().flat_map(|turn| turn.queue.packets())
    }

    /// The queue of a flow's packets in one direction, data and ACKs of a flow having different addresses; built when
    /// the first packet comes. Draws go by the key of the flow: the hash, and the random numbers of a queue that a flow
    /// has to itself.
    fn number(&mut self, id: PacketId, is_data: bool, store: &impl Store) -> u32 {
        let place = 2 * store.flow(id) as usize + usize::from(is_data);
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, u32::MAX);
        }
        if self.numbers[place] == u32::MAX {
            let key = store.flow_key(id).wrapping_mul(2).wrapping_add(u64::from(is_data));
            let (number, name) = match &self.hash {
                Some((hash, queues)) => {
                    let number = ((u128::from(hash.at(key)) * u128::from(*queues)) >> 64) as u32;
                    (number, u64::from(number))
                }
                None => (self.turns.len() as u32, key),
            };
            self.numbers[place] = number;
            self.build(number, name);
        }
        self.numbers[place]
    }

    fn build(&mut self, number: u32, name: u64) {
        if self.turns.len() <= number as usize {
            self.turns.resize_with(number as usize + 1, || None);
        }
        let (spec, seed, packet_bytes) = (&self.spec, self.seed, self.packet_bytes);
        self.turns[number as usize].get_or_insert_with(|| {
            let law = LawHost::new(spec, seed, packet_bytes, &format!(" queue {name}"));
            Box::new(Turn {
                queue: LawQueue::new(law, false),
                credit_bytes: 0,
                is_listed: false,
            })
        });
    }

    fn turn(&mut self, number: u32) -> &mut Turn {
        self.turns[number as usize]
            .as_mut()
            .expect("a number is given to a queue that was built")
    }

    pub fn holds_state(&self, address: usize) -> bool {
        self.turns.iter().flatten().any(|turn| turn.queue.holds_state(address))
    }

    /// An arrival (section 4.1). Returns whether the law let it in: what is dropped afterwards to make room, perhaps
    /// itself, is handed back with the others, so that whoever drives the link hears of all of them.
    pub fn arrive(&mut self, waiting: Waiting, limits: Limits, ledger: &mut Ledger, store: &mut impl Store) -> bool {
        let number = self.number(waiting.parcel.id(), waiting.is_data, store);
        let quantum_bytes = self.quantum_bytes;
        let turn = self.turn(number);
        if !turn.queue.arrive(waiting, false, ledger, store) {
            return false;
        }
        if !turn.is_listed {
            (turn.is_listed, turn.credit_bytes) = (true, quantum_bytes);
            self.new.push_back(number);
        }
        self.pkts += 1;
        self.bytes += u64::from(waiting.bytes);
        while !limits.hold(self.pkts, self.bytes) {
            self.make_room(waiting.arrived_ns, ledger);
        }
        true
    }

    /// Drops from the head of the queue that holds most bytes half of them, at most [`DROP_BATCH`] packets.
    fn make_room(&mut self, now_ns: u64, ledger: &mut Ledger) {
        let longest = self.turns.iter_mut().flatten().max_by_key(|turn| turn.queue.bytes());
        let Some(turn) = longest else { return };
        let half_bytes = turn.queue.bytes() / 2;
        let mut dropped_bytes = 0;
        for _ in 0..DROP_BATCH {
            let Some(dropped) = turn.queue.drop_oldest(now_ns, ledger) else {
                break;
            };
            self.pkts -= 1;
            self.bytes -= u64::from(dropped.bytes);
            dropped_bytes += u64::from(dropped.bytes);
            ledger.drop_taken(now_ns, &dropped, false);
            if dropped_bytes >= half_bytes {
                break;
            }
        }
    }

    /// The packet that is sent next (section 4.2).
    pub fn take(&mut self, now_ns: u64, ledger: &mut Ledger, store: &mut impl Store) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let number = *self.new.front().or(self.old.front())?;
            let quantum_bytes = self.quantum_bytes;
            let turn = self.turn(number);
            if turn.credit_bytes <= 0 {
                turn.credit_bytes += quantum_bytes;
                self.retire(is_new);
                self.old.push_back(number);
                continue;
            }
            let before = (turn.queue.pkts(), turn.queue.bytes());
            let waiting = turn.queue.take(now_ns, ledger, store);
            let after = (turn.queue.pkts(), turn.queue.bytes());
            if let Some(waiting) = waiting {
                turn.credit_bytes -= i64::from(waiting.bytes);
            } else {
                // A new queue that is empty stays for a round as an old one: it cannot come first again at once.
                turn.is_listed = is_new;
                self.retire(is_new);
                if is_new {
                    self.old.push_back(number);
                }
            }
            self.pkts -= before.0 - after.0;
            self.bytes -= before.1 - after.1;
            if waiting.is_some() {
                return waiting;
            }
        }
    }

    /// The queue at the head of its list leaves it.
    fn retire(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front();
        } else {
            self.old.pop_front();
        }
    }
}
