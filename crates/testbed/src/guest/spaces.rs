//! Network namespaces: one for each node, and one for the wires between them.

use std::fs::{self, File};
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use super::{Outcome, failed};

/// Where namespaces have their names, as `ip` knows them.
pub const FOLDER: &str = "/run/netns";

/// The namespaces, open.
pub struct Spaces {
    home: File,
    nodes: Vec<File>,
    wires: File,
}

/// Name of a node's namespace, as `ip` knows it.
pub fn name(node: usize) -> String {
    format!("n{node}")
}

/// Name of the namespace of the wires.
pub const WIRES: &str = "wires";

/// The thread's own namespace.
const OWN: &str = "/proc/thread-self/ns/net";

impl Spaces {
    pub fn make(nodes: usize) -> Outcome<Self> {
        fs::create_dir_all(FOLDER).map_err(failed(FOLDER))?;
        let home = File::open(OWN).map_err(failed(OWN))?;
        let make = |name: &str| -> Outcome<File> {
            let path = Path::new(FOLDER).join(name);
            File::create(&path).map_err(failed(path.display()))?;
            unshare(CloneFlags::CLONE_NEWNET).map_err(failed("a network namespace"))?;
            mount(Some(OWN), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>).map_err(failed(path.display()))?;
            File::open(&path).map_err(failed(path.display()))
        };
        let nodes = (0..nodes).map(|node| make(&name(node))).collect::<Outcome<_>>()?;
        let wires = make(WIRES)?;
        let spaces = Self { home, nodes, wires };
        enter(&spaces.home)?;
        Ok(spaces)
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

fn enter(space: &File) -> Outcome<()> {
    setns(space, CloneFlags::CLONE_NEWNET).map_err(failed("entering a network namespace"))
}
