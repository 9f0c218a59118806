//! The program away from its source tree: what it needs is inside it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for a test, gone when the test ends.
struct Empty(PathBuf);

impl Empty {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fadelab-alone-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Runs the program in the folder with an empty environment.
    fn fadelab(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
        command
            .args(arguments)
            .current_dir(&self.0)
            .env_clear()
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    /// What it prints where it succeeds.
    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.fadelab(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn ready_made_scenarios_run_by_name() {
    // Goal: every scenario of the list checks and shows by its name, one that replays a trace runs, and one that was
    // printed and saved is the same scenario.
    let here = Empty::new("names");
    let list = here.prints(&["scenarios"]);
    for name in ["satellite", "lte", "integrated"] {
        assert!(list.contains(name), "{list}");
        let text = here.prints(&["scenarios", name]);
        assert!(text.starts_with("# Shows "), "{text}");
        fs::write(here.0.join("mine.toml"), &text).unwrap();
        assert_eq!(here.prints(&["show", "mine.toml"]), here.prints(&["show", name]));
        assert!(here.prints(&["check", name]).contains(": good"));
    }
    here.prints(&["run", "lte", "--quiet", "--seeds", "1", "--set", "run.duration=6 s"]);
    assert!(here.0.join("results/lte-001/report.html").is_file());
}

#[test]
fn papers_are_reproduced_without_their_folder() {
    // Goal: the claims of a paper and the scenarios they name are in the program; a folder that is named must exist.
    let here = Empty::new("papers");
    let ledger = here.prints(&[
        "reproduce",
        "vcp-ton-2010",
        "--claim",
        "fig3.vcp-converges",
        "--seeds",
        "1",
    ]);
    assert!(ledger.contains("fig3.vcp-converges"), "{ledger}");
    let output = here.fadelab(&["reproduce", "vcp-ton-2010", "--papers", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    let output = here.fadelab(&["reproduce", "vcp-milcom-2007", "--ground", "virtual"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("add sim, such as --ground sim,virtual"), "{told}");
}

#[test]
fn shells_and_editors_are_served() {
    // Goal: each shell gets completions that know the subcommands, man gets its pages, editors their schema.
    let here = Empty::new("shells");
    for shell in ["bash", "zsh", "fish"] {
        let script = here.prints(&["completions", shell]);
        for word in ["run", "check", "scenarios", "--max-runs"] {
            assert!(
                script.contains(word.trim_start_matches("--")),
                "{shell} knows no {word}"
            );
        }
    }
    here.prints(&["man", "."]);
    let page = fs::read_to_string(here.0.join("fadelab-check.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("max\\-runs"), "{page}");
    let schema = here.prints(&["schema"]);
    assert!(schema.starts_with("{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\""));
}

#[test]
fn several_scenarios_are_checked_at_once() {
    // Goal: good ones are described, wrong ones all named, and one of those is enough for status 2.
    let here = Empty::new("check");
    fs::write(here.0.join("a.toml"), "[flow]\nlwa = 'reno'\n").unwrap();
    fs::write(here.0.join("b.toml"), "[flow]\nlaw = 'reno'\n[run]\nduration = 3\n").unwrap();
    let output = here.fadelab(&["check", "a.toml", "satellite", "b.toml"]);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stdout.contains("satellite: good\n  30 runs over flow.law, run.seeds, 30000 virtual s"),
        "{stdout}"
    );
    assert!(stderr.contains("a.toml:2: unknown key `flow.lwa`"), "{stderr}");
    assert!(
        stderr.contains("b.toml:4: run.duration = 3: the unit is missing"),
        "{stderr}"
    );
    assert!(
        here.prints(&["check", "satellite", "--set", "flow.law=vcp", "--seeds", "1..2"])
            .contains("2 runs")
    );
}

#[test]
fn a_scenario_is_checked_for_where_it_is_to_run() {
    // Goal: what only the simulator runs is good there, and for a kernel each key that has no counterpart is named.
    let here = Empty::new("on");
    assert!(here.prints(&["check", "satellite"]).contains(": good"));
    assert!(here.prints(&["check", "kernel", "--on", "virtual"]).contains(": good"));
    for ground in ["virtual", "live"] {
        assert!(here.prints(&["check", "wireless", "--on", ground]).contains(": good"));
    }
    let own = ["check", "kernel", "--on", "virtual", "--set", "flow.law=linux:cubic"];
    assert!(
        here.prints(&own).contains(": good"),
        "a law of Linux's own is one there"
    );
    let output = here.fadelab(&["check", "satellite", "--on", "virtual"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.contains("`transport.rtt_samples`") && stderr.contains("satellite"),
        "{stderr}"
    );
}
