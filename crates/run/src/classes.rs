//! Groups of flows, and which of them bring data over a link: whose delays are told apart there.

use std::sync::Arc;

use crate::flow::FlowSpec;
use crate::network::LinkId;
use crate::spec::RunSpec;

/// Most groups that are told apart at a link; those beyond are counted with what is no group's data.
pub const GROUPS_MAX: usize = u8::MAX as usize;

/// The groups of a run, in the order of their first flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    pub names: Vec<String>,
    /// The place of each flow's among them.
    pub of_flow: Vec<u32>,
}

impl Groups {
    /// Those of some flows.
    pub fn of(flows: &[FlowSpec]) -> Self {
        let mut groups = Self::default();
        for (id, flow) in flows.iter().enumerate() {
            // Neighbours are mostly of a kind.
            let before = id.checked_sub(1).filter(|&id| Arc::ptr_eq(&flows[id].kind, &flow.kind));
            let group = match before {
                Some(before) => groups.of_flow[before],
                None => groups.place(&flow.group),
            };
            groups.of_flow.push(group);
        }
        groups
    }

    fn place(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        place as u32
    }
}

/// What comes over a link whose delays are counted: data of some groups, and perhaps ACKs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Places among the run's groups, in their order.
    pub groups: Vec<u32>,
    has_acks: bool,
}

impl Classes {
    /// Those of the links of `ids`, which are ascending.
    pub fn of(spec: &RunSpec, groups: &Groups, ids: &[LinkId]) -> Vec<Self> {
        let mut classes = vec![Self::default(); ids.len()];
        for (flow, &group) in spec.flows.iter().zip(&groups.of_flow) {
            for place in places(&flow.route, ids) {
                let known = &mut classes[place].groups;
                if let Err(at) = known.binary_search(&group) {
                    known.insert(at, group);
                }
            }
            places(&flow.route_back, ids).for_each(|place| classes[place].has_acks = true);
        }
        classes
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        if self.are_apart() { 1 + self.told_groups() } else { 1 }
    }

    /// Whether there are several. Then class 0 is what is no group's data, and each group has the one behind its place
    /// here.
    pub fn are_apart(&self) -> bool {
        self.groups.len() + usize::from(self.has_acks) > 1
    }

    /// How many of the groups have a class to themselves.
    pub fn told_groups(&self) -> usize {
        self.groups.len().min(GROUPS_MAX)
    }

    /// The class of data of a group.
    pub fn class(&self, group: u32) -> u8 {
        let place = self.groups.binary_search(&group).ok().filter(|_| self.are_apart());
        place.and_then(|place| u8::try_from(place + 1).ok()).unwrap_or(0)
    }
}

/// Where links of a route stand among `ids`.
fn places(route: &[LinkId], ids: &[LinkId]) -> impl Iterator<Item = usize> {
    route.iter().filter_map(|link| ids.binary_search(link).ok())
}
