//! The closed domain: marks leave only through devices that the operator named.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, Object};

use super::{RouterError, claim, tell_filter};
use crate::Version;
use crate::attach::{Attached, Direction, linked_at, to_device};
use crate::compile::{CompileError, Text};
use crate::device::{Device, Framing, names, within};
use crate::kept::{Keep, Kept};
use crate::object::{self, LoadError};
use crate::spaces;
use crate::stack::Stacks;
use crate::store;
use crate::tunnel::{self, RoleFrom, Way};

/// The unit at the edges of the domain.
const UNIT: &str = include_str!("../../bpf/bleach.bpf.c");

/// Name of the map in which it counts.
const COUNTERS: &str = "bleach_map";

/// Name of the map with the sign of packets that left a named device.
const SIGN: &str = "bleach_sign";

/// Traffic that stays in the machine leaves nothing.
const LOOPBACK: &str = "lo";

/// The domain that a router's host closes.
#[derive(Clone, Debug)]
pub struct Closed {
    /// What [`edge`] compiled.
    pub object: Vec<u8>,
    /// Devices through which marks may leave besides the router's own.
    pub inside: Vec<String>,
}

/// The program at the edges. As a router's object it may be loaded on another machine.
///
/// # Errors
/// See [`Text::object`].
pub fn edge() -> Result<Vec<u8>, CompileError> {
    edge_text().object()
}

/// What of it is compiled.
pub(crate) fn edge_text() -> Text {
    Text {
        name: "bleach.bpf.c",
        text: UNIT,
        defines: Vec::new(),
    }
}

/// What the edges saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounters {
    /// Packets known to be of our wires that left the domain.
    pub own_packets: u64,
    /// Of them, those whose marks were cleared.
    pub cleared: u64,
    /// Marked packets, TCP's for all that can be seen, of which nobody can tell whose they are: they keep their mark.
    pub unknown: u64,
}

/// Devices of a namespace that are inside: those of this router, of others, and where loaded senders mark.
fn named(held: &claim::Held, netns_inode: u64) -> Vec<String> {
    let routers = claim::claims()
        .into_iter()
        .filter(|claim| claim.is_in(netns_inode) && claim.is_alive());
    let senders = store::entries().into_iter().flat_map(|entry| entry.devices);
    let of_sender = |name: String| {
        let device = Device::named(&name);
        let is_here = spaces::inode(device.netns.as_deref()).ok() == Some(netns_inode);
        is_here.then_some(device.name)
    };
    let own = held.claim.inside.iter().cloned();
    own.chain(routers.flat_map(|claim| claim.inside))
        .chain(senders.filter_map(of_sender))
        .collect()
}

/// What a program of the domain does at a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Clears whatever of ours leaves it.
    Edge,
    /// Clears what did not leave a named device above it before.
    Below,
    /// Lets what leaves it through the devices below it.
    Admitting,
}

/// A device with a program: another may get its name or its index.
#[derive(Debug)]
struct Placed {
    name: String,
    ifindex: i32,
    role: Role,
    attached: Attached,
    /// The file that keeps it when the process is killed, where there is one.
    pin: Option<PathBuf>,
}

impl Placed {
    /// Whether the device is the one at which the program was put.
    fn is_there(&self) -> bool {
        match (&self.pin, &self.attached) {
            (Some(pin), _) => linked_at(pin).is_some(),
            (None, Attached::Filter(filter)) => filter.is_there(),
            (None, Attached::Link(_)) => true,
        }
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if let Some(pin) = &self.pin {
            self.attached.detach();
            let _ = fs::remove_file(pin);
        }
    }
}

