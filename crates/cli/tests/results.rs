//! What can be done with results that are there: compare them, make their pages again, export their tables.

mod common;

use std::fs;

use common::{Scratch, assert_status, stderr, stdout};

fn run(scratch: &Scratch, out: &str, more: &[&str]) {
    let arguments = [&["run", "s.toml", "--quiet", "--out", out], more].concat();
    assert_status(&scratch.fadelab(&arguments), 0);
}

#[test]
fn diff_says_what_moved_and_why() {
    // Goal: a result beside itself is equal; another rate is named and moves a figure; a law that one lacks is named.
    let scratch = Scratch::new();
    run(&scratch, "a", &[]);
    run(
        &scratch,
        "b",
        &[
            "--set",
            "topology.bottleneck.rate=4 Mbit/s",
            "--set",
            "flow.law=[\"vcp\", \"cubic\"]",
        ],
    );
    let same = scratch.fadelab(&["diff", "a", "a", "--exit-code"]);
    assert_status(&same, 0);
    assert!(
        stdout(&same).contains(" equal, 0 within noise, 0 moved"),
        "{}",
        stdout(&same)
    );
    let output = scratch.fadelab(&["diff", "a", "b"]);
    assert_status(&output, 0);
    let text = stdout(&output);
    let row = text.lines().find(|line| line.ends_with("  moved"));
    assert!(row.is_some_and(|row| row.starts_with("bottleneck  vcp")), "{text}");
    for part in [
        "  topology.bottleneck.rate: \"2 Mbit/s\" → \"4 Mbit/s\"\n",
        "only in a: xcp at bottleneck",
        "only in b: cubic at bottleneck",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    assert!(!text.contains(" equal\n"), "{text}");
    assert!(stdout(&scratch.fadelab(&["diff", "a", "a", "--all"])).contains(" equal\n"));
    assert_status(&scratch.fadelab(&["diff", "a", "b", "--exit-code"]), 1);
    let refused = scratch.fadelab(&["diff", "a", "results"]);
    assert_status(&refused, 2);
    assert!(
        stderr(&refused).contains("results is not a result of fadelab"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn a_page_is_made_again_and_results_share_one() {
    // Goal: the page made again is the same byte by byte; two results give one page with both laws of a name; results
    // that do not fit, a missing --out and a file in the way are refused.
    let scratch = Scratch::new();
    run(&scratch, "a", &[]);
    run(&scratch, "b", &["--set", "flow.law=[\"vcp\", \"cubic\"]"]);
    run(&scratch, "c", &["--set", "topology.bottleneck.rate=4 Mbit/s"]);
    let page = fs::read(scratch.0.join("a/report.html")).unwrap();
    fs::write(scratch.0.join("a/report.html"), "old").unwrap();
    assert_status(&scratch.fadelab(&["report", "a"]), 0);
    assert!(fs::read(scratch.0.join("a/report.html")).unwrap() == page);
    let output = scratch.fadelab(&["report", "a", "b", "--out", "both.html"]);
    assert_status(&output, 0);
    assert_eq!(stdout(&output), "both.html\n");
    let both = fs::read_to_string(scratch.0.join("both.html")).unwrap();
    for law in ["vcp (a)", "vcp (b)", "cubic", "reno+rem"] {
        assert!(both.contains(law), "{law}");
    }
    let refused: [(&[&str], &str); 3] = [
        (&["report", "a", "b"], "say where it goes, e.g. --out page.html"),
        (&["report", "a", "b", "--out", "both.html"], "both.html exists"),
        (
            &["report", "a", "c", "--out", "x.html"],
            "a and c do not fit on one page",
        ),
    ];
    for (arguments, part) in refused {
        let output = scratch.fadelab(arguments);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    assert_eq!(scratch.entries("."), ["a", "b", "both.html", "c", "s.toml"]);
}

#[test]
fn csv_has_what_parquet_has() {
    // Goal: run --csv and export, told the format or not, give the same files; a heading names the columns, whose units
    // are in columns.csv.
    let scratch = Scratch::new();
    run(
        &scratch,
        "a",
        &["--csv", "--set", "flow.count=[2, 3]", "--set", "flow.law=vcp"],
    );
    let output = scratch.fadelab(&["export", "a", "--csv", "--out", "tables"]);
    assert_status(&output, 0);
    let files = scratch.entries("tables");
    assert_eq!(scratch.entries("a/csv"), files);
    for file in &files {
        let read = |folder: &str| fs::read_to_string(scratch.0.join(folder).join(file)).unwrap();
        assert_eq!(read("a/csv"), read("tables"), "{file}");
    }
    let runs = fs::read_to_string(scratch.0.join("tables/runs.csv")).unwrap();
    let lines: Vec<&str> = runs.lines().collect();
    assert!(
        lines[0].starts_with("ground,run,seed,law,point,flow_count,link,measured_ns,arrived_pkts,"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 1 + 6);
    assert!(
        lines[6].starts_with("sim,5,3,vcp,flow.count=3,3,bottleneck,18000000000,"),
        "{}",
        lines[6]
    );
    assert!(
        lines[6].ends_with(",0,,,,"),
        "no transfer ended, so that their times are absent: {}",
        lines[6]
    );
    let columns = fs::read_to_string(scratch.0.join("tables/columns.csv")).unwrap();
    assert!(columns.contains("\nflows,srtt_us,integer,µs,"), "{columns}");
    assert_eq!(
        columns.lines().filter(|line| line.starts_with("runs,")).count(),
        lines[0].split(',').count()
    );
    let again = scratch.fadelab(&["export", "a"]);
    assert_status(&again, 2);
    assert!(
        stderr(&again).contains("a/csv exists and is not empty"),
        "{}",
        stderr(&again)
    );
}
