//! A router's law at work: its host, and the random words of a link.

use std::sync::Arc;

use fadelab_laws::{Fate, RouterHost, Shown, abi, guard};
use fadelab_phy::random::{CounterDraw, Stream};

use crate::packet::{PacketId, Store};
use crate::rates::Rates;
use crate::spec::{Buffer, CapacitySpec, LinkSpec};

pub(crate) use abi::HostMeter as Meter;

const NS_PER_US: u64 = 1000;

/// A queue at a call of its law.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueView {
    pub now_ns: u64,
    pub bytes: u64,
    pub pkts: u32,
}

/// One of the queues that a law has of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnQueue {
    pub bytes: u64,
    pub pkts: u32,
    /// How long its head has waited.
    pub wait_ns: u64,
}

/// A law, its parameters and its state.
#[derive(Debug)]
pub(crate) struct LawHost {
    /// None of a passive law, drop-tail, which is asked nothing.
    host: Option<RouterHost>,
    sees_arrivals: bool,
    /// Whether the law reads or writes feedback, which others are not shown.
    sees_feedback: bool,
    /// Whether it wants a random word at arrivals, and at departures.
    draws: [bool; 2],
    /// For the start and for timers.
    random: Stream,
    /// For packets: a word per call that wants one, by its number.
    words: CounterDraw,
    /// What the capacity part is told, where that changes.
    told: Option<Arc<Rates>>,
}

impl LawHost {
    /// The law of a queue of a link. `queue` names the queue where a link has several, so that each has random numbers
    /// of its own.
    pub fn new(spec: &LinkSpec, seed: u64, packet_bytes: u32, queue: &str) -> Self {
        let router = &spec.router;
        let capacity_bytes_per_s = spec.told_bytes_per_s();
        let component = format!("router {}{queue}", spec.name);
        let (mut random, words) = (Stream::new(seed, &component), CounterDraw::new(seed, &component));
        let link = abi::Link {
            random: random.next_u64() as u32,
            capacity_Bps: capacity_bytes_per_s,
            delay_us: spec.delay_ns / NS_PER_US,
            limit_bytes: limit_bytes(spec.buffer, spec.air_bytes(packet_bytes)),
            limit_pkts: spec.buffer.packets.unwrap_or(0),
            packet_bytes: spec.air_bytes(packet_bytes),
            ..abi::Link::default()
        };
        let (law, part) = ((router.law, &router.params), (router.capacity, &router.capacity_params));
        let place = || format!("link {}{queue}", spec.name);
        let host = (!router.law.is_passive()).then(|| guard::in_place(place, || RouterHost::new(law, part, &link)));
        let (flags, sees_arrivals) = (router.law.flags(), router.law.has_on_enqueue());
        Self {
            host,
            sees_arrivals,
            sees_feedback: flags & abi::ROUTER_FEEDBACK != 0,
            draws: [
                sees_arrivals && flags & abi::ROUTER_RANDOM != 0,
                flags & abi::ROUTER_RANDOM_AT_DEQUEUE != 0,
            ],
            random,
            words,
            told: match &spec.capacity {
                CapacitySpec::Changing(rates) if spec.told_bps.is_none() => Some(Arc::clone(rates)),
                _ => None,
            },
        }
    }

    /// Whether the state at `address` is the law's or its capacity part's.
    pub fn holds_state(&self, address: usize) -> bool {
        let host = self.host.as_ref();
        host.is_some_and(|host| host.state_addresses().contains(&address))
    }

    /// Adds what the law and its capacity part declare as worth watching; a passive law is not at work.
    pub fn watch(&self, values: &mut Vec<u64>) {
        if let Some(host) = &self.host {
            host.watch(values);
        }
    }

