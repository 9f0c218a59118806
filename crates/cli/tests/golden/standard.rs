//! The standard runs of `tests/golden/standard-runs.toml`, and the hashes of what they give.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use twox_hash::XxHash3_128;

use super::rows;
use super::text::Table;

/// The hashed files, in the order of the columns: figures and tables as text, which does not depend on the version of
/// the library that writes Parquet.
const HASHED: [(&str, &str); 8] = [
    ("summary", "summary.json"),
    ("runs", "csv/runs.csv"),
    ("links", "csv/links.csv"),
    ("flows", "csv/flows.csv"),
    ("flow_totals", "csv/flow_totals.csv"),
    ("groups", "csv/groups.csv"),
    ("completions", "csv/completions.csv"),
    ("histograms", "csv/histograms.csv"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    run: Vec<StandardRun>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandardRun {
    pub name: String,
    /// A ready-made scenario, or a file beside the list.
    pub scenario: String,
    /// Arguments of `--set`.
    pub set: Vec<String>,
    /// Whether debug and release builds are compared by it.
    #[serde(default)]
    pub release: bool,
}

/// All of them.
pub fn all() -> Vec<StandardRun> {
    let text = fs::read_to_string(super::path("standard-runs.toml")).unwrap();
    toml::from_str::<List>(&text)
        .unwrap_or_else(|error| panic!("{error}"))
        .run
}

impl StandardRun {
    /// The scenario as the program is told it.
    pub fn scenario(&self) -> String {
        if self.scenario.contains('.') {
            super::path(&self.scenario).display().to_string()
        } else {
            self.scenario.clone()
        }
    }

    /// The arguments of `--set`, with every registered law in place of `LAWS`.
    pub fn sets(&self) -> Vec<String> {
        let laws = format!("['{}']", rows::laws().join("', '"));
        self.set.iter().map(|set| set.replace("LAWS", &laws)).collect()
    }

    /// Runs it with a program on so many threads and returns every file of the result but the manifest, which has the
    /// wall time: names and contents, sorted.
    pub fn files(&self, program: &Path, threads: u32) -> Vec<(String, Vec<u8>)> {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command.current_dir(scratch.path()).stdin(Stdio::null());
        command.args(["run", &self.scenario(), "--quiet", "--csv", "--out", "out"]);
        command.args(["--jobs", &threads.to_string()]);
        command.args(self.sets().iter().flat_map(|set| ["--set", set]));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", self.name);
        let mut files = Vec::new();
        add_files(&scratch.path().join("out"), "", &mut files);
        files.retain(|(name, _)| name != "manifest.json");
        files.sort();
        files
    }
}

fn add_files(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            add_files(&path, &format!("{name}/"), files);
        } else {
            files.push((name, fs::read(&path).unwrap()));
        }
    }
}

/// What files of one version do not share with those of another: their names.
pub fn differing(one: &[(String, Vec<u8>)], other: &[(String, Vec<u8>)]) -> Vec<String> {
    let missing = |from: &[(String, Vec<u8>)], of: &[(String, Vec<u8>)]| -> Vec<String> {
        let is_in = |file: &(String, Vec<u8>)| from.contains(file);
        of.iter()
            .filter(|file| !is_in(file))
            .map(|file| file.0.clone())
            .collect()
    };
    let mut names = missing(one, other);
    names.extend(missing(other, one));
    names.sort();
    names.dedup();
    names
}

/// The row of a run in `hashes.txt`.
pub fn hashes(run: &StandardRun, files: &[(String, Vec<u8>)]) -> Vec<String> {
    let hash = |&(_, name): &(&str, &str)| {
        let (_, bytes) = files.iter().find(|file| file.0 == name).expect("a file of the result");
        // A name is enough to see that bytes moved; 64 bits of it are more than enough.
        format!("{:016x}", XxHash3_128::oneshot(bytes) as u64)
    };
    [run.name.clone()].into_iter().chain(HASHED.iter().map(hash)).collect()
}

/// The table of all hashes.
pub fn table(rows: Vec<Vec<String>>) -> Table {
    let introduction = "\
Hashes (XXH3, 64 of 128 bits) of what each standard run of standard-runs.toml gives: summary.json and the tables as CSV.
They are the same whatever the number of threads, in debug and in release builds. A hash that moves is a result that
moved, however little.";
    Table {
        introduction: introduction.to_owned(),
        heading: ["run"].into_iter().chain(HASHED.iter().map(|file| file.0)).collect(),
        keys: 1,
        rows,
    }
}
