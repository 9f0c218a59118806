//! A law as the default of new sockets: the sysctl of a network namespace, and what it was before.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::device::within;
use crate::spaces;

/// The name of the sysctl.
pub const SYSCTL: &str = "net.ipv4.tcp_congestion_control";
const FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// What Linux has built in, the better one first: what there was before may be gone.
const BUILT_IN: [&str; 2] = ["cubic", "reno"];

/// A namespace whose default is a law of ours, written down before it is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultLaw {
    /// File of the namespace, if it is not that of the process which set it.
    pub netns: Option<PathBuf>,
    pub netns_inode: u64,
    /// The default before.
    pub before: String,
}

/// What became of a default when its law was taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// It is what it was: this.
    Back(String),
    /// What it was is gone, so it is this.
    Instead(String),
    /// Somebody has set it to this since, and it was left alone.
    Changed(String),
    /// There was nothing to do: the namespace is gone, or it is what it was already.
    Nothing,
}

impl DefaultLaw {
    /// How a namespace is now, before `name` becomes its default: a name, a path, or nothing for this one.
    ///
    /// # Errors
    /// When there is no such namespace, or the sysctl cannot be read.
    pub fn of(netns: &str, name: &str) -> io::Result<Self> {
        let netns = match netns {
            "" => None,
            path if path.contains('/') => Some(PathBuf::from(path)),
            name => Some(Path::new(spaces::NAMED).join(name)),
        };
        let before = read(netns.as_deref())?;
        Ok(Self {
            netns_inode: spaces::inode(netns.as_deref())?,
            // The name of a law that was unloaded stands there until another is set, and nothing is behind it.
            before: if before == name { built_in() } else { before },
            netns,
        })
    }

    /// Makes a congestion control the default there.
    ///
    /// # Errors
    /// When the kernel does not know it, or does not allow it.
    pub fn set(&self, name: &str) -> io::Result<()> {
        write(self.netns.as_deref(), name)
    }

    /// Takes a congestion control away as the default, if it still is.
    pub fn restore(&self, name: &str) -> Restored {
        let Some(place) = spaces::find(self.netns_inode, self.netns.as_deref()) else {
            return Restored::Nothing;
        };
        match read(Some(&place)) {
            Ok(now) if now == name => {}
            Ok(now) if now != self.before => return Restored::Changed(now),
            _ => return Restored::Nothing,
        }
        if write(Some(&place), &self.before).is_ok() {
            return Restored::Back(self.before.clone());
        }
        let other = BUILT_IN.iter().find(|built_in| write(Some(&place), built_in).is_ok());
        other.map_or(Restored::Changed(name.to_owned()), |other| {
            Restored::Instead((*other).to_owned())
        })
    }
}

/// The best that every kernel has.
fn built_in() -> String {
    let known = BUILT_IN.into_iter().find(|built_in| is_known(built_in));
    known.unwrap_or("reno").to_owned()
}

fn read(netns: Option<&Path>) -> io::Result<String> {
    let text = within(netns, || fs::read_to_string(FILE))??;
    Ok(text.trim().to_owned())
}

fn write(netns: Option<&Path>, name: &str) -> io::Result<()> {
    within(netns, || fs::write(FILE, name))?
}

/// Whether the kernel knows a congestion control.
pub(crate) fn is_known(name: &str) -> bool {
    fs::read_to_string(AVAILABLE).is_ok_and(|known| known.split_whitespace().any(|known| known == name))
}

/// The namespaces whose default has that name.
pub fn namespaces_of(name: &str) -> Vec<PathBuf> {
    let all = spaces::all().into_iter();
    all.filter(|place| read(Some(place)).is_ok_and(|now| now == name))
        .collect()
}

/// Lets each namespace whose default has the name find who has it now: a default outlives the law that it was set to.
pub fn renew(name: &str) {
    for place in namespaces_of(name) {
        // It is set to what it says, so that nothing is lost where the kernel refuses.
        let _ = write(Some(&place), name);
    }
}
