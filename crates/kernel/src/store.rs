//! Laws that stay loaded when the command that loaded them has ended.
//!
//! Each has a folder in `/run/fadelab/senders`, with what was done to the machine and a BPF file system of its own that
//! holds its links. To unmount that is to take the law away, so that nothing can be half left.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapHandle};
use serde::{Deserialize, Serialize};

use crate::attach::{self, FilterRecord};
use crate::default::{DefaultLaw, Restored, is_known};
use crate::left::{Left, Users};
use crate::object::LoadError;
use crate::process::{self, Owner};
use crate::segments::Segments;
use crate::sender::{LiveFlow, Sender, flows, flows_n};
use crate::tunnel::Way;
use crate::turn::{self, Turn};

/// What is known of a loaded law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The congestion control's name.
    pub name: String,
    /// The law's name.
    pub law: String,
    /// Its parameters, as the integers that the law computes with.
    pub params: Vec<(String, u64)>,
    /// Whose sockets carry feedback.
    pub cgroup: PathBuf,
    /// Where packets are marked, as `NAME` or `NETNS:NAME`.
    pub devices: Vec<String>,
    /// Hosts between which IPsec in transport mode has encrypted what is marked.
    #[serde(default)]
    pub sealed: Vec<Way>,
    /// Who loaded it.
    pub owner: Owner,
    /// Filters to remove, before Linux 6.6.
    pub filters: Vec<FilterRecord>,
    /// Devices whose offload was changed, and how it was.
    pub segments: Vec<Segments>,
    /// The namespace whose new sockets it is the default of, and how that was.
    #[serde(default)]
    pub default: Option<DefaultLaw>,
    /// The map that holds its functions, by the kernel's number; 0: not yet known.
    #[serde(default)]
    pub map_id: u32,
    /// Users who may choose it for their sockets, by their numbers; absent: everybody.
    #[serde(default)]
    pub allowed_users: Option<Vec<u32>>,
    /// Folders of groups of processes that may, too.
    #[serde(default)]
    pub allowed_groups: Vec<PathBuf>,
    /// Whether a service keeps it: its owner lives for as long as it is loaded.
    #[serde(default)]
    pub is_kept: bool,
    /// Whether everything is in place; otherwise it is being loaded or unloaded, or the process was killed.
    pub is_complete: bool,
}

impl Entry {
    /// Whether a process was killed while loading or unloading it.
    fn is_left_half(&self) -> bool {
        !self.is_complete && !self.owner.is_alive()
    }
}

const FOLDER: &str = "/run/fadelab/senders";
const ENTRY: &str = "entry.json";
const MOUNT: &str = "bpf";
/// A law's folder while it is filled, and while it is emptied: under its name a folder is always whole. Whoever has the
/// turn removes what a killed process left there.
const FILLED: &str = ".filled";
const EMPTIED: &str = ".emptied";

fn folder(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// Whether what is mounted here is seen by those who started this process: not under `ip netns exec`, which has mounts
/// of its own that go when it ends.
pub fn is_lasting() -> bool {
    let mounts = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let here = mounts(std::process::id());
    let mut ancestors = process::ancestors();
    ancestors.all(|pid| mounts(pid).is_none_or(|there| Some(there) == here))
}

/// Folders without a note of a law: a process was killed while filling or emptying one.
pub(crate) fn remove_strays() -> Vec<PathBuf> {
    let Ok(_turn) = Turn::take() else {
        return Vec::new();
    };
    let folders = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let strays = folders
        .map(|folder| folder.path())
        .filter(|folder| folder.ends_with(FILLED) || folder.ends_with(EMPTIED) || !folder.join(ENTRY).exists());
    let removed = strays.filter(|folder| empty(folder).is_ok()).collect();
    // Only if it is empty.
    let _ = fs::remove_dir(FOLDER);
    removed
}

/// Takes the name: makes the folder of a law that is to be loaded. What a killed process left under it is removed.
///
/// # Errors
/// When it is loaded already, by whom, or the folder cannot be made.
pub fn claim(entry: &Entry) -> Result<(), LoadError> {
    let known = || read(&entry.name);
    if let Some(left) = known().filter(Entry::is_left_half) {
        remove(&left)?;
    }
    let folder = folder(&entry.name);
    let failed = |error| LoadError::system(folder.display().to_string(), &error);
    let _turn = Turn::take().map_err(failed)?;
    if let Some(known) = known() {
        return Err(LoadError::Failed {
            what: format!("{} is loaded already", entry.name),
            why: format!(
                "by process {}; `fadelab kernel unload {}` removes it",
                known.owner.pid, entry.name
            ),
        });
    }
    fill(entry, &folder).map_err(failed)?;
    mount(&folder.join(MOUNT)).map_err(failed)
}

/// The folder appears with its note, whenever the process is killed. Needs the turn.
fn fill(entry: &Entry, folder: &Path) -> io::Result<()> {
    let filled = Path::new(FOLDER).join(FILLED);
    empty(&filled)?;
    make(&filled.join(MOUNT))?;
    write_into(entry, &filled)?;
    // What is under the name without a note is of nobody.
    empty(folder)?;
    fs::rename(filled, folder)
}

/// The folder goes with its note, whenever the process is killed. Another process may have been faster.
fn take_away(folder: &Path) -> io::Result<()> {
    let _turn = Turn::take()?;
    let emptied = Path::new(FOLDER).join(EMPTIED);
    empty(&emptied)?;
    match fs::rename(folder, &emptied) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => empty(&emptied),
    }
}

