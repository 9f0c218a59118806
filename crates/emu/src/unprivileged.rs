//! Without root: the program again, as the root of a user namespace of its own, in a network namespace that is its own
//! too.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

/// Who finds this in its environment is where nothing but a shell's parts is.
const OWN: &str = "FADELAB_EMULATE_OWN";

/// By how the outside of a shell is reached without root.
const PASTA: &str = "pasta";

/// Where this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a network namespace with others.
    Shared,
    /// In one that goes with it; `true`: with a way out.
    Own(bool),
}

/// Whether this process may make devices, and whose its network namespace is. Where it may not, it runs itself again in
/// namespaces of its own, and does not return.
///
/// # Errors
/// The system has no user namespaces.
pub fn settle() -> io::Result<Place> {
    if let Ok(way) = std::env::var(OWN) {
        return Ok(Place::Own(way == PASTA));
    }
    if geteuid().is_root() {
        return Ok(Place::Shared);
    }
    let program = fs::read_link("/proc/self/exe")?;
    let arguments = || std::env::args_os().skip(1);
    // It makes the namespaces and a device in them, and translates what goes through it into sockets of its own.
    let mut with_way_out = Command::new(PASTA);
    with_way_out
        .args(["--config-net", "--quiet", "--"])
        .arg(&program)
        .args(arguments());
    let error = with_way_out.env(OWN, PASTA).exec();
    if error.kind() != io::ErrorKind::NotFound {
        return Err(error);
    }
    let [uid, gid] = [geteuid().as_raw(), getegid().as_raw()];
    let mut closed = Command::new(&program);
    closed.args(arguments()).env(OWN, "closed");
    // SAFETY: between fork and exec, which are one process here, no other thread holds anything.
    unsafe {
        closed.pre_exec(move || {
            unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
            fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
        });
    }
    Err(closed.exec())
}
