//! Names behind a link: a resolver that answers on the parent's loopback device alone is out of the command's reach.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

const USED: &str = "/etc/resolv.conf";

/// Where systemd keeps the servers that its own resolver asks.
const ASKED: &str = "/run/systemd/resolve/resolv.conf";

/// Lets a command find names, where it could not by what its parent uses: it sees the servers that are asked in the
/// end.
pub fn reach(command: &mut Command) {
    let is_local = fs::read_to_string(USED).is_ok_and(|text| answers_on_loopback_alone(&text));
    if !is_local || !Path::new(ASKED).exists() {
        return;
    }
    // It may be a link to a file that others see too.
    let used = fs::canonicalize(USED).unwrap_or_else(|_| PathBuf::from(USED));
    let show = move || -> io::Result<()> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)?;
        mount(Some(ASKED), &used, none, MsFlags::MS_BIND, none)?;
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, which are safe to call there.
    unsafe { command.pre_exec(show) };
}

fn answers_on_loopback_alone(text: &str) -> bool {
    let servers = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
    let mut addresses = servers.filter_map(|rest| rest.trim().parse::<IpAddr>().ok()).peekable();
    addresses.peek().is_some() && addresses.all(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolver_of_its_own_machine_is_known() {
        // Goal: only where all servers are on the loopback device, of either version, names need another way.
        let cases = [
            ("nameserver 127.0.0.53\noptions edns0\n", true),
            ("# here\n nameserver ::1\nnameserver 127.0.0.1", true),
            ("nameserver 127.0.0.53\nnameserver 192.0.2.1", false),
            ("nameserver 192.0.2.1", false),
            ("search example.org", false),
            ("", false),
        ];
        for (text, is_local) in cases {
            assert_eq!(answers_on_loopback_alone(text), is_local, "{text}");
        }
    }
}
