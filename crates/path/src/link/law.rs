//! What a link tells the law at its queue, and what it does at the law's word.

use super::{Link, Waiting};
use crate::packet::{PacketId, Store};
use crate::router::{Meter, Verdict};
use crate::violation::{Checked, violated};

impl Link {
    /// Shows an arrival to the law.
    #[inline(always)]
    pub(super) fn show_arrival(
        &mut self,
        now_ns: u64,
        packet: PacketId,
        bytes: u32,
        full: bool,
        store: &mut impl Store,
    ) -> Verdict {
        let view = self.view(now_ns);
        let Some(law) = &mut self.law else {
            return Verdict::default();
        };
        law.on_enqueue(view, full, packet, bytes, store)
    }

    /// Shows a departure from the queue to the law, which may not drop any more. Returns whether it marked the packet.
    #[inline(always)]
    pub(super) fn show_departure(&mut self, first: &Waiting, store: &mut impl Store) -> Checked<bool> {
        let (view, waited_ns) = (
            self.view(first.served.start_ns),
            first.served.start_ns - first.arrived_ns,
        );
        let Some(law) = &mut self.law else { return Ok(false) };
        let verdict = law.on_dequeue(view, waited_ns, first.id, first.bytes, store);
        if verdict.dropped {
            let invariant = "a law drops at departure only if it says so";
            let detail = "its table lacks LAW_ROUTER_DROPS_AT_DEQUEUE".to_owned();
            return violated(invariant, &self.name, first.served.start_ns, detail);
        }
        Ok(verdict.marked)
    }

    /// Whether the law looks at departures, so that packets have to be settled before they are looked at.
    pub fn sees_departures(&self) -> bool {
        self.law.as_ref().is_some_and(|law| law.has_on_dequeue())
    }

    #[inline(never)]
    pub(super) fn run_timers(&mut self, now_ns: u64) {
        // What was begun but is not yet on the air by now counts as busy time of the next interval.
        let unsent_ns = self.busy.end_ns.saturating_sub(now_ns);
        let meter = Meter {
            offered_bytes: self.transmitter.offered_bytes(now_ns),
            sent_bytes: self.counters.sent_bytes,
            arrived_pkts: self.counters.arrived_pkts,
            arrived_bytes: self.counters.arrived_bytes,
            busy_ns: self.busy_ns - unsent_ns,
        };
        let view = self.view(now_ns);
        if let Some(law) = &mut self.law {
            law.run_timers(view, meter);
        }
    }
}
