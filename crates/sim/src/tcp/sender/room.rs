//! Room for another segment: at the receiver, and in the sender's own buffer.
//!
//! Without SACK Linux's receive window does not grow behind a hole, lest its ACKs be no duplicates (`tcp_grow_window`
//! and `tcp_data_queue_ofo` of `net/ipv4/tcp_input.c`, 6.12).
//!
//! A send buffer has room for what is outstanding, arrived or not. It is twice as large as the largest window, counted
//! in what a segment was taken to need (`tcp_sndbuf_expand`), and is used up where the first hole stays for long: its
//! repetition is lost, or each round trip repairs one hole alone. Then nothing is sent until a third of it is free
//! (`sk_stream_write_space`). A segment that was selectively acknowledged is joined to the one before it, which frees
//! all but its payload (`tcp_shift_skb_data`).

use fadelab_laws::abi;

use super::Sender;
use crate::tcp::plan::Plan;

/// The send buffer of a host of a testbed before the window grows (`tcp_wmem`).
const BYTES_INITIAL: u64 = 256 << 10;

/// What the application keeps in it that was not sent yet (`tcp_notsent_lowat`); it writes again below half of that.
const UNSENT_BYTES_MAX: u64 = 128 << 10;

/// What a segment takes beside its payload in Linux 6.1 (`truesize`): `struct sk_buff` and a kilobyte for headers.
const OVERHEAD_BYTES: u64 = 256 + 1024;

/// Smallest window for which the buffer is made (`TCP_INIT_CWND`).
const CWND_PKTS_MIN: u32 = 10;

/// Bytes of a full segment: of its packet, and of its payload.
#[derive(Clone, Copy, Debug)]
struct Segment {
    packet_bytes: u32,
    payload_bytes: u32,
}

/// What is in a send buffer, in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    outstanding: u32,
    /// Of those.
    sacked: u32,
    unsent: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendBuffer {
    cwnd_pkts_max: u32,
    /// Number of the first segment that the application has not written.
    written: u32,
}

impl SendBuffer {
    /// The window at some time.
    pub fn note_window(&mut self, cwnd_pkts: u32) {
        self.cwnd_pkts_max = self.cwnd_pkts_max.max(cwnd_pkts);
    }

    /// Lets the application write, if it may. Returns how much is there that was not sent.
    fn unsent_pkts(self, segment: Segment, content: Content) -> u32 {
        let payload_bytes = u64::from(segment.payload_bytes);
        let segment_bytes = payload_bytes + OVERHEAD_BYTES;
        let size_bytes = self.size_bytes(segment.packet_bytes);
        let used_bytes = u64::from(content.outstanding + content.unsent) * segment_bytes
            - u64::from(content.sacked) * OVERHEAD_BYTES;
        let unsent_bytes = u64::from(content.unsent) * payload_bytes;
        if used_bytes > size_bytes / 3 * 2 || unsent_bytes >= UNSENT_BYTES_MAX / 2 {
            return content.unsent;
        }
        let room_pkts = (size_bytes - used_bytes).div_ceil(segment_bytes);
        let wanted_pkts = (UNSENT_BYTES_MAX - unsent_bytes).div_ceil(payload_bytes);
        content.unsent + room_pkts.min(wanted_pkts) as u32
    }

    /// Of the largest window so far, with what Linux takes a segment to need: a power of two for payload and headers,
    /// and `struct sk_buff`.
    fn size_bytes(self, packet_bytes: u32) -> u64 {
        let taken_bytes = u64::from((packet_bytes - 40 + 256 + 320).next_power_of_two() + 256);
        let window_pkts = u64::from(self.cwnd_pkts_max.max(CWND_PKTS_MIN));
        (2 * window_pkts * taken_bytes).max(BYTES_INITIAL)
    }
}

impl Sender {
    /// Whether the receiver has room for another segment.
    #[inline(always)]
    pub(super) fn has_receive_window(&self, plan: &Plan) -> bool {
        let outstanding_pkts = self.board.outstanding_pkts();
        outstanding_pkts < plan.rwnd_pkts_initial || outstanding_pkts < self.rwnd_pkts(plan)
    }

