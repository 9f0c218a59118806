//! The receiving end: cumulative and selective acknowledgements, timestamps, ECN echo, delayed ACKs, and the receiver's
//! half of the law.

mod blocks;

use std::cmp::Ordering;

use fadelab_laws::abi::Identification;
use fadelab_laws::{Receiver as Law, State, abi};
use fadelab_path::packet::{FeedbackBytes, Header};
use fadelab_run::transport::LAW_OPTION_BYTES_MAX;

use crate::clock::Now;
use crate::packet::{Packet, SACK_BLOCKS_MAX, flag};
use crate::ranges::Range;
use crate::tcp::plan::Plan;
use crate::tcp::timers;
use blocks::OutOfOrder;

/// Beside a number of segments: a SYN is to be answered.
const SYN_WAITS: u16 = 1 << 15;
/// Beside it: a mark came, and CWR did not yet.
const CONGESTED: u16 = 1 << 14;

/// Segments that Linux acknowledges at once behind one that it had already, which tells of a timeout that it must not
/// make worse (`TCP_MAX_QUICKACKS`).
const QUICK_BEHIND_DUPLICATE_PKTS: u16 = 16;
/// And behind a mark or a repetition that is not ECN-capable: the sender's window may be very small
/// (`__tcp_ecn_check_ce` of `net/ipv4/tcp_input.c`).
const QUICK_BEHIND_MARK_PKTS: u16 = 2;

/// Stands for no segment.
const NO_SEGMENT: u32 = u32::MAX;

/// State of a receiving end. The fields that each packet touches stand first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    ack_due_ns: u64,
    nxt: u32,
    /// `TSval` to echo: of the oldest segment not yet acknowledged (RFC 7323, section 4.3).
    ts_recent_us: u32,
    /// Segments that arrived since the last ACK: two at most.
    unacknowledged_pkts: u8,
    marks: u8,
    /// Segments still to be acknowledged at once, though ACKs be delayed, and two flags.
    quick_and_flags: u16,
    /// The segment that came again, of which the next ACK tells (RFC 2883).
    duplicate: u32,
    out_of_order: OutOfOrder,
    /// Of the law's half, if it has one.
    state: Option<State>,
}

impl Receiver {
    pub fn new(plan: &Plan) -> Self {
        Self {
            ack_due_ns: u64::MAX,
            nxt: 0,
            ts_recent_us: 0,
            unacknowledged_pkts: 0,
            marks: 0,
            quick_and_flags: 0,
            duplicate: NO_SEGMENT,
            out_of_order: OutOfOrder::default(),
            state: plan.receiver_law.map(Law::new_state),
        }
    }

    /// A new connection: the law begins anew.
    pub fn restart(&mut self, now: Now, plan: &Plan) {
        if let Some(law) = plan.receiver_law {
            law.init(self.state.insert(law.new_state()), now.us);
        }
        (self.marks, self.quick_and_flags) = (0, plan.tcp.quick_acks_pkts);
    }

    /// Next segment expected: all below arrived.
    #[inline]
    pub fn nxt(&self) -> u32 {
        self.nxt
    }

    /// Where the law's state lies.
    pub fn state_address(&self) -> Option<usize> {
        self.state.as_ref().map(State::address)
    }

    /// When a delayed ACK is due; `u64::MAX`: none is.
    #[inline]
    pub fn ack_due_ns(&self) -> u64 {
        self.ack_due_ns
    }

    /// A data packet arrived. Returns whether an ACK is due at once. Here as in [`Self::ack`], `HAS_LAW` says whether
    /// the plan has a law for this end, so that those without one ask only once.
    #[inline(always)]
    pub fn on_data<const HAS_LAW: bool>(
        &mut self,
        now: Now,
        packet: &Packet,
        feedback: Option<&FeedbackBytes>,
        plan: &Plan,
    ) -> bool {
        let in_order = packet.seq == self.nxt;
        if HAS_LAW
            && let Some(law) = plan.receiver_law
            && let Some(state) = &mut self.state
        {
            tell_law(law, state, now, plan, packet, feedback, in_order);
        }
        let announced = self.note_marks(packet, plan);
        // RFC 7323, section 4.3: not of an old duplicate, which is outside of the window. Linux takes the last one that
        // arrived for inside (`tcp_sequence` of `net/ipv4/tcp_input.c`).
        if self.unacknowledged_pkts == 0 && self.nxt.wrapping_sub(packet.seq) <= 1 {
            self.ts_recent_us = packet.ts_val_us;
        }
        self.unacknowledged_pkts += 1;
        if !in_order || !self.out_of_order.is_empty() {
            // RFC 5681, section 4.2: out of order or filling a hole is acknowledged at once.
            return self.take_out_of_order(now, packet, plan);
        }
        self.nxt += 1;
        match plan.tcp.delayed_ack_ns {
            // Else every second segment is.
            Some(delay_ns) if self.unacknowledged_pkts < 2 => {
                if self.take_quick() || announced || is_pushed(packet, plan) {
                    return true;
                }
                self.ack_due_ns = timers::due_ns(now.ns, delay_ns, plan.tcp.timer_tick_ns);
                false
            }
            _ => true,
        }
    }

