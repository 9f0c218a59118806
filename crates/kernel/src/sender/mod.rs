//! A law at the ends of connections: a congestion control of the kernel, and what brings its feedback back.

mod live;
mod unit;

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use fadelab_laws::recorded::RecordedHead;
use libbpf_rs::query::{MapInfo, MapInfoIter};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, Object, OpenObject};

use crate::Version;
use crate::attach::{self, Attached, Direction, FilterRecord};
use crate::cgroup::cgroup_root;
use crate::device::{Device, Framing};
use crate::object::{LoadError, load};
use crate::recorder::Recorder;
use crate::set;
use crate::tunnel::{self, RoleFrom, Way};
use crate::turn::{self, Turn};

pub use crate::set::ALLOWED_MAX;

pub use live::{CaState, FLOWS_NOTED_MAX, LiveFlow, flows, flows_n};
pub use unit::{NAME_BYTES_MAX, Unit, default_name};

/// The maps that others read while a law stays loaded without a process.
const KEPT: [&str; 3] = ["live", "flow_counts", "control"];

/// `BPF_F_LINK`: the congestion control goes with its link.
const F_LINK: u32 = 1 << 13;

/// A law that the kernel has taken. It goes when this does, with all that was attached.
#[derive(Debug)]
pub struct Sender {
    links: Vec<Link>,
    attached: Vec<Attached>,
    object: Object,
}

impl Sender {
    /// Loads what [`Unit::compile`] gave, for sockets of processes in `cgroup` (a folder of a cgroup v2). Packets are
    /// marked where they leave through one of `devices`; without the file system of cgroups only laws without feedback
    /// can be loaded.
    ///
    /// # Errors
    /// When the kernel refuses the programs, knows a congestion control of that name already, or a device or the cgroup
    /// is not there.
    pub fn load(object: &[u8], cgroup: &Path, devices: &[Device]) -> Result<Self, LoadError> {
        let for_everybody = set::is_for_everybody(object);
        // Of two that are loaded at the same time the second finds what the first shares. Where something is shared
        // already nobody need wait while the kernel checks the programs.
        let mut turn = None;
        let object = load(object, |object| {
            if turn.is_none() {
                turn = Some(Turn::take().map_err(|error| LoadError::system(turn::FOLDER, &error))?);
            }
            if prepare(object, Version::running())? {
                turn = None;
            }
            Ok(())
        })?;
        drop(turn);
        let mut loaded = Self {
            links: Vec::new(),
            attached: Vec::new(),
            object,
        };
        // The ends first: a congestion control is there for everybody as soon as it is registered.
        loaded.attach_cgroup(cgroup, &["feedback_ops", "feedback_note"])?;
        if !for_everybody {
            loaded.attach_choice()?;
        }
        for device in devices {
            loaded.attach_device(device)?;
        }
        loaded.register()?;
        Ok(loaded)
    }

    /// Has it mark data of its connections that IPsec in transport mode sends this way: they are encrypted where they
    /// are marked, and the closed domain knows them by these addresses alone. A law of which nothing is in packets has
    /// nothing to mark there either.
    ///
    /// # Errors
    /// When the kernel has no room for it.
    pub fn marks_sealed(&self, way: Way) -> Result<(), LoadError> {
        if !tunnel::is_known_to(&self.object) {
            return Ok(());
        }
        // The role is the receiving host's to find, in the packet's own header.
        tunnel::tell(&self.object, way, 1, RoleFrom::Id)
    }

