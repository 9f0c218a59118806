//! `fadelab compare`: one scenario on several grounds, how far they are apart, and what is refused.

mod common;

use std::fs;

use common::guest::possible;
use common::{Scratch, TWO_WAYS, assert_status, column, stderr, stdout};

/// A transfer over a path that it cannot fill at once.
const SCENARIO: &str = r#"
[run]
duration = "6 s"
seeds = "1..2"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "40 ms"
buffer = "1 BDP"

[topology.access]
rate = "100 Mbit/s"
delay = "5 ms"

[transport]
preset = "linux"

[flow]
law = "reno"
app = "transfer"
size = "2 MB"
"#;

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("net.toml", SCENARIO);
    scratch
}

#[test]
fn a_scenario_runs_on_both_grounds_and_its_distances_are_told() {
    // Goal: one result with the runs of both grounds, a table of distances between them, and status 0 where they agree
    // within their bounds, as a simulator that imitates the kernel's transport does.
    if !possible("6.1") {
        return;
    }
    let scratch = scratch();
    let output = scratch.fadelab(&["compare", "net.toml", "--exit-code", "--csv", "--out", "out"]);
    assert_status(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("How far the grounds are apart"), "{text}");
    assert!(text.contains("5 of 5 distances are within their bounds."), "{text}");
    assert!(stderr(&output).contains("on sim ...") && stderr(&output).contains("on virtual ..."));
    let runs = fs::read_to_string(scratch.0.join("out/csv/runs.csv")).unwrap();
    for ground in ["sim", "virtual"] {
        let is_of = |line: &&str| line.split(',').any(|cell| cell == ground);
        assert_eq!(runs.lines().filter(is_of).count(), 2, "{ground}: {runs}");
    }
    assert!(scratch.0.join("out/report.html").is_file());
}

#[test]
fn a_distance_beyond_its_bound_ends_with_one() {
    // Goal: with `--exit-code` a simulator that imitates another transport than the kernel's is told by name and by
    // figure, and the warning before the runs says why; the result is there nevertheless.
    if !possible("6.1") {
        return;
    }
    let scratch = scratch();
    // It has no handshake, which is one of the four round trips that a small transfer takes.
    let preset = ["--set", "transport.preset=rfc", "--set", "flow.size=30 kB"];
    let output = scratch.fadelab(&[&["compare", "net.toml", "--exit-code", "--out", "out"][..], &preset].concat());
    assert_status(&output, 1);
    let text = stderr(&output);
    assert!(text.contains("transport.preset is \"rfc\""), "{text}");
    assert!(text.contains("beyond: completion time, mean of reno"), "{text}");
    assert!(scratch.0.join("out").is_dir());
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    // Goal: one ground, the same twice, an unknown one, and a scenario that one of them cannot run end with status 2
    // and one message, and there is no result.
    let scratch = scratch();
    let cases: [(&[&str], &str); 4] = [
        (
            &["--on", "sim"],
            "--on sim: two grounds or more are compared, each once",
        ),
        (&["--on", "sim,sim"], "known are sim, virtual"),
        (&["--on", "sim,moon"], "moon"),
        (
            &[
                "--set",
                "topology.access.rate=1 Gbit/s",
                "--set",
                "topology.bottleneck.rate=120 Mbit/s",
            ],
            "`topology.bottleneck.rate` has no counterpart",
        ),
    ];
    for (arguments, told) in cases {
        let output = scratch.fadelab(&[&["compare", "net.toml"], arguments].concat());
        assert_status(&output, 2);
        let text = stderr(&output);
        assert!(text.contains(told) && !text.contains("on sim ..."), "{text}");
        assert!(!scratch.0.join("results").exists());
    }
}

#[test]
fn more_seeds_go_on_with_the_runs_of_fewer() {
    // Goal: what two seeds leave undecided stays, and three run the third alone, whose result is that of three from
    // the start; another setting of the kernel takes the simulator's runs alone, and --fresh none.
    if !possible("6.1") {
        return;
    }
    let scratch = scratch();
    let lossy = ["--set", "channel.model=random", "--set", "channel.loss_data=0.01"];
    let compared = |more: &[&str]| {
        let output = scratch.fadelab(&[&["compare", "net.toml"], &lossy[..], more].concat());
        assert_status(&output, 0);
        (stdout(&output), stderr(&output))
    };
    let (two, nothing) = compared(&["--seeds", "1..2"]);
    assert!(!nothing.contains("finished before"), "{nothing}");
    assert!(
        two.contains("These runs are kept in results/.net.unfinished ("),
        "{two}"
    );
    let (three, taken) = compared(&["--seeds", "1..3"]);
    assert!(taken.contains("4 of 6 runs were finished before"), "{taken}");
    assert!(three.contains(", 4 of them taken from before"), "{three}");
    let (_, from_sim) = compared(&["--seeds", "1..3", "--sysctl", "net.ipv4.tcp_sack=0"]);
    assert!(from_sim.contains("3 of 6 runs were finished before"), "{from_sim}");
    let (whole, fresh) = compared(&["--seeds", "1..3", "--fresh"]);
    assert!(!fresh.contains("finished before"), "{fresh}");
    let apart = |text: &str| {
        let (_, distances) = text.split_once("How far the grounds").unwrap();
        distances.split("These runs").next().unwrap().to_owned()
    };
    assert_eq!(apart(&three), apart(&whole));
    let (elsewhere, _) = compared(&["--seeds", "1..2", "--out", "there"]);
    assert!(
        elsewhere.contains("with them, once there is somewhere else."),
        "{elsewhere}"
    );
}

#[test]
fn a_kernels_receivers_send_as_many_acks_as_simulated_ones() {
    // Goal: behind access links with room for thousands of packets, as they are by default, a receiver acknowledges
    // each segment for no longer than its window grows to the usual size, and then every second one, on both grounds.
    if !possible("6.1") {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("net.toml", TWO_WAYS);
    let output = scratch.fadelab(&["compare", "net.toml", "--quiet", "--csv", "--out", "out"]);
    assert_status(&output, 0);
    let sent = column(&scratch, "out/csv/runs.csv", "sent_pkts");
    let [sim, sim_back, kernel, kernel_back] = sent[..] else {
        panic!("two links on two grounds: {sent:?}");
    };
    let acks_per_segment = [sim_back / sim, kernel_back / kernel];
    assert!(
        acks_per_segment.iter().all(|acks| (0.5..0.65).contains(acks)),
        "{acks_per_segment:?}"
    );
}
