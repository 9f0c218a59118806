//! The closed domain: marks leave only through devices that the operator named.

use std::fs;
use std::path::PathBuf;

use libbpf_rs::{MapCore, MapFlags, Object};

use super::kept::Keep;
use super::{RouterError, claim, tell_filter};
use crate::Version;
use crate::attach::{Attached, Direction, to_device};
use crate::compile::{self, CompileError};
use crate::device::{Device, Framing, names, within};
use crate::object::{self, LoadError};
use crate::spaces;
use crate::store;

/// The unit at the edges of the domain.
const UNIT: &str = include_str!("../../bpf/bleach.bpf.c");

/// Name of the map in which it counts.
const COUNTERS: &str = "bleach_map";

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
/// See [`compile::object`].
pub fn edge() -> Result<Vec<u8>, CompileError> {
    compile::object("bleach.bpf.c", UNIT, &[])
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

/// A device at the edge, by name and index: another may get either.
#[derive(Debug)]
struct Edge {
    name: String,
    ifindex: i32,
    attached: Attached,
    /// The file that keeps it when the process is killed, where there is one.
    pin: Option<PathBuf>,
}

impl Drop for Edge {
    fn drop(&mut self) {
        if let Some(pin) = &self.pin {
            self.attached.detach();
            let _ = fs::remove_file(pin);
        }
    }
}

/// All devices of the namespace that nobody named.
#[derive(Debug)]
pub(super) struct Domain {
    // In the order in which they have to go.
    edges: Vec<Edge>,
    object: Object,
    /// Before Linux 6.6 there is none: filters need nobody to keep them.
    keep: Option<Keep>,
}

impl Domain {
    pub fn load(closed: &Closed, held: &claim::Held, ifindex: i32) -> Result<Self, RouterError> {
        let mut object = object::load(&closed.object, |_| Ok(()))?;
        let mut keep = None;
        if Version::running().is_some_and(|version| version >= Version::LINKS) {
            let made = Keep::of(&held.claim, ifindex).map_err(|error| claim::unwritable(&error))?;
            for mut map in object.maps_mut().filter(|map| map.name() == COUNTERS) {
                let pinned = map.pin(made.counters());
                pinned.map_err(|error| LoadError::of("what the edges count", &error))?;
            }
            keep = Some(made);
        }
        Ok(Self {
            edges: Vec::new(),
            object,
            keep,
        })
    }

    /// Puts the program at devices that have appeared, and takes it from those that another router has named since.
    pub fn refresh(&mut self, held: &mut claim::Held) -> Result<(), RouterError> {
        let netns = held.claim.netns().map(ToOwned::to_owned);
        let inode = held.claim.netns_inode();
        let named = named(held, inode);
        let there = within(netns.as_deref(), names).and_then(|names| names);
        let there = there.map_err(|error| RouterError::device(&held.claim.device, &error))?;
        let device = |name: &str| Device {
            name: name.to_owned(),
            netns: netns.clone(),
        };
        let mut known = Vec::new();
        for name in there.iter().filter(|name| *name != LOOPBACK && !named.contains(name)) {
            // A device may go while we look at it.
            if let Ok((ifindex, framing)) = device(name).look() {
                known.push((name.clone(), ifindex, framing));
            }
        }
        let is_known = |edge: &Edge| {
            known
                .iter()
                .any(|(name, index, _)| (name, *index) == (&edge.name, edge.ifindex))
        };
        self.edges.retain(is_known);
        for (name, ifindex, framing) in known {
            if self.edges.iter().all(|edge| edge.ifindex != ifindex) {
                let attached = self.attach(&device(&name), framing, held);
                // It may also go while we attach.
                match attached {
                    Ok(attached) => self.keep(name, ifindex, attached)?,
                    Err(_) if device(&name).look().is_err() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn attach(&self, device: &Device, framing: Framing, held: &mut claim::Held) -> Result<Attached, RouterError> {
        let wanted = match framing {
            Framing::Ethernet => "bleach_ethernet",
            Framing::Ip => "bleach_ip",
        };
        tell_filter(device, held)?;
        let program = self.object.progs().find(|program| program.name() == wanted);
        let program = program.expect("the object has a program for each framing");
        Ok(to_device(&program, device, Direction::Egress)?)
    }

    /// From here on it stays when the process is killed.
    fn keep(&mut self, name: String, ifindex: i32, attached: Attached) -> Result<(), LoadError> {
        let pin = self.keep.as_ref().map(|keep| keep.pin(ifindex));
        if let Some(pin) = &pin {
            attached.pin(pin)?;
        }
        self.edges.push(Edge {
            name,
            ifindex,
            attached,
            pin,
        });
        Ok(())
    }

    /// Names of the devices at the edge.
    pub fn edges(&self) -> impl Iterator<Item = &str> {
        self.edges.iter().map(|edge| edge.name.as_str())
    }

    pub fn counters(&self) -> EdgeCounters {
        let map = self.object.maps().find(|map| map.name() == COUNTERS);
        map.as_ref().map(EdgeCounters::of).unwrap_or_default()
    }
}

impl EdgeCounters {
    /// As the edges' map has them.
    pub(super) fn of(map: &impl MapCore) -> Self {
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
