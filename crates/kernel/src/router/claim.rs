//! Who has a router at which device, written down so that the next start finds what a killed one left behind.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{RouterError, shaper};
use crate::attach::FILTER_PREFERENCE;
use crate::device::Device;
use crate::kept::{self, Kept, Purpose};
use crate::process::Owner;
use crate::spaces;
use crate::turn::{FOLDER, Turn};

const PREFIX: &str = "router-";

/// A filter of clsact, before Linux 6.6: it outlives the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Filter {
    pub device: String,
    /// Whether clsact was made for it.
    pub made_place: bool,
}

/// One router and what it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its process.
    pub owner: Owner,
    /// Inode of the device's network namespace.
    netns_inode: u64,
    /// File of the namespace, if it is not the process's own.
    pub netns: Option<PathBuf>,
    /// Index of the device.
    ifindex: i32,
    pub device: String,
    pub law: String,
    /// Devices through which marks may leave, this one among them.
    pub inside: Vec<String>,
    /// Whether there is a token bucket filter of ours.
    pub(super) shaped: bool,
    pub(super) filters: Vec<Filter>,
}

/// A claim that is written down, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub claim: Claim,
    file: PathBuf,
}

impl Held {
    /// Claims a device.
    pub fn take(device: &Device, ifindex: i32, law: &str, inside: &[String]) -> Result<Self, RouterError> {
        let netns_inode = spaces::inode(device.netns.as_deref()).map_err(|error| RouterError::Device {
            device: device.name.clone(),
            why: error.to_string(),
        })?;
        let inside = std::iter::once(&device.name).chain(inside).cloned().collect();
        let claim = Claim {
            owner: Owner::this(),
            netns_inode,
            netns: device.netns.clone(),
            ifindex,
            device: device.name.clone(),
            law: law.to_owned(),
            inside,
            shaped: false,
            filters: Vec::new(),
        };
        let file = Path::new(FOLDER).join(format!("{PREFIX}{netns_inode}-{ifindex}.json"));
        // Of two starts at the same time one gets the device.
        let turn = Turn::take().map_err(|error| unwritable(&error))?;
        if let Some(there) = read(&file) {
            if there.is_alive() {
                return Err(RouterError::Taken {
                    device: there.device,
                    law: there.law,
                    pid: there.owner.pid,
                });
            }
            there.undo();
        }
        let held = Self { claim, file };
        let written = held.write();
        drop(turn);
        written.map_err(|error| unwritable(&error))?;
        Ok(held)
    }

    /// Writes down what the router is about to change, before it does.
    pub fn note(&mut self, change: impl FnOnce(&mut Claim)) -> Result<(), RouterError> {
        change(&mut self.claim);
        self.write().map_err(|error| unwritable(&error))
    }

    /// Writes the file under another name, so that it is complete when it gets its own.
    fn write(&self) -> io::Result<()> {
        let fresh = self.file.with_extension(format!("{}.new", self.claim.owner.pid));
        let mut file = File::create(&fresh)?;
        file.write_all(serde_json::to_string(&self.claim)?.as_bytes())?;
        fs::rename(fresh, &self.file)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _turn = Turn::take();
        let _ = fs::remove_file(&self.file);
    }
}

pub(super) fn unwritable(error: &io::Error) -> RouterError {
    RouterError::Claim {
        folder: FOLDER.to_owned(),
        why: error.to_string(),
    }
}

impl Claim {
    /// Whether its process still runs.
    pub fn is_alive(&self) -> bool {
        self.owner.is_alive()
    }

    /// Whether it is at a device of the same namespace.
    pub(crate) fn is_in(&self, netns_inode: u64) -> bool {
        self.netns_inode == netns_inode
    }

    /// File of the namespace, if it is not the process's own.
    pub(super) fn netns(&self) -> Option<&Path> {
        self.netns.as_deref()
    }