/// Removes a folder with what is mounted in it, if it is there.
fn empty(folder: &Path) -> io::Result<()> {
    unmount(&folder.join(MOUNT));
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes a folder and those above it, which another process may just have found empty and removed.
fn make(folder: &Path) -> io::Result<()> {
    let mut tries = 0..20;
    loop {
        match turn::make(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {}
            made => return made,
        }
    }
}

/// Writes down what has been done so far.
///
/// # Errors
/// When the file cannot be written.
pub fn write(entry: &Entry) -> io::Result<()> {
    write_into(entry, &folder(&entry.name))
}

fn write_into(entry: &Entry, folder: &Path) -> io::Result<()> {
    let text = serde_json::to_string_pretty(entry).map_err(io::Error::other)?;
    // A killed process leaves the old text or the new one.
    fs::write(folder.join("entry.new"), text)?;
    fs::rename(folder.join("entry.new"), folder.join(ENTRY))
}

/// Hands a law over to its folder: it stays when the process ends.
///
/// # Errors
/// When it cannot be kept; it is then gone.
pub fn keep(sender: Sender, entry: &mut Entry) -> Result<(), LoadError> {
    entry.filters = sender.keep(&folder(&entry.name).join(MOUNT))?;
    entry.is_complete = true;
    write(entry).map_err(|error| LoadError::system(format!("{}'s folder", entry.name), &error))
}

/// All laws that are loaded, and what killed processes left half loaded, by name.
pub fn entries() -> Vec<Entry> {
    let Ok(folders) = fs::read_dir(FOLDER) else {
        return Vec::new();
    };
    let name = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    let names = folders
        .filter_map(name)
        .filter(|name| name != FILLED && name != EMPTIED);
    let mut entries: Vec<Entry> = names.filter_map(|name| read(&name)).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

/// The devices of an entry through which nothing is marked any more: they went, and one of that name that came back is
/// another one.
pub fn lost_devices(entry: &Entry) -> Vec<&str> {
    let mount = folder(&entry.name).join(MOUNT);
    let is_lost = |(number, _): &(usize, &String)| match attach::is_linked(&mount.join(attach::pin(*number))) {
        Some(is_linked) => !is_linked,
        None => entry.filters.get(*number).is_some_and(|filter| !filter.is_there()),
    };
    let devices = entry.devices.iter().enumerate();
    devices.filter(is_lost).map(|(_, device)| device.as_str()).collect()
}

/// The law loaded under a name.
pub fn read(name: &str) -> Option<Entry> {
    serde_json::from_str(&fs::read_to_string(folder(name).join(ENTRY)).ok()?).ok()
}

/// The flows under a law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Those that the kernel has noted.
    pub flows: Vec<LiveFlow>,
    /// How many there are.
    pub flows_n: u64,
}

/// The flows under a law now; nothing where the law has gone and its note has not: somebody unmounted what held it.
///
/// # Errors
/// When the kernel does not tell.
pub fn live(entry: &Entry) -> Result<Option<Live>, libbpf_rs::Error> {
    let Some(map) = kept_map(entry, "live")? else {
        return Ok(None);
    };
    let flows = flows(&map)?;
    Ok(live_n(entry)?.map(|flows_n| Live { flows, flows_n }))
}

/// How many there are.
///
/// # Errors
/// As [`live`].
pub fn live_n(entry: &Entry) -> Result<Option<u64>, libbpf_rs::Error> {
    kept_map(entry, "flow_counts")?.map(|map| flows_n(&map)).transpose()
}

/// A map of a loaded law, where its file is there.
fn kept_map(entry: &Entry, name: &str) -> Result<Option<MapHandle>, libbpf_rs::Error> {
    let file = folder(&entry.name).join(MOUNT).join(name);
    match fs::symlink_metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => MapHandle::from_pinned_path(file).map(Some),
    }
}

