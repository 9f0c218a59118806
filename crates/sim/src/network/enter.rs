//! How a packet enters what is no plain wire: a tail behind its time, a wire with a channel, one with a law, a link.

use fadelab_path::link::Arrival;
use fadelab_path::packet::Parcel;
use fadelab_path::violation::Checked;
use fadelab_path::wire::{OnAir, Passage};
use fadelab_phy::channel::PacketKind;

use super::Network;
use super::route::{LAW, LAW_ON_AIR, LOST, LOST_AT, NO_WIRE, OF_ACKS, ON_AIR, TAIL, TAP};

impl Network {
    /// The next place on the route is no wire, or a tail to which the packet could not go ahead of its time.
    #[inline(always)]
    pub(super) fn forward_elsewhere(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Checked<()> {
        parcel.step();
        match hop {
            TAP => {
                self.show(now_ns, parcel.id());
                self.forward_shown(now_ns, parcel)
            }
            LOST => {
                self.discard(parcel.id());
                Ok(())
            }
            air if (ON_AIR..LOST).contains(&air) => self.enter_air(now_ns, air, parcel),
            law if law & LAW == LAW => self.enter_law_elsewhere(now_ns, law & !LAW, parcel),
            tail if tail & NO_WIRE == 0 => self.enter_tail(now_ns, tail & !TAIL, parcel),
            link => self.enter_link(now_ns, link & !NO_WIRE, parcel),
        }
    }

    #[inline(never)]
    fn enter_tail(&mut self, now_ns: u64, tail: u32, parcel: Parcel) -> Checked<()> {
        let passage = self.wires.arrive_late(tail as usize, now_ns, parcel.ip_bytes())?;
        self.pass_on(now_ns, tail, passage, parcel)
    }

    /// What has a channel. Data and ACKs differ in what nearly every step of it looks at. ACKs hardly ever wait, and so
    /// pass without a call.
    #[inline(always)]
    pub(super) fn enter_air(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Checked<()> {
        let wire = hop & !(LAW_ON_AIR | OF_ACKS);
        match (hop < LAW_ON_AIR, hop & OF_ACKS == 0) {
            (true, true) => self.enter_wire_on_air::<true>(now_ns, wire, parcel),
            (true, false) => {
                let wires = &mut self.wires;
                match wires.pass_on_air_at_once(wire as usize, now_ns, &mut parcel, on_air::<false>()) {
                    Some(passage) => self.go_ahead(now_ns, wire, passage, parcel),
                    None => self.enter_wire_on_air::<false>(now_ns, wire, parcel),
                }
            }
            (false, true) => self.enter_law_on_air::<true>(now_ns, wire, parcel),
            (false, false) => self.enter_law_on_air::<false>(now_ns, wire, parcel),
        }
    }

    #[inline(never)]
    fn enter_wire_on_air<const IS_DATA: bool>(&mut self, now_ns: u64, wire: u32, mut parcel: Parcel) -> Checked<()> {
        debug_assert_eq!(self.slab.get(parcel.id()).header.is_data(), IS_DATA, "a route has one");
        let passage = self
            .wires
            .arrive_on_air(wire as usize, now_ns, &mut parcel, on_air::<IS_DATA>())?;
        self.pass_on(now_ns, wire, passage, parcel)
    }

    #[inline(never)]
    fn enter_law_on_air<const IS_DATA: bool>(&mut self, now_ns: u64, wire: u32, mut parcel: Parcel) -> Checked<()> {
        debug_assert_eq!(self.slab.get(parcel.id()).header.is_data(), IS_DATA, "a route has one");
        let kind = self.pipe_of[wire as usize] as usize;
        let law = &mut self.laws[kind - self.pipes_alone];
        let passage = law
            .arrive_on_air(now_ns, &mut parcel, on_air::<IS_DATA>(), &mut self.slab)?
            .map(|due_ns| Passage { due_ns, kind });
        self.pass_on(now_ns, wire, passage, parcel)
    }

    #[inline(never)]
    fn enter_law_elsewhere(&mut self, now_ns: u64, link: u32, parcel: Parcel) -> Checked<()> {
        self.enter_law(now_ns, link, parcel)
    }

    #[inline(always)]
    pub(super) fn enter_law(&mut self, now_ns: u64, link: u32, parcel: Parcel) -> Checked<()> {
        let kind = self.pipe_of[link as usize] as usize;
        let law = &mut self.laws[kind - self.pipes_alone];
        let passage = law
            .arrive(now_ns, parcel, &mut self.slab)?
            .map(|due_ns| Passage { due_ns, kind });
        self.pass_on(now_ns, link, passage, parcel)
    }

    #[inline(never)]
    fn enter_link(&mut self, now_ns: u64, link: u32, mut parcel: Parcel) -> Checked<()> {
        let kind = self.pipe_of[link as usize] as usize;
        let at = kind - self.pipes_alone - self.laws.len();
        match self.links[at].arrive(now_ns, parcel, &mut self.slab)? {
            Arrival::Leaves { due_ns, is_lost } => {
                if is_lost {
                    parcel.set_tag(LOST_AT);
                }
                return self.go_ahead(now_ns, link, Passage { due_ns, kind }, parcel);
            }
            Arrival::Taken => self.schedule_link(kind - self.pipes_alone, link),
            Arrival::Dropped => self.discard(parcel.id()),
        }
        Ok(())
    }

    /// Before a link only the beginning of a route is the tap's place.
    #[cold]
    #[inline(never)]
    fn forward_shown(&mut self, now_ns: u64, parcel: Parcel) -> Checked<()> {
        self.forward(now_ns, parcel)
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
