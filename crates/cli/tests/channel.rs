//! `fadelab channel` beyond one table: several curves, targets, the page, the best code rates for a law.

mod common;

use std::fs;
use std::path::PathBuf;

fn printed(arguments: &[&str]) -> String {
    common::printed(&[&["channel"], arguments].concat())
}

fn refused(arguments: &[&str]) -> String {
    common::refused(&[&["channel"], arguments].concat())
}

/// The words of the first line that starts with `start`.
fn row(text: &str, start: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.trim_start().starts_with(start));
    line.unwrap_or_else(|| panic!("{text}"))
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// A file in the folder for temporary ones, gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("fadelab-channel-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn several_combinations_stand_side_by_side() {
    // Goal: each column is the table that its combination has alone.
    let text = printed(&[
        "--antennas",
        "2x1,2x2",
        "--code-rate",
        "0.93,0.5",
        "--snr",
        "5..10",
        "--step",
        "5",
    ]);
    let together = row(&text, "10 dB");
    for (place, (antennas, rate)) in [("2x1", "0.93"), ("2x1", "0.5"), ("2x2", "0.93"), ("2x2", "0.5")]
        .iter()
        .enumerate()
    {
        let alone = row(
            &printed(&["--antennas", antennas, "--code-rate", rate, "--snr", "10"]),
            "10 dB",
        );
        let of_table = |cells: &[String]| cells.join(" ").split('█').next().unwrap().trim().to_owned();
        let cells: Vec<String> = together[2..]
            .join(" ")
            .replace("< ", "<")
            .split(' ')
            .map(str::to_owned)
            .collect();
        assert!(
            of_table(&alone[4..]).replace("< ", "<").starts_with(&cells[place]),
            "{antennas} {rate}: {text}"
        );
    }
}

#[test]
fn targets_are_reached_by_what_is_printed() {
    // Goal: the SNR and the code rate that are printed keep the packet error, and a little less does not.
    let per = |arguments: &[&str]| -> f64 { row(&printed(arguments), arguments[1])[4].parse().unwrap() };
    let text = printed(&["--antennas", "2x2", "--code-rate", "0.93", "--target-per", "0.01"]);
    let snr = row(&text, "2x2")[8].clone();
    let less = ((snr.parse::<f64>().unwrap() - 0.02) * 100.0).round() / 100.0;
    let less = less.to_string();
    assert!(
        per(&["--snr", &snr, "--antennas", "2x2", "--code-rate", "0.93"]) <= 0.01,
        "{text}"
    );
    assert!(
        per(&["--snr", &less, "--antennas", "2x2", "--code-rate", "0.93"]) > 0.01,
        "{text}"
    );

    let text = printed(&["--antennas", "2x2", "--snr", "10", "--target-per", "0.01"]);
    let rate = row(&text, "2x2")[8].clone();
    // Two bytes of parity less.
    let air_bytes = (1_040.0 / rate.parse::<f64>().unwrap()).ceil() - 2.0;
    let higher = (1_040.0 / air_bytes).to_string();
    assert!(
        per(&["--snr", "10", "--antennas", "2x2", "--code-rate", &rate]) <= 0.01,
        "{text}"
    );
    assert!(
        per(&["--snr", "10", "--antennas", "2x2", "--code-rate", &higher]) > 0.01,
        "{text}"
    );
}

