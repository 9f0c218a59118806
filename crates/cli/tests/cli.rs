//! The program as a person meets it: exit status, messages, files, and the same bytes every time.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{SCENARIO, Scratch, assert_status, listens, stderr, stdout};

#[test]
fn a_run_leaves_a_numbered_folder_and_a_table() {
    // Goal: `fadelab run` prints a table with each law, and numbers its folders on.
    let scratch = Scratch::new();
    for number in ["001", "002"] {
        let output = scratch.fadelab(&["run", "s.toml"]);
        assert_status(&output, 0);
        let text = stdout(&output);
        for part in [
            "vcp",
            "xcp",
            "reno+rem",
            "9 runs, 180 virtual s",
            "packets per CPU second",
            "report.html",
        ] {
            assert!(text.contains(part), "`{part}` is missing in:\n{text}");
        }
        assert_eq!(stderr(&output), "");
        let files = scratch.entries(&format!("results/s-{number}"));
        for file in [
            "links.parquet",
            "manifest.json",
            "report.html",
            "runs.parquet",
            "summary.json",
        ] {
            assert!(files.contains(&file.to_owned()), "{file} is missing in {files:?}");
        }
    }
    assert_eq!(scratch.entries("results"), ["s-001", "s-002"]);
}

#[test]
fn a_redirected_run_tells_how_far_it_is() {
    // Goal: without a terminal lines stand for the bar, here each time that something is told; `--quiet` has none.
    let scratch = Scratch::new();
    let told = |more: &[&str]| {
        let mut command = scratch.command(&["run", "s.toml", "--seeds", "1", "--jobs", "1"]);
        let output = command.args(more).env("FADELAB_PROGRESS_S", "0").output().unwrap();
        assert_status(&output, 0);
        stderr(&output)
    };
    let text = told(&[]);
    let last = text.lines().last().unwrap_or_default();
    assert_eq!(last, "3/3 runs, 60/60 virtual s", "{text}");
    assert!(text.contains(" virtual s, about "), "{text}");
    assert_eq!(told(&["--quiet"]), "");
}

#[test]
fn a_result_names_the_commit_and_the_command() {
    // Goal: the manifest says which program was asked what, in the words of `--version`; two equal runs have manifests
    // that differ in the command and in what was measured of the machine, and in nothing else.
    let scratch = Scratch::new();
    let manifest = |out: &str| -> serde_json::Map<String, serde_json::Value> {
        let set = "flow.count=2";
        assert_status(
            &scratch.fadelab(&["run", "s.toml", "-q", "--set", set, "--out", out]),
            0,
        );
        serde_json::from_slice(&fs::read(scratch.0.join(out).join("manifest.json")).unwrap()).unwrap()
    };
    let (mut one, mut other) = (manifest("one"), manifest("an other"));
    let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
    assert!(text("command").ends_with("fadelab run s.toml -q --set flow.count=2 --out one"));
    assert!(other["command"].as_str().unwrap().ends_with("--out 'an other'"));
    let version = stdout(&scratch.fadelab(&["--version"]));
    let named = format!("(commit {} of {})", text("commit"), text("commit_date"));
    assert!(version.contains(&named), "{version} is not {named}");
    for key in ["command", "wall_time_s", "sharing"] {
        assert!(one.remove(key).is_some() && other.remove(key).is_some(), "{key}");
    }
    assert_eq!(one, other);
}