    /// A connection is asked for: the answer leaves with the next event, which is now. A SYN is no segment.
    #[cold]
    fn note_syn(&mut self, now: Now, packet: &Packet) -> bool {
        (self.ack_due_ns, self.ts_recent_us) = (now.ns, packet.ts_val_us);
        self.unacknowledged_pkts -= 1;
        self.quick_and_flags |= SYN_WAITS;
        false
    }

    /// The timestamp of the SYN that is to be answered, if one is.
    pub fn take_syn(&mut self) -> Option<u32> {
        let waits = self.quick_and_flags & SYN_WAITS != 0;
        waits.then(|| {
            self.quick_and_flags &= !SYN_WAITS;
            self.ack_due_ns = u64::MAX;
            self.ts_recent_us
        })
    }

    /// Whether this segment is one of those still to be acknowledged at once.
    #[inline]
    fn take_quick(&mut self) -> bool {
        if self.quick_and_flags & !(SYN_WAITS | CONGESTED) == 0 {
            return false;
        }
        self.quick_and_flags -= 1;
        true
    }

    /// So many are, from now on, at least; where the stack does that.
    #[cold]
    fn make_quick(&mut self, plan: &Plan, pkts: u16) {
        let left_pkts = self.quick_and_flags & !(SYN_WAITS | CONGESTED);
        if plan.tcp.quick_acks_pkts > 0 {
            self.quick_and_flags += pkts.saturating_sub(left_pkts);
        }
    }

    /// A segment arrived that is not the next one, or is while others beyond it are there. Returns whether an ACK is
    /// due at once.
    fn take_out_of_order(&mut self, now: Now, packet: &Packet, plan: &Plan) -> bool {
        if packet.tcp_flags & flag::SYN != 0 {
            return self.note_syn(now, packet);
        }
        self.take_quick();
        let seq = packet.seq;
        match seq.cmp(&self.nxt) {
            Ordering::Less => {
                self.make_quick(plan, QUICK_BEHIND_DUPLICATE_PKTS);
                self.note_duplicate(plan, seq);
            }
            Ordering::Greater => {
                if !self.out_of_order.insert(seq) {
                    self.note_duplicate(plan, seq);
                }
            }
            Ordering::Equal => self.nxt = self.out_of_order.join(self.nxt + 1),
        }
        true
    }

    fn note_duplicate(&mut self, plan: &Plan, seq: u32) {
        if plan.tcp.dsack && plan.tcp.recovery.has_sack() {
            self.duplicate = seq;
        }
    }

    /// Looks at the codepoint and for CWR. Returns whether the sender said CWR and the stack acknowledges that at once,
    /// since the window may be very small.
    #[inline]
    fn note_marks(&mut self, packet: &Packet, plan: &Plan) -> bool {
        if !plan.has_ecn() {
            return false;
        }
        let ecn = u32::from(packet.header.ecn);
        let is_plain = ecn != abi::ECN_CE && (ecn != abi::ECN_NOT_ECT || !plan.is_quick_for_ecn());
        if is_plain && packet.tcp_flags & flag::CWR == 0 {
            return false;
        }
        self.note_mark_or_reduction(packet, plan)
    }

