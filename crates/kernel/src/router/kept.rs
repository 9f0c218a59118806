//! Edges that outlive their router: a process that is killed leaves its domain closed.
//!
//! Each router that closes a domain has a folder in `/run/fadelab/edges`, with a note of whose it is and a BPF file
//! system of its own that holds the links of its edges, as the folders of senders do ([`crate::store`]). Before Linux
//! 6.6 edges are filters, which outlive the process by themselves, and the router's claim has them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use libbpf_rs::{Link, MapHandle};
use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::domain::{EdgeCounters, Role};
use crate::attach::linked_at;
use crate::device::{Device, names, within};
use crate::process::Owner;
use crate::spaces;
use crate::store::{mount, unmount};
use crate::turn::{self, Turn};

const FOLDER: &str = "/run/fadelab/edges";
const NOTE: &str = "note.json";
const MOUNT: &str = "bpf";
const COUNTERS: &str = "counters";
/// How the names of the files of links begin that close a device.
const EDGE: &str = "edge-";
/// And of those that let packets of a named device through the devices below it.
const ADMITTING: &str = "admitting-";

/// How many domains this process has closed: it may load the next router of a device while that of the last one is
/// closed still.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Whose edges they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The router's process.
    pub owner: Owner,
    /// Inode of the network namespace.
    netns_inode: u64,
    /// File of the namespace, if it is not the process's own.
    pub netns: Option<PathBuf>,
    /// The router's device.
    pub device: String,
    pub law: String,
    #[serde(skip)]
    folder: PathBuf,
}

/// The folder of a router that lives. What is in it is taken away when this is dropped.
#[derive(Debug)]
pub(super) struct Keep(Kept);

impl Keep {
    /// Makes the folder of the router that has this claim.
    pub fn of(claim: &Claim, ifindex: i32) -> io::Result<Self> {
        let Owner { pid, start_ticks } = claim.owner;
        let inode = claim.netns_inode();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let kept = Kept {
            owner: claim.owner,
            netns_inode: inode,
            netns: claim.netns.clone(),
            device: claim.device.clone(),
            law: claim.law.clone(),
            folder: Path::new(FOLDER).join(format!("{inode}-{ifindex}-{pid}-{start_ticks}-{number}")),
        };
        // Whoever cleans up takes a folder without a note for what a killed process left.
        let _turn = Turn::take()?;
        turn::make(&kept.folder.join(MOUNT))?;
        fs::write(kept.folder.join("note.new"), serde_json::to_string(&kept)?)?;
        fs::rename(kept.folder.join("note.new"), kept.folder.join(NOTE))?;
        let place = kept.folder.join(MOUNT);
        let keep = Self(kept);
        mount(&place)?;
        Ok(keep)
    }

    /// The file for the link of a program at a device.
    pub fn pin(&self, ifindex: i32, role: Role) -> PathBuf {
        let name = match role {
            Role::Edge => format!("{EDGE}{ifindex}"),
            Role::Below => format!("{EDGE}{ifindex}-below"),
            Role::Admitting => format!("{ADMITTING}{ifindex}"),
        };
        self.0.folder.join(MOUNT).join(name)
    }

    /// The file for the map of what the edges count.
    pub fn counters(&self) -> PathBuf {
        self.0.folder.join(MOUNT).join(COUNTERS)
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        let _turn = Turn::take();
        self.0.remove();
    }
}

impl Kept {
    /// Whether the router's process still runs.
    pub fn is_alive(&self) -> bool {
        self.owner.is_alive()
    }

    /// The files of the links that close devices, and the devices at which these are.
    fn links(&self) -> Vec<(PathBuf, u32)> {
        self.links_of(&[EDGE])
    }

    fn links_of(&self, beginnings: &[&str]) -> Vec<(PathBuf, u32)> {
        let files = fs::read_dir(self.folder.join(MOUNT)).into_iter().flatten().flatten();
        let begins = |name: &str| beginnings.iter().any(|beginning| name.starts_with(beginning));
        let is_link = |file: &fs::DirEntry| begins(&file.file_name().to_string_lossy());
        let pins = files.filter(is_link).map(|file| file.path());
        pins.filter_map(|pin| linked_at(&pin).map(|ifindex| (pin, ifindex)))
            .collect()
    }