#[test]
fn the_program_names_its_commit_in_one_place() {
    // Goal: the image of a guest finds the commit where it is, in a field of a fixed length, and nowhere else: the
    // bytes of the guest's program are those of the code.
    let scratch = Scratch::new();
    let version = stdout(&scratch.fadelab(&["--version"]));
    let hash = version.split_once("(commit ").unwrap().1.split(' ').next().unwrap();
    if hash == "unknown" {
        println!("skipped: the commit in the program: these sources are no checkout of git");
        return;
    }
    assert!(hash.trim_end_matches('+').len() == 40, "{version}");
    let program = fs::read(env!("CARGO_BIN_EXE_fadelab")).unwrap();
    let places: Vec<usize> = (0..program.len() - hash.len())
        .filter(|&place| program[place..].starts_with(hash.as_bytes()))
        .collect();
    assert_eq!(places.len(), 1);
    let field = std::str::from_utf8(&program[places[0]..places[0] + 64]).unwrap();
    let words: Vec<&str> = field.split_whitespace().collect();
    assert!(
        words.len() == 2 && words[0] == hash && version.contains(words[1]),
        "{field}"
    );
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    // Goal: twice, and with one and two threads, every file but the manifest is byte-identical; another seed differs.
    let scratch = Scratch::new();
    for (out, jobs, seeds) in [
        ("a", "1", "1..3"),
        ("b", "2", "1..3"),
        ("c", "2", "1..3"),
        ("d", "2", "4..6"),
    ] {
        let output = scratch.fadelab(&[
            "run", "s.toml", "--quiet", "--jobs", jobs, "--seeds", seeds, "--out", out,
        ]);
        assert_status(&output, 0);
        assert_eq!(stdout(&output) + &stderr(&output), "");
    }
    let read = |out: &str, file: &str| fs::read(scratch.0.join(out).join(file)).unwrap();
    let files = scratch.entries("a");
    assert!(
        files.iter().filter(|file| file.ends_with(".parquet")).count() >= 4,
        "{files:?}"
    );
    for file in files.iter().filter(|file| *file != "manifest.json") {
        assert!(
            read("a", file) == read("b", file),
            "{file} depends on the number of threads"
        );
        assert!(read("b", file) == read("c", file), "{file} differs from run to run");
    }
    assert!(
        read("a", "links.parquet") != read("d", "links.parquet"),
        "the seed changes nothing"
    );
}

#[test]
fn what_show_prints_runs_the_same() {
    // Goal: the resolved scenario, run by itself, gives the very bytes of the scenario that it resolves.
    let scratch = Scratch::new();
    let shown = scratch.fadelab(&["show", "s.toml"]);
    assert_status(&shown, 0);
    assert!(
        stdout(&shown).starts_with("# 9 runs over flow.law, run.seeds\n"),
        "{}",
        stdout(&shown)
    );
    scratch.write("resolved.toml", &shown.stdout);
    for (file, out) in [("s.toml", "a"), ("resolved.toml", "b")] {
        assert_status(&scratch.fadelab(&["run", file, "--quiet", "--out", out]), 0);
    }
    for file in scratch.entries("a").iter().filter(|file| file.ends_with(".parquet")) {
        let read = |out: &str| fs::read(scratch.0.join(out).join(file)).unwrap();
        assert!(read("a") == read("b"), "{file}");
    }
}

#[test]
fn an_occupied_folder_is_refused_before_the_runs() {
    // Goal: results are never written over others, and nobody waits for a run to learn so.
    let scratch = Scratch::new();
    fs::create_dir(scratch.0.join("taken")).unwrap();
    scratch.write("taken/note", "mine");
    let output = scratch.fadelab(&["run", "s.toml", "--set", "run.duration=2000 s", "--out", "taken"]);
    assert_status(&output, 2);
    assert!(
        stderr(&output).contains("taken exists and is not empty"),
        "{}",
        stderr(&output)
    );
    assert_eq!(scratch.entries("taken"), ["note"]);
}

