//! From where packets come into links, and to the ends of tunnels.
//!
//! The end of a tunnel takes no time, but what it remembers depends on the order of packets. So whoever brings packets
//! to a place through one shares its memory, too, with all that comes to that.

use fadelab_laws::abi;
use fadelab_run::crossing::Crossing;
use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;
use fadelab_run::tunnel::TunnelSpec;

/// From where packets come to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feeder {
    /// From nowhere, for all that is known.
    None,
    /// On one route, of which it is the first place.
    Route,
    /// Out of this link or pipe alone, on one route or more.
    One(u32),
    /// Otherwise.
    Several,
}

impl Feeder {
    /// Packets come from `before`, too.
    fn add(&mut self, before: Self) {
        let is_same = *self == before && before != Self::Route;
        *self = if *self == Self::None || is_same {
            before
        } else {
            Self::Several
        };
    }
}

/// Those of all places of a run.
pub(super) struct Feeders {
    links: Vec<Feeder>,
    memories: Vec<Feeder>,
    /// Whether a link is behind the end of a tunnel, on any route.
    is_behind_end: Vec<bool>,
}

impl Feeders {
    /// `place` says which links count as one.
    pub fn of(spec: &RunSpec, place: impl Fn(LinkId) -> u32) -> Self {
        let links = spec.network.links.len();
        let mut feeders = Self {
            links: vec![Feeder::None; links],
            memories: vec![Feeder::None; MEMORIES * spec.network.tunnels.len()],
            is_behind_end: vec![false; links],
        };
        for route in spec.flows.iter().flat_map(|flow| [&flow.route, &flow.route_back]) {
            feeders.add_route(&ends_of(spec, route), route, &place);
        }
        feeders
    }

    fn add_route(&mut self, ends: &[End], route: &[LinkId], place: impl Fn(LinkId) -> u32) {
        let mut before = Feeder::Route;
        for at in 0..=route.len() {
            let mut is_behind_end = false;
            for end in ends.iter().filter(|end| end.at == at) {
                is_behind_end = true;
                if let Some(memory) = end.memory {
                    self.memories[memory].add(before);
                }
            }
            let Some(&link) = route.get(at) else { return };
            self.links[link as usize].add(before);
            self.is_behind_end[link as usize] |= is_behind_end;
            before = Feeder::One(place(link));
        }
    }

    pub fn of_link(&self, link: LinkId) -> Feeder {
        self.links[link as usize]
    }

    /// Of a link into which packets come straight from another one.
    pub fn straight_of_link(&self, link: LinkId) -> Feeder {
        if self.is_behind_end[link as usize] {
            Feeder::Several
        } else {
            self.links[link as usize]
        }
    }

    /// Whether all ends of tunnels before the place `at` of a route get packets from `feeder` alone.
    pub fn are_ends_fed_by(&self, feeder: Feeder, ends: &[End], at: usize) -> bool {
        let mut memories = ends.iter().filter(|end| end.at == at).filter_map(|end| end.memory);
        memories.all(|memory| self.memories[memory] == feeder)
    }
}

/// The end of a tunnel on a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// The place on the route of the link behind it; the route's length where it is behind all.
    at: usize,
    /// Which memory depends on the order of the packets that come there.
    memory: Option<usize>,
}

/// Memories of a tunnel: at most one for each direction at each end.
const MEMORIES: usize = 4;

/// The ends of tunnels on a route.
pub(super) fn ends_of(spec: &RunSpec, route: &[LinkId]) -> Vec<End> {
    let network = &spec.network;
    let crossings = network.crossings(route).expect("a run is checked before it begins");
    let ends = |crossing: Crossing| {
        let tunnel = &network.tunnels[crossing.tunnel];
        [false, true].map(|is_exit| End {
            at: if is_exit { crossing.last + 1 } else { crossing.first },
            memory: memory_of(tunnel, crossing.is_backward, is_exit).map(|memory| MEMORIES * crossing.tunnel + memory),
        })
    };
    crossings.into_iter().flat_map(ends).collect()
}

/// What an end remembers of a direction: numbers and IDs where packets enter, and the memory of a gateway's law.
fn memory_of(tunnel: &TunnelSpec, is_backward: bool, is_exit: bool) -> Option<usize> {
    let of_direction = 2 * usize::from(is_backward) + usize::from(is_exit);
    // The end at `from` is where packets enter the one way and leave on the other.
    let end = usize::from(is_backward != is_exit);
    match &tunnel.gateways[end] {
        Some(gateway) if gateway.law.flags() & abi::GATEWAY_DIRECTIONS_APART == 0 => Some(end),
        None if is_exit => None,
        _ => Some(of_direction),
    }
}
