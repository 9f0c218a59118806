//! The receiving end: cumulative and selective acknowledgements, timestamps, ECN echo, delayed ACKs, and the receiver's
//! half of the law.

use fadelab_laws::{Receiver as Law, State, abi};
use fadelab_path::packet::FeedbackBytes;

use crate::packet::{Packet, SACK_BLOCKS_MAX, flag};
use crate::ranges::RangeSet;
use crate::spec::{Recovery, Transport};
use crate::tcp::clock_us;

/// State of a receiving end.
#[derive(Debug)]
pub(crate) struct Receiver {
    nxt: u32,
    out_of_order: RangeSet,
    /// A segment of each of the blocks that changed last, the last one first.
    recent: [u32; SACK_BLOCKS_MAX],
    /// `TSval` to echo: of the oldest segment not yet acknowledged (RFC 7323, section 4.3).
    ts_recent_us: u32,
    unacknowledged_pkts: u32,
    ack_due_ns: u64,
    congestion_experienced: bool,
    marks: u8,
    law: Option<(&'static Law, State)>,
}

impl Receiver {
    pub fn new(law: Option<&'static Law>) -> Self {
        Self {
            nxt: 0,
            out_of_order: RangeSet::default(),
            recent: [u32::MAX; SACK_BLOCKS_MAX],
            ts_recent_us: 0,
            unacknowledged_pkts: 0,
            ack_due_ns: u64::MAX,
            congestion_experienced: false,
            marks: 0,
            law: law.map(|law| (law, law.new_state())),
        }
    }

    /// A new connection: the law begins anew.
    pub fn restart(&mut self, now_ns: u64) {
        if let Some((law, state)) = &mut self.law {
            *state = law.new_state();
            law.init(state, now_ns / 1000);
        }
        (self.congestion_experienced, self.marks) = (false, 0);
    }

    /// Next segment expected: all below arrived.
    #[inline]
    pub fn nxt(&self) -> u32 {
        self.nxt
    }

    /// Where the law's state lies.
    pub fn state_address(&self) -> Option<usize> {
        self.law.as_ref().map(|(_, state)| state.address())
    }

    /// When a delayed ACK is due; `u64::MAX`: none is.
    #[inline]
    pub fn ack_due_ns(&self) -> u64 {
        self.ack_due_ns
    }

    /// A data packet arrived. Returns whether an ACK is due at once.
    pub fn on_data(&mut self, now_ns: u64, packet: &Packet, feedback: Option<&FeedbackBytes>, tcp: &Transport) -> bool {
        let in_order = packet.seq == self.nxt;
        self.tell_law(now_ns, packet, feedback, in_order);
        self.note_marks(packet);
        if self.unacknowledged_pkts == 0 && packet.seq <= self.nxt {
            self.ts_recent_us = packet.ts_val_us;
        }
        let fills_hole = !self.out_of_order.is_empty();
        if in_order {
            self.nxt += 1;
            if fills_hole
                && let Some((start, end)) = self.out_of_order.first()
                && start == self.nxt
            {
                self.nxt = end;
                self.out_of_order.remove_below(end);
            }
        } else if packet.seq > self.nxt {
            self.out_of_order.insert((packet.seq, packet.seq + 1), |_| {});
            self.make_recent(packet.seq);
        }
        self.unacknowledged_pkts += 1;
        match tcp.delayed_ack_ns {
            // RFC 5681, section 4.2: out of order or filling a hole is acknowledged at once, else every second segment.
            Some(delay_ns) if in_order && !fills_hole && self.unacknowledged_pkts < 2 => {
                self.ack_due_ns = now_ns + delay_ns;
                false
            }
            _ => true,
        }
    }

    fn tell_law(&mut self, now_ns: u64, packet: &Packet, feedback: Option<&FeedbackBytes>, in_order: bool) {
        let Some((law, state)) = &mut self.law else { return };
        let mut data = abi::Data {
            packet_bytes: u32::from(packet.header.ip_bytes),
            now_us: now_ns / 1000,
            ecn: u32::from(packet.header.ecn),
            role: u32::from(packet.header.ip_id & 1),
            ip_id: u32::from(packet.header.ip_id),
            in_order: u32::from(in_order),
            ..abi::Data::default()
        };
        if let Some(bytes) = feedback {
            (data.feedback.bytes, data.feedback.len, data.feedback.present) = (*bytes, packet.header.feedback_len, 1);
        }
        law.on_data(state, &data);
    }

    /// RFC 3168, section 6.1.3: ECE from a mark on until the sender says CWR. RFC 8257 counts each mark.
    #[inline]
    fn note_marks(&mut self, packet: &Packet) {
        if packet.tcp_flags & flag::CWR != 0 {
            self.congestion_experienced = false;
        }
        if u32::from(packet.header.ecn) == abi::ECN_CE {
            self.congestion_experienced = true;
            self.marks = self.marks.saturating_add(1);
        }
    }

    /// RFC 2018, section 4: the block that changed last stands first.
    fn make_recent(&mut self, seq: u32) {
        let block = self.out_of_order.find(seq);
        let keep = self.recent.iter().position(|&old| self.out_of_order.find(old) == block);
        let until = keep.unwrap_or(SACK_BLOCKS_MAX - 1);
        self.recent.copy_within(0..until, 1);
        self.recent[0] = seq;
    }

    /// Fills in the ACK that leaves now. Returns the feedback that rides on it.
    #[inline]
    pub fn fill_ack(&mut self, now_ns: u64, ack: &mut Packet, tcp: &Transport) -> Option<FeedbackBytes> {
        ack.seq = self.nxt;
        ack.ts_ecr_us = self.ts_recent_us;
        ack.ts_val_us = clock_us(now_ns);
        ack.tcp_flags = if self.congestion_experienced { flag::ECE } else { 0 };
        ack.marks = std::mem::take(&mut self.marks);
        (self.unacknowledged_pkts, self.ack_due_ns) = (0, u64::MAX);
        let mut ip_bytes = tcp.ack_bytes;
        if !self.out_of_order.is_empty() && tcp.recovery == Recovery::Sack {
            for block in self.recent.into_iter().filter_map(|seq| self.out_of_order.find(seq)) {
                let count = ack.sack_blocks as usize;
                if !ack.sack[..count].contains(&block) {
                    ack.sack[count] = block;
                    ack.sack_blocks += 1;
                }
            }
            // Kind, length and padding once, two sequence numbers a block (RFC 2018, section 3).
            ip_bytes += if tcp.sack_on_wire {
                4 + 8 * u32::from(ack.sack_blocks)
            } else {
                0
            };
        }
        ack.header.ip_bytes = ip_bytes as u16;
        let (law, state) = self.law.as_mut()?;
        let mut fill = abi::Fill {
            now_us: now_ns / 1000,
            ..abi::Fill::default()
        };
        law.fill_ack(state, &mut fill);
        (ack.header.ecn, ack.header.outer_ecn) = (fill.ecn as u8, fill.ecn as u8);
        let written = fill.feedback.present == 1;
        law.ack_written(state, written);
        ack.header.feedback_len = if written { fill.feedback.len } else { 0 };
        written.then_some(fill.feedback.bytes)
    }

    /// Acknowledges what was never sent, to show that the sender sees it.
    #[cfg(feature = "fault-injection")]
    pub fn acknowledge_the_future(&mut self) {
        self.nxt += 1_000_000;
    }
}
