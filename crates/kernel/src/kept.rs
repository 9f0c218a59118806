//! What closes devices to our marks and outlives whose it is: a router that is killed leaves its domain closed, and a
//! gateway the end of its tunnels.
//!
//! Each has a folder in `/run/fadelab/edges`, with a note of whose it is and a BPF file system of its own that holds
//! the links of its programs, as the folders of senders do ([`crate::store`]). Before Linux 6.6 edges are filters,
//! which outlive the process by themselves, and the router's claim has them; there is no gateway there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use libbpf_rs::{Link, MapHandle};
use serde::{Deserialize, Serialize};

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

/// How many times this process has closed something: it may load the next router of a device while the domain of the
/// last one is closed still.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// What for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// The closed domain of a router.
    #[default]
    Edges,
    /// A guard behind a gateway, which clears the outer headers of its tunnels where the gateway does not.
    Guard {
        /// The tunnels.
        tunnels: Vec<String>,
    },
}

/// Whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The process of the router or gateway.
    pub owner: Owner,
    /// Inode of the network namespace.
    pub(crate) netns_inode: u64,
    /// File of the namespace, if it is not the process's own.
    pub netns: Option<PathBuf>,
    /// The router's device, or the one where a gateway's packets come and go as ESP.
    pub device: String,
    pub law: String,
    #[serde(default)]
    pub purpose: Purpose,
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

/// The folder of one that lives. What is in it is taken away when this is dropped.
#[derive(Debug)]
pub(crate) struct Keep(Kept);

impl Keep {
    /// Makes the folder of one at a device of that number.
    pub fn of(kept: Kept, ifindex: i32) -> io::Result<Self> {
        let Owner { pid, start_ticks } = kept.owner;
        let inode = kept.netns_inode;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let kept = Kept {
            folder: Path::new(FOLDER).join(format!("{inode}-{ifindex}-{pid}-{start_ticks}-{number}")),
            ..kept
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

    /// The file for the link of a program that closes a device, by its number and what tells two at one device apart.
    pub fn closing(&self, ifindex: i32, which: &str) -> PathBuf {
        self.0.folder.join(MOUNT).join(format!("{EDGE}{ifindex}{which}"))
    }

    /// The same of one that lets packets through.
    pub fn admitting(&self, ifindex: i32) -> PathBuf {
        self.0.folder.join(MOUNT).join(format!("{ADMITTING}{ifindex}"))
    }

    /// The file for the map of what they count.
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
    /// Whether the process still runs.
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

    /// What they counted; nothing where the kernel does not tell.
    pub(crate) fn counters(&self) -> Option<MapHandle> {
        MapHandle::from_pinned_path(self.folder.join(MOUNT).join(COUNTERS)).ok()
    }

    /// Takes them away. To unmount alone would do it, but in the kernel's own time, and not while somebody has a
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

/// All that are at devices. A namespace or devices that went have taken theirs with them.
pub fn all() -> Vec<Kept> {
    let kept = folders().into_iter().filter_map(|folder| read(&folder));
    kept.filter(|kept| !kept.links().is_empty()).collect()
}

/// Those that killed processes left.
pub fn left() -> Vec<Kept> {
    let kept = all().into_iter();
    kept.filter(|kept| !kept.is_alive()).collect()
}

/// Removes what killed processes left, of those that are asked for, and forgets what is no more; gives whose it was,
/// and the devices.
pub(crate) fn remove_left(is_asked: impl Fn(&Kept) -> bool) -> Vec<(Kept, Vec<String>)> {
    let Ok(turn) = Turn::take() else {
        return Vec::new();
    };
    let asked = left().into_iter().filter(is_asked);
    let take_away = |kept: Kept| {
        let devices = kept.devices();
        kept.remove();
        (kept, devices)
    };
    let removed = asked.map(take_away).collect();
    forget_gone(&turn);
    removed
}

/// Forgets those that are no more, and folders in which a process was killed before it wrote whose they are.
pub(crate) fn forget_gone(_turn: &Turn) -> Vec<PathBuf> {
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