#[test]
fn invalid_input_is_exit_status_2() {
    // Goal: a wrong scenario, --set, file, seed or sweep ends with status 2, one message, and no folder.
    let scratch = Scratch::new();
    scratch.write("typo.toml", SCENARIO.replace("[flow]", "[flwo]"));
    scratch.write("noise.toml", [0xff, 0xfe, 0]);
    let cases: [(&[&str], &str); 8] = [
        (&["run", "typo.toml"], "typo.toml:22: unknown key `flwo`"),
        (&["show", "typo.toml"], "did you mean `flow`?"),
        (&["run", "noise.toml"], "not a text file"),
        (&["run", "none.toml"], "none.toml: cannot be read"),
        (&["run", "s.toml", "--set", "flow.law=vpc"], "did you mean `vcp`?"),
        (&["run", "s.toml", "--seed", "x"], "run.seeds = \"x\""),
        (
            &["run", "s.toml", "--max-runs", "8"],
            "the sweep has 9 runs (3 of flow.law x 3 of run.seeds), allowed are 8",
        ),
        (&["run", "s.toml", "--jobs", "0"], "a whole number from 1 on is needed"),
    ];
    for (arguments, part) in cases {
        let output = scratch.fadelab(arguments);
        assert_status(&output, 2);
        assert!(
            stderr(&output).contains(part),
            "`{part}` is missing in: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "");
    }
    assert_eq!(scratch.entries("."), ["noise.toml", "s.toml", "typo.toml"]);
}

#[test]
fn one_seed_is_called_one_seed() {
    // Goal: warnings go to standard error and do not stop a run; --quiet silences them.
    let scratch = Scratch::new();
    let output = scratch.fadelab(&["run", "s.toml", "--seed", "7", "--out", "a"]);
    assert_status(&output, 0);
    assert!(
        stderr(&output).contains("warning: one seed only"),
        "{}",
        stderr(&output)
    );
    let output = scratch.fadelab(&["run", "s.toml", "--seed", "7", "--quiet", "--out", "b"]);
    assert_eq!(stderr(&output), "");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_leaves_nothing() {
    // Goal: Ctrl-C ends a long run with status 130 and leaves no file behind.
    let scratch = Scratch::new();
    let arguments = [
        "run",
        "s.toml",
        "--set",
        "run.duration=1000000 s",
        "--set",
        "run.record=false",
        "--out",
        "long",
    ];
    let mut child = scratch
        .command(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !listens(child.id()) {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it listened");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(scratch.entries("."), ["s.toml"]);
}

#[test]
fn a_trace_replaces_the_bottleneck() {
    // Goal: a generated trace is taken by --set, relative to the working directory, and the routers measure it.
    let scratch = Scratch::new();
    let trace = scratch.fadelab(&["trace", "generate", "--duration", "10 s", "--rate", "3 Mbit/s"]);
    assert_status(&trace, 0);
    fs::create_dir(scratch.0.join("deep")).unwrap();
    scratch.write("deep/s.toml", SCENARIO.replace("rate = \"2 Mbit/s\"", ""));
    scratch.write("cell.down", &trace.stdout);
    let arguments = [
        "run",
        "deep/s.toml",
        "--set",
        "topology.bottleneck.trace=cell.down",
        "--out",
        "a",
    ];
    let output = scratch.fadelab(&arguments);
    assert_status(&output, 0);
    let refused = scratch.fadelab(&["trace", "generate", "--rate", "3"]);
    assert_status(&refused, 2);
    assert!(stderr(&refused).contains("the unit is missing"), "{}", stderr(&refused));
}

#[test]
fn channel_prints_the_exact_packet_error() {
    // Goal: the table has the published values: 2x2 at 5 dB and r = 0.9 loses 1.86 %, 2x1 at 10 dB and r = 0.93 98.7 %.
    let scratch = Scratch::new();
    let row = |arguments: &[&str], snr: &str| -> Vec<String> {
        let output = scratch.fadelab(&[&["channel"], arguments].concat());
        assert_status(&output, 0);
        let text = stdout(&output);
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(snr))
            .unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    let fading = row(&["--antennas", "2x2", "--snr", "5", "--code-rate", "0.9"], "5 dB");
    assert_eq!(fading[2..5], ["3.719e-3", "1.467e-1", "0.0186"]);
    let steep = row(&["--antennas", "2x1", "--snr", "5..30", "--code-rate", "0.93"], "10 dB");
    assert_eq!(steep[4], "0.9874");
    let range = scratch.fadelab(&["channel", "--snr", "5..6", "--step", "0.5"]);
    let rows: Vec<String> = stdout(&range)
        .lines()
        .filter_map(|line| Some(line.split_once(" dB  ")?.0.trim().into()))
        .collect();
    assert_eq!(rows, ["5", "5.5", "6"]);
    let ack = row(
        &["--antennas", "2x2", "--snr", "5", "--code-rate", "0.5", "--ack"],
        "5 dB",
    );
    assert_eq!(ack[4], "1.57e-8");
}

#[test]
fn channel_refuses_what_makes_no_channel() {
    // Goal: each option names what it allows, with status 2.
    let scratch = Scratch::new();
    let cases: [(&[&str], &str); 9] = [
        (&["--antennas", "3x3"], "1x1, 2x1, 1x2, 2x2"),
        (&["--snr", "30..5"], "5..30"),
        (&["--snr", "x"], "--snr x"),
        (&["--step", "0"], "--step 0"),
        (&["--code-rate", "1.1"], "--code-rate 1.1"),
        (&["--code-rate", "NaN"], "--code-rate NaN"),
        (&["--size", "0"], "1 to 65535"),
        (&["--size", "65535", "--code-rate", "0.1"], "--mode gf256"),
        (&["--mode", "turbo"], "ideal, gf256"),
    ];
    for (arguments, part) in cases {
        let output = scratch.fadelab(&[&["channel"], arguments].concat());
        assert_status(&output, 2);
        assert!(
            stderr(&output).contains(part),
            "`{part}` is missing in: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    // Goal: `fadelab show x.toml | head -1` ends quietly.
    let scratch = Scratch::new();
    let mut child = scratch
        .command(&["trace", "generate"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_status(&output, 0);
    assert_eq!(stderr(&output), "");
}

#[test]
fn shipped_scenarios_can_be_shown() {
    // Goal: each scenario that the project ships resolves without a warning.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let scratch = Scratch::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let output = scratch.fadelab(&["show", path.to_str().unwrap()]);
            assert_status(&output, 0);
            assert_eq!(stderr(&output), "", "{}", path.display());
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn messages_that_cannot_be_written_change_nothing() {
    // Goal: with standard error on a full disk a refusal keeps its status, and a run that has something to say is done.
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.0.join("results/.s.unfinished")).unwrap();
    scratch.write("results/.s.unfinished/other.run", "a run of another scenario");
    for (file, status) in [("nope.toml", 2), ("s.toml", 0)] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = scratch.command(&["run", file]);
        let ended = command.stdout(Stdio::null()).stderr(full).status().unwrap();
        assert_eq!(ended.code(), Some(status), "{file}");
    }
    assert!(scratch.0.join("results/s-001/report.html").exists());
}

#[test]
fn a_result_of_another_version_is_explained_with_a_warning() {
    // Goal: who explains a run with another fadelab than the one that made it is told both versions, and told nothing
    // when they are the same.
    let scratch = Scratch::new();
    assert_status(&scratch.fadelab(&["run", "s.toml", "--seeds", "1", "--out", "out"]), 0);
    let explain = || scratch.fadelab(&["explain", "out", "--at", "6s"]);
    let same = explain();
    assert_status(&same, 0);
    assert_eq!(stderr(&same), "");
    let manifest = fs::read_to_string(scratch.0.join("out/manifest.json")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let other = manifest.replace(&format!("\"version\": \"{version}\""), "\"version\": \"9.9.9\"");
    assert_ne!(manifest, other);
    scratch.write("out/manifest.json", other);
    let output = explain();
    assert_status(&output, 0);
    let words = format!("warning: out: the result is of fadelab 9.9.9, and this is {version}");
    assert!(stderr(&output).starts_with(&words), "{}", stderr(&output));
}

#[test]
fn a_header_that_does_not_fit_the_disk_is_not_begun() {
    // Goal: new-law without room fails and leaves no empty header, which would be in the way of the next attempt.
    let scratch = Scratch::new();
    let output = common::without_room(&scratch, &["new-law", "mine"]);
    assert_status(&output, 1);
    assert_eq!(scratch.entries("."), ["s.toml"]);
    assert_status(&scratch.fadelab(&["new-law", "mine"]), 0);
}
