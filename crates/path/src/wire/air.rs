//! What is behind the transmitter of a wire with a channel.

use fadelab_phy::channel::{Channel, PacketKind};

use super::queue::Place;
use super::{Kind, Passage, Taken, Wire, Wires};
use crate::air::Fate;
use crate::counters::LinkCounters;
use crate::packet::Parcel;
use crate::spec::LinkSpec;
use crate::violation::Checked;

/// What a channel is told of a packet.
#[derive(Clone, Copy, Debug)]
pub struct OnAir {
    /// Data or ACK.
    pub kind: PacketKind,
    /// Tag of packets that are lost: they are on their way as long as others, and do not arrive.
    pub lost: u32,
}

/// The channel of a wire, and what became of its packets.
#[derive(Debug)]
pub(super) struct WireAir {
    channel: Channel,
    /// Fate of the last packet that did not have to wait.
    passed: Fate,
    /// Data packets that were taken, whether they have been sent or not.
    taken_data_pkts: u64,
    /// Packets that were lost, by [`PacketKind`].
    lost_pkts: [u64; 2],
}

const DATA: usize = PacketKind::Data as usize;

impl WireAir {
    /// What a spec has behind the transmitter, if there is anything.
    pub fn of(spec: &LinkSpec, seed: u64) -> Option<Self> {
        let rate_bps = spec.capacity.rate_bps_mean();
        let channel = spec.channel.as_ref();
        channel.map(|channel| Self {
            channel: Channel::new(channel, seed, &spec.name, rate_bps),
            passed: Fate::default(),
            taken_data_pkts: 0,
            lost_pkts: [0; 2],
        })
    }

    /// Fate of the last packet that did not have to wait.
    pub fn passed(&self) -> Fate {
        self.passed
    }

    /// On-air bytes of the packet that is decided next of its kind.
    #[inline(always)]
    pub fn make_ready(&mut self, kind: PacketKind, ip_bytes: u16) -> u32 {
        self.channel.make_ready(kind, u32::from(ip_bytes))
    }

    /// The same without making it ready: `None`, where the last one of its kind had another size.
    #[inline(always)]
    pub fn ready_bytes(&self, kind: PacketKind, ip_bytes: u16) -> Option<u32> {
        self.channel.ready_bytes(kind, u32::from(ip_bytes))
    }

    /// Decides the fate of a packet whose transmission begins at `start_ns`; its size was made ready.
    #[inline(always)]
    pub fn decide(&mut self, start_ns: u64, parcel: &mut Parcel, OnAir { kind, lost }: OnAir) -> Fate {
        self.taken_data_pkts += u64::from(kind == PacketKind::Data);
        let is_lost = self.channel.is_ready_lost(start_ns, kind);
        if is_lost {
            self.lost_pkts[kind as usize] += 1;
            parcel.set_tag(lost);
        }
        Fate {
            is_data: kind == PacketKind::Data,
            is_lost,
            is_marked: false,
        }
    }

    /// Adds what has been sent: all but those whose fates are `unsent`.
    pub fn add_to(&self, counters: &mut LinkCounters, unsent: impl Iterator<Item = Fate>) {
        counters.sent_data_pkts = self.taken_data_pkts;
        counters.lost_air_pkts = self.lost_pkts.iter().sum();
        counters.lost_air_data_pkts = self.lost_pkts[DATA];
        for fate in unsent {
            let (is_data, is_lost) = (u64::from(fate.is_data), u64::from(fate.is_lost));
            counters.sent_data_pkts -= is_data;
            counters.lost_air_pkts -= is_lost;
            counters.lost_air_data_pkts -= is_data & is_lost;
        }
    }
}

impl Wires {
    /// Whether there is a channel behind the transmitter of wire `index`.
    pub fn is_on_air(&self, index: usize) -> bool {
        self.air_of(&self.hot[index]).is_some()
    }

    /// What is behind the transmitter of a wire.
    pub(super) fn air_of(&self, wire: &Wire) -> Option<&WireAir> {
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
        air.passed = air.decide(now_ns, parcel, on_air);
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
                    let fate = air.decide(wire.free_ns, parcel, on_air);
                    let joined = queue.join(wire, line, now_ns, bytes, fate);
                    return self.checked(index, joined.map(Some));
                }
                Ok(Place::None) => return Ok(None),
                Err(broken) => return self.checked(index, Err(broken)),
            }
        }
        air.passed = air.decide(now_ns, parcel, on_air);
        let passage = wire.pass(line, now_ns, bytes);
        self.checked(index, passage.map(Some))
    }
}
