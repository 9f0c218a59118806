//! The commands of README.md: each runs as it is printed, in the order in which a reader would paste them.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{Scratch, assert_status, guest, printed, stdout};

const README: &str = include_str!("../../../README.md");

/// What makes a command shorter than a reader's, put behind what the README says: (its beginning, more arguments). The
/// first that fits is taken; what is printed stays as it is and is parsed as it is.
const SHORTER: [(&str, &[&str]); 12] = [
    ("run ", &["--set", "run.duration=40 s", "--set", "run.warmup=5 s"]),
    (
        "channel --optimise",
        &["--set", "run.duration=6 s", "--set", "run.warmup=1 s", "--seeds=1"],
    ),
    (
        "testbed run kernel --kernel",
        &[
            "--set",
            "run.duration=4 s",
            "--set",
            "flow.download.start=1 s",
            "--seeds=1",
        ],
    ),
    ("testbed run wireless", FADING),
    (
        "testbed run dcp-ew-ipsec",
        &["--set", "run.duration=3 s", "--set", "run.warmup=1 s", "--seeds=1"],
    ),
    ("compare wireless", FADING),
    ("testbed run", GUEST),
    ("compare", GUEST),
    (
        "reproduce vcp-milcom-2007",
        &["--claim", "fig3.vcp-time", "--seeds", "1"],
    ),
    (
        "reproduce new-jersey-2004",
        &["--claim", "fig13.goodput", "--seeds", "1"],
    ),
    ("reproduce dcp-ew-2010", &["--claim", "III-B.flips", "--seeds", "1"]),
    ("reproduce", &["--claim", "fig3.vcp-converges", "--seeds", "1"]),
];

/// One guest where the README has eight.
const GUEST: &[&str] = &[
    "--set",
    "run.duration=4 s",
    "--set",
    "flow.download.start=1 s",
    "--set",
    "flow.law=reno",
    "--seeds=1",
];

/// One law over the fading link where the README has three.
const FADING: &[&str] = &[
    "--set",
    "run.duration=4 s",
    "--set",
    "run.warmup=1 s",
    "--set",
    "flow.law=vcp",
    "--seeds=1",
];

/// The lines of the fenced blocks that hold a command, word for word.
fn lines() -> impl Iterator<Item = &'static str> {
    let blocks = README.split("```").skip(1).step_by(2);
    blocks
        .flat_map(str::lines)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The words of a command up to its remark; none of them has a space within quotes before its last option.
fn words(line: &str) -> Vec<&str> {
    let command = line.split(" # ").next().unwrap_or_default();
    command.split_whitespace().collect()
}

/// Whether it changes the kernel of the machine, or reads what such a command wrote.
fn is_of_kernel(line: &str) -> bool {
    line.starts_with("fadelab kernel ") || line.starts_with("fadelab replay calls")
}

/// Whether it is of a link in real time, or makes what such a command reads.
fn is_of_link(line: &str) -> bool {
    ["fadelab emulate ", "fadelab replay link", "fadelab trace generate "]
        .iter()
        .any(|of| line.starts_with(of))
        || line.contains("--ground live")
}

/// Which kernel's guest it needs.
fn guest_of(line: &str) -> Option<&'static str> {
    let needs = line.contains("fadelab testbed ") || line.contains(" sim,virtual");
    let needs = needs && !line.contains("--ground live");
    needs.then_some(if line.contains("--kernel 6.12") { "6.12" } else { "6.1" })
}

/// A command `fadelab` that puts `SHORTER` behind what it is given.
fn put_on_path(folder: &Path) {
    use std::fmt::Write;
    use std::os::unix::fs::PermissionsExt;

    let mut script = format!(
        "#!/bin/sh\nprogram='{}'\ncase \"$*\" in\n",
        env!("CARGO_BIN_EXE_fadelab")
    );
    for (beginning, more) in SHORTER {
        let more: Vec<String> = more.iter().map(|word| format!("'{word}'")).collect();
        let more = more.join(" ");
        writeln!(script, "'{beginning}'*) exec \"$program\" \"$@\" {more} ;;").unwrap();
    }
    script.push_str("*) exec \"$program\" \"$@\" ;;\nesac\n");
    let file = folder.join("fadelab");
    std::fs::write(&file, script).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the lines that are wanted in one folder, in their order; each must succeed. Gives how many there were.
fn run_lines(is_wanted: impl Fn(&str) -> bool) -> usize {
    let scratch = Scratch::new();
    let bin = scratch.0.join("bin");
    std::fs::create_dir(&bin).unwrap();
    put_on_path(&bin);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let wanted = lines().filter(|line| line.starts_with("fadelab ") && !is_of_kernel(line) && is_wanted(line));
    let run = |line: &str| {
        // A link has its ends in a network namespace that nobody else has.
        let is_apart = line.starts_with("fadelab emulate ");
        let shell = if is_apart {
            &["unshare", "--net", "sh"][..]
        } else {
            &["sh"]
        };
        let mut command = Command::new(shell[0]);
        command
            .args(&shell[1..])
            .args(["-c", line])
            .env("PATH", &path)
            .current_dir(&scratch.0)
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        println!("{line}\n{}", stdout(&output));
        assert_status(&output, 0);
    };
    wanted.map(run).count()
}

#[test]
fn the_commands_of_the_readme_run_as_printed() {
    // Goal: whoever pastes the README's block line after line into an empty folder sees each line succeed; those that
    // change the machine's kernel are for `kernel.rs`.
    let ran = run_lines(|line| guest_of(line).is_none() && (!is_of_link(line) || line.contains(" trace ")));
    assert!(ran > 20, "only {ran} lines were found");
}

#[test]
fn the_commands_of_the_readme_for_links_run_as_printed() {
    // Goal: the same of the lines for links in real time, where they and laws in the kernel are possible.
    let check = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["kernel", "check"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !check || !std::path::Path::new("/dev/net/tun").exists() {
        assert!(
            std::env::var("FADELAB_REQUIRE_BPF").as_deref() != Ok("1"),
            "laws and TUN devices are required here"
        );
        eprintln!("skipped: no law can be loaded here, or there is no TUN device");
        return;
    }
    let ran = run_lines(is_of_link);
    assert!(ran == 6, "only {ran} lines were found");
}

#[test]
fn the_commands_of_the_readme_for_guests_run_as_printed() {
    // Goal: the same of the lines for a kernel in virtual time, where one can run.
    let ran = run_lines(|line| guest_of(line).is_some_and(guest::possible));
    assert!(ran == 6 || !guest::possible("6.1"), "only {ran} lines were found");
}

#[test]
fn the_readme_names_nothing_that_is_not_there() {
    // Goal: targets of make exist, and so do the subcommands and options of the lines that are not run.
    let makefile = include_str!("../../../Makefile");
    for line in lines() {
        let words = words(line);
        if words[0] == "make" {
            let target = format!("\n{}: ", words[1]);
            assert!(makefile.contains(&target), "{line}");
            continue;
        }
        assert_eq!(words[0], "fadelab", "neither make nor fadelab: {line}");
        let nested = ["kernel", "testbed", "trace"].contains(&words[1]);
        let mut help = words[1..if nested { 3 } else { 2 }].to_vec();
        help.push("--help");
        let help = printed(&help);
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{option} is no option: {line}");
        }
    }
}