    /// Segments that the receiver takes behind the last one that it acknowledged.
    #[inline]
    fn rwnd_pkts(&self, plan: &Plan) -> u32 {
        let growth_pkts = self.repair.as_ref().map_or(0, |repair| repair.rwnd_growth_pkts);
        (plan.rwnd_pkts_initial + growth_pkts).min(plan.tcp.rwnd_pkts)
    }

    /// The receive window of an ACK. It grows by two segments with each that comes in order; of what a cumulative ACK
    /// delivers without SACK, duplicates told of the others.
    #[inline(never)]
    pub(super) fn take_receive_window(&mut self, plan: &Plan, ack: &abi::Ack) -> u32 {
        if ack.acked_pkts > 0 {
            let growth_pkts = &mut self.repair.get_or_insert_default().rwnd_growth_pkts;
            *growth_pkts = (*growth_pkts + 2 * ack.delivered_pkts).min(plan.tcp.rwnd_pkts);
        }
        self.rwnd_pkts(plan)
    }

    /// The window is about to shrink, and the send buffer was made for it.
    pub(super) fn note_buffered_window(&mut self, plan: &Plan) {
        if plan.tcp.send_buffer {
            let cwnd_pkts = self.control.cwnd_pkts;
            self.repair.get_or_insert_default().send_buffer.note_window(cwnd_pkts);
        }
    }

    /// Whether the application has written another segment. A buffer has room for a window in any case.
    #[inline(always)]
    pub(super) fn has_written_more(&mut self, plan: &Plan) -> bool {
        self.board.outstanding_pkts() < self.control.cwnd_pkts || self.buffer_has_more(plan)
    }

    #[inline(never)]
    fn buffer_has_more(&mut self, plan: &Plan) -> bool {
        let nxt = self.board.nxt();
        let outstanding = self.board.outstanding_pkts();
        // Without SACK those are duplicates, of which nobody knows what they tell of.
        let sacked = if plan.tcp.recovery.has_sack() {
            self.board.sacked_pkts()
        } else {
            0
        };
        let buffer = &mut self.repair.get_or_insert_default().send_buffer;
        buffer.note_window(self.control.cwnd_pkts);
        let content = Content {
            outstanding,
            sacked,
            unsent: buffer.written.saturating_sub(nxt),
        };
        let segment = Segment {
            packet_bytes: plan.tcp.packet_bytes,
            payload_bytes: plan.mss_bytes,
        };
        let unsent = buffer.unsent_pkts(segment, content);
        buffer.written = nxt + unsent;
        unsent > 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, Segment, SendBuffer};

    #[test]
    fn a_buffer_that_was_full_waits_for_a_third() {
        // Goal: as in Linux 6.1, of which the figures are: segments of 1440 B take 2720 B, of which 1280 B are free
        // once they are selectively acknowledged, and a window of 84 makes a buffer of 387,072 B. Below 258,048 B it is
        // written to: of 138 that are outstanding 92 have arrived then, of 130 there are 75 (observed: 95 and 79, since
        // the first of each run of segments keeps its headers). At first there are 262,144 B, which 97 segments fill.
        // No more than 128 KiB wait to be sent, and what has half of that is left as it is.
        let segment = Segment {
            packet_bytes: 1500,
            payload_bytes: 1440,
        };
        let content = |outstanding, sacked, unsent| Content {
            outstanding,
            sacked,
            unsent,
        };
        let mut buffer = SendBuffer::default();
        let first = [content(0, 0, 0), content(65, 0, 0), content(64, 0, 0)];
        assert_eq!(first.map(|content| buffer.unsent_pkts(segment, content)), [92, 0, 33]);
        buffer.note_window(84);
        buffer.note_window(20);
        for (outstanding, sacked) in [(138, 91), (130, 74)] {
            let waits = content(outstanding, sacked, 0);
            assert_eq!(buffer.unsent_pkts(segment, waits), 0, "{waits:?}");
            let writes = content(outstanding, sacked + 1, 0);
            assert!(buffer.unsent_pkts(segment, writes) > 40, "{writes:?}");
        }
        assert_eq!(buffer.unsent_pkts(segment, content(20, 0, 46)), 46);
        assert_eq!(buffer.unsent_pkts(segment, content(20, 0, 45)), 92);
    }
}
