//! Guests that go on from a snapshot: the same bytes as of those that boot, one boot for all, and what happens where
//! there is none to be had.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::common::Scratch;
use super::common::guest::possible;
use super::{SCENARIO, fadelab, instead_of_qemu, run, said, same, scenario};

#[test]
fn a_guest_from_a_snapshot_gives_the_bytes_of_one_that_booted() {
    // Goal: nobody can tell by a result whether its guests booted, for two seeds of one scenario and for another one
    // from the same snapshot; and a seed is in the kernel too, whose losses differ between two.
    if !possible("6.1") {
        return;
    }
    let text = SCENARIO.replace(
        "[flow]\n",
        "[channel]\nmodel = \"random\"\nloss_data = 0.02\nloss_ack = 0.0\n\n[flow]\n",
    );
    let scratch = scenario(&text);
    let short = ["--set", "run.duration=2 s", "--set", "flow.count=1", "--seeds", "1..2"];
    let booted = [&short[..], &["--no-snapshot"]].concat();
    run(&scratch, "restored", &short);
    run(&scratch, "booted", &booted);
    same(&scratch, "restored", "booted");
    let lost = super::column(&scratch, "booted/csv/links.csv", "lost_air_pkts");
    let (first, second) = lost.split_at(lost.len() / 2);
    assert!(first != second, "{first:?}");
    run(
        &scratch,
        "vcp",
        &["--set", "flow.law=vcp", "--set", "run.duration=2 s", "--seeds", "1"],
    );
    let vcp = [
        "--set",
        "flow.law=vcp",
        "--set",
        "run.duration=2 s",
        "--seeds",
        "1",
        "--no-snapshot",
    ];
    run(&scratch, "vcp-booted", &vcp);
    same(&scratch, "vcp", "vcp-booted");
}

#[test]
fn the_newest_kernel_goes_on_at_the_instant_at_which_it_stopped() {
    // Goal: a kernel whose next timer is far when it stops does not find itself days later, which ended in a panic;
    // and it gives the same bytes both ways.
    if !possible("newest") {
        return;
    }
    let scratch = scenario(SCENARIO);
    let vcp = [
        "--kernel",
        "newest",
        "--set",
        "flow.law=vcp",
        "--set",
        "run.duration=2 s",
        "--seeds",
        "1",
    ];
    run(&scratch, "restored", &vcp);
    run(&scratch, "booted", &[&vcp[..], &["--no-snapshot"]].concat());
    same(&scratch, "restored", "booted");
}

#[test]
fn recordings_are_the_same_from_a_snapshot() {
    // Goal: what a law and a router's law did comes whole out of a guest that never booted, call by call as from one
    // that did, and recording changes no result.
    if !possible("6.1") {
        return;
    }
    let scratch = scenario(SCENARIO);
    let vcp = ["--set", "flow.law=vcp", "--set", "run.duration=2 s", "--seeds", "1"];
    let record = |name: &str| [format!("{name}.calls"), format!("{name}.packets")];
    for (out, more) in [("restored", None), ("booted", Some("--no-snapshot"))] {
        let [calls, packets] = record(out);
        let files = ["--record", &calls, "--record-router", &packets];
        run(&scratch, out, &[&vcp[..], &files, more.as_slice()].concat());
    }
    same(&scratch, "restored", "booted");
    for (one, two) in record("restored").into_iter().zip(record("booted")) {
        let [one, two] = [one, two].map(|name| fs::read(scratch.0.join(name)).unwrap());
        assert!(one == two && one.len() > 10_000, "{} and {} B", one.len(), two.len());
    }
}

/// A cache of our own, with the kernel's packages of the user's.
fn own_cache(scratch: &Scratch) -> PathBuf {
    let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let user = user.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"));
    let own = scratch.0.join("fadelab/testbed/6.1");
    fs::create_dir_all(&own).unwrap();
    for entry in fs::read_dir(user.join("fadelab/testbed/6.1")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "deb") {
            fs::copy(&path, own.join(path.file_name().unwrap())).unwrap();
        }
    }
    own
}

