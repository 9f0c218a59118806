//! The page: self-contained, safe against what scenarios contain, and drawn without complaint by a browser.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Lab, spec, trace_spec, two_laws};
use fadelab_results::curves::{Curves, PANELS_MAX};
use fadelab_results::{Claim, Summary, Verdict, report};
use serde_json::Value;

fn page(lab: &Lab) -> String {
    let experiment = lab.experiment();
    report::html(&experiment, &Summary::of(&experiment)).unwrap()
}

fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_page_asks_no_other_computer_for_anything() {
    // The only address in it is the one in the banner of the chart library, which is a comment.
    let mut page = page(&two_laws());
    let start = page.find("/*! https://").expect("the banner of the chart library");
    let end = start + page[start..].find("*/").unwrap();
    page.replace_range(start..end, "");
    assert_eq!(page.find("://"), None);
    for way_out in ["src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(way_out), "{way_out}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn text_of_a_scenario_cannot_become_code() {
    // Names end up in the table, the data and the text: markup in them must stay text everywhere.
    let mut lab = Lab::default();
    lab.add("</script><script>alert(1)//<!--", spec(1, 60), |_| 900);
    let page = page(&lab);
    assert_eq!(page.matches("</script").count(), 3);
    assert_eq!(page.matches("<script").count(), 3);
    assert!(page.contains("Two laws &amp; one &lt;link&gt;"));
    assert_eq!(data(&page)["laws"][0], "</script><script>alert(1)//<!--");
}

#[test]
fn curves_equal_the_hand_computed_ones() {
    // 60 s at 1 s samples are shown in 1 s bins: in the bin of second 15 `swinging` sends half of what it could.
    let data = data(&page(&two_laws()));
    let panel = &data["panels"][0];
    assert_eq!(
        (&panel["bin_s"], &panel["time_s"][15]),
        (&Value::from(1.0), &Value::from(15.5))
    );
    let (steady, swinging) = (&panel["laws"][0], &panel["laws"][1]);
    assert_eq!(swinging["used"]["mean"][15], 0.5);
    assert_eq!(steady["used"]["mean"][15], 0.89);
    assert_eq!(
        (&steady["used"]["low"][15], &steady["used"]["high"][15]),
        (&Value::from(0.88), &Value::from(0.9))
    );
    assert_eq!(steady["used"]["seeds"][1][15], 0.89);
    assert_eq!(steady["queue_pkts"]["mean"][15], 10.0);
    assert_eq!(steady["rtt_ms"]["mean"][15], 100.0);
    assert_eq!(steady["windows"][0]["cwnd_pkts"][0][15], 67);
    assert_eq!(panel["window_flows"], serde_json::json!(["down.0", "down.1"]));
    assert_eq!(panel["capacity_mbps"], Value::Null);
}

#[test]
fn a_trace_shows_its_capacity_behind_the_throughput() {
    // 1000 packets of 1000 bytes a second are 8 Mbit/s, of which 900 are used.
    let mut lab = Lab::default();
    lab.add("steady", trace_spec(1, 60), |_| 900);
    let data = data(&page(&lab));
    assert_eq!(data["panels"][0]["capacity_mbps"][3], 8.0);
    assert_eq!(data["panels"][0]["laws"][0]["used"]["mean"][3], 7.2);
    assert_eq!(data["panels"][0]["laws"][0]["used"]["low"], serde_json::json!([]));
}

#[test]
fn the_headline_names_the_laws_from_best_to_worst() {
    // The first sentence a reader sees, whatever the order of the runs.
    let mut lab = Lab::default();
    for (law, load) in [("b", 500), ("a", 900), ("c", 700)] {
        lab.add(law, spec(1, 60), |_| load);
    }
    assert!(page(&lab).replace('\u{a0}', " ").contains(
        "Utilisation of bottleneck: a 90.0 % (RTT 100 ms), c 70.0 % (RTT 100 ms) and b 50.0 % (RTT 100 ms)."
    ));
}

#[test]
fn claims_are_shown_with_their_verdicts() {
    // The ledger of a paper, and no empty section without one.
    let mut lab = two_laws();
    assert!(!page(&lab).contains("<h2>Claims"));
    lab.claims.push(Claim {
        id: "fig3.high".to_owned(),
        published: "> 0.9".to_owned(),
        measured: "0.89".to_owned(),
        verdict: Verdict::Differs,
        why: "Seeds < 30.".to_owned(),
    });
    let page = page(&lab);
    assert!(page.contains("<h2>Claims") && page.contains("<em class=\"differs\">differs</em>"));
    assert!(page.contains("&gt; 0.9") && page.contains("Seeds &lt; 30."));
}

#[test]
fn large_sweeps_say_which_curves_are_missing() {
    // A page stays small; what it leaves out is said and is in the tables.
    let mut lab = Lab::default();
    for snr in 0..PANELS_MAX + 3 {
        lab.add_at("a", vec![("snr".into(), format!("{snr} dB"))], spec(1, 20), |_| 900);
    }
    let curves = Curves::of(&lab.experiment());
    assert_eq!((curves.panels.len(), curves.panels_left_out), (PANELS_MAX, 3));
    assert!(page(&lab).contains("those of 3 more are in"));
}

#[test]
fn runs_without_a_series_give_a_page_without_curves() {
    // Recording may be off: the table is still worth a page.
    let mut lab = two_laws();
    for run in &mut lab.runs {
        run.record.series = fadelab_sim::record::Series::default();
    }
    let page = page(&lab);
    assert_eq!(data(&page)["panels"], serde_json::json!([]));
    assert!(page.contains("steady"));
}

/// What a browser made of a page: the document after its scripts ran, and what it wrote to its console.
struct Seen {
    document: String,
    console: Vec<String>,
}

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn browser() -> Option<&'static str> {
    let runs = |name: &&&str| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let found = BROWSERS.iter().find(runs).copied();
    if found.is_none() {
        let reason = format!("none of {BROWSERS:?} is installed");
        assert!(
            std::env::var_os("FADELAB_REQUIRE_CHROMIUM").is_none(),
            "FADELAB_REQUIRE_CHROMIUM is set, but {reason}"
        );
        println!("skipped: the page in a browser: {reason}");
    }
    found
}

fn look(browser: &str, page: &str, place: &Path) -> Seen {
    let file = place.join("page.html");
    fs::write(&file, page).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
            "--window-size=1300,1000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", place.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    let console = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned)
        .collect();
    Seen {
        document: String::from_utf8_lossy(&output.stdout).into_owned(),
        console,
    }
}

