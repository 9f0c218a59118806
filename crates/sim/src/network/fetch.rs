//! Brings memory near before it is needed.
//!
//! What a packet touches was last touched a round trip ago, and with thousands of flows it has left the cache since.
//! But pipes know who comes next: while one packet is dealt with, the memory of those behind it is asked for, which
//! costs a few instructions each instead of a wait. Nothing that can still change is read ahead of its time, so that no
//! result can depend on it.

use prefetch_index::prefetch_index;

use super::{Network, TAIL};
use crate::pipe::{Entry, Exits};

/// Flows, and packets under way, from which on a run outgrows the nearest caches. Ten flows with three thousand packets
/// take as long with as without, a hundred flows half as long.
const FLOWS_MIN: usize = 32;
const PKTS_MIN: usize = 4096;

/// How many packets before its turn a packet is asked for, how many before it its flow, which only the packet tells,
/// and how many before it what only the flow tells. Three packets take longer than main memory does.
const FAR: usize = 9;
const MIDDLE: usize = 6;
const NEAR: usize = 3;

/// What comes to a host soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upcoming {
    /// Whether data or ACKs come.
    pub exits: Exits,
    /// The flow of a packet that comes after some others.
    pub far: Option<u32>,
    /// That of one before it.
    pub near: Option<u32>,
}

impl Network {
    /// Packets from which on a run of so many flows asks ahead.
    pub(super) fn fetched_pkts_min(flows: usize) -> usize {
        if flows < FLOWS_MIN { PKTS_MIN } else { 0 }
    }

    /// Whether the run outgrows the caches.
    #[inline]
    pub(super) fn fetches(&self) -> bool {
        self.slab.most_pkts() >= self.fetched_pkts_min
    }

    /// What comes out of link `link` soon, if that is worth a thought. Inlined, since it seldom is: when the compiler
    /// made a call of it, that took 2 % of the instructions of ten flows.
    #[inline(always)]
    pub fn upcoming(&self, link: usize) -> Option<Upcoming> {
        self.fetches().then(|| self.fetch_exit(link))
    }

    /// Asks for what is the network's of packets that end their way.
    #[inline(always)]
    fn fetch_exit(&self, link: usize) -> Upcoming {
        let pipe = &self.pipes[self.pipe_of[link] as usize];
        if let Some(entry) = pipe.upcoming(FAR) {
            prefetch_index(&self.hops, entry.parcel.tag() as usize);
            prefetch_index(&self.pipe_of, self.keys.split(entry.key).1 as usize);
            self.slab.fetch(entry.parcel.id());
        }
        let flow = |entry: &Entry| self.slab.get(entry.parcel.id()).flow;
        Upcoming {
            exits: pipe.exits(),
            far: pipe.upcoming(MIDDLE).map(flow),
            near: pipe.upcoming(NEAR).map(flow),
        }
    }

    /// Asks for the wires behind a pipe that alone feeds the links behind it: one of those, and its tail.
    #[inline]
    pub(super) fn fetch_behind(&self, pipe: usize) {
        let pipe = &self.pipes[pipe];
        if let Some(entry) = pipe.upcoming(MIDDLE) {
            prefetch_index(&self.hops, entry.parcel.tag() as usize);
        }
        if let Some(entry) = pipe.upcoming(NEAR)
            && let Some(&hop) = self.hops.get(entry.parcel.tag() as usize + 1)
        {
            self.wires.fetch((hop & !TAIL) as usize);
        }
    }

    /// Asks for the first wire of a route, and for the route.
    #[inline]
    pub fn fetch_entrance(&self, route_at: u32, wire: u32) {
        prefetch_index(&self.hops, route_at as usize);
        self.wires.fetch(wire as usize);
    }

    /// The wire with which a route begins; what is none is a number that stands for nothing.
    pub fn entrance(&self, route_at: u32) -> u32 {
        self.hops[route_at as usize] & !TAIL
    }
}
