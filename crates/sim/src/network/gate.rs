//! What stands on routes beside links: the ends of tunnels, the tap, and where lost packets end.

use fadelab_path::packet::{PacketId, Parcel, Store};
use fadelab_path::violation::Checked;

use super::Network;
use super::route::{Gate, LINK_TAP, LOST, TAP, link_of};
use crate::tunnel::Passing;

impl Network {
    /// The next place on the route is a mark, and links follow, or the packet is lost.
    #[inline(never)]
    pub(super) fn forward_from_mark(&mut self, now_ns: u64, hop: u32, parcel: Parcel) -> Checked<()> {
        match self.pass_mark(now_ns, hop, parcel) {
            Some(parcel) => self.forward(now_ns, parcel),
            None => Ok(()),
        }
    }

    /// As [`Self::come_out`], where a mark is next.
    #[inline(never)]
    pub(super) fn come_to_mark(&mut self, now_ns: u64, hop: u32, parcel: Parcel) -> Checked<Option<PacketId>> {
        match self.pass_mark(now_ns, hop, parcel) {
            Some(parcel) => self.come_out(now_ns, parcel),
            None => Ok(None),
        }
    }

    /// Does what a mark stands for. Returns the packet, at the next place of its route, if there still is one.
    fn pass_mark(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Option<Parcel> {
        match hop {
            LOST => {
                self.discard(parcel.id());
                return None;
            }
            TAP => self.show_at_host(now_ns, parcel.id()),
            // It stands behind its link.
            LINK_TAP => self.show_at_link(now_ns, link_of(self.hops[parcel.tag() as usize - 1]), parcel.id()),
            gate => parcel = self.pass_gate(now_ns, Gate::of(gate), parcel)?,
        }
        parcel.step();
        Some(parcel)
    }

    /// A packet enters a tunnel or leaves it, and has another size then. `None`: it was dropped.
    fn pass_gate(&mut self, now_ns: u64, gate: Gate, parcel: Parcel) -> Option<Parcel> {
        let id = parcel.id();
        let passing = Passing {
            now_ns,
            way: gate.way,
            flow: self.slab.get(id).flow,
        };
        if gate.is_exit {
            let (outer, esp) = self.slab.bare(id);
            let (inner, feedback) = self.slab.header_and_feedback(id);
            if !self.tunnels.leave(&passing, (&outer, esp), inner, feedback) {
                self.discard(id);
                return None;
            }
        } else {
            let packet = self.slab.get(id);
            let Some((outer, esp)) = self.tunnels.enter(&passing, &packet.header, self.slab.feedback_of(id)) else {
                self.discard(id);
                return None;
            };
            self.slab.hide(id, gate.way, esp, outer);
        }
        let ip_bytes = self.slab.get(id).header.ip_bytes as u16;
        Some(Parcel::new(id, parcel.tag(), ip_bytes))
    }
}
