//! The client of a download at the receiving end (`app = "http"`): it asks for a connection, then for the download, and
//! repeats either until it is heard. What it hears is the receiver's to acknowledge.

use fadelab_path::packet::Header;
use fadelab_run::app::REQUEST_BYTES;
use fadelab_run::transport::Recovery;

use crate::clock::Now;
use crate::packet::{Packet, SYN_BYTES, flag};
use crate::tcp::plan::Plan;
use crate::tcp::rtt::RttEstimator;
use crate::tcp::segments::Segments;
use crate::tcp::timers;

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing: no download is under way.
    Idle,
    /// The server's answer to its SYN.
    Greeting,
    /// The first segment.
    Asking,
    /// The rest.
    Loading,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Client {
    stage: Stage,
    /// When what it said last is said again.
    due_ns: u64,
    rtt: RttEstimator,
    /// When the connection was asked for first, by the clock of timestamps: by this its packets are known.
    connected_us: u32,
    /// Whether it was asked for again.
    is_repeated: bool,
    /// `TSval` of the server's answer.
    ts_recent_us: u32,
    /// The first segment of the download, and the one after its last.
    first: u32,
    end: u32,
    /// Downloads that are there.
    pub ended: u64,
}

impl Client {
    /// Before its first download.
    pub fn new(plan: &Plan) -> Self {
        Self {
            stage: Stage::Idle,
            due_ns: u64::MAX,
            rtt: RttEstimator::new(&plan.tcp),
            connected_us: 0,
            is_repeated: false,
            ts_recent_us: 0,
            first: 0,
            end: 0,
            ended: 0,
        }
    }

    /// When it says again what it said last.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Begins a download whose first segment is `first`. Returns its SYN.
    pub fn open(&mut self, now: Now, flow: u32, plan: &Plan, first: u32) -> Packet {
        (self.first, self.end) = (first, first.saturating_add(Segments::of(plan).count));
        self.stage = Stage::Greeting;
        (self.connected_us, self.is_repeated) = (now.clock_us(), false);
        self.rtt = RttEstimator::new(&plan.tcp);
        self.say(now, flow, plan)
    }

    /// The timer fired: what it said last may be lost.
    pub fn on_timer(&mut self, now: Now, flow: u32, plan: &Plan) -> Packet {
        self.is_repeated = true;
        self.rtt.back_off();
        self.say(now, flow, plan)
    }

    /// The answer to a SYN came. Returns the ACK and the request, unless it answers an earlier connection's or is
    /// answered already.
    pub fn on_answer(&mut self, now: Now, flow: u32, plan: &Plan, answer: &Packet) -> Option<[Packet; 2]> {
        if self.stage != Stage::Greeting || answer.ts_ecr_us != self.connected_us {
            return None;
        }
        self.stage = Stage::Asking;
        self.ts_recent_us = answer.ts_val_us;
        // RFC 6298, section 5.7: after a SYN that was lost the timeout is the initial one. Nobody knows which of them
        // the answer is to.
        self.rtt = RttEstimator::new(&plan.tcp);
        if !self.is_repeated {
            self.rtt.sample(now.clock_us().wrapping_sub(self.connected_us), plan);
        }
        let request = self.say(now, flow, plan);
        let ack = self.packet(now, flow, u32::from(plan.ack_ip_bytes), flag::SYN | flag::GREETED);
        if plan.tcp.recovery == Recovery::Rack && !self.is_repeated {
            // The end of a flight of one segment is probed (RFC 8985, section 7.2).
            let probe_ns = 2_000 * u64::from(self.rtt.srtt_us()) + plan.tcp.rto_ns_min;
            let probe_due_ns = timers::due_ns(now.ns, probe_ns, plan.tcp.timer_tick_ns);
            self.due_ns = self.due_ns.min(probe_due_ns);
        }
        Some([ack, request])
    }

    /// Segment `seq` came, and all below `nxt` are there. Returns whether the download ends with that. What is left of
    /// an earlier one says nothing of this.
    pub fn on_data(&mut self, seq: u32, nxt: u32) -> bool {
        if matches!(self.stage, Stage::Idle | Stage::Greeting) || seq < self.first {
            return false;
        }
        (self.stage, self.due_ns) = (Stage::Loading, u64::MAX);
        let ends = nxt >= self.end;
        if ends {
            self.stage = Stage::Idle;
            self.ended += 1;
        }
        ends
    }

    /// What its stage has it say, which is repeated unless it is heard.
    fn say(&mut self, now: Now, flow: u32, plan: &Plan) -> Packet {
        self.due_ns = timers::due_ns(now.ns, self.rtt.rto_ns(&plan.tcp), plan.tcp.timer_tick_ns);
        if self.stage == Stage::Greeting {
            return self.packet(now, flow, SYN_BYTES, flag::SYN);
        }
        let request_bytes = u32::from(plan.ack_ip_bytes) + REQUEST_BYTES;
        let flags = flag::SYN | flag::GREETED | flag::REQUEST;
        self.packet(now, flow, request_bytes, flags)
    }

    /// A packet to the server. Whatever goes this way counts as an ACK, for the channel and for routers.
    fn packet(&self, now: Now, flow: u32, ip_bytes: u32, tcp_flags: u8) -> Packet {
        let is_greeted = tcp_flags & flag::GREETED != 0;
        Packet {
            header: Header {
                ip_bytes,
                ..Header::default()
            },
            tcp_flags,
            flow,
            // As of every SYN.
            seq: u32::MAX,
            ts_val_us: now.clock_us(),
            // Before the server said anything there is nothing to echo: then it names the connection.
            ts_ecr_us: if is_greeted {
                self.ts_recent_us
            } else {
                self.connected_us
            },
            ..Packet::default()
        }
    }
}
