//! Routes, one after the other in one list of hops. A hop is the number of a link, and bits that say what kind of link
//! it is, so that whoever goes there need not look it up; a plain wire is its number alone.

use fadelab_phy::channel::PacketKind;
use fadelab_run::network::LinkId;

use super::Network;

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

/// Marks the end of a route.
const ROUTE_END: u32 = u32::MAX;

/// Marks where a route passes the tap. No link has such a number.
pub(super) const TAP: u32 = u32::MAX - 1;

/// At the beginning of the flattened routes: the packet was lost, and is no more when its time has come.
pub(super) const LOST_AT: u32 = 0;

/// What stands there. No link has such a number.
pub(super) const LOST: u32 = u32::MAX - 2;

impl Network {
    /// Appends the routes of a flow's data and of its ACKs, and returns where they begin. The tap sees data before the
    /// first link and ACKs after the last one.
    pub fn add_routes(&mut self, flow: u32, route: &[LinkId], route_back: &[LinkId]) -> (u32, u32) {
        let tap = if self.tap.as_ref().is_some_and(|tap| tap.shows(flow)) {
            &[TAP][..]
        } else {
            &[]
        };
        let data_at = self.add_hops(flow, &[tap, route], PacketKind::Data);
        (data_at, self.add_hops(flow, &[route_back, tap], PacketKind::Ack))
    }

    fn add_hops(&mut self, flow: u32, pieces: &[&[LinkId]], kind: PacketKind) -> u32 {
        let start = self.hops.len() as u32;
        for &link in pieces.iter().copied().flatten() {
            if link >= LOST {
                self.hops.push(link);
                continue;
            }
            let of_kind = if kind == PacketKind::Ack { OF_ACKS } else { 0 };
            let apart = if kind == PacketKind::Data {
                self.note_class(link, flow)
            } else {
                0
            };
            self.hops.push(match self.alone_at(link as usize) {
                _ if apart != 0 => link | ON_AIR | apart,
                Some(_) => link | NODE | of_kind,
                None if self.wires.is_on_air(link as usize) => link | ON_AIR | of_kind,
                None if self.pipes[self.pipe_of[link as usize] as usize].is_ahead() => link | TAIL,
                None => link,
            });
        }
        self.hops.push(ROUTE_END);
        start
    }
}
