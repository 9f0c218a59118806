//! The sending end: what to send, what was lost, when to time out. How much may be in flight is the law's to say.

use fadelab_laws::shadow::Shadows;
use fadelab_laws::{Sender as Law, State, abi};
use fadelab_path::packet::{FeedbackBytes, Header, PacketId};
use fadelab_path::violation::{Checked, violated};
use fadelab_run::transport::{Recovery, RttSamples};
use prefetch_index::prefetch_index;

use crate::clock::Now;
use crate::network::Network;
use crate::packet::{Packet, flag};
use crate::tcp::ids;
use crate::tcp::plan::Plan;
use crate::tcp::rtt::RttEstimator;
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::sender::asked::Asked;
use crate::tcp::sender::handshake::Serves;
use crate::tcp::sender::law::sampling;
use crate::tcp::sender::pacing::Grant;
use crate::tcp::sender::repair::Repair;

mod acknowledgement;
mod asked;
mod frto;
pub(crate) mod handshake;
mod law;
mod pacing;
mod rack;
mod recovery;
mod repair;
mod room;
mod small_queue;
mod timeout;
mod undo;
mod variance;

/// What the sending end counts. Cumulative; what nearly every ACK counts stands first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct SenderCounters {
    pub sent_pkts: u64,
    pub rtt_samples: u64,
    pub rtt_us_sum: u64,
    /// These cannot be more than segments have numbers.
    pub marked_pkts: u32,
    pub retransmitted_pkts: u32,
    pub timeouts: u32,
    pub recoveries: u32,
    pub ecn_reductions: u32,
    /// The RTT sample that came last, until its flow takes it; 0: none. It fills a gap here.
    pub rtt_us_new: u32,
}

/// No segment: a number beyond all that can be sent.
const NO_SEGMENT: u32 = u32::MAX;
/// No segment's round trip is being measured.
const NOT_TIMED: u32 = NO_SEGMENT;

/// Who sends where: the parts of a flow that do not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub flow: u32,
    /// Where the route of its packets begins.
    pub route_at: u32,
}

/// State of a sending end. The fields that each ACK touches stand first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    board: Scoreboard,
    control: abi::Control,
    rtt: RttEstimator,
    law: Asked,
    rto_due_ns: u64,
    sent_ns_last: u64,
    random: u64,
    identity: Identity,
    /// Segments that the application has written so far.
    written: u32,
    /// Recovery, or the reaction to an ECN echo, ends when all below is acknowledged.
    recover: u32,
    duplicate_acks: u32,
    /// Segments delivered until which rate samples are limited by the application (0: they are not).
    app_limited_until: u32,
    /// The segment whose round trip is being measured, where that is done for one at a time.
    timed: u32,
    /// Number and IP bytes of the last segment, when it is shorter than the others.
    last_seq: u32,
    last_ip_bytes: u16,
    ip_id: u16,
    announce_reduction: bool,
    cwnd_limited: bool,
    pace_blocked: bool,
    /// What the event at hand lets go, with [`Pacing::PerAck`].
    grant: Grant,
    counters: SenderCounters,
    heard: Heard,
    /// Partial ACKs of this recovery, as far as they are counted.
    partial_acks: u8,
    /// How far a connection is that a client asked for.
    serves: Serves,
    feedback_ns: u64,
    pace_due_ns: u64,
    /// Without SACK, duplicates of an ACK below tell of no loss: one more than `recover` of RFC 6582, which is of
    /// losses and timeouts alone.
    recover_loss: u32,
    /// When the present connection was asked for, by the clock of timestamps.
    connected_us: u32,
    /// Allocated when it is needed, which with other recoveries is never.
    repair: Option<Box<Repair>>,
}

/// The newest feedback that came on an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    bytes: FeedbackBytes,
    len: u8,
    confirmed: u8,
}

impl Sender {
    pub fn new(identity: Identity, plan: &Plan, law: &'static Law, random: u64) -> Self {
        Self {
            board: Scoreboard::new(plan.tells_losses),
            control: abi::Control::default(),
            rtt: RttEstimator::new(&plan.tcp),
            law: Asked::new(plan, law),
            rto_due_ns: u64::MAX,
            sent_ns_last: 0,
            random,
            identity,
            written: 0,
            recover: 0,
            duplicate_acks: 0,
            app_limited_until: 0,
            timed: NOT_TIMED,
            last_seq: NO_SEGMENT,
            last_ip_bytes: 0,
            ip_id: ids::start(random, false),
            announce_reduction: false,
            cwnd_limited: false,
            pace_blocked: false,
            serves: Serves::Nobody,
            grant: Grant::One,
            counters: SenderCounters::default(),
            heard: Heard::default(),
            feedback_ns: 0,
            pace_due_ns: 0,
            recover_loss: 0,
            partial_acks: 0,
            connected_us: 0,
            repair: None,
        }
    }