/// What became of a law that was taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Of the default that it was.
    pub default: Restored,
    /// Whether somebody uses it still.
    pub left: Option<Left>,
}

/// How long the kernel may take to give up what nobody uses any more: it does so in the background.
const GOING: Duration = Duration::from_secs(2);

/// Takes a law away, or what is there of it. Sockets that use it keep it until they close.
///
/// # Errors
/// When something of it cannot be removed.
pub fn remove(entry: &Entry) -> Result<Removed, LoadError> {
    let folder = folder(&entry.name);
    let failed = |error: io::Error| LoadError::system(folder.display().to_string(), &error);
    // From here on the next command finishes what a killed one began.
    let begun = Entry {
        is_complete: false,
        owner: Owner::this(),
        ..entry.clone()
    };
    match write(&begun) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    for segments in &entry.segments {
        segments.restore();
    }
    for filter in &entry.filters {
        filter.remove();
    }
    let default = entry.default.as_ref().map_or(Restored::Nothing, |default| {
        forget_as_before(entry, default);
        default.restore(&entry.name)
    });
    let left = Left {
        name: entry.name.clone(),
        law: entry.law.clone(),
        map_id: entry.map_id,
    };
    if left.map_id != 0 {
        // Noted first, whenever the process is killed.
        left.write().map_err(failed)?;
    }
    let bpf = folder.join(MOUNT);
    if let Ok(map) = MapHandle::from_pinned_path(bpf.join("control")) {
        // Without links (before Linux 6.4) the registration is the map's entry. With one this does nothing.
        let _ = map.delete(&0u32.to_ne_bytes());
    }
    unmount(&bpf);
    take_away(&folder).map_err(failed)?;
    wait_until_free(&entry.name);
    let is_left = left.map_id != 0 && !has_gone(&left);
    if !is_left {
        left.forget();
    }
    // Only if they are empty.
    let _ = fs::remove_dir(FOLDER);
    let _ = fs::remove_dir(turn::FOLDER);
    Ok(Removed {
        default,
        left: is_left.then_some(left),
    })
}

/// Waits until the name may be given again. The kernel gives a registration up in the background, when the last file
/// that held it has gone, also where sockets use the law still; on a busy machine whoever loads the law again is
/// faster.
fn wait_until_free(name: &str) {
    let since = Instant::now();
    while is_known(name) && since.elapsed() < GOING {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether nobody uses an unloaded law any more. Where nobody does the kernel takes a moment to see it.
fn has_gone(left: &Left) -> bool {
    let since = Instant::now();
    while left.is_alive() {
        if since.elapsed() > GOING || left.users() != Users::default() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A law that became the default after this one remembers it, and must not bring it back.
fn forget_as_before(entry: &Entry, default: &DefaultLaw) {
    for mut later in entries() {
        let of_later = later
            .default
            .as_mut()
            .filter(|of_later| of_later.netns_inode == default.netns_inode && of_later.before == entry.name);
        if let Some(of_later) = of_later {
            of_later.before.clone_from(&default.before);
            // What cannot be written down is found to be gone when it is restored.
            let _ = write(&later);
        }
    }
}

/// Removes what killed processes left half loaded; gives the names.
///
/// # Errors
/// As [`remove`].
pub fn remove_leftovers() -> Result<Vec<String>, LoadError> {
    remove_all(Entry::is_left_half)
}

/// Removes the laws that a killed service kept; gives the names.
///
/// # Errors
/// As [`remove`].
pub fn remove_of_killed_services() -> Result<Vec<String>, LoadError> {
    remove_all(|entry| entry.is_kept && !entry.owner.is_alive())
}

fn remove_all(is_wanted: impl Fn(&Entry) -> bool) -> Result<Vec<String>, LoadError> {
    let wanted = entries().into_iter().filter(is_wanted);
    wanted.map(|entry| remove(&entry).map(|_| entry.name)).collect()
}

pub(crate) fn mount(place: &Path) -> io::Result<()> {
    let c_string = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let (kind, place) = (c_string(b"bpf")?, c_string(place.as_os_str().as_bytes())?);
    // SAFETY: three strings that end in a zero byte, no flags, no data.
    let status = unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Also where it is mounted twice or not at all.
pub(crate) fn unmount(place: &Path) {
    let Ok(place) = CString::new(place.as_os_str().as_bytes()) else {
        return;
    };
    // SAFETY: a string that ends in a zero byte.
    while unsafe { libc::umount2(place.as_ptr(), libc::MNT_DETACH) } == 0 {}
}