    /// RFC 3168, section 6.1.3: ECE from a mark on until the sender says CWR. RFC 8257 counts each mark.
    #[inline(never)]
    fn note_mark_or_reduction(&mut self, packet: &Packet, plan: &Plan) -> bool {
        let announced = packet.tcp_flags & flag::CWR != 0;
        if announced {
            self.quick_and_flags &= !CONGESTED;
        }
        let is_marked = u32::from(packet.header.ecn) == abi::ECN_CE;
        let is_news = is_marked && self.quick_and_flags & CONGESTED == 0;
        let is_again = u32::from(packet.header.ecn) == abi::ECN_NOT_ECT;
        if plan.is_quick_for_ecn() && (is_news || is_again) {
            self.make_quick(plan, QUICK_BEHIND_MARK_PKTS);
        }
        if is_marked {
            self.quick_and_flags |= CONGESTED;
            self.marks = self.marks.saturating_add(1);
        }
        announced && plan.is_quick_for_ecn()
    }

    /// What the law echoes on the answer to a SYN, where its sender sends feedback on one. Returns whether it does.
    pub fn answer_syn(&mut self, now: Now, plan: &Plan, fill: &mut abi::Fill) -> bool {
        let sends = plan
            .law
            .is_some_and(|law| law.flags() & abi::SENDER_FEEDBACK_ON_SYN != 0);
        match (plan.receiver_law, &mut self.state) {
            (Some(law), Some(state)) if sends => ask_law(law, state, now, plan, 0, fill),
            _ => false,
        }
    }

    /// The ACK that leaves now, of flow `flow`. Where the law has feedback that rides on it, and the ACK
    /// room for that, it stands in `fill` and `feedback_len` says so.
    ///
    /// Nobody is lent the packet before it is whole, so that it is written only once, where it stays.
    #[inline(always)]
    pub fn ack<const HAS_LAW: bool>(
        &mut self,
        now: Now,
        plan: &Plan,
        flow: u32,
        id: Identification,
        fill: &mut abi::Fill,
    ) -> Packet {
        (self.unacknowledged_pkts, self.ack_due_ns) = (0, u64::MAX);
        let (mut sack, mut sack_blocks) = Default::default();
        let mut ip_bytes = plan.ack_ip_bytes;
        let has_blocks = !self.out_of_order.is_empty() || self.duplicate != NO_SEGMENT;
        if has_blocks && plan.tcp.recovery.has_sack() {
            (sack, sack_blocks) = self.blocks();
            if plan.tcp.sack_on_wire {
                ip_bytes = ip_bytes_with_sack(plan, sack_blocks);
            }
        }
        let mut feedback_len = 0;
        if HAS_LAW
            && let Some(law) = plan.receiver_law
            && let Some(state) = &mut self.state
            && ask_law(law, state, now, plan, sack_blocks, fill)
        {
            feedback_len = fill.feedback.len;
        }
        Packet {
            header: Header::new(
                0,
                u32::from(ip_bytes),
                id,
                fill.ecn as u8,
                0,
                feedback_len,
                fill.feedback.confirmed,
            ),
            tcp_flags: if self.quick_and_flags & CONGESTED != 0 {
                flag::ECE
            } else {
                0
            },
            sack_blocks,
            marks: std::mem::take(&mut self.marks),
            flow,
            seq: self.nxt,
            ts_val_us: now.clock_us(),
            ts_ecr_us: self.ts_recent_us,
            sack,
        }
    }

    /// RFC 2018, section 4: the blocks that changed last, behind what came twice (RFC 2883), and how many they are.
    #[inline(never)]
    fn blocks(&mut self) -> ([Range; SACK_BLOCKS_MAX], u8) {
        let (blocks, count) = self.out_of_order.blocks();
        if self.duplicate == NO_SEGMENT {
            return (blocks, count as u8);
        }
        let duplicate = (self.duplicate, self.duplicate + 1);
        self.duplicate = NO_SEGMENT;
        let [first, second, _] = blocks;
        ([duplicate, first, second], (count + 1).min(SACK_BLOCKS_MAX) as u8)
    }

    /// Acknowledges what was never sent, to show that the sender sees it.
    #[cfg(feature = "fault-injection")]
    pub fn acknowledge_the_future(&mut self) {
        self.nxt += 1_000_000;
    }
}

/// Whether the application wrote nothing behind this segment yet and the stack acknowledges such a one as soon as its
/// own application has read it, which is at once (Linux: `tcp_measure_rcv_mss` of `net/ipv4/tcp_input.c`,
/// `__tcp_cleanup_rbuf` of `net/ipv4/tcp.c`; of full segments since 6.6 and 6.1.57).
#[inline]
fn is_pushed(packet: &Packet, plan: &Plan) -> bool {
    packet.tcp_flags & flag::PUSH != 0 && plan.tcp.quick_acks_pkts > 0
}

