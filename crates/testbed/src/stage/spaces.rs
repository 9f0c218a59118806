//! Network namespaces: one for each node, and one for the wires between them. They have no names and go with whoever
//! made them, however that ends.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use nix::sched::{CloneFlags, setns, unshare};

use super::{Outcome, failed};

/// The namespaces, open.
pub struct Spaces {
    home: File,
    nodes: Vec<File>,
    wires: File,
}

/// The thread's own namespace.
const OWN: &str = "/proc/thread-self/ns/net";

impl Spaces {
    /// Makes them; the thread stays where it is.
    pub fn make(nodes: usize) -> Outcome<Self> {
        let own = || File::open(OWN).map_err(failed(OWN));
        let make = || -> Outcome<File> {
            unshare(CloneFlags::CLONE_NEWNET).map_err(failed("a network namespace"))?;
            own()
        };
        let home = own()?;
        let nodes = (0..nodes).map(|_| make()).collect::<Outcome<_>>();
        let wires = make();
        enter(&home)?;
        Ok(Self {
            home,
            nodes: nodes?,
            wires: wires?,
        })
    }

    /// By which path others reach the namespace of a node as long as it is there.
    pub fn path(&self, node: usize) -> PathBuf {
        path(&self.nodes[node])
    }

    /// That of the namespace of the wires.
    pub fn path_of_wires(&self) -> PathBuf {
        path(&self.wires)
    }

    /// Does something inside a node.
    pub fn at<T>(&self, node: usize, act: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        self.inside(&self.nodes[node], act)
    }

    /// Does something among the wires.
    pub fn at_wires<T>(&self, act: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        self.inside(&self.wires, act)
    }

    fn inside<T>(&self, space: &File, act: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        enter(space)?;
        let outcome = act();
        enter(&self.home)?;
        outcome
    }
}

fn path(space: &File) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), space.as_raw_fd()))
}

fn enter(space: &File) -> Outcome<()> {
    setns(space, CloneFlags::CLONE_NEWNET).map_err(failed("entering a network namespace"))
}