    /// Whether the law looks at departures.
    #[inline]
    pub fn has_on_dequeue(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.law().has_on_dequeue())
    }

    /// When the next timer is due.
    #[inline(always)]
    pub fn next_due(&self) -> u64 {
        self.host.as_ref().map_or(u64::MAX, RouterHost::due_ns)
    }

    /// Runs the timers that are due at `queue.now_ns`, in order of their number.
    pub fn run_timers(&mut self, queue: QueueView, meter: Meter) {
        let Some(host) = &mut self.host else { return };
        host.set_queue(queue.bytes, queue.pkts);
        if let Some(rates) = &self.told {
            host.set_configured(rates.at(queue.now_ns) / 8);
        }
        let random = &mut self.random;
        host.run_timers(queue.now_ns, &meter, || random.next_u64() as u32);
    }

    /// Shows the law what waits in one of its own queues; to be said of each before every call.
    pub fn show_own_queue(&mut self, index: usize, queue: OwnQueue) {
        if let Some(host) = &mut self.host {
            host.set_own_queue(index, queue.bytes, queue.pkts, queue.wait_ns);
        }
    }

    /// The queue of the law's own that an arrival is to join, before [`Self::on_enqueue`].
    pub fn classify(
        &mut self,
        queue: QueueView,
        full: bool,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
    ) -> u32 {
        let Some(host) = &mut self.host else { return 0 };
        host.set_queue(queue.bytes, queue.pkts);
        host.classify(queue.now_ns, full, shown(self.sees_feedback, id, air_bytes, store))
    }

    /// The queue of the law's own whose head is to leave, before [`Self::on_dequeue`].
    pub fn pick(&mut self, queue: QueueView) -> u32 {
        let Some(host) = &mut self.host else { return 0 };
        host.set_queue(queue.bytes, queue.pkts);
        host.pick(queue.now_ns)
    }

    /// An arrival, before the limit of the queue is applied: `full` says what that will do. A law that does not look at
    /// arrivals is not asked: that the queue is never shorter then than at the departure before is known without it.
    #[inline(always)]
    pub fn on_enqueue(
        &mut self,
        queue: QueueView,
        full: bool,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
    ) -> Fate {
        if !self.sees_arrivals {
            return Fate::default();
        }
        let Some(host) = &mut self.host else {
            return Fate::default();
        };
        // Words have numbers, so that one that is drawn and not shown is drawn again.
        if self.draws[0] {
            host.set_random(0, word(self.words, host.drawn()));
        }
        host.set_queue(queue.bytes, queue.pkts);
        host.arrive(queue.now_ns, full, shown(self.sees_feedback, id, air_bytes, store))
    }

    /// A departure from the queue into the transmitter, after `waited_ns`.
    #[inline(always)]
    pub fn on_dequeue(
        &mut self,
        queue: QueueView,
        waited_ns: u64,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
    ) -> Fate {
        let Some(host) = &mut self.host else {
            return Fate::default();
        };
        if self.draws[1] {
            host.set_random(0, word(self.words, host.drawn()));
        }
        host.set_queue(queue.bytes, queue.pkts);
        host.leave(queue.now_ns, waited_ns, shown(self.sees_feedback, id, air_bytes, store))
    }

    /// An arrival at an empty queue that has room and, unless that is its end, its departure at the same instant.
    #[inline(always)]
    pub fn on_passage(&mut self, now_ns: u64, id: PacketId, air_bytes: u32, store: &mut impl Store) -> Fate {
        let Some(host) = &mut self.host else {
            return Fate::default();
        };
        if self.draws[0] {
            host.set_random(0, word(self.words, host.drawn()));
        }
        if self.draws[1] {
            host.set_random(1, word(self.words, host.drawn() + u64::from(self.draws[0])));
        }
        host.set_queue(0, 0);
        host.pass(now_ns, shown(self.sees_feedback, id, air_bytes, store))
    }
}

/// A limit in bytes as a law is told it: one in packets counts full ones.
fn limit_bytes(buffer: Buffer, packet_bytes: u32) -> u64 {
    let of_packets = || u64::from(buffer.packets.unwrap_or(0)) * u64::from(packet_bytes);
    buffer.bytes.unwrap_or_else(of_packets).max(1)
}

/// A random word of a link by its number.
#[inline(always)]
fn word(words: CounterDraw, number: u64) -> u32 {
    (words.at(number) >> 32) as u32
}

/// What the host is told of a packet.
#[inline(always)]
fn shown(sees_feedback: bool, id: PacketId, air_bytes: u32, store: &mut impl Store) -> Shown<'_> {
    let (header, feedback) = if sees_feedback {
        store.header_and_feedback(id)
    } else {
        (store.header(id), None)
    };
    Shown {
        header,
        feedback,
        air_bytes,
    }
}
