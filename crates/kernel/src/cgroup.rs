//! Where the groups of processes are.

use std::fs;
use std::path::PathBuf;

/// Where the file system of cgroups is mounted.
pub fn cgroup_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"))?;
    Some(PathBuf::from(found.get(1)?))
}
