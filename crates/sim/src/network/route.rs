//! Routes, one after the other in one list of hops. A hop is the number of a link, and bits that say what kind of link
//! it is, so that whoever goes there need not look it up; a plain wire is its number alone.

use fadelab_phy::channel::PacketKind;
use fadelab_run::crossing::Crossing;
use fadelab_run::network::{LinkId, NetworkSpec};
use fadelab_run::spec::RunSpec;

use super::Network;
use crate::tunnel::{WayId, way_of};

/// A tail has this bit besides.
pub(super) const TAIL: u32 = 1 << 30;

/// What is no wire has this bit.
pub(super) const NODE: u32 = 1 << 31;

/// A wire with a channel has both.
pub(super) const ON_AIR: u32 = NODE | TAIL;

/// Either of the last two has this bit as well on a route of ACKs.
pub(super) const OF_ACKS: u32 = 1 << 29;

/// On a route of data links of all sorts have this bit and those of [`ON_AIR`] where delays are counted apart, see
/// [`super::delays`].
pub(super) const APART: u32 = 1 << 28;

/// The number of the link, without the bits.
#[inline(always)]
pub(super) fn link_of(hop: u32) -> u32 {
    hop & (APART - 1)
}

/// What has all these bits is no link. It marks the end of a tunnel where its low bits are [`Gate::number`], else what
/// is named below.
pub(super) const GATE: u32 = ON_AIR | OF_ACKS | APART;

/// Marks the end of a route.
pub(super) const ROUTE_END: u32 = u32::MAX;

/// Marks where a route passes the tap. No link has such a number.
pub(super) const TAP: u32 = u32::MAX - 1;

/// Marks where a route passes a tap behind a link.
pub(super) const LINK_TAP: u32 = u32::MAX - 3;

/// At the beginning of the flattened routes: the packet was lost, and is no more when its time has come.
pub(super) const LOST_AT: u32 = 0;

/// What stands there. No link has such a number.
pub(super) const LOST: u32 = u32::MAX - 2;

/// The end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gate {
    pub way: WayId,
    /// Whether packets leave here, which else enter.
    pub is_exit: bool,
}

impl Gate {
    fn hop(self) -> u32 {
        GATE | self.way << 1 | u32::from(self.is_exit)
    }

    /// The one that a hop from [`GATE`] up to [`LINK_TAP`] marks.
    pub fn of(hop: u32) -> Self {
        Self {
            way: (hop & !GATE) >> 1,
            is_exit: hop & 1 != 0,
        }
    }
}

impl Network {
    /// Appends the routes of a flow's data and of its ACKs in `spec`, and returns where they begin. The tap sees data
    /// before the first link and ACKs after the last one, in no tunnel.
    pub fn add_routes(&mut self, spec: &RunSpec, flow: u32) -> (u32, u32) {
        let of = &spec.flows[flow as usize];
        let is_shown = self.tap.as_ref().is_some_and(|tap| tap.shows(flow));
        let tap = if is_shown { &[TAP][..] } else { &[] };
        let data_at = self.hops.len() as u32;
        self.hops.extend_from_slice(tap);
        self.add_hops(&spec.network, flow, &of.route, PacketKind::Data);
        self.hops.push(ROUTE_END);
        let acks_at = self.hops.len() as u32;
        self.add_hops(&spec.network, flow, &of.route_back, PacketKind::Ack);
        self.hops.extend_from_slice(tap);
        self.hops.push(ROUTE_END);
        (data_at, acks_at)
    }

    fn add_hops(&mut self, network: &NetworkSpec, flow: u32, route: &[LinkId], kind: PacketKind) {
        let crossings = network.crossings(route).expect("a run is checked before it begins");
        for (place, &link) in route.iter().enumerate() {
            let crossing = crossings.iter().find(|crossing| crossing.has(place));
            let gate = |crossing: &Crossing, is_exit| Gate {
                way: way_of(crossing.tunnel, crossing.is_backward),
                is_exit,
            };
            if let Some(crossing) = crossing.filter(|crossing| crossing.first == place) {
                self.hops.push(gate(crossing, false).hop());
            }
            let hop = self.hop(flow, link, kind, crossing.is_some());
            self.hops.push(hop);
            if self.tap.as_ref().is_some_and(|tap| tap.shows_link(link)) {
                self.hops.push(LINK_TAP);
            }
            if let Some(crossing) = crossing.filter(|crossing| crossing.last == place) {
                self.hops.push(gate(crossing, true).hop());
            }
        }
    }

    /// The hop over a link of a flow's packets of a kind, which nobody can tell in a tunnel.
    fn hop(&mut self, flow: u32, link: LinkId, kind: PacketKind, is_tunnelled: bool) -> u32 {
        let of_kind = match kind {
            PacketKind::Ack if !is_tunnelled => OF_ACKS,
            _ => 0,
        };
        let apart = match kind {
            PacketKind::Data => self.note_class(link, flow),
            PacketKind::Ack => 0,
        };
        match self.alone_at(link as usize) {
            _ if apart != 0 => link | ON_AIR | apart,
            Some(_) => link | NODE | of_kind,
            None if self.wires.is_on_air(link as usize) => link | ON_AIR | of_kind,
            None if self.pipes[self.pipe_of[link as usize] as usize].is_ahead() => link | TAIL,
            None => link,
        }
    }
}
