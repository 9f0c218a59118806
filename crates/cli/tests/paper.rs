//! Figures and tables of results for papers, without a mouse.

mod common;

use std::fs;

use common::{Scratch, assert_status, stderr, stdout};

/// Two pairs of hosts over a trunk: the first access link is full, the trunk is not, but it is the one that is shared.
const GRAPH: &str = r#"
[run]
duration = "10 s"
warmup = "2 s"

[topology]
nodes = ["a", "b", "left", "right"]

[link.narrow]
from = "a"
to = "left"
rate = "1 Mbit/s"
delay = "1 ms"

[link.broad]
from = "b"
to = "left"
rate = "20 Mbit/s"
delay = "1 ms"

[link.trunk]
from = "left"
to = "right"
rate = "4 Mbit/s"
delay = "10 ms"

[flow.one]
law = "reno"
from = "a"
to = "right"

[flow.two]
app = "cbr"
rate = "1 Mbit/s"
from = "b"
to = "right"
"#;

/// Two laws alone, beside themselves and beside each other, at two buffers.
const PAIRS: &str = r#"
[run]
duration = "10 s"
warmup = "2 s"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "20 ms"
buffer = ["1 BDP", "2 BDP"]

[versus]
laws = ["reno", "cubic"]
"#;

fn run(scratch: &Scratch, more: &[&str]) {
    let arguments = [&["run", "s.toml", "--quiet", "--out", "r"], more].concat();
    assert_status(&scratch.fadelab(&arguments), 0);
}