#[test]
fn a_browser_draws_all_series_without_complaint() {
    // Two laws: three charts of a mean and a band each (18 series), and two charts with the windows of two flows (4).
    let Some(browser) = browser() else { return };
    let place = tempfile::tempdir().unwrap();
    let seen = look(browser, &page(&two_laws()), place.path());
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(seen.document.contains("data-charts=\"5\""));
    assert!(seen.document.contains("data-series=\"22\""));
    assert_eq!(seen.document.matches("<canvas").count(), 5);
}

#[test]
fn a_browser_draws_traces_and_single_seeds() {
    // One law, one seed, a trace: no bands, the capacity as a series more, two windows.
    let Some(browser) = browser() else { return };
    let place = tempfile::tempdir().unwrap();
    let mut lab = Lab::default();
    lab.add("steady", trace_spec(1, 60), |_| 900);
    let seen = look(browser, &page(&lab), place.path());
    assert_eq!(seen.console, Vec::<String>::new());
    assert!(seen.document.contains("data-charts=\"4\""));
    assert!(seen.document.contains("data-series=\"6\""));
}

#[test]
fn a_broken_page_is_noticed() {
    // The tests above would pass for ever if complaints did not arrive here.
    let Some(browser) = browser() else { return };
    let place = tempfile::tempdir().unwrap();
    let broken = page(&two_laws()).replace(
        "\"use strict\";\n\n// Draws",
        "throw new Error(\"broken\");\n\n// Draws",
    );
    let seen = look(browser, &broken, place.path());
    assert!(
        seen.console.iter().any(|line| line.contains("broken")),
        "{:?}",
        seen.console
    );
    assert!(!seen.document.contains("data-series"));
}