#[test]
fn targets_without_an_answer_say_so() {
    // Goal: what cannot be reached or is asked for twice is answered in words.
    let text = printed(&["--snr", "-30", "--target-per", "0.01"]);
    assert!(
        text.contains("none between 0.1 and 1: the least packet error is 1.0000"),
        "{text}"
    );
    assert!(refused(&["--snr", "10", "--code-rate", "0.9", "--target-per", "0.01"]).contains("leave out"));
    assert!(refused(&["--target-per", "0"]).contains("between 0 and 1"));
    assert!(refused(&["--snr", "5..6", "--target-per", "0.1"]).contains("one value"));
    assert!(refused(&["--snr", "500"]).contains("-100 to 200 dB"));
    assert!(refused(&["scenarios/x.toml"]).contains("--optimise"));
    assert!(refused(&["--optimise", "goodput"]).contains("--law"));
    assert!(refused(&["--optimise", "goodput", "--law", "vpc"]).contains("did you mean `vcp`"));
    assert!(refused(&["--optimise", "goodput", "--law", "vcp", "--snr", "1..2"]).contains("one value"));
    let several = ["--optimise", "goodput", "--law", "vcp", "--set", "flow.count=[1,2]"];
    assert!(refused(&several).contains("sweeps over flow.count"));
}

#[test]
fn sizes_that_take_long_to_compute_are_refused() {
    // Goal: in either mode, whether a curve or a code rate is asked for, an absurd size is refused in one line that
    // says how long a packet may be; a size that is merely large is answered.
    for (mode, rate) in [("ideal", "0.5"), ("gf256", "0.1")] {
        let long = ["--mode", mode, "--size", "65535", "--snr", "10"];
        let message = refused(&[&long[..], &["--code-rate", rate]].concat());
        assert!(
            message.contains(&format!("65535 at --code-rate {rate}: allowed is up to ")),
            "{message}"
        );
        assert_eq!(message.trim().lines().count(), 1, "{message}");
        assert_eq!(message.contains("or try --mode gf256"), mode == "ideal", "{message}");
        let message = refused(&[&long[..], &["--target-per", "0.01"]].concat());
        assert!(
            message.contains("65535 at --code-rate 0.1: allowed is up to "),
            "{message}"
        );
    }
    printed(&["--mode", "gf256", "--size", "9000", "--snr", "10", "--code-rate", "0.5"]);
}

#[test]
fn the_page_has_data_and_ack_curves() {
    // Goal: the page is written once, with a curve of data and one of ACKs for each combination.
    let scratch = Scratch::new("page.html");
    let arguments = [
        "--antennas",
        "1x1,2x2",
        "--snr",
        "5..6",
        "--code-rate",
        "0.93",
        "--out",
        scratch.path(),
    ];
    assert_eq!(printed(&arguments).trim(), scratch.path());
    let html = fs::read_to_string(&scratch.0).unwrap();
    assert_eq!(html.matches("\"label\":\"2x2 rate 0.93\"").count(), 2);
    assert_eq!(html.matches("\"is_ack\":true").count(), 2);
    assert!(html.contains("\"snr_db\":[5.0,5.25,5.5,5.75,6.0]"));
    assert!(refused(&arguments).contains("exists"));
    assert_eq!(fs::read_to_string(&scratch.0).unwrap(), html, "the page is as it was");
}

#[test]
fn the_best_code_rates_do_not_depend_on_threads() {
    // Goal: the search prints the same bytes on one thread and on two, with the papers' pair beside the best.
    let search = |jobs: &str| {
        let arguments = [
            "--optimise",
            "goodput",
            "--law",
            "reno",
            "--antennas",
            "2x2",
            "--snr",
            "5",
            "--seeds",
            "1..2",
        ];
        let short = [
            "--set",
            "run.duration=20 s",
            "--set",
            "topology.bottleneck.delay=20 ms",
            "--jobs",
            jobs,
        ];
        printed(&[&arguments[..], &short].concat())
    };
    let text = search("1");
    assert_eq!(text, search("2"));
    // At 0.93 the channel loses 61.7 % of the packets, so that pair cannot be the best.
    assert!(text.contains("the papers' pair  data 0.93, ACK 0.5: "), "{text}");
    assert!(text.contains("packet error 0.6175 of data"), "{text}");
    assert!(text.contains("The papers' pair is not the best here"), "{text}");
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("* ") || line.ends_with('*'))
            .count(),
        2,
        "{text}"
    );
}