/// What is refused is one line that says all of `parts`, and no file is there.
#[track_caller]
fn refused(scratch: &Scratch, arguments: &[&str], parts: &[&str]) {
    let before = scratch.entries(".");
    let output = scratch.fadelab(arguments);
    assert_status(&output, 2);
    let text = stderr(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    assert_eq!(scratch.entries("."), before, "something was written");
}

#[test]
fn figures_and_tables_are_written_to_files_and_to_standard_output() {
    // Goal: a paper's Makefile gets SVG, PDF, LaTeX, Markdown and CSV, the same bytes each time.
    let scratch = Scratch::new();
    run(&scratch, &[]);
    let first = stdout(&scratch.fadelab(&["figure", "r", "utilisation"]));
    assert!(
        first.starts_with("<?xml") && first.contains("Utilisation (%)"),
        "{first}"
    );
    let made = scratch.fadelab(&["figure", "r", "utilisation", "-o", "u.svg"]);
    assert!(stdout(&made).starts_with("u.svg\nUtilisation: "), "{}", stdout(&made));
    assert_eq!(fs::read_to_string(scratch.0.join("u.svg")).unwrap(), first);
    assert_status(
        &scratch.fadelab(&["figure", "r", "metrics", "-o", "m.pdf", "--width", "wide"]),
        0,
    );
    assert!(fs::read(scratch.0.join("m.pdf")).unwrap().starts_with(b"%PDF"));
    assert!(stdout(&scratch.fadelab(&["figure", "r"])).contains("\nqueue "));
    assert_status(&scratch.fadelab(&["table", "r", "--latex", "-o", "t.tex"]), 0);
    assert!(
        fs::read_to_string(scratch.0.join("t.tex"))
            .unwrap()
            .contains("\\bottomrule")
    );
    assert!(stdout(&scratch.fadelab(&["table", "r", "--csv"])).starts_with("link,law,utilisation (1),"));
    assert!(stdout(&scratch.fadelab(&["table", "r", "--markdown"])).contains("| vcp | "));
}

#[test]
fn a_point_of_a_sweep_is_chosen_or_told() {
    // Goal: nobody takes a figure of one point for one of the whole sweep: of laws beside each other it has all points,
    // others say which point they show, beside a drawing on standard output too, and `sweep` knows what pairs have.
    let scratch = Scratch::new();
    scratch.write("s.toml", PAIRS);
    run(&scratch, &[]);
    let all = stdout(&scratch.fadelab(&["figure", "r", "versus"]));
    assert!(
        all.contains(">buffer = 1 BDP<") && all.contains(">buffer = 2 BDP<"),
        "{all}"
    );
    let second = ["figure", "r", "versus", "--at", "topology.bottleneck.buffer=2 BDP"];
    assert!(!stdout(&scratch.fadelab(&second)).contains("buffer = "));
    let told = "Drawn at topology.bottleneck.buffer=1 BDP, the first of 2 points; --at chooses.\n";
    let queue = scratch.fadelab(&["figure", "r", "queue"]);
    assert!(
        stdout(&queue).starts_with("<?xml") && stderr(&queue).ends_with(told),
        "{}",
        stderr(&queue)
    );
    let written = stdout(&scratch.fadelab(&["figure", "r", "queue", "-o", "q.svg"]));
    assert!(written.ends_with(told), "{written}");
    let harm = scratch.fadelab(&["figure", "r", "sweep", "--metric", "harm"]);
    assert!(!stderr(&harm).contains("Drawn at"), "a sweep is of all points");
    assert!(stdout(&harm).contains(">reno beside cubic<"), "{}", stdout(&harm));
}

#[test]
fn an_option_without_effect_and_warnings_of_the_runs_are_told() {
    // Goal: nobody takes a figure of all seeds for one of a seed, or harm over unequal links for harm: what makes no
    // difference is said, and so is what the runs were warned of, in figures and in tables.
    let scratch = Scratch::new();
    scratch.write("s.toml", PAIRS);
    run(
        &scratch,
        &[
            "--seeds",
            "1..2",
            "--set",
            "flow.second.delay=20 ms",
            "--set",
            "flow.start=uniform 0 s..1 s",
        ],
    );
    let said = |arguments: &[&str]| stderr(&scratch.fadelab(arguments));
    let unequal = "harm compares different links";
    for (option, value) in [("--seed", "1"), ("--law", "reno/cubic")] {
        let text = said(&["figure", "r", "versus", option, value, "-o", "f.svg"]);
        let idle = format!("{option} makes no difference to this figure");
        assert!(text.contains(&idle) && text.contains(unequal), "{text}");
    }
    let text = said(&["figure", "r", "metrics", "--metric", "jain", "-o", "f.svg"]);
    assert!(text.contains("--metric makes no difference"), "{text}");
    for (option, value) in [("--seed", "2"), ("--law", "reno/cubic")] {
        let text = said(&["figure", "r", "goodput", option, value, "-o", "f.svg"]);
        assert!(!text.contains("makes no difference"), "{text}");
    }
    assert!(said(&["table", "r", "versus", "--latex"]).contains(unequal));
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    // Goal: a slip in a name, a width or a file gives one line and no file.
    let scratch = Scratch::new();
    run(&scratch, &[]);
    refused(
        &scratch,
        &["figure", "r", "queues", "-o", "f.svg"],
        &["r: there is no figure queues", "queue, rtt"],
    );
    refused(
        &scratch,
        &["figure", "r", "queue", "-o", "f.png"],
        &["f.png", ".svg or .pdf"],
    );
    refused(
        &scratch,
        &["figure", "r", "queue", "--link", "x", "-o", "f.svg"],
        &["--link x", "it has: bottleneck"],
    );
    refused(
        &scratch,
        &["figure", "r", "queue", "--law", "bbr", "-o", "f.svg"],
        &["--law bbr", "vcp, xcp, reno+rem"],
    );
    refused(
        &scratch,
        &["figure", "r", "queue", "--seed", "9", "-o", "f.svg"],
        &["--seed 9", "1, 2, 3"],
    );
    refused(
        &scratch,
        &["figure", "r", "queue", "--at", "k=1", "-o", "f.svg"],
        &["--at k=1", "no sweep"],
    );
    refused(
        &scratch,
        &["figure", "r", "queue", "--from", "5", "--to", "50", "-o", "f.svg"],
        &["<= 20"],
    );
    refused(
        &scratch,
        &["figure", "r", "sweep", "-o", "f.pdf"],
        &["needs a sweep", "utilisation"],
    );
    refused(
        &scratch,
        &["figure", "r", "sweep", "--metric", "harm", "-o", "f.pdf"],
        &["needs a sweep"],
    );
    refused(
        &scratch,
        &["table", "r", "groups", "--csv", "-o", "t.csv"],
        &["no such table", "ask for laws"],
    );
    refused(
        &scratch,
        &["table", "r", "--csv", "--link", "x", "-o", "t.csv"],
        &["--link x", "bottleneck"],
    );
    let output = scratch.fadelab(&["figure", "r", "queue", "--width", "5"]);
    assert!(
        stderr(&output).contains("a number of mm from 40 to 400"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_result_without_series_or_with_damage_gives_one_line_and_no_file() {
    // Goal: what a result lacks is said before anything is written; a damaged file is named.
    let scratch = Scratch::new();
    run(&scratch, &["--set", "run.record=false"]);
    refused(
        &scratch,
        &["figure", "r", "queue", "-o", "f.svg"],
        &["needs a time series of the links (run.record)"],
    );
    assert_status(&scratch.fadelab(&["figure", "r", "metrics", "-o", "m.svg"]), 0);
    fs::write(scratch.0.join("r/setup.json"), "{").unwrap();
    for arguments in [
        ["figure", "r", "queue", "-o", "f.svg"],
        ["table", "r", "--latex", "-o", "t.tex"],
    ] {
        let output = scratch.fadelab(&arguments);
        assert!(stderr(&output).contains("setup.json is damaged"), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1);
    }
    assert_eq!(scratch.entries("."), ["m.svg", "r", "s.toml"]);
}

#[test]
fn headline_and_first_figures_are_of_the_link_that_flows_share() {
    // Goal: a graph does not open with a full access link: the shared link comes first, access links stand aside.
    let scratch = Scratch::new();
    scratch.write("s.toml", GRAPH);
    let output = scratch.fadelab(&["run", "s.toml", "--out", "r"]);
    assert_status(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("trunk · ") && !text.contains("narrow · "), "{text}");
    assert!(
        text.contains("2 links that data of one flow cross are in summary.json."),
        "{text}"
    );
    let page = fs::read_to_string(scratch.0.join("r/report.html")).unwrap();
    assert!(page.contains("\"bottleneck\":\"trunk\"") && page.contains("<p class=\"headline\">Utilisation of trunk: "));
    let table = stdout(&scratch.fadelab(&["table", "r", "laws", "--csv"]));
    assert!(table.contains("\ntrunk,") && !table.contains("\nnarrow,"), "{table}");
    let asked = stdout(&scratch.fadelab(&["table", "r", "laws", "--csv", "--link", "narrow"]));
    assert!(asked.contains("\nnarrow,") && !asked.contains("\ntrunk,"), "{asked}");
}
