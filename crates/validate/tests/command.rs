//! The command: its exit status, its page, and whether the page in docs is of this version.

use std::path::Path;
use std::process::{Command, Output};

use fadelab_validate::lab::{Lab, top};
use fadelab_validate::{forms, page};

fn validate(args: &[&str], page: &Path) -> Output {
    let command = env!("CARGO_BIN_EXE_fadelab-validate");
    Command::new(command)
        .args(args)
        .arg("--page")
        .arg(page)
        .output()
        .expect("the command runs")
}

#[test]
fn a_missed_bound_is_status_1() {
    // Goal: the round trip of the idle path holds; over a longer bottleneck it misses, is named, and the status says
    // so.
    let folder = tempfile::tempdir().expect("a folder");
    let good = validate(&["path"], folder.path());
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    assert!(folder.path().join("validation.md").exists());
    let bad = validate(&["path", "--set", "topology.bottleneck.delay=81 ms"], folder.path());
    let text = String::from_utf8_lossy(&bad.stdout);
    assert_eq!(bad.status.code(), Some(1), "{text}");
    assert!(
        text.contains("misses its bound: 54 Mbit/s, 80 ms, 1040 B, round trip"),
        "{text}"
    );
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    // Goal: an unknown section is invalid input (2) and the known ones are named; a scenario that is refused ends with
    // 1.
    let folder = tempfile::tempdir().expect("a folder");
    let unknown = validate(&["paths"], folder.path());
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("possible values: path, reno"),
        "{unknown:?}"
    );
    let refused = validate(&["path", "--set", "flow.law=nobody"], folder.path());
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("nobody"),
        "{refused:?}"
    );
}

#[test]
fn the_page_in_docs_is_of_this_version() {
    // Goal: the figures of the two quickest sections in docs/validation.md are those that come out now; if not,
    // `make validate` has to write it anew.
    let shown = std::fs::read_to_string(top().join("docs/validation.md")).expect("make validate writes the page");
    let lab = Lab::new(Vec::new());
    for run in [forms::path::run, forms::channel::run] {
        let section = run(&lab).expect("its runs succeed");
        for line in page::markdown(&[section])
            .lines()
            .filter(|line| line.ends_with("| holds |"))
        {
            assert!(
                shown.contains(line),
                "docs/validation.md lacks this, run make validate:\n{line}"
            );
        }
    }
}
