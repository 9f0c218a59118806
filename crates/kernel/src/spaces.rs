//! The network namespaces of this machine, as far as a file leads into them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where `ip netns` names them.
pub const NAMED: &str = "/run/netns";

/// Inode of a network namespace, by which the kernel tells them apart; `None`: this thread's.
///
/// # Errors
/// When no namespace is there.
pub fn inode(netns: Option<&Path>) -> io::Result<u64> {
    let file = netns.unwrap_or(Path::new("/proc/thread-self/ns/net"));
    Ok(fs::metadata(file)?.ino())
}

/// Files that lead into namespaces: this process's, named ones, those of processes. One may be there several times.
fn places() -> impl Iterator<Item = PathBuf> {
    let own = PathBuf::from("/proc/self/ns/net");
    let named = fs::read_dir(NAMED).into_iter().flatten().flatten();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_number = |name: &std::ffi::OsStr| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
    let of_process = processes
        .filter(move |entry| is_number(&entry.file_name()))
        .map(|entry| entry.path().join("ns/net"));
    std::iter::once(own)
        .chain(named.map(|entry| entry.path()))
        .chain(of_process)
}

/// A file that leads into a namespace; `hint` is where it was.
pub fn find(netns_inode: u64, hint: Option<&Path>) -> Option<PathBuf> {
    let mut all = hint.map(Path::to_path_buf).into_iter().chain(places());
    all.find(|place| inode(Some(place)).is_ok_and(|inode| inode == netns_inode))
}

/// A file into each namespace, this process's first.
pub fn all() -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    places()
        .filter(|place| inode(Some(place)).is_ok_and(|inode| seen.insert(inode)))
        .collect()
}

/// A namespace in words, by a file that leads into it.
pub fn described(place: &Path) -> String {
    if place == Path::new("/proc/self/ns/net") {
        return "this namespace".to_owned();
    }
    match place.strip_prefix(NAMED) {
        Ok(name) => format!("namespace {}", name.display()),
        Err(_) => format!("namespace {}", place.display()),
    }
}
