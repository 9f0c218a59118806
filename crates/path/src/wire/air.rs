//! What is behind the transmitter of a wire with a channel.

use fadelab_phy::channel::PacketKind;

use super::queue::Place;
use super::{Kind, Passage, Taken, Wire, Wires};
use crate::air::{Air, Counted};
use crate::packet::Parcel;
use crate::violation::Checked;

/// What a channel is told of a packet.
#[derive(Clone, Copy, Debug)]
pub struct OnAir {
    /// Data or ACK.
    pub kind: PacketKind,
    /// Tag of packets that are lost: they are on their way as long as others, and do not arrive.
    pub lost: u32,
}

impl Wires {
    /// Whether there is a channel behind the transmitter of wire `index`.
    pub fn is_on_air(&self, index: usize) -> bool {
        self.air_of(&self.hot[index]).is_some()
    }

    /// What is behind the transmitter of a wire.
    pub(super) fn air_of(&self, wire: &Wire) -> Option<&Air> {
        self.kinds[wire.kind as usize].air.as_deref()
    }

    /// As [`Self::pass_at_once`], at a wire with a channel. `None`: nothing happened, and [`Self::arrive_on_air`] has
    /// to see to it.
    #[inline(always)]
    pub fn pass_on_air_at_once(
        &mut self,
        index: usize,
        now_ns: u64,
        parcel: &mut Parcel,
        on_air: OnAir,
    ) -> Option<Passage> {
        let wire = &mut self.hot[index];
        let Kind { line, air, .. } = &mut self.kinds[wire.kind as usize];
        let air = air.as_deref_mut()?;
        let bytes = air.ready_bytes(on_air.kind, parcel.ip_bytes())?;
        let known = &line.known[Taken::place(bytes)];
        if known.bytes != bytes || !wire.takes_at_once(now_ns) {
            return None;
        }
        air.passed = decide(air, now_ns, parcel, on_air);
        Some(wire.pass_known(known, now_ns))
    }

    /// As [`Self::arrive`], at a wire that may have a channel.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(always)]
    pub fn arrive_on_air(
        &mut self,
        index: usize,
        now_ns: u64,
        parcel: &mut Parcel,
        on_air: OnAir,
    ) -> Checked<Option<Passage>> {
        let wire = &mut self.hot[index];
        let Kind { line, air, .. } = &mut self.kinds[wire.kind as usize];
        let Some(air) = air.as_deref_mut() else {
            return self.arrive(index, now_ns, parcel.ip_bytes());
        };
        let bytes = air.make_ready(on_air.kind, parcel.ip_bytes());
        if !wire.takes_at_once(now_ns) {
            let queue = wire.queue_of(&mut self.queues);
            match queue.place(wire, line, now_ns, bytes) {
                Ok(Place::Transmitter) => {}
                Ok(Place::Queue) => {
                    let fate = decide(air, wire.free_ns, parcel, on_air);
                    let joined = queue.join(wire, line, now_ns, bytes, fate);
                    return self.checked(index, joined.map(Some));
                }
                Ok(Place::None) => return Ok(None),
                Err(broken) => return self.checked(index, Err(broken)),
            }
        }
        air.passed = decide(air, now_ns, parcel, on_air);
        let passage = wire.pass(line, now_ns, bytes);
        self.checked(index, passage.map(Some))
    }
}

impl Wires {
    /// As [`Self::arrive_on_air`], of a packet whose delay is counted in `class`; else that is 0.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(always)]
    pub fn arrive_of_class(
        &mut self,
        index: usize,
        now_ns: u64,
        parcel: &mut Parcel,
        class: u8,
        on_air: OnAir,
    ) -> Checked<Option<Passage>> {
        let wire = &mut self.hot[index];
        let Kind { line, air, .. } = &mut self.kinds[wire.kind as usize];
        if air.is_none() {
            let (bytes, fate) = (
                u32::from(parcel.ip_bytes()),
                Counted {
                    class,
                    ..Counted::default()
                },
            );
            let queue = wire.queue_of(&mut self.queues);
            let passage = match queue.place(wire, line, now_ns, bytes) {
                Ok(Place::Queue) => queue.join(wire, line, now_ns, bytes, fate).map(Some),
                Ok(Place::None) => Ok(None),
                Ok(Place::Transmitter) => {
                    queue.waiting.pass(class);
                    wire.pass(line, now_ns, bytes).map(Some)
                }
                Err(broken) => Err(broken),
            };
            return self.checked(index, passage);
        }
        self.arrive_on_air_of_class(index, now_ns, parcel, class, on_air)
    }

    #[inline(never)]
    fn arrive_on_air_of_class(
        &mut self,
        index: usize,
        now_ns: u64,
        parcel: &mut Parcel,
        class: u8,
        on_air: OnAir,
    ) -> Checked<Option<Passage>> {
        let queued = self.queue(index).waiting.queued();
        let passage = self.arrive_on_air(index, now_ns, parcel, on_air)?;
        if passage.is_some() {
            self.queue(index).waiting.tell_class(queued, class);
        }
        Ok(passage)
    }
}

/// Decides the fate of a packet whose transmission begins at `start_ns`, and tags it if it is lost.
#[inline(always)]
fn decide(air: &mut Air, start_ns: u64, parcel: &mut Parcel, OnAir { kind, lost }: OnAir) -> Counted {
    let fate = air.decide(start_ns, kind);
    if fate.is_lost {
        parcel.set_tag(lost);
    }
    fate
}