    /// The loaded programs and maps.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Begins to write the calls of a law that was compiled with `record` into a file.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub fn recorder(&self, head: &RecordedHead, file: Box<dyn Write>) -> Result<Recorder, LoadError> {
        Recorder::new(&self.object, head, file)
    }

    /// What is kept of a socket that has all of it, without what the kernel adds to each.
    pub(crate) fn socket_bytes(&self) -> u64 {
        let storages = self.object.maps().filter(|map| map.map_type() == MapType::SkStorage);
        storages.map(|map| u64::from(map.value_size())).sum()
    }

    /// The kernel's number of the map that holds the congestion control's functions.
    pub(crate) fn map_id(&self) -> Option<u32> {
        let mut maps = self.object.maps();
        let map = maps.find(|map| map.map_type() == MapType::StructOps)?;
        Some(map.info().ok()?.info.id)
    }

    /// The memory of the law for a connection, given by the sender's socket; `None` where that is not under the law.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn memory(&self, socket: impl AsFd) -> Result<Option<Vec<u8>>, LoadError> {
        let map = self.object.maps().find(|map| map.name() == "flows");
        let key = socket.as_fd().as_raw_fd().to_ne_bytes();
        // The law's state is the first of what is kept of a flow (bpf/flow.h).
        let flow = map.expect("each law has it").lookup(&key, MapFlags::ANY);
        flow.map_err(|error| LoadError::of("a law's memory", &error))
    }

    /// Leaves everything in the kernel, held by files in `folder` of a BPF file system; gives the filters that no file
    /// holds.
    ///
    /// # Errors
    /// When something cannot be kept; everything is then taken away.
    pub(crate) fn keep(mut self, folder: &Path) -> Result<Vec<FilterRecord>, LoadError> {
        for mut map in self
            .object
            .maps_mut()
            .filter(|map| KEPT.iter().any(|name| map.name() == *name))
        {
            let pinned = map.pin(folder.join(map.name()));
            pinned.map_err(|error| LoadError::of(folder.display().to_string(), &error))?;
        }
        let mut filters = Vec::new();
        for (number, attached) in std::mem::take(&mut self.attached).into_iter().enumerate() {
            filters.extend(attached.keep(&folder.join(attach::pin(number)))?);
        }
        let version = Version::running();
        let last = self.links.len().saturating_sub(1);
        for (number, link) in self.links.iter_mut().enumerate() {
            // The last one is the congestion control; without a link it stays by itself. A link with a file is closed
            // here, so that it goes with the file also while this process runs.
            if number < last || version.is_some_and(|version| version >= Version::LINKS) {
                let pinned = link.pin(folder.join(format!("link-{number}")));
                pinned.map_err(|error| LoadError::of(folder.display().to_string(), &error))?;
            } else {
                link.disconnect();
            }
        }
        Ok(filters)
    }

    /// The program that says who may choose the law, where there is one, sees the processes of all cgroups.
    fn attach_choice(&mut self) -> Result<(), LoadError> {
        let Some(root) = cgroup_root() else { return Ok(()) };
        self.attach_cgroup(&root, &["choose_law"])
    }

    fn attach_cgroup(&mut self, cgroup: &Path, wanted: &[&str]) -> Result<(), LoadError> {
        let programs: Vec<_> = self
            .object
            .progs_mut()
            .filter(|program| wanted.iter().any(|name| program.name() == *name))
            .collect();
        if programs.is_empty() {
            return Ok(());
        }
        let what = || format!("the cgroup {}", cgroup.display());
        let folder = File::open(cgroup).map_err(|error| LoadError::system(what(), &error))?;
        for program in programs {
            let link = program.attach_cgroup(folder.as_raw_fd());
            self.links.push(link.map_err(|error| LoadError::of(what(), &error))?);
        }
        Ok(())
    }

    fn attach_device(&mut self, device: &Device) -> Result<(), LoadError> {
        let (_, framing) = device
            .look()
            .map_err(|error| LoadError::system(format!("device {}", device.name), &error))?;
        let framing = match framing {
            Framing::Ethernet => "ether",
            Framing::Ip => "ip",
        };
        // What puts numbers back stands before the one that may exchange some: a host that says it does has it.
        for (what, direction) in [("restore", Direction::Ingress), ("mark", Direction::EgressFirst)] {
            let name = format!("{what}_{framing}");
            if let Some(program) = self.object.progs_mut().find(|program| *program.name() == *name) {
                self.attached.push(attach::to_device(&program, device, direction)?);
            }
        }
        Ok(())
    }

    fn register(&mut self) -> Result<(), LoadError> {
        let map = self.object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let mut map = map.ok_or_else(|| LoadError::Failed {
            what: "the congestion control".to_owned(),
            why: "the object has none".to_owned(),
        })?;
        let link = map.attach_struct_ops();
        self.links
            .push(link.map_err(|error| LoadError::of("the congestion control", &error))?);
        Ok(())
    }
}

impl Drop for Sender {
    /// The congestion control first, so that nobody chooses it while the rest is taken away.
    fn drop(&mut self) {
        while self.links.pop().is_some() {}
    }
}

/// The map in which laws tell each other whose a socket is (`bpf/flow.h`).
const OWNERS: &str = "fade_owners";

/// Gives the object the map of the laws that are loaded already, if there are any: it lives as long as one of them.
/// Returns whether all that is to be shared is.
fn share_owners(object: &mut OpenObject) -> Result<bool, LoadError> {
    let of = |error: &libbpf_rs::Error| LoadError::of("what loaded laws share", error);
    let mut all = true;
    for mut map in object.maps_mut().filter(|map| map.name() == OWNERS) {
        let is_it = |info: &MapInfo| info.name == *OWNERS && info.value_size == map.value_size();
        let mut is_shared = false;
        for info in MapInfoIter::default().filter(is_it) {
            // One that has just gone is none.
            if let Ok(shared) = MapHandle::from_map_id(info.id) {
                map.reuse_fd(shared.as_fd()).map_err(|error| of(&error))?;
                is_shared = true;
                break;
            }
        }
        all &= is_shared;
    }
    Ok(all)
}

/// Makes an object ready to be loaded. Returns whether it waits for nothing that others may be about to share.
fn prepare(object: &mut OpenObject, version: Option<Version>) -> Result<bool, LoadError> {
    let is_shared = share_owners(object)?;
    if version.is_some_and(|version| version >= Version::LINKS) {
        return Ok(is_shared);
    }
    for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        let flags = map.map_flags() & !F_LINK;
        map.set_map_flags(flags)
            .map_err(|error| LoadError::of("the congestion control", &error))?;
    }
    Ok(is_shared)
}