    /// Whose the programs are that close its domain.
    pub(super) fn kept(&self) -> Kept {
        Kept {
            owner: self.owner,
            netns_inode: self.netns_inode,
            netns: self.netns.clone(),
            device: self.device.clone(),
            law: self.law.clone(),
            purpose: Purpose::Edges,
            folder: PathBuf::new(),
        }
    }

    /// The namespace's inode.
    pub(super) fn netns_inode(&self) -> u64 {
        self.netns_inode
    }

    /// Whether there is, or was, a token bucket filter of ours.
    pub fn is_shaped(&self) -> bool {
        self.shaped
    }

    /// Devices with filters of ours, before Linux 6.6.
    pub fn filters(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|filter| filter.device.as_str())
    }

    /// Undoes what it changed. A namespace that is gone has taken all with it.
    fn undo(&self) {
        let Some(netns) = spaces::find(self.netns_inode, self.netns.as_deref()) else {
            return;
        };
        let device = |name: &str| Device {
            name: name.to_owned(),
            netns: Some(netns.clone()),
        };
        for filter in &self.filters {
            shaper::remove_filter(&device(&filter.device), FILTER_PREFERENCE, filter.made_place);
        }
        let here = device(&self.device);
        let is_same = here.look().is_ok_and(|(ifindex, _)| ifindex == self.ifindex);
        if self.shaped && is_same {
            let _ = shaper::remove(&here);
        }
    }
}

fn read(file: &Path) -> Option<Claim> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let is_claim = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(".json")
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_claim).collect();
    files.sort();
    files
}

/// All routers that are written down, also those whose process is gone.
pub fn claims() -> Vec<Claim> {
    files().iter().filter_map(|file| read(file)).collect()
}

/// Routers whose process is gone but not what it changed.
pub fn leftovers() -> Vec<Claim> {
    claims().into_iter().filter(|claim| !claim.is_alive()).collect()
}

/// Removes what killed routers left behind, but for edges that a BPF file system holds; gives what it was.
pub fn remove_leftovers() -> Vec<Claim> {
    clear_leftovers().0
}

/// The same; gives also the files and folders that were of nothing any more.
pub(crate) fn clear_leftovers() -> (Vec<Claim>, Vec<PathBuf>) {
    let mut removed = Vec::new();
    if !Path::new(FOLDER).exists() {
        return (removed, Vec::new());
    }
    let Ok(turn) = Turn::take() else {
        return (removed, Vec::new());
    };
    for file in files() {
        // Files are complete when they get their name: what cannot be read is none of ours.
        if let Some(claim) = read(&file).filter(|claim| !claim.is_alive()) {
            claim.undo();
            let _ = fs::remove_file(&file);
            removed.push(claim);
        }
    }
    let mut gone = kept::forget_gone(&turn);
    gone.extend(remove_unfinished());
    (removed, gone)
}

/// Files that a process was killed while writing. Whoever writes now holds the lock, or a claim whose process lives.
fn remove_unfinished() -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid: Option<u32> = name
            .strip_suffix(".new")
            .and_then(|name| name.rsplit_once('.')?.1.parse().ok());
        let is_gone = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
        if name.starts_with(PREFIX) && pid.is_some_and(is_gone) && fs::remove_file(entry.path()).is_ok() {
            removed.push(entry.path());
        }
    }
    removed
}

/// Removes token bucket filters with our handle that no claim speaks of; gives their devices. What a process is about
/// to put there it has claimed before, so that claims are read last.
pub(crate) fn remove_stray_shapers() -> Vec<Device> {
    let mut removed = Vec::new();
    for netns in spaces::all() {
        let Ok(inode) = spaces::inode(Some(&netns)) else {
            continue;
        };
        let shaped = shaper::ours(&netns);
        let claims = if shaped.is_empty() { Vec::new() } else { claims() };
        for name in shaped {
            let is_claimed = |claim: &Claim| claim.is_in(inode) && claim.shaped && claim.device == name;
            let device = Device {
                name: name.clone(),
                netns: Some(netns.clone()),
            };
            if !claims.iter().any(is_claimed) && shaper::remove(&device).is_ok() {
                removed.push(device);
            }
        }
    }
    removed
}
