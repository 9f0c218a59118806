//! How a packet enters what is no plain wire: a tail behind its time, a wire with a channel, a node.

use fadelab_path::node::Arrival;
use fadelab_path::packet::{Parcel, kind as packet_kind};
use fadelab_path::violation::Checked;
use fadelab_path::wire::{OnAir, Passage};
use fadelab_phy::channel::PacketKind;

use super::Network;
use super::route::{APART, GATE, LOST_AT, NODE, OF_ACKS, ON_AIR, TAIL, link_of};

impl Network {
    /// The next place on the route is no wire, or a tail to which the packet could not go ahead of its time.
    #[inline(always)]
    pub(super) fn forward_elsewhere(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Checked<()> {
        if hop >= GATE {
            return self.forward_from_mark(now_ns, hop, parcel);
        }
        parcel.step();
        match hop {
            air if air & ON_AIR == ON_AIR => self.enter_air(now_ns, air, parcel),
            tail if tail & NODE == 0 => self.enter_tail(now_ns, tail & !TAIL, parcel),
            node => self.enter_node_elsewhere(now_ns, node, parcel),
        }
    }

    #[inline(never)]
    fn enter_tail(&mut self, now_ns: u64, tail: u32, parcel: Parcel) -> Checked<()> {
        let passage = self.wires.arrive_late(tail as usize, now_ns, parcel.ip_bytes())?;
        self.pass_on(now_ns, tail, passage, parcel)
    }

    /// A wire with a channel. Data and ACKs differ in what nearly every step of it looks at. ACKs hardly ever wait, and
    /// so pass without a call.
    #[inline(always)]
    pub(super) fn enter_air(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Checked<()> {
        let wire = link_of(hop);
        if hop & OF_ACKS == 0 {
            return self.enter_wire_on_air::<true>(now_ns, hop, parcel);
        }
        let wires = &mut self.wires;
        match wires.pass_on_air_at_once(wire as usize, now_ns, &mut parcel, on_air::<false>()) {
            Some(passage) => self.go_ahead(now_ns, wire, passage, parcel),
            None => self.enter_wire_on_air::<false>(now_ns, hop, parcel),
        }
    }

    #[inline(never)]
    fn enter_wire_on_air<const IS_DATA: bool>(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Checked<()> {
        if IS_DATA && hop & APART != 0 {
            return self.enter_apart(now_ns, hop, parcel);
        }
        let wire = link_of(hop);
        debug_assert_eq!(
            packet_kind(&self.slab.get(parcel.id()).header) == PacketKind::Data,
            IS_DATA,
            "a route has one"
        );
        let passage = self
            .wires
            .arrive_on_air(wire as usize, now_ns, &mut parcel, on_air::<IS_DATA>())?;
        self.pass_on(now_ns, wire, passage, parcel)
    }

    /// Data come to a link at which delays are counted apart: a wire, with a channel or without, or a node.
    fn enter_apart(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Checked<()> {
        let (link, class) = (link_of(hop), self.class_before(parcel));
        let pipe = self.pipe_of[link as usize] as usize;
        let Some(at) = pipe.checked_sub(self.pipes_alone) else {
            let on_air = on_air::<true>();
            let wires = &mut self.wires;
            let passage = wires.arrive_of_class(link as usize, now_ns, &mut parcel, class, on_air)?;
            return self.pass_on(now_ns, link, passage, parcel);
        };
        let arrival = self.nodes[at].arrive_of_class(now_ns, parcel, class, PacketKind::Data, &mut self.slab)?;
        self.take_in(now_ns, (link, pipe), arrival, parcel)
    }

    #[inline(never)]
    fn enter_node_elsewhere(&mut self, now_ns: u64, hop: u32, parcel: Parcel) -> Checked<()> {
        self.enter_node(now_ns, hop, parcel)
    }

    #[inline(always)]
    pub(super) fn enter_node(&mut self, now_ns: u64, hop: u32, parcel: Parcel) -> Checked<()> {
        let link = link_of(hop);
        let kind = if hop & OF_ACKS == 0 {
            PacketKind::Data
        } else {
            PacketKind::Ack
        };
        debug_assert_eq!(packet_kind(&self.slab.get(parcel.id()).header), kind, "a route has one");
        let pipe = self.pipe_of[link as usize] as usize;
        let at = pipe - self.pipes_alone;
        let arrival = self.nodes[at].arrive(now_ns, parcel, kind, &mut self.slab)?;
        self.take_in(now_ns, (link, pipe), arrival, parcel)
    }

    /// What a node says became of a packet.
    #[inline(always)]
    fn take_in(
        &mut self,
        now_ns: u64,
        (link, pipe): (u32, usize),
        arrival: Arrival,
        mut parcel: Parcel,
    ) -> Checked<()> {
        match arrival {
            Arrival::Leaves { due_ns } => return self.go_ahead(now_ns, link, Passage { due_ns, kind: pipe }, parcel),
            Arrival::Lost { due_ns } => {
                parcel.set_tag(LOST_AT);
                return self.go_ahead(now_ns, link, Passage { due_ns, kind: pipe }, parcel);
            }
            Arrival::Taken => self.schedule_node(pipe - self.pipes_alone, link),
            Arrival::Dropped => self.drop_at(link, parcel.id()),
        }
        Ok(())
    }
}

/// What channels are told of packets: those that they lose go to [`LOST`].
#[inline(always)]
fn on_air<const IS_DATA: bool>() -> OnAir {
    OnAir {
        kind: if IS_DATA { PacketKind::Data } else { PacketKind::Ack },
        lost: LOST_AT,
    }
}