    /// The devices that are closed, by name where one leads to them.
    pub fn devices(&self) -> Vec<String> {
        let netns = spaces::find(self.netns_inode, self.netns.as_deref());
        let known = netns.and_then(|netns| {
            let names = within(Some(&netns), names).and_then(|names| names).ok()?;
            let of_name = |name: String| {
                let device = Device {
                    name,
                    netns: Some(netns.clone()),
                };
                device.look().ok().map(|(ifindex, _)| (ifindex as u32, device.name))
            };
            Some(names.into_iter().filter_map(of_name).collect::<Vec<_>>())
        });
        let known = known.unwrap_or_default();
        let name = |(_, ifindex): (PathBuf, u32)| {
            let found = known.iter().find(|(known, _)| *known == ifindex);
            found.map_or_else(|| format!("number {ifindex}"), |(_, name)| name.clone())
        };
        let mut devices: Vec<String> = self.links().into_iter().map(name).collect();
        devices.sort();
        devices.dedup();
        devices
    }

    /// What the edges counted; nothing where the kernel does not tell.
    pub fn counters(&self) -> Option<EdgeCounters> {
        let map = MapHandle::from_pinned_path(self.folder.join(MOUNT).join(COUNTERS)).ok()?;
        Some(EdgeCounters::of(&map))
    }

    /// Takes the edges away. To unmount alone would do it, but in the kernel's own time, and not while somebody has a
    /// copy of the mount.
    fn remove(&self) {
        for (pin, _) in self.links_of(&[EDGE, ADMITTING]) {
            if let Ok(link) = Link::open(&pin) {
                let _ = link.detach();
            }
            let _ = fs::remove_file(pin);
        }
        remove_folder(&self.folder);
    }
}

fn remove_folder(folder: &Path) {
    unmount(&folder.join(MOUNT));
    let _ = fs::remove_dir_all(folder);
    // Only if it is empty.
    let _ = fs::remove_dir(FOLDER);
}

fn folders() -> Vec<PathBuf> {
    let folders = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.path()).collect();
    folders.sort();
    folders
}

fn read(folder: &Path) -> Option<Kept> {
    let text = fs::read_to_string(folder.join(NOTE)).ok()?;
    let kept: Kept = serde_json::from_str(&text).ok()?;
    Some(Kept {
        folder: folder.to_owned(),
        ..kept
    })
}

/// Edges that routers left when they were killed. A namespace or devices that went have taken theirs with them.
pub fn left_edges() -> Vec<Kept> {
    let kept = folders().into_iter().filter_map(|folder| read(&folder));
    kept.filter(|kept| !kept.is_alive() && !kept.links().is_empty())
        .collect()
}

/// Removes such edges: those of a namespace, or all; gives whose they were, and the devices.
pub(crate) fn remove_left(netns_inode: Option<u64>) -> Vec<(Kept, Vec<String>)> {
    let Ok(_turn) = Turn::take() else {
        return Vec::new();
    };
    let is_asked = |kept: &Kept| netns_inode.is_none_or(|inode| inode == kept.netns_inode);
    let asked = left_edges().into_iter().filter(is_asked);
    let take_away = |kept: Kept| {
        let devices = kept.devices();
        kept.remove();
        (kept, devices)
    };
    asked.map(take_away).collect()
}

/// Forgets edges that are no more, and folders in which a process was killed before it wrote whose they are.
pub(super) fn forget_gone(_turn: &Turn) -> Vec<PathBuf> {
    let mut forgotten = Vec::new();
    for folder in folders() {
        match read(&folder) {
            Some(kept) if kept.is_alive() || !kept.links().is_empty() => {}
            _ => {
                remove_folder(&folder);
                forgotten.push(folder);
            }
        }
    }
    forgotten
}
