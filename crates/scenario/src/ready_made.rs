//! Scenarios that come with the program, by name, and the traces that they replay.

use std::path::Path;

use crate::error::{nearest, one_of};

include!(concat!(env!("OUT_DIR"), "/ready_made.rs"));

/// A ready-made scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyMade {
    /// Its name, that of its file.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

impl ReadyMade {
    /// What it shows, one sentence: the file's first line.
    pub fn shows(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or("");
        line.trim_start_matches("# Shows ").trim_end_matches('.')
    }
}

/// All of them, by name.
pub fn all() -> impl Iterator<Item = ReadyMade> {
    SCENARIOS.iter().map(|(name, text)| ReadyMade { name, text })
}

/// The one that a path names: a bare name without `.toml`.
pub fn find(path: &Path) -> Option<ReadyMade> {
    all().find(|ready| path.as_os_str() == ready.name)
}

/// The one of this name.
///
/// # Errors
/// There is none, with the names that there are.
pub fn named(name: &str) -> Result<ReadyMade, String> {
    find(Path::new(name)).ok_or_else(|| {
        let known: Vec<&str> = all().map(|ready| ready.name).collect();
        let near = nearest(name, &known);
        format!(
            "no ready-made scenario is named `{name}`: there are {}{near}",
            one_of(&known)
        )
    })
}

/// A trace that comes with the program, by the name of its file in whatever folder; used where there is no such file.
pub(crate) fn trace(path: &Path) -> Option<&'static str> {
    let is_here = path.parent()?.file_name()? == "traces" && path.extension()? == "down";
    let name = path.file_stem().filter(|_| is_here)?;
    TRACES.iter().find(|(known, _)| name == *known).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_found_by_name() {
        // Goal: a bare name finds its scenario; files, paths and unknown names find none.
        let satellite = find(Path::new("satellite")).unwrap();
        assert_eq!(find(Path::new("satellite.toml")), None);
        assert!(
            satellite.shows().starts_with("VCP, XCP and Reno"),
            "{}",
            satellite.shows()
        );
        assert_eq!(find(Path::new("scenarios/satellite")), None);
        assert_eq!(find(Path::new("satelite")), None);
        assert!(all().count() >= 8);
    }

    #[test]
    fn traces_are_found_in_their_folder_only() {
        // Goal: the trace of a ready-made scenario is found wherever that scenario was copied to, and no other file is.
        assert!(trace(Path::new("somewhere/traces/generated-lte.down")).is_some());
        assert!(trace(Path::new("generated-lte.down")).is_none());
        assert!(trace(Path::new("traces/other.down")).is_none());
    }
}