/// What is to be at the devices of a namespace of which some are named.
fn roles<'a>(there: &'a [String], named: &[String], stacks: &Stacks) -> Vec<(&'a String, Role)> {
    let is_named = |name: &str| named.iter().any(|known| known == name);
    let is_below = |name: &str| named.iter().any(|above| stacks.all_below(above).contains(&name));
    // What leaves a bridge leaves by its ports, of which each is named or at the edge: it would be cleared of what may
    // leave by the named one. A VLAN may lead elsewhere than the device that carries it, so it is at the edge itself.
    let is_judged_below = |name: &str| {
        let below = stacks.all_below(name);
        stacks.ports(name).next().is_some() && below.iter().any(|lower| is_named(lower))
    };
    let role = |name: &String| match () {
        () if name == LOOPBACK => None,
        () if is_named(name) => stacks.below(name).next().map(|_| Role::Admitting),
        () if is_below(name) => Some(Role::Below),
        () if is_judged_below(name) => None,
        () => Some(Role::Edge),
    };
    there.iter().filter_map(|name| Some((name, role(name)?))).collect()
}

/// Devices of a namespace that are at the edge where these are named and no router is at work.
///
/// # Errors
/// When the system does not tell of the namespace's devices.
pub fn planned_edges(netns: Option<&Path>, named: &[String]) -> io::Result<Vec<String>> {
    let there = within(netns, names).and_then(|names| names)?;
    let roles = roles(&there, named, &Stacks::read(netns)?);
    let edges = roles.into_iter().filter(|(_, role)| *role != Role::Admitting);
    Ok(edges.map(|(name, _)| name.clone()).collect())
}

/// A sign for packets of a namespace, other than that of a packet without one and, most likely, than its neighbours'.
fn sign(netns_inode: u64) -> u32 {
    (netns_inode % 0xffff) as u32 + 1
}

/// All devices of the namespace that nobody named, and how packets of named ones pass them.
#[derive(Debug)]
pub(super) struct Domain {
    // In the order in which they have to go.
    placed: Vec<Placed>,
    /// The devices that were there when all was in place, and those that were named.
    seen: Option<(Vec<String>, Vec<String>)>,
    object: Object,
    /// Before Linux 6.6 there is none: filters need nobody to keep them.
    keep: Option<Keep>,
}

impl Domain {
    /// `tunnels`: those of whose packets the router takes the outer header for its own.
    pub fn load(
        closed: &Closed,
        held: &claim::Held,
        ifindex: i32,
        tunnels: &[(Way, RoleFrom)],
    ) -> Result<Self, RouterError> {
        let mut object = object::load(&closed.object, |_| Ok(()))?;
        let sign = sign(held.claim.netns_inode()).to_ne_bytes();
        for map in object.maps_mut().filter(|map| map.name() == SIGN) {
            let told = map.update(&0u32.to_ne_bytes(), &sign, MapFlags::ANY);
            told.map_err(|error| LoadError::of("the sign of packets on their way down", &error))?;
        }
        for &(way, role) in tunnels {
            tunnel::tell(&object, way, 1, role)?;
        }
        let mut keep = None;
        if Version::running().is_some_and(|version| version >= Version::LINKS) {
            let made = Keep::of(held.claim.kept(), ifindex).map_err(|error| claim::unwritable(&error))?;
            for mut map in object.maps_mut().filter(|map| map.name() == COUNTERS) {
                let pinned = map.pin(made.counters());
                pinned.map_err(|error| LoadError::of("what the edges count", &error))?;
            }
            keep = Some(made);
        }
        Ok(Self {
            placed: Vec::new(),
            seen: None,
            object,
            keep,
        })
    }