/// Shows an arriving packet to the law.
#[inline(always)]
fn tell_law(
    law: &Law,
    state: &mut State,
    now: Now,
    plan: &Plan,
    packet: &Packet,
    feedback: Option<&FeedbackBytes>,
    in_order: bool,
) {
    if packet.tcp_flags & flag::SYN != 0 && feedback.is_none() {
        return;
    }
    let mut data = abi::Data {
        packet_bytes: packet.header.ip_bytes,
        now_us: now.us,
        ecn: u32::from(packet.header.ecn),
        role: u32::from(packet.header.role),
        ip_id: u32::from(packet.header.ip_id),
        in_order: u32::from(in_order),
        segments: 1,
        roles_known: 1,
        roles: u64::from(packet.header.role),
        ..abi::Data::default()
    };
    if let Some(bytes) = feedback {
        let bytes = plan.codec.map_or(*bytes, |codec| codec.rounded_data(bytes));
        (data.feedback.bytes, data.feedback.len, data.feedback.present) = (bytes, packet.header.feedback_len, 1);
    }
    data.feedback.confirmed = packet.header.confirmed;
    law.on_data(state, &data);
}

/// Kind, length and padding once, two sequence numbers a block (RFC 2018, section 3).
fn sack_bytes(plan: &Plan, sack_blocks: u8) -> u16 {
    if plan.tcp.sack_on_wire && sack_blocks > 0 {
        4 + 8 * u16::from(sack_blocks)
    } else {
        0
    }
}

/// Whether SACK blocks leave room for the law's option. Linux gives it to them first (`tcp_established_options` of
/// `net/ipv4/tcp_output.c`).
fn has_room(plan: &Plan, sack_blocks: u8) -> bool {
    u32::from(sack_bytes(plan, sack_blocks) + plan.option_bytes) <= LAW_OPTION_BYTES_MAX
}

/// IP bytes of an ACK with SACK blocks, which count on the wire.
#[inline(never)]
fn ip_bytes_with_sack(plan: &Plan, sack_blocks: u8) -> u16 {
    let option_bytes = if has_room(plan, sack_blocks) {
        plan.option_bytes
    } else {
        0
    };
    plan.tcp.ack_bytes as u16 + sack_bytes(plan, sack_blocks) + option_bytes
}

