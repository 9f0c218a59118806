//! A host in miniature for tests of laws.
#![allow(dead_code, reason = "each test binary uses a part")]

use fadelab_laws::{Params, RouterInstance, Sender, State, WatchInfo, abi};

/// IP bytes of a full packet in these tests.
pub const PACKET_BYTES: u32 = 1040;

/// A sender's law with its memory and the host's window.
pub struct Flow {
    pub law: &'static Sender,
    pub state: State,
    pub params: Params,
    pub control: abi::Control,
    pub now_us: u64,
    pub srtt_us: u32,
}

impl Flow {
    /// A connection with the given window and threshold.
    pub fn new(name: &str, pairs: &[(&str, f64)], cwnd_pkts: u32, ssthresh_pkts: u32) -> Self {
        let law = fadelab_laws::sender(name).expect("registered");
        let params = law.params_from(pairs).expect("valid");
        let control = abi::Control {
            cwnd_pkts,
            ssthresh_pkts,
            ..Default::default()
        };
        let mut flow = Self {
            law,
            state: law.new_state(),
            params,
            control,
            now_us: 0,
            srtt_us: 0,
        };
        let start = abi::Start {
            packet_bytes: PACKET_BYTES,
            mss_bytes: PACKET_BYTES - 40,
            ..Default::default()
        };
        law.init(&mut flow.state, &flow.params, &start, &mut flow.control);
        flow
    }

    /// An ACK of `acked_pkts` in order, with the window in full use.
    pub fn ack(&self, acked_pkts: u32) -> abi::Ack {
        abi::Ack {
            flags: abi::ACK_CWND_LIMITED,
            now_us: self.now_us,
            rtt_us: self.srtt_us,
            srtt_us: self.srtt_us,
            rtt_us_min: self.srtt_us,
            packet_bytes: PACKET_BYTES,
            mss_bytes: PACKET_BYTES - 40,
            acked_pkts,
            delivered_pkts: acked_pkts,
            ..Default::default()
        }
    }

    /// Feeds an ACK; returns the window.
    pub fn on_ack(&mut self, ack: &abi::Ack) -> u32 {
        self.law.on_ack(&mut self.state, &self.params, ack, &mut self.control);
        self.control.cwnd_pkts
    }

    /// Feeds an ACK with feedback that came with it; returns the window.
    pub fn on_feedback(&mut self, acked_pkts: u32, bytes: &[u8]) -> u32 {
        let mut ack = self.ack(acked_pkts);
        ack.feedback = feedback(bytes);
        self.on_ack(&ack)
    }

    /// The window with its fraction, which laws that keep one hold first in their state.
    pub fn window(&self) -> f64 {
        let window = self.state.words()[0] as f64 / libm::exp2(32.0);
        if window as u32 == self.control.cwnd_pkts {
            window
        } else {
            f64::from(self.control.cwnd_pkts)
        }
    }

    /// What the law shows of itself under a name.
    pub fn watched(&self, name: &str) -> f64 {
        shown(self.law.watch(), name, self.state.words())
    }

    /// A loss found by duplicate ACKs; returns ssthresh.
    pub fn on_loss(&mut self) -> u32 {
        let ack = self.ack(0);
        self.law
            .on_loss(&mut self.state, &self.params, &ack, abi::LOSS_DUPACK, &mut self.control);
        self.control.ssthresh_pkts
    }

    /// A timeout; returns ssthresh.
    pub fn on_rto(&mut self) -> u32 {
        self.control.cwnd_pkts = 1;
        self.control.ca_state = abi::CA_LOSS;
        let ack = self.ack(0);
        self.law.on_rto(&mut self.state, &self.params, &ack, &mut self.control);
        self.control.ssthresh_pkts
    }
}

fn shown(infos: &[WatchInfo], name: &str, state: &[u64]) -> f64 {
    let info = infos.iter().find(|info| info.name == name).expect("declared");
    info.shown(info.raw(state))
}

