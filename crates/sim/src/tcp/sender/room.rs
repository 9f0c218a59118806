//! Room for another segment: at the receiver, and in the sender's own buffer.
//!
//! Without SACK both can be in the way. Behind a hole Linux's receive window does not grow, lest its ACKs be no
//! duplicates (`tcp_grow_window` and `tcp_data_queue_ofo` of `net/ipv4/tcp_input.c`, 6.12). And a send buffer has room
//! for twice the largest window (`tcp_sndbuf_expand`), as a recovery with SACK needs it: without, a recovery repairs a
//! hole each round trip and sends a window meanwhile. A buffer that was full wakes the application once a third of it
//! is free (`sk_stream_write_space`), and the application keeps some segments in it that were not sent yet
//! (`tcp_notsent_lowat`).

use fadelab_laws::abi;

use super::Sender;
use crate::tcp::plan::Plan;

/// Segments for which hosts of a testbed have room at first: 256 KiB, of which a segment takes 2304 B.
const PKTS_INITIAL: u32 = 113;

/// Segments that were not sent yet, at most: 128 KiB.
const UNSENT_PKTS_MAX: u32 = 90;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendBuffer {
    cwnd_pkts_max: u32,
    is_full: bool,
}

impl SendBuffer {
    /// Whether there is a segment to be sent beside those that are outstanding.
    fn has_another(&mut self, cwnd_pkts: u32, outstanding_pkts: u32) -> bool {
        self.cwnd_pkts_max = self.cwnd_pkts_max.max(cwnd_pkts);
        let size_pkts = self.cwnd_pkts_max.saturating_mul(2).max(PKTS_INITIAL);
        let woken_pkts = size_pkts - size_pkts / 3;
        let most_pkts = size_pkts.min(woken_pkts + UNSENT_PKTS_MAX);
        self.is_full = outstanding_pkts >= if self.is_full { woken_pkts } else { most_pkts };
        !self.is_full
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

    /// Whether the application could write another segment.
    #[inline(never)]
    pub(super) fn has_written_more(&mut self) -> bool {
        let (cwnd_pkts, outstanding_pkts) = (self.control.cwnd_pkts, self.board.outstanding_pkts());
        let buffer = &mut self.repair.get_or_insert_default().send_buffer;
        buffer.has_another(cwnd_pkts, outstanding_pkts)
    }
}

#[cfg(test)]
mod tests {
    use super::SendBuffer;

    #[test]
    fn a_buffer_that_was_full_waits_for_a_third() {
        // Goal: under a window of 150 there is room for 300, of which the application fills 200 and 90 that were not
        // sent yet; once that is used up it waits until fewer than 200 are outstanding. Small windows have 113, and a
        // window that was halved keeps its room.
        let mut buffer = SendBuffer::default();
        let mut has = |cwnd_pkts, outstanding_pkts| buffer.has_another(cwnd_pkts, outstanding_pkts);
        assert!(has(10, 112) && !has(10, 113) && !has(10, 76) && has(10, 75));
        assert!(has(150, 289) && !has(75, 290) && !has(75, 200) && has(75, 199) && has(75, 289));
    }
}
