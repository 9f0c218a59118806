//! Sweeps that do not come to their end: complete results or none, and nothing is run twice.

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{SCENARIO, Scratch, assert_status, stderr, stdout};

/// Long enough that a signal meets it at work.
const LONG: [&str; 2] = ["--set", "run.duration=400 s"];

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "s.toml"], &LONG[..], more].concat()
}

/// Every file of a result but the manifest, which has the wall time.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| !file.ends_with("manifest.json"));
    files.sort();
    let read = |file: PathBuf| (PathBuf::from(file.file_name().unwrap()), fs::read(&file).unwrap());
    files.into_iter().map(read).collect()
}

fn kept(scratch: &Scratch, folder: &str) -> usize {
    let names = fs::read_dir(scratch.0.join(folder)).into_iter().flatten().flatten();
    names
        .filter(|entry| entry.path().extension().is_some_and(|name| name == "run"))
        .count()
}

fn signal(child: &Child, name: &str) {
    // The process may have ended by itself: then there is nobody to tell.
    let _ = Command::new("kill")
        .args([name, &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Starts a sweep and sends a signal `after_ms` after one run more than before was kept; false if it ended before.
fn interrupt(scratch: &Scratch, arguments: &[&str], folder: &str, name: &str, after_ms: u64) -> bool {
    let before = kept(scratch, folder);
    let mut child = scratch
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while kept(scratch, folder) <= before && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(after_ms));
    signal(&child, name);
    let output = child.wait_with_output().unwrap();
    if name == "-INT" && output.status.code() == Some(130) {
        let text = stderr(&output);
        assert!(text.contains(" of 9 runs are finished and kept in "), "{text}");
        assert!(text.contains("the same command goes on with them:\n"), "{text}");
    }
    !output.status.success()
}

#[test]
fn a_sweep_that_is_stopped_again_and_again_gives_the_same_bytes() {
    // Goal: SIGINT and SIGKILL at changing moments leave no result; each new start takes up what was finished, and in
    // the end the result is that of a sweep that nobody stopped, with nothing beside it.
    let scratch = Scratch::new();
    assert_status(&scratch.fadelab(&run(&["--quiet", "--out", "whole"])), 0);
    let whole = contents(&scratch.0.join("whole"));
    for round in 0..3 {
        let out = format!("out{round}");
        let arguments = run(&["--jobs", "2", "--quiet", "--out", &out]);
        let unfinished = format!(".{out}.unfinished");
        let mut stops = 0;
        while stops < 5 && !scratch.0.join(&out).exists() {
            let name = if (round + stops) % 2 == 0 { "-KILL" } else { "-INT" };
            let before = kept(&scratch, &unfinished);
            let stopped = interrupt(&scratch, &arguments, &unfinished, name, 7 * stops + 3 * round);
            assert_eq!(
                stopped,
                !scratch.0.join(&out).exists(),
                "a result is complete or not there"
            );
            assert!(
                !stopped || kept(&scratch, &unfinished) > before,
                "what is finished stays"
            );
            stops += 1;
        }
        assert!(stops > 1, "the sweep ended before it could be stopped");
        if !scratch.0.join(&out).exists() {
            assert_status(&scratch.fadelab(&arguments), 0);
        }
        assert!(contents(&scratch.0.join(&out)) == whole, "round {round}");
    }
    assert_eq!(scratch.entries("."), ["out0", "out1", "out2", "s.toml", "whole"]);
}

#[test]
fn a_sweep_that_goes_on_says_what_it_takes() {
    // Goal: the second start names the runs that it takes; more seeds take them too, --fresh does not.
    let scratch = Scratch::new();
    let stopped = interrupt(&scratch, &run(&["--out", "a"]), ".a.unfinished", "-INT", 0);
    assert!(stopped);
    let found = kept(&scratch, ".a.unfinished");
    let more = run(&["--out", "a", "--seeds", "1..4", "--jobs", "1"]);
    assert!(interrupt(&scratch, &more, ".a.unfinished", "-KILL", 0));
    let found_more = kept(&scratch, ".a.unfinished");
    assert!(found_more > found);
    let output = scratch.fadelab(&more);
    assert_status(&output, 0);
    let text = format!("{found_more} of 12 runs were finished before and are taken from ./.a.unfinished");
    assert!(stderr(&output).contains(&text), "{}", stderr(&output));
    let taken = format!("{found_more} of them taken from before");
    assert!(stdout(&output).contains(&taken), "{}", stdout(&output));
    assert!(interrupt(&scratch, &run(&["--out", "b"]), ".b.unfinished", "-INT", 0));
    let fresh = scratch.fadelab(&run(&["--out", "b", "--fresh"]));
    assert_status(&fresh, 0);
    assert!(stdout(&fresh).contains("packets per CPU second"), "{}", stdout(&fresh));
    assert_eq!(scratch.entries("."), ["a", "b", "s.toml"]);
}

#[test]
fn a_changed_scenario_takes_nothing() {
    // Goal: another value of a key, and a trace under the same name in which the last opportunity is 1 ms later, run
    // everything again, and say that something else lies there.
    let scratch = Scratch::new();
    let generated = scratch.fadelab(&["trace", "generate", "--duration", "10 s"]);
    let trace = String::from_utf8(generated.stdout).unwrap();
    let (before, last_ms) = trace.trim_end().rsplit_once('\n').unwrap();
    let later_ms = last_ms.parse::<u64>().unwrap() + 1;
    scratch.write("cell.down", &trace);
    scratch.write(
        "s.toml",
        SCENARIO.replace("rate = \"2 Mbit/s\"", "trace = \"cell.down\""),
    );
    let arguments = run(&["--out", "a"]);
    assert!(interrupt(&scratch, &arguments, ".a.unfinished", "-KILL", 0));
    let found = kept(&scratch, ".a.unfinished");
    scratch.write("cell.down", format!("{before}\n{later_ms}\n"));
    for (more, out) in [(&[][..], "a"), (&["--set", "flow.count=2"], "a2")] {
        if out == "a2" {
            fs::rename(scratch.0.join("a"), scratch.0.join("a1")).unwrap();
        }
        let output = scratch.fadelab(&[&arguments[..], more].concat());
        assert_status(&output, 0);
        assert!(!stderr(&output).contains("finished before"), "{}", stderr(&output));
        assert!(stderr(&output).contains(".a.unfinished keeps "), "{}", stderr(&output));
        assert_eq!(kept(&scratch, ".a.unfinished"), found);
    }
}

/// Runs the program in a shell in which no file may grow beyond `blocks` of 512 bytes.
fn within(scratch: &Scratch, blocks: u32, arguments: &[&str]) -> std::process::Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_fadelab")])
        .args(arguments);
    command.current_dir(&scratch.0).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_disk_without_room_leaves_no_result_and_says_what_was_kept() {
    // Goal: when the result does not fit, its runs do; when not even a run fits, the sweep stops at once. Either way
    // status 1, the file, the reason, what is kept, and the same command ends it when there is room.
    let scratch = Scratch::new();
    let arguments = run(&["--out", "a"]);
    let no_run = within(&scratch, 2, &arguments);
    assert_status(&no_run, 1);
    let text = stderr(&no_run);
    assert!(
        text.contains("cannot write ./.a.unfinished/") && text.contains("File too large"),
        "{text}"
    );
    assert!(text.contains("nothing was written"), "{text}");
    let no_result = within(&scratch, 300, &arguments);
    assert_status(&no_result, 1);
    let text = stderr(&no_result);
    assert!(
        text.contains("cannot write ./.a.partial-") && text.contains("File too large"),
        "{text}"
    );
    assert!(
        text.contains("9 of 9 runs are finished and kept in ./.a.unfinished"),
        "{text}"
    );
    assert_eq!(scratch.entries("."), [".a.unfinished", "s.toml"]);
    let output = scratch.fadelab(&arguments);
    assert_status(&output, 0);
    assert!(
        stderr(&output).contains("9 of 9 runs were finished before"),
        "{}",
        stderr(&output)
    );
    assert_eq!(scratch.entries("."), ["a", "s.toml"]);
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_runs() {
    // Goal: status 2 and nothing written where a file stands in the way or the folder may not be written.
    let scratch = Scratch::new();
    fs::create_dir(scratch.0.join("closed")).unwrap();
    let closed = Command::new("chmod")
        .args(["555", "closed"])
        .current_dir(&scratch.0)
        .status();
    assert!(closed.unwrap().success());
    let cases = [
        ("s.toml/x", "s.toml exists and is not a folder"),
        ("s.toml", "s.toml exists and is not a folder"),
        ("..", "does not name a folder to create"),
        ("closed/deep/x", "nothing can be written in closed: Permission denied"),
    ];
    for (out, part) in cases {
        let arguments = ["run", "s.toml", "--set", "run.duration=4000 s", "--out", out];
        let mut command = scratch.command(&arguments);
        if out.starts_with("closed") && !needs_modes(&mut command) {
            eprintln!("skipped: this user may write anywhere and setpriv is missing");
            continue;
        }
        let output = command.output().unwrap();
        assert_status(&output, 2);
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    assert_eq!(scratch.entries("."), ["closed", "s.toml"]);
}

/// Makes the modes of files count for the superuser too, whom they do not bind otherwise; false if that cannot be done.
fn needs_modes(command: &mut Command) -> bool {
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        return true;
    }
    let limits = "--bounding-set=-dac_override,-dac_read_search";
    if !Command::new("setpriv")
        .args([limits, "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        return false;
    }
    let mut bound = Command::new("setpriv");
    bound.arg(limits).arg(command.get_program()).args(command.get_args());
    bound
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::null());
    *command = bound;
    true
}

#[test]
fn a_result_of_an_odd_name_can_be_seen() {
    // Goal: scenarios whose names are all dots or begin with one do not give hidden results.
    let scratch = Scratch::new();
    for name in ["..toml", ".hidden.toml", "-a b.toml"] {
        scratch.write(name, SCENARIO);
        let path = format!("./{name}");
        assert_status(&scratch.fadelab(&["run", &path, "--quiet", "--seeds", "1"]), 0);
    }
    assert_eq!(scratch.entries("results"), ["-a b-001", "hidden-001", "scenario-001"]);
}

#[test]
fn a_table_that_cannot_be_printed_does_not_hide_the_result() {
    // Goal: a full device as standard output is a failure that says where the result is.
    let scratch = Scratch::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = scratch.command(&["run", "s.toml"]).stdout(full).output().unwrap();
    assert_status(&output, 1);
    assert!(
        stderr(&output).contains("the result is complete in results/s-001"),
        "{}",
        stderr(&output)
    );
    assert!(scratch.0.join("results/s-001/report.html").exists());
}

#[test]
fn a_folder_whose_name_is_no_text_is_in_the_command_that_goes_on() {
    // Goal: Ctrl-C in a command with an argument that is not UTF-8 says how to go on, like any other.
    let scratch = Scratch::new();
    let mut child = scratch
        .command(&run(&[
            "--jobs",
            "1",
            "--quiet",
            "--set",
            "run.duration=2000 s",
            "--out",
        ]))
        .arg(OsStr::from_bytes(b"out\xff"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while kept(&scratch, ".out\u{fffd}.unfinished") == 0 && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_status(&output, 130);
    assert!(stderr(&output).ends_with(" --out $'out\\377'\n"), "{}", stderr(&output));
}

#[test]
fn a_sweep_without_room_leaves_nothing_and_asks_for_it() {
    // Goal: a run that cannot be kept for want of room says so and leaves no empty folder; for another reason nobody is
    // told to make room.
    let scratch = Scratch::new();
    let output = common::without_room(&scratch, &["run", "s.toml", "--quiet"]);
    assert_status(&output, 1);
    assert!(
        stderr(&output).contains("nothing was written; make room there"),
        "{}",
        stderr(&output)
    );
    assert_eq!(scratch.entries("results"), Vec::<String>::new());
    scratch.write("results/.s.unfinished", "no folder");
    let output = scratch.fadelab(&["run", "s.toml", "--quiet"]);
    assert_status(&output, 1);
    assert!(
        stderr(&output).ends_with("\nnothing was written\n"),
        "{}",
        stderr(&output)
    );
}