    /// A new connection: window, estimators and law begin anew; sequence numbers go on.
    pub fn connect(&mut self, now: Now, plan: &Plan) {
        self.rtt = RttEstimator::new(&plan.tcp);
        self.repair = None;
        self.connected_us = now.clock_us();
        self.begin(now, plan, abi::Feedback::default());
        (self.recover, self.recover_loss, self.duplicate_acks) = (self.board.nxt(), self.board.nxt(), 0);
        (self.heard, self.pace_due_ns, self.timed) = (Heard::default(), 0, NOT_TIMED);
        (self.announce_reduction, self.cwnd_limited, self.app_limited_until) = (false, false, 0);
        self.counters.marked_pkts = 0;
        self.board.restart_count();
    }

    /// Window and law begin anew. `feedback` is what the answer to a SYN brought.
    fn begin(&mut self, now: Now, plan: &Plan, feedback: abi::Feedback) {
        let tcp = &plan.tcp;
        let reacts = tcp.ecn && self.law.ecn_mode() != abi::ECN_MODE_NONE;
        self.control = abi::Control {
            cwnd_pkts: tcp.cwnd_pkts_initial,
            ssthresh_pkts: tcp.ssthresh_pkts_initial,
            ca_state: abi::CA_OPEN,
            ecn: if reacts { abi::ECN_ECT0 } else { abi::ECN_NOT_ECT },
            ..abi::Control::default()
        };
        let start = abi::Start {
            packet_bytes: tcp.packet_bytes,
            mss_bytes: plan.mss_bytes,
            random: self.next_random(),
            now_us: now.us,
            srtt_us: self.rtt.srtt_us(),
            ts_tick_us: (tcp.ts_tick_ns / 1000) as u32,
            feedback,
            ..abi::Start::default()
        };
        self.law.init(plan, &start, &mut self.control);
    }

    /// The application has written up to segment `written` (excluded); the last one may be shorter.
    pub fn write(&mut self, written: u32, last_ip_bytes: Option<u16>) {
        self.written = written;
        self.last_seq = last_ip_bytes.map_or(NO_SEGMENT, |_| written - 1);
        self.last_ip_bytes = last_ip_bytes.unwrap_or_default();
    }

    /// Segments that the application has written so far.
    pub fn written(&self) -> u32 {
        self.written
    }

    /// The application writes no more; what was sent is still delivered.
    pub fn close(&mut self) {
        self.written = self.board.nxt();
    }

