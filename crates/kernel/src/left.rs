//! Laws that were unloaded and still live: sockets keep the law that they have, and so does the default of a namespace.
//! They go with their last user, which the kernel sees to; here is written down that they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_rs::{MapCore, MapHandle, MapType};
use serde::{Deserialize, Serialize};

use crate::default::namespaces_of;
use crate::device::within;
use crate::spaces;
use crate::turn::{self, FOLDER};

/// A law that was unloaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The congestion control's name.
    pub name: String,
    /// The law's name.
    pub law: String,
    /// The map that holds its functions, by the kernel's number: it is there for as long as somebody uses the law.
    pub map_id: u32,
}

/// Who uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Users {
    /// Sockets, those that listen too.
    pub sockets_n: usize,
    /// Namespaces of which it is the default.
    pub defaults: Vec<String>,
}

impl Left {
    /// Whether anybody uses it still.
    pub fn is_alive(&self) -> bool {
        let is_it = |map: &MapHandle| map.map_type() == MapType::StructOps && map.name() == "control";
        MapHandle::from_map_id(self.map_id).is_ok_and(|map| is_it(&map))
    }

    /// Who, as far as a file leads into their namespaces. Of a law that was loaded again under the name the users of
    /// both are told.
    pub fn users(&self) -> Users {
        Users {
            sockets_n: spaces::all().iter().map(|place| sockets_n(place, &self.name)).sum(),
            defaults: namespaces_of(&self.name)
                .iter()
                .map(|place| spaces::described(place))
                .collect(),
        }
    }

    /// Writes it down.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(&self) -> io::Result<()> {
        // Another process may just have found the folder empty and removed it.
        let mut tries = 0..20;
        loop {
            match self.write_once() {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {}
                written => return written,
            }
        }
    }

    fn write_once(&self) -> io::Result<()> {
        let file = self.file();
        turn::make(&folder())?;
        let fresh = file.with_extension("new");
        fs::write(&fresh, serde_json::to_string(self)?)?;
        fs::rename(fresh, file)
    }

    pub(crate) fn forget(&self) {
        let _ = fs::remove_file(self.file());
        // Only if they are empty.
        let _ = fs::remove_dir(folder());
        let _ = fs::remove_dir(FOLDER);
    }

    fn file(&self) -> PathBuf {
        folder().join(format!("{}-{}.json", self.name, self.map_id))
    }
}

fn folder() -> PathBuf {
    Path::new(FOLDER).join("left")
}

/// All that still live, by name; those that have gone are forgotten.
pub fn left() -> Vec<Left> {
    let files = fs::read_dir(folder()).into_iter().flatten().flatten();
    let read = |file: fs::DirEntry| -> Option<Left> {
        let is_whole = file.path().extension().is_some_and(|extension| extension == "json");
        let text = fs::read_to_string(file.path()).ok().filter(|_| is_whole)?;
        serde_json::from_str(&text).ok()
    };
    let (mut alive, gone): (Vec<Left>, Vec<Left>) = files.filter_map(read).partition(Left::is_alive);
    for left in gone {
        left.forget();
    }
    alive.sort_by(|a, b| (&a.name, a.map_id).cmp(&(&b.name, b.map_id)));
    alive
}

/// Sockets of TCP in a namespace whose congestion control has that name, as `ss` tells.
fn sockets_n(place: &Path, name: &str) -> usize {
    let told = within(Some(place), || {
        Command::new("ss").args(["-HtnaiO"]).env("LC_ALL", "C").output()
    });
    let Ok(Ok(told)) = told else { return 0 };
    let text = String::from_utf8_lossy(&told.stdout);
    let has_name = |line: &&str| line.split_whitespace().any(|word| word == name);
    text.lines().filter(has_name).count()
}
