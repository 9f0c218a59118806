//! What a link tells the law at its queue, and what it does at the law's word.

use super::{Fate, Link, Transit};
use crate::packet::{PacketId, Store};
use crate::router::{Meter, QueueView};
use crate::violation::{Checked, violated};

impl Link {
    /// Shows an arrival to the law. Returns whether it dropped the packet.
    #[inline(never)]
    pub(super) fn law_refuses(
        &mut self,
        now_ns: u64,
        packet: PacketId,
        bytes: u32,
        full: bool,
        store: &mut impl Store,
    ) -> bool {
        let view = QueueView {
            full,
            ..self.view(now_ns)
        };
        let Some(law) = &mut self.law else { return false };
        let verdict = law.on_enqueue(view, packet, bytes, store);
        self.counters.marked_pkts += u64::from(verdict.marked && !full && !verdict.dropped);
        verdict.dropped
    }

    /// Shows a departure from the queue to the law. Returns whether it dropped the packet.
    #[inline(never)]
    pub(super) fn law_drops(&mut self, transit: &Transit, store: &mut impl Store) -> Checked<bool> {
        let view = QueueView {
            wait_ns: transit.start_ns - transit.arrived_ns,
            ..self.view(transit.start_ns)
        };
        let Some(law) = &mut self.law else { return Ok(false) };
        let verdict = law.on_dequeue(view, transit.id, transit.bytes, store);
        self.counters.marked_pkts += u64::from(verdict.marked);
        if verdict.dropped {
            self.drop_at_departure(*transit)?;
        }
        Ok(verdict.dropped)
    }

    /// The law dropped the packet that was about to be sent: those behind it move up.
    #[cold]
    pub(super) fn drop_at_departure(&mut self, dropped: Transit) -> Checked<()> {
        if !self.drops_at_dequeue {
            let detail = "its table lacks LAW_ROUTER_DROPS_AT_DEQUEUE".to_owned();
            return violated(
                "a law drops at departure only if it says so",
                &self.name,
                dropped.start_ns,
                detail,
            );
        }
        self.counters.dropped_law_pkts += 1;
        self.counters.dropped_bytes += u64::from(dropped.bytes);
        self.dropped_held_pkts += 1;
        self.transmitter.rewind(dropped.start_ns, dropped.mark);
        // Starts are rounded down and ends up: it would have begun up to a nanosecond before the end of the one ahead.
        let ahead = (self.started - 1)
            .checked_sub(1)
            .and_then(|index| self.transits.get(index));
        let ahead_ns = ahead.map_or(0, |ahead| ahead.deliver_ns);
        if let Some(ghost) = self.transits.get_mut(self.started - 1) {
            ghost.fate = Fate::DroppedByLaw;
            ghost.deliver_ns = ahead_ns.max(dropped.start_ns + self.delay_ns);
        }
        for index in self.started..self.transits.len() {
            let Some(waiting) = self.transits.get_mut(index) else {
                break;
            };
            let served = self.transmitter.serve(waiting.arrived_ns, waiting.bytes);
            waiting.start_ns = served.start_ns;
            waiting.deliver_ns = served.end_ns + self.delay_ns;
            waiting.mark = served.mark;
        }
        self.deliver_ns_next = self.transits.front().map_or(u64::MAX, |next| next.deliver_ns);
        self.start_ns_next = self.transits.get(self.started).map_or(u64::MAX, |next| next.start_ns);
        Ok(())
    }

    #[inline(never)]
    pub(super) fn run_timers(&mut self, now_ns: u64) {
        // What was begun but is not yet on the air by now counts as busy time of the next interval.
        let unsent_ns = self.busy.end_ns.saturating_sub(now_ns);
        let meter = Meter {
            offered_bytes: self.transmitter.offered_bytes(now_ns),
            sent_bytes: self.counters.sent_bytes,
            arrived_bytes: self.counters.arrived_bytes,
            busy_ns: self.busy_ns - unsent_ns,
        };
        let view = self.view(now_ns);
        if let Some(law) = &mut self.law {
            law.run_timers(view, meter);
        }
    }
}
