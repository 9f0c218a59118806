//! Which packets' delays are counted, and apart from which: at links that results show, by groups of flows.
//!
//! Where one group's data come over a link, or ACKs alone, nobody is told apart. Else the hops of routes have a bit
//! ([`APART`]) and a class, so that nobody looks at a packet for it.

use fadelab_path::histogram::Histogram;
use fadelab_path::packet::Parcel;
use fadelab_run::classes::{Classes, Groups};
use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;

use super::Network;
use super::route::APART;

/// The links at which delays are counted, and the classes of what comes over them.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    groups: Groups,
    /// Ascending.
    links: Vec<LinkId>,
    classes: Vec<Classes>,
    /// Of each hop of the routes, as far as one was told apart so far.
    class_at: Vec<u8>,
}

impl Counted {
    /// Those that results show.
    pub fn of(spec: &RunSpec) -> Self {
        let shown = (0..).zip(&spec.network.links).filter(|(_, link)| link.shown);
        let links: Vec<LinkId> = shown.map(|(id, _)| id).collect();
        let groups = Groups::of(&spec.flows);
        Self {
            classes: Classes::of(spec, &groups, &links),
            groups,
            links,
            class_at: Vec::new(),
        }
    }

    fn classes(&self, link: LinkId) -> Option<&Classes> {
        Some(&self.classes[self.place_of(link)?])
    }

    /// The place of a link among them.
    pub fn place_of(&self, link: LinkId) -> Option<usize> {
        self.links.binary_search(&link).ok()
    }

    /// The link at a place.
    pub fn link_at(&self, place: usize) -> LinkId {
        self.links[place]
    }

    pub fn links_n(&self) -> usize {
        self.links.len()
    }

    pub fn groups_n(&self) -> usize {
        self.groups.names.len()
    }

    pub fn group_of(&self, flow: u32) -> u32 {
        self.groups.of_flow[flow as usize]
    }

    /// Whether there are several classes at a link.
    pub fn are_apart(&self, link: LinkId) -> bool {
        self.classes(link).is_some_and(Classes::are_apart)
    }
}

impl Network {
    /// The groups of the flows.
    pub fn groups(&self) -> &Groups {
        &self.delays.groups
    }

    /// Delays are counted from now on.
    pub(super) fn count_delays(&mut self) {
        for place in 0..self.delays.links.len() {
            let (link, classes) = (self.delays.links[place] as usize, self.delays.classes[place].count());
            match self.alone_at(link) {
                Some(at) => self.nodes[at].count_delays(classes),
                None => self.wires.count_delays(link, classes),
            }
        }
    }

    /// Notes the class of data on the next hop, which is over `link`. Returns the bit of such hops.
    pub(super) fn note_class(&mut self, link: LinkId, flow: u32) -> u32 {
        let group = self.delays.groups.of_flow[flow as usize];
        let Some(classes) = self.delays.classes(link).filter(|classes| classes.are_apart()) else {
            return 0;
        };
        let class = classes.class(group);
        self.delays.class_at.resize(self.hops.len() + 1, 0);
        self.delays.class_at[self.hops.len()] = class;
        APART
    }

    /// The class of data that have stepped on from a hop with that bit.
    #[inline]
    pub(super) fn class_before(&self, parcel: Parcel) -> u8 {
        self.delays.class_at[parcel.tag() as usize - 1]
    }

    /// Forgets how long packets waited until the last snapshot, which was just now.
    pub fn forget_delays(&mut self) {
        for place in 0..self.delays.links.len() {
            let link = self.delays.links[place] as usize;
            match self.alone_at(link) {
                Some(at) => self.nodes[at].forget_delays(),
                None => self.wires.forget_delays(link),
            }
        }
    }

    /// How long packets waited at each of the links until the last snapshot, by class, and what the classes are. Where
    /// there is one, those are missing that did not wait.
    pub fn delays(&mut self) -> Vec<(Vec<Histogram>, Classes)> {
        let mut delays = Vec::new();
        for place in 0..self.delays.links.len() {
            let link = self.delays.links[place] as usize;
            let waits_ns = match self.alone_at(link) {
                Some(at) => self.nodes[at].delays(),
                None => self.wires.delays(link),
            };
            delays.push((waits_ns, self.delays.classes[place].clone()));
        }
        delays
    }
}