/// The only entry of a folder whose name begins so.
fn entry(folder: &Path, prefix: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(prefix);
    let mut found: Vec<PathBuf> = entries.filter(is).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A QEMU that writes down what it is told, and does it unless `refused` is among it.
fn noting(scratch: &Scratch, refused: &str) -> String {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("qemu-system-x86_64"))
        .find(|path| path.exists());
    let qemu = found.unwrap();
    let script = format!(
        "echo \"$@\" >> started\ncase \"$*\" in *'{refused}'*) echo no room >&2; exit 1;; esac\nexec {} \"$@\"",
        qemu.display()
    );
    instead_of_qemu(scratch, &script)
}

/// How many guests booted and how many were restored since it was last asked.
fn started(scratch: &Scratch) -> [usize; 2] {
    let path = scratch.0.join("started");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    let restored = text.lines().filter(|line| line.contains("-incoming")).count();
    [text.lines().count() - restored, restored]
}

#[test]
fn a_sweep_boots_once_and_without_a_snapshot_each_guest_does() {
    // Goal: of several runs one guest boots, for its snapshot, and none in the next sweep; a snapshot that is cut or
    // changed is made anew with a word, as is one that somebody else lays there; where none can be restored or kept the
    // runs boot, say so once, and give the same bytes.
    if !possible("6.1") {
        return;
    }
    let scratch = scenario(SCENARIO);
    let cache = own_cache(&scratch);
    let sweep = |out: &str, path: &str| -> Output {
        let arguments = ["testbed", "run", "net.toml", "--quiet", "--jobs", "2", "--out", out];
        let mut command = fadelab(&scratch, &arguments);
        command.args([
            "--set",
            "run.duration=1 s",
            "--set",
            "run.warmup=0 s",
            "--seeds",
            "1..3",
        ]);
        let output = command
            .env("XDG_CACHE_HOME", &scratch.0)
            .env("PATH", path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        output
    };
    let path = noting(&scratch, "nothing at all");
    sweep("first", &path);
    assert_eq!(started(&scratch), [1, 3]);
    assert!(!said(&sweep("second", &path)).contains("warning"));
    assert_eq!(started(&scratch), [0, 3]);
    same(&scratch, "first", "second");

    let image = entry(&cache, "image-");
    let snapshot = entry(&image, "snapshot-");
    let memory = fs::OpenOptions::new()
        .write(true)
        .open(snapshot.join("memory"))
        .unwrap();
    // The first megabyte has the kernel's tables, and none of them is all ones.
    memory.write_all_at(&[255; 4096], 0x9_0000).unwrap();
    assert!(said(&sweep("changed", &path)).contains("is damaged and made anew"));
    assert_eq!(started(&scratch), [1, 3]);
    same(&scratch, "first", "changed");
    fs::write(snapshot.join("state"), "").unwrap();
    assert!(said(&sweep("cut", &path)).contains("is damaged and made anew"));
    assert_eq!(started(&scratch), [1, 3]);

    let path = noting(&scratch, "-incoming");
    let told = said(&sweep("refused", &path));
    assert_eq!(told.matches("each guest boots by itself").count(), 1, "{told}");
    let [booted, _] = started(&scratch);
    assert_eq!(booted, 1 + 3);
    same(&scratch, "first", "refused");

    let snapshot = entry(&image, "snapshot-");
    fs::remove_dir_all(snapshot).unwrap();
    fs::remove_file(image.join("lock")).unwrap();
    fs::create_dir(image.join("lock")).unwrap();
    let told = said(&sweep("unwritable", &path));
    assert_eq!(told.matches("each guest boots by itself").count(), 1, "{told}");
    assert_eq!(started(&scratch), [3, 0]);
    same(&scratch, "first", "unwritable");
}
