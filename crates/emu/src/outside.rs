//! The way from a shell to what its parent reaches: addresses are translated by the kernel (nftables), and devices of
//! the parent's namespace pass packets on as long as a shell needs it.
//!
//! Nothing of it outlives the shell, however that ends. The table of translations belongs to a process that ends with
//! us; settings are put back by a guard, which also ends what is left running inside.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::fcntl::{Flock, FlockArg};

use crate::space::Space;

/// Settings of devices by which Linux passes packets of IPv4 on.
const SETTINGS: &str = "/proc/sys/net/ipv4/conf";

/// Of laws' options (`laws/part/option.h`).
const OPTION_KIND: u32 = 254;

/// Notes of settings that were changed, one for each namespace.
const NOTES: &str = "/run/fadelab/forwarding";

/// Translates addresses of a shell into those of the device through which its packets leave.
#[derive(Debug)]
pub struct Translation(Child);

impl Translation {
    /// For packets from `addresses` that come from `device`; `id` tells shells of one namespace apart. Codes of laws,
    /// by whose option they are known, end where packets leave for networks that read them otherwise; another shell's
    /// device is none of these.
    ///
    /// # Errors
    /// No nftables, or what it complains of.
    pub fn new(id: u32, device: &str, addresses: &str) -> io::Result<Self> {
        let mut nft = Command::new("nft")
            .arg("-i")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is not for it.
            .process_group(0)
            .spawn()
            .map_err(|error| no_nftables(&error))?;
        let table = format!("ip fadelab{id}");
        let stdin = nft.stdin.as_mut().expect("it is piped");
        // A table with an owner goes with the process that made it.
        write!(
            stdin,
            "add table {table} {{ flags owner; }}\n\
             add chain {table} out {{ type nat hook postrouting priority srcnat; }}\n\
             add chain {table} on {{ type filter hook forward priority 0; }}\n\
             add rule {table} on iifname \"{device}\" oifname != \"fade*\" \
                tcp option {OPTION_KIND} exists ip ecn set not-ect\n\
             add rule {table} out ip saddr {addresses} masquerade\n"
        )?;
        let translation = Self(nft);
        wait_for(&table)?;
        Ok(translation)
    }
}

fn no_nftables(error: &io::Error) -> io::Error {
    let what = "nft, which translates addresses";
    io::Error::other(format!(
        "{what}: {error}; install it (Debian: apt-get install nftables)"
    ))
}

