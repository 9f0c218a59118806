//! Where the groups of processes are.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the file system of cgroups is mounted.
pub fn cgroup_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"))?;
    Some(PathBuf::from(found.get(1)?))
}

/// A group of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its folder.
    pub path: PathBuf,
    /// By which the kernel knows it until it is removed.
    pub id: u64,
}

impl Group {
    /// The group whose folder that is.
    ///
    /// # Errors
    /// When there is none, or it is not one of cgroup v2.
    pub fn at(path: &Path) -> io::Result<Self> {
        if !is_cgroup(path)? {
            return Err(io::Error::other("it is not a folder of a cgroup v2"));
        }
        Ok(Self {
            path: path.to_owned(),
            id: fs::metadata(path)?.ino(),
        })
    }
}

/// Whether a path is a folder of a cgroup v2.
///
/// # Errors
/// When it cannot be opened.
pub fn is_cgroup(path: &Path) -> io::Result<bool> {
    let opened = File::open(path)?;
    let mut told = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and the kernel fills the structure where it answers 0.
    let file_system = unsafe {
        match libc::fstatfs(opened.as_raw_fd(), told.as_mut_ptr()) {
            0 => told.assume_init().f_type,
            _ => return Err(io::Error::last_os_error()),
        }
    };
    Ok(file_system == libc::CGROUP2_SUPER_MAGIC && opened.metadata()?.is_dir())
}