    /// Puts programs at devices that have appeared or lie elsewhere now, and takes them from those that another router
    /// has named since. A device whose role changes has both for a moment, and lets nothing out.
    /// With `has_news` devices may have changed; without, only what is named can have.
    pub fn refresh(&mut self, held: &mut claim::Held, has_news: bool) -> Result<(), RouterError> {
        let netns = held.claim.netns().map(ToOwned::to_owned);
        let named = named(held, held.claim.netns_inode());
        let failed = |error| RouterError::device(&held.claim.device, &error);
        let there = within(netns.as_deref(), names)
            .and_then(|names| names)
            .map_err(failed)?;
        // To ask for the stacks takes a process, so it is done where they may have changed.
        let seen = (there, named);
        if !has_news && self.seen.as_ref() == Some(&seen) {
            return Ok(());
        }
        let (there, named) = &seen;
        let stacks = Stacks::read(netns.as_deref()).map_err(failed)?;
        let device = |name: &str| Device {
            name: name.to_owned(),
            netns: netns.clone(),
        };
        let mut wanted = Vec::new();
        for (name, role) in roles(there, named, &stacks) {
            // A device may go while we look at it.
            if let Ok((ifindex, framing)) = device(name).look() {
                wanted.push((name, ifindex, framing, role));
            }
        }
        self.placed.retain(Placed::is_there);
        for &(name, ifindex, framing, role) in &wanted {
            let is_it = |placed: &&mut Placed| (placed.ifindex, placed.role) == (ifindex, role);
            if let Some(placed) = self.placed.iter_mut().find(is_it) {
                placed.name.clone_from(name);
                continue;
            }
            // It may also go while we attach.
            match self.attach(&device(name), framing, role, held) {
                Ok(attached) => self.keep(name.clone(), ifindex, role, attached)?,
                Err(_) if device(name).look().is_err() => {}
                Err(error) => return Err(error),
            }
        }
        let is_wanted = |placed: &Placed| {
            let mut wanted = wanted.iter();
            wanted.any(|&(_, ifindex, _, role)| (placed.ifindex, placed.role) == (ifindex, role))
        };
        self.placed.retain(is_wanted);
        self.seen = Some(seen);
        Ok(())
    }

    /// Whether the edges can stay without their process.
    pub fn may_stay(&self) -> bool {
        self.keep.is_some()
    }

    fn attach(
        &self,
        device: &Device,
        framing: Framing,
        role: Role,
        held: &mut claim::Held,
    ) -> Result<Attached, RouterError> {
        let wanted = match (role, framing) {
            (Role::Admitting, _) => "admit",
            (Role::Edge, Framing::Ethernet) => "bleach_ethernet",
            (Role::Edge, Framing::Ip) => "bleach_ip",
            (Role::Below, Framing::Ethernet) => "bleach_below_ethernet",
            (Role::Below, Framing::Ip) => "bleach_below_ip",
        };
        tell_filter(device, held)?;
        let program = self.object.progs().find(|program| program.name() == wanted);
        let program = program.expect("the object has a program for each role and framing");
        Ok(to_device(&program, device, Direction::Egress)?)
    }

    /// From here on it stays when the process is killed.
    fn keep(&mut self, name: String, ifindex: i32, role: Role, attached: Attached) -> Result<(), LoadError> {
        let pin = self.keep.as_ref().map(|keep| match role {
            Role::Edge => keep.closing(ifindex, ""),
            Role::Below => keep.closing(ifindex, "-below"),
            Role::Admitting => keep.admitting(ifindex),
        });
        if let Some(pin) = &pin {
            attached.pin(pin)?;
        }
        self.placed.push(Placed {
            name,
            ifindex,
            role,
            attached,
            pin,
        });
        Ok(())
    }

    /// Names of the devices at the edge.
    pub fn edges(&self) -> impl Iterator<Item = &str> {
        let edges = self.placed.iter().filter(|placed| placed.role != Role::Admitting);
        edges.map(|placed| placed.name.as_str())
    }

    /// Names of those of them on which named devices lie.
    pub fn below(&self) -> impl Iterator<Item = &str> {
        let below = self.placed.iter().filter(|placed| placed.role == Role::Below);
        below.map(|placed| placed.name.as_str())
    }

    pub fn counters(&self) -> EdgeCounters {
        let map = self.object.maps().find(|map| map.name() == COUNTERS);
        map.as_ref().map(EdgeCounters::of).unwrap_or_default()
    }
}

impl EdgeCounters {
    /// Of edges that a killed router left, or of one that lives; nothing where the kernel does not tell.
    pub fn kept(kept: &Kept) -> Option<Self> {
        kept.counters().map(|map| Self::of(&map))
    }

    /// As the edges' map has them.
    fn of(map: &impl MapCore) -> Self {
        let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten();
        let word = |at: usize| {
            let bytes = value.as_ref().and_then(|value| value.get(8 * at..8 * at + 8));
            bytes.map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
        };
        Self {
            own_packets: word(0),
            cleared: word(1),
            unknown: word(2),
        }
    }
}