    /// Whether all that was written is acknowledged, on a connection that stands: one that is still asked for cannot
    /// end.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.board.una() == self.written && !self.is_greeting()
    }

    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    #[cfg(feature = "fault-injection")]
    pub fn board_mut(&mut self) -> &mut Scoreboard {
        &mut self.board
    }

    pub fn control(&self) -> &abi::Control {
        &self.control
    }

    /// The law's memory.
    pub fn state(&self) -> &State {
        self.law.state()
    }

    /// The laws that look on.
    pub fn shadows(&self) -> Option<&Shadows> {
        self.law.shadows()
    }

    pub fn srtt_us(&self) -> u32 {
        self.rtt.srtt_us()
    }

    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// Asks for the memory that is not its own and that the next ACK needs.
    #[inline]
    pub fn fetch(&self) {
        self.board.fetch();
        prefetch_index(self.law.state().words(), 0);
    }

    /// The RTT sample that the last ACK brought, once. It is counted where the ACK has been dealt with: before that it
    /// would take registers from what surrounds it.
    #[inline(always)]
    pub fn take_rtt_us(&mut self) -> Option<u32> {
        if self.counters.rtt_us_new == 0 {
            return None;
        }
        Some(std::mem::take(&mut self.counters.rtt_us_new))
    }

    /// When a timer of this end is due.
    #[inline]
    pub fn next_due(&self) -> u64 {
        if self.pace_blocked {
            self.rto_due_ns.min(self.pace_due_ns)
        } else {
            self.rto_due_ns
        }
    }

    /// Runs the timers that are due.
    pub fn on_timer(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        self.grant = Grant::None;
        if self.rto_due_ns <= now.ns && !self.waits_for_tick(now, plan) {
            self.grant = Grant::One;
            self.time_out(now, plan, net)?;
        }
        self.send_now(now, plan, net)
    }

    /// An ACK arrived, packet `id`, which is no more from here on.
    pub fn on_ack(&mut self, now: Now, plan: &Plan, id: PacketId, net: &mut Network) -> Checked<()> {
        let (packet, feedback) = (net.slab.get(id), net.slab.feedback_of(id));
        if packet.seq > self.board.nxt() || self.is_greeting() {
            return self.on_no_ack_of_this(now, plan, id, net);
        }
        let mut ack = abi::Ack::default();
        self.take_ack(now, plan, packet, &mut ack);
        self.take_feedback(now, plan, packet, feedback, &mut ack);
        let ts_ecr_us = packet.ts_ecr_us;
        net.discard(id);
        ack.in_flight_pkts = self.board.in_flight_pkts();
        if self.repair.is_some() && ack.acked_pkts > 0 {
            self.judge_reduction(now, plan, ts_ecr_us, &mut ack);
        }
        let sends_new_first = self.control.ca_state == abi::CA_LOSS && self.judge_timeout(plan, &mut ack);
        let recovering = self.control.ca_state == abi::CA_RECOVERY;
        let must_send = self.advance_recovery(now, plan, &mut ack, net);
        if self.board.has_found() {
            self.tell_lost(plan, &ack);
        }
        if ack.flags & abi::ACK_ECE != 0 && self.has_classic_ecn(plan) {
            self.react_to_echo(plan, &ack);
        }
        self.tell_law(plan, &ack, recovering);
        if self.window_pkts() == 0 || self.control.ssthresh_pkts == 0 {
            let detail = format!("{:?}, {ack:?}", self.control);
            return self.broken("a window is not shut", now, detail);
        }
        if !self.board.is_sound() {
            let detail = self.board.describe();
            return self.broken("what is in flight is what is unacknowledged", now, detail);
        }
        if sends_new_first {
            return self.send_new_first(now, plan, net);
        }
        self.grant = Grant::One;
        if must_send && let Some(seq) = self.board.next_retransmission() {
            self.transmit_again(now, plan, seq, net)?;
        }
        self.send_now(now, plan, net)
    }

    #[cold]
    fn broken<T>(&self, invariant: &'static str, now: Now, detail: String) -> Checked<T> {
        let place = format!("flow {} ({})", self.identity.flow, self.law.name());
        violated(invariant, &place, now.ns, detail)
    }

    /// Sends what window, pacing and application allow, after something else than an ACK or a timer.
    #[inline(never)]
    pub fn send(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        self.grant = Grant::One;
        self.send_now(now, plan, net)
    }

    /// The same in answer to an ACK, where nearly all is sent: a call takes longer to hand over what it is given.
    #[inline(always)]
    fn send_now(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        self.pace_blocked = false;
        let held_pkts = self.held_pkts(plan);
        loop {
            let used_pkts = self.board.in_flight_pkts() + held_pkts;
            let is_full = used_pkts >= self.control.cwnd_pkts;
            // A window below one packet lets a single one out at a time.
            if is_full && (used_pkts > 0 || self.window_pkts() == 0) {
                self.cwnd_limited = true;
                return Ok(());
            }
            let again = self.board.next_retransmission();
            let has_data = self.board.nxt() < self.written && (!plan.tcp.send_buffer || self.has_written_more(plan));
            let is_new = has_data && self.has_receive_window(plan);
            if again.is_none() && !is_new {
                self.cwnd_limited = false;
                if !has_data {
                    self.limit_samples();
                }
                return Ok(());
            }
            if (self.control.pacing_Bps > 0 || is_full) && !self.may_leave(now, plan) {
                return Ok(());
            }
            if plan.tcp.small_queue && !self.has_queue_room(now, plan, again.is_some()) {
                return Ok(());
            }
            match again {
                Some(seq) => self.transmit_again(now, plan, seq, net)?,
                None => self.transmit_new(now, plan, net)?,
            }
        }
    }

    /// Segments that left the network and fill the window nevertheless: without limited transmit (RFC 3042) the first
    /// duplicates release nothing.
    #[inline]
    fn held_pkts(&self, plan: &Plan) -> u32 {
        if self.control.ca_state == abi::CA_DISORDER && !plan.tcp.limited_transmit {
            self.board.sacked_pkts()
        } else {
            0
        }
    }

    #[inline(always)]
    fn transmit_new(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        if self.board.outstanding_pkts() == 0 {
            self.restart(now, plan);
        }
        let seq = self.board.send_new(now.ns, sampling(plan, self.app_limited_until != 0));
        if plan.tcp.rtt_samples == RttSamples::PerRoundTrip && self.timed == NOT_TIMED {
            self.timed = seq;
        }
        let mut tcp_flags = 0;
        // Written where it changes only: a byte that was written a moment ago holds up whoever reads those around it.
        if self.announce_reduction {
            self.announce_reduction = false;
            tcp_flags = flag::CWR;
        }
        self.transmit(now, plan, seq, abi::PACKET_DATA, tcp_flags, net)
    }

    /// Nothing is in flight: after an idleness of a timeout the law hears of it (RFC 5681, section 4.1).
    #[cold]
    fn restart(&mut self, now: Now, plan: &Plan) {
        let idle_ns = now.ns - self.sent_ns_last;
        if self.board.nxt() > 0 && idle_ns >= self.rtt.rto_ns(&plan.tcp) {
            self.law.on_restart(plan, now.us, idle_ns / 1000, &mut self.control);
        }
    }

    #[inline(never)]
    fn transmit_again(&mut self, now: Now, plan: &Plan, seq: u32, net: &mut Network) -> Checked<()> {
        self.board.send_again(seq, now.ns, sampling(plan, false));
        if plan.tcp.recovery == Recovery::Rack {
            self.note_retransmission(now, seq);
        }
        self.note_repair(now);
        // Karn's algorithm: nobody knows which of the two an ACK will be of.
        if seq == self.timed {
            self.timed = NOT_TIMED;
        }
        self.counters.retransmitted_pkts += 1;
        // The timer is of the oldest segment, whose ACK is a round trip away from here: one that ran on since the last
        // new ACK would end before it where RTO is little more. RFC 6675, section 6, allows this, and Linux does it.
        // Without SACK later partial ACKs leave the timer alone, see `is_later_partial_ack`.
        if seq == self.board.una() && self.partial_acks <= 1 {
            self.rto_due_ns = u64::MAX;
        }
        let flags = abi::PACKET_DATA | abi::PACKET_RETRANSMISSION;
        self.transmit(now, plan, seq, flags, 0, net)
    }

    /// Inlined, since a call takes longer. Nobody is lent the packet before it is whole: it is written only once.
    #[inline(always)]
    fn transmit(
        &mut self,
        now: Now,
        plan: &Plan,
        seq: u32,
        flags: u32,
        tcp_flags: u8,
        net: &mut Network,
    ) -> Checked<()> {
        let ip_bytes = if seq == self.last_seq {
            self.last_ip_bytes
        } else {
            plan.tcp.packet_bytes as u16
        };
        // RFC 3168, section 6.1.5: retransmissions are not ECN-capable. Codes of other laws are not ECN.
        let again = flags & abi::PACKET_RETRANSMISSION != 0;
        let ecn = if again && self.law.ecn_mode() == abi::ECN_MODE_CLASSIC {
            abi::ECN_NOT_ECT as u8
        } else {
            self.control.ecn as u8
        };
        let (mut feedback, mut feedback_len) = (None, 0);
        if self.law.has_on_send() {
            let wish = self.ask_law(now, plan, ip_bytes, again);
            if wish.present == 1 {
                (feedback, feedback_len) = (Some(wish.bytes), wish.len);
            }
        }
        self.note_departure(now, plan, ip_bytes);
        self.counters.sent_pkts += 1;
        self.sent_ns_last = now.ns;
        if self.rto_due_ns == u64::MAX {
            self.arm_first(now, plan);
        }
        let wire = self.law.wire() as u8;
        let chance = || self.random ^ self.counters.sent_pkts.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let id = ids::of(plan.tcp.ip_id, self.ip_id, wire, chance);
        let header = Header::new(flags, u32::from(ip_bytes), id, ecn, wire, feedback_len, 0);
        self.ip_id = self.ip_id.wrapping_add(1);
        let push = if seq + 1 == self.written { flag::PUSH } else { 0 };
        let packet = Packet {
            header,
            tcp_flags: tcp_flags | push,
            flow: self.identity.flow,
            seq,
            ts_val_us: now.clock_us(),
            ..Packet::default()
        };
        net.inject(now.ns, packet, self.identity.route_at, feedback.as_ref())?;
        if plan.tcp.small_queue {
            self.note_queued(net.departs_ns(self.identity.route_at));
        }
        Ok(())
    }
}