/// Whoever sends a packet before a table is there has its address seen outside.
fn wait_for(table: &str) -> io::Result<()> {
    const LOOKS: u32 = 200;
    let words: Vec<&str> = ["list", "table"].into_iter().chain(table.split(' ')).collect();
    for _ in 0..LOOKS {
        let listed = Command::new("nft").args(&words).output()?;
        if String::from_utf8_lossy(&listed.stdout).contains("masquerade") {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err(io::Error::other("nftables takes no translation of addresses"))
}

impl Drop for Translation {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Ends what is left inside when its shell ends, and puts settings back when the last shell of a namespace did.
///
/// It is told so by the end of its input, which comes however we end. What it is given: the namespace inside, and the
/// note of the settings outside, or nothing; the number of the shell; and a command that undoes what its shell did
/// beside, which a shell that ends in order, and says so, has undone itself. Guards of shells inside are spared: they
/// end what runs behind those, and then themselves. The command comes when they have, and when the guard has let go of
/// the namespace, so that nobody there uses any more what it takes away.
const GUARD: &str = r#"
read -r how
end() {
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/ns/net")" = "net:[$1]" ] || continue
		tr '\0' '\n' <"$process/cmdline" | grep -qx fadelab-guard || kill -"$2" "${process#/proc/}"
	done
}
empty() {
	for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		readlink /proc/[0-9]*/ns/net | grep -qxF "net:[$1]" || return
		sleep 0.1
	done
}
restore() {
	while :; do
		command exec 8<"$1.lock" || { rm -f "$1.$2"; return; }
		flock -x 8
		[ "$1.lock" -ef /proc/self/fd/8 ] && break
	done
	users=0
	for user in "$1".[0-9]*; do
		[ "$user" != "$1.$2" ] && [ -d "/proc/${user##*.}" ] && users=1
	done
	rm -f "$1.$2"
	[ "$users" = 1 ] && return
	[ ! -e "$1" ] || while read -r device; do
		echo 0 >"/proc/sys/net/ipv4/conf/$device/forwarding"
	done <"$1"
	rm -f "$1" "$1.lock"
}
end "$1" TERM
end "$1" KILL
[ -z "$2" ] || restore "$2" "$3"
exec 8<&-
[ "$how" = ended ] && exit 0
[ $# -gt 3 ] && empty "$1"
exec >/dev/null
shift 3
"$@"
exit 0
"#;

/// What a guard is told by a shell that ends in order.
const ENDED: &[u8] = b"ended\n";

/// By this guards know each other.
const GUARD_NAME: &str = "fadelab-guard";

/// See [`GUARD`].
#[derive(Debug)]
pub struct Guard {
    child: Child,
    inside: OwnedFd,
    words: Vec<OsString>,
}

impl Guard {
    /// Of a shell whose inside is `inside`; `forwarding` is where is noted what it changes outside, and `if_killed`
    /// what is run where it is killed. To be there before anything is changed.
    ///
    /// # Errors
    /// There is no `sh`.
    pub fn new(inside: &Space, forwarding: Option<&Path>, if_killed: Vec<OsString>) -> io::Result<Self> {
        let note = forwarding.map(|path| path.as_os_str().to_owned()).unwrap_or_default();
        let (inode, id) = (inside.inode()?.to_string(), std::process::id().to_string());
        let words: Vec<OsString> = [inode.into(), note, id.into()].into_iter().chain(if_killed).collect();
        let inside = inside.as_fd().try_clone_to_owned()?;
        Ok(Self {
            child: started(&words, &inside)?,
            inside,
            words,
        })
    }
}

/// It needs not be told: whoever does not hear it does once more what is done.
fn tell_ended(guard: &mut Child) {
    if let Some(mut input) = guard.stdin.take() {
        let _ = input.write_all(ENDED);
    }
}

fn started(words: &[OsString], inside: &OwnedFd) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", GUARD, GUARD_NAME])
        .args(words)
        .stdin(Stdio::piped())
        // It says nothing. As long as it holds the namespace nobody else gets its number, whose processes it would take
        // for those of the shell.
        .stdout(Stdio::from(inside.try_clone()?))
        .stderr(Stdio::null())
        // Whoever ends our group does not end it.
        .process_group(0)
        .spawn()
}

impl Drop for Guard {
    fn drop(&mut self) {
        tell_ended(&mut self.child);
        let has_ended_well = self.child.wait().is_ok_and(|status| status.success());
        // Somebody killed it before it had done its work.
        if !has_ended_well && let Ok(mut again) = started(&self.words, &self.inside) {
            tell_ended(&mut again);
            let _ = again.wait();
        }
    }
}

/// Where is noted what is changed in this namespace.
///
/// # Errors
/// Where there is no /proc.
pub fn note() -> io::Result<PathBuf> {
    Ok(PathBuf::from(format!("{NOTES}-{}", Space::here()?.inode()?)))
}

/// Lets the devices of this namespace pass packets on that did not, and notes which these are.
///
/// # Errors
/// Settings that cannot be written.
pub fn forward(note: &Path) -> io::Result<()> {
    // Where packets pass anyway nothing is noted. Looked at on both sides: another shell may just begin or end.
    if !note.exists() && closed()?.is_empty() && !note.exists() {
        return Ok(());
    }
    let folder = note.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let _lock = locked(&beside(note, "lock"))?;
    let closed = closed()?;
    fs::write(beside(note, &std::process::id().to_string()), "")?;
    let mut noted = fs::read_to_string(note).unwrap_or_default();
    for name in &closed {
        if !noted.lines().any(|line| line == name) {
            noted += name;
            noted.push('\n');
        }
    }
    // Noted before it is done: what is put back too often is as it was.
    fs::write(note, noted)?;
    for name in &closed {
        fs::write(setting(name), "1")?;
    }
    Ok(())
}

fn setting(device: &str) -> PathBuf {
    Path::new(SETTINGS).join(device).join("forwarding")
}

/// Devices of this namespace that pass no packets on.
fn closed() -> io::Result<Vec<String>> {
    let mut closed = Vec::new();
    for entry in fs::read_dir(SETTINGS)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // These two are no devices, but what devices take over.
        if !["all", "default", "lo"].contains(&name.as_str()) && fs::read_to_string(setting(&name))?.trim() == "0" {
            closed.push(name);
        }
    }
    Ok(closed)
}

/// The lock of a note. Whoever was last removes it together with the note; one that waited for it meanwhile holds a
/// file that nobody else will find, and takes the one that is there now.
fn locked(path: &Path) -> io::Result<Flock<fs::File>> {
    loop {
        let lock = Flock::lock(fs::File::create(path)?, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
        let found = fs::metadata(path).ok();
        if found.is_some_and(|found| lock.metadata().is_ok_and(|held| held.ino() == found.ino())) {
            return Ok(lock);
        }
    }
}

fn beside(note: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}.{end}", note.display()))
}