/// Feedback that came with this packet, from a router.
pub fn feedback(bytes: &[u8]) -> abi::Feedback {
    let mut feedback = abi::Feedback {
        len: bytes.len() as u8,
        present: 1,
        confirmed: 1,
        ..Default::default()
    };
    feedback.bytes[..bytes.len()].copy_from_slice(bytes);
    feedback
}

/// A router's law with its memory.
#[derive(Clone)]
pub struct Hop {
    pub law: RouterInstance<'static>,
    pub queue: abi::Queue,
    pub due_us: [u64; abi::TIMERS_MAX],
    /// What arrived since each timer ran: packets, on-air bytes.
    pub arrived: [(u64, u64); abi::TIMERS_MAX],
    /// The least that waited since then.
    queue_bytes_min: [u64; abi::TIMERS_MAX],
}

impl Hop {
    /// A router on a link.
    pub fn new(name: &str, pairs: &[(&str, f64)], link: &abi::Link) -> Self {
        let law = fadelab_laws::router(name).expect("registered");
        let params = law.params_from(pairs).expect("valid");
        let queue = abi::Queue {
            capacity_Bps: link.capacity_Bps,
            now_us: link.now_us,
            ..Default::default()
        };
        let mut hop = Self {
            law: RouterInstance::new(law, params),
            queue,
            due_us: [abi::TIMER_OFF; abi::TIMERS_MAX],
            arrived: Default::default(),
            queue_bytes_min: Default::default(),
        };
        hop.law.init(link, &mut hop.due_us);
        hop
    }

    /// What the law shows of itself under a name.
    pub fn watched(&self, name: &str) -> f64 {
        shown(self.law.law().watch(), name, self.law.state().words())
    }

    /// An arrival; returns the verdict.
    pub fn enqueue(&mut self, packet: &mut abi::Packet) -> u32 {
        for (pkts, bytes) in &mut self.arrived {
            (*pkts, *bytes) = (*pkts + 1, *bytes + u64::from(packet.air_bytes));
        }
        self.law.on_enqueue(packet, &self.queue)
    }

    /// A departure; returns the verdict.
    pub fn dequeue(&mut self, packet: &mut abi::Packet) -> u32 {
        for bytes in &mut self.queue_bytes_min {
            *bytes = self.queue.queue_bytes.min(*bytes);
        }
        (self.queue.last_start_us, self.queue.last_bytes) = (self.queue.now_us, packet.air_bytes);
        self.law.on_dequeue(packet, &self.queue)
    }

    /// Runs a timer at `now_us`.
    pub fn timer(&mut self, timer: u32, now_us: u64) -> u64 {
        self.queue.now_us = now_us;
        let (number, mut queue) = (timer as usize, self.queue);
        (queue.arrived_pkts, queue.arrived_bytes) = std::mem::take(&mut self.arrived[number]);
        queue.queue_bytes_min = std::mem::replace(&mut self.queue_bytes_min[number], queue.queue_bytes);
        let due_us = self.law.on_timer(timer, &queue);
        self.due_us[number] = due_us;
        due_us
    }

    /// The largest random word at which `acts` is true, plus one: 2^32 times a probability. Works on copies.
    pub fn probability(&self, acts: impl Fn(&mut Self) -> bool) -> f64 {
        let (mut low, mut high) = (0u64, 1u64 << 32);
        while low < high {
            let middle = u64::midpoint(low, high);
            let mut copy = self.clone();
            copy.queue.random = middle as u32;
            if acts(&mut copy) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low as f64 / 4_294_967_296.0
    }
}

/// A data packet of a format.
pub fn data(wire: u32, ecn: u32, air_bytes: u32) -> abi::Packet {
    abi::Packet {
        flags: abi::PACKET_DATA,
        ip_bytes: air_bytes,
        air_bytes,
        ecn: ecn as u8,
        outer_ecn: ecn as u8,
        wire: wire as u8,
        ..Default::default()
    }
}

/// Numbers that look like chance.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }
}