/// Asks the law what it echoes on the ACK that leaves now. Returns whether feedback of it rides on that.
#[inline(always)]
fn ask_law(law: &Law, state: &mut State, now: Now, plan: &Plan, sack_blocks: u8, fill: &mut abi::Fill) -> bool {
    fill.now_us = now.us;
    law.fill_ack(state, fill);
    if let Some(codec) = &plan.codec {
        let feedback = &mut fill.feedback;
        feedback.bytes = codec.rounded_echo(&feedback.bytes, feedback.confirmed != 0);
    }
    let written = fill.feedback.present == 1 && has_room(plan, sack_blocks);
    law.ack_written(state, written);
    written
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::tcp::plan::tests::spec;

    const ECT: u32 = abi::ECN_ECT0;
    const CE: u32 = abi::ECN_CE;

    /// A receiving end of a stack that hurries with its first ACKs.
    struct End {
        plan: Rc<Plan>,
        receiver: Receiver,
    }

    impl End {
        fn new(quick_acks_pkts: u16, ecn: bool) -> Self {
            let mut spec = spec("reno");
            (spec.transport.delayed_ack_ns, spec.transport.quick_acks_pkts) = (Some(40_000_000), quick_acks_pkts);
            spec.transport.ecn = ecn;
            let plan = Plan::of(&spec, &Rc::default(), None);
            let mut receiver = Receiver::new(&plan);
            receiver.restart(Now::at(0), &plan);
            Self { plan, receiver }
        }

        /// Whether a segment with this codepoint and these flags is acknowledged at once.
        fn hurries(&mut self, seq: u32, ecn: u32, tcp_flags: u8) -> bool {
            let packet = Packet {
                header: Header::new(abi::PACKET_DATA, 1040, Identification::by_id(0), ecn as u8, 0, 0, 0),
                tcp_flags,
                seq,
                ..Packet::default()
            };
            let now = Now::at(1_000);
            let hurries = self.receiver.on_data::<false>(now, &packet, None, &self.plan);
            if hurries {
                self.receiver
                    .ack::<false>(now, &self.plan, 0, Identification::by_id(0), &mut abi::Fill::default());
            }
            hurries
        }

        /// How many of the next `pkts` are.
        fn hurries_of(&mut self, pkts: u32) -> usize {
            let nxt = self.receiver.nxt();
            (nxt..nxt + pkts).filter(|&seq| self.hurries(seq, ECT, 0)).count()
        }
    }

    #[test]
    fn what_came_before_makes_a_linux_receiver_hurry() {
        // Goal: behind a segment that came before, 16 are acknowledged at once and then every second is again; where a
        // stack never hurries, none is.
        for (quick_acks_pkts, hurried) in [(4, 16 + 4), (0, 12)] {
            let mut end = End::new(quick_acks_pkts, false);
            assert_eq!(end.hurries_of(8), if quick_acks_pkts == 4 { 6 } else { 4 });
            assert!(end.hurries(3, ECT, 0), "a duplicate is");
            assert_eq!(end.hurries_of(24), hurried);
        }
    }

    #[test]
    fn what_its_application_pushed_makes_a_linux_receiver_hurry() {
        // Goal: a segment behind which nothing is written yet is acknowledged at once, and the one behind it waits
        // again; a stack that never hurries waits for every second.
        for (quick_acks_pkts, hurried) in [(1, [true, true, false, true]), (0, [false, true, false, true])] {
            let mut end = End::new(quick_acks_pkts, false);
            let flags = [0, flag::PUSH, 0, 0];
            assert_eq!(
                [0, 1, 2, 3].map(|seq| end.hurries(seq, ECT, flags[seq as usize])),
                hurried
            );
        }
        let mut end = End::new(0, false);
        assert!(!end.hurries(0, ECT, flag::PUSH));
    }

    #[test]
    fn segments_out_of_order_count_as_hurried() {
        // Goal: the receive window grows by what is out of order, too: of the first 8 segments 5 came behind a hole,
        // and 3 more are acknowledged at once.
        let mut end = End::new(8, false);
        assert!((1..5).all(|seq| end.hurries(seq, ECT, 0)));
        assert!(end.hurries(0, ECT, 0), "it fills the hole");
        assert_eq!(end.hurries_of(3), 3);
        assert_eq!(end.hurries_of(6), 3);
    }

    #[test]
    fn marks_make_a_linux_receiver_hurry() {
        // Goal: where both ends agreed to ECN, the first mark of a round and a retransmission have two segments
        // acknowledged at once, and what says CWR is itself; where they did not, and in a stack that never hurries,
        // none of that is.
        let word = |end: &mut End, ecn, tcp_flags| {
            let nxt = end.receiver.nxt();
            [(nxt, ecn, tcp_flags), (nxt + 1, ECT, 0), (nxt + 2, ECT, 0)]
                .map(|(seq, ecn, flags)| end.hurries(seq, ecn, flags))
        };
        let mut end = End::new(1, true);
        assert!(end.hurries(0, ECT, 0), "the first");
        assert_eq!(word(&mut end, CE, 0), [true, true, false], "a first mark");
        assert!(end.hurries(4, ECT, 0), "the second one waits no longer");
        assert_eq!(word(&mut end, CE, 0), [false, true, false], "a mark before CWR");
        assert!(end.hurries(8, ECT, 0));
        assert_eq!(word(&mut end, ECT, flag::CWR), [true, false, true], "CWR");
        assert_eq!(word(&mut end, CE, flag::CWR), [true, true, false], "CWR and a new mark");
        assert!(end.hurries(15, ECT, 0));
        assert_eq!(
            word(&mut end, abi::ECN_NOT_ECT, 0),
            [true, true, false],
            "a retransmission"
        );
        for (quick_acks_pkts, ecn) in [(1, false), (0, true)] {
            let mut end = End::new(quick_acks_pkts, ecn);
            end.hurries_of(2 - u32::from(quick_acks_pkts));
            for (code, tcp_flags) in [(CE, 0), (ECT, flag::CWR), (abi::ECN_NOT_ECT, 0)] {
                assert_eq!(
                    word(&mut end, code, tcp_flags),
                    [false, true, false],
                    "{code} {tcp_flags}"
                );
                assert!(end.hurries(end.receiver.nxt(), ECT, 0));
            }
        }
    }
}
