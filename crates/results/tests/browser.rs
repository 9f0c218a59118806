//! The page in a browser: drawn without complaint, and it does what its controls say. `web/test/checks.mjs` has the
//! checks; here are the pages.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Lab, SECOND, flow, picture, spec, trace_spec, two_laws, watched_laws};
use fadelab_results::{Summary, report};
use fadelab_run::record::RunRecord;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn page(lab: &Lab) -> String {
    let experiment = lab.experiment();
    report::html(&experiment, &Summary::of(&experiment)).unwrap()
}

fn driver() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/test")
}

/// A program by the places where a shell looks for it.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// The browser, or why there is none to test with.
fn browser() -> Result<PathBuf, String> {
    let browser = BROWSERS.into_iter().find_map(program);
    let browser = browser.ok_or_else(|| format!("none of {BROWSERS:?} is installed"))?;
    if program("node").is_none() {
        return Err("node is not installed".to_owned());
    }
    if !driver().join("node_modules/puppeteer-core").exists() {
        return Err("its driver is missing; `npm ci --prefix web/test` installs it".to_owned());
    }
    Ok(browser)
}

/// Runs one check over one page; `None` where there is no browser.
fn look(page: &str, check: &str) -> Option<Output> {
    let browser = match browser() {
        Ok(browser) => browser,
        Err(reason) => {
            let required = std::env::var_os("FADELAB_REQUIRE_BROWSER").is_some();
            assert!(!required, "FADELAB_REQUIRE_BROWSER is set, but {reason}");
            println!("skipped: the page in a browser, {check}: {reason}");
            return None;
        }
    };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("page.html");
    fs::write(&file, page).unwrap();
    let mut node = Command::new("node");
    node.arg(driver().join("drive.mjs"))
        .args([browser.as_os_str(), file.as_os_str(), check.as_ref()]);
    Some(node.output().unwrap())
}

#[track_caller]
fn holds(page: &str, check: &str) {
    let Some(output) = look(page, check) else { return };
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(
        output.status.success(),
        "{check}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_figure_has_its_series() {
    // The expected number of charts, curves and bands, and no complaint.
    holds(&page(&two_laws()), "series");
}

#[test]
fn pointing_tells_the_values_of_every_law() {
    // Under the pointer, and in the other charts at the same time.
    holds(&page(&two_laws()), "values");
}

#[test]
fn a_law_is_hidden_and_shown_again() {
    // By its button, in all figures.
    holds(&page(&two_laws()), "laws");
}

#[test]
fn a_law_comes_to_the_front() {
    // Where curves cover each other.
    holds(&page(&two_laws()), "front");
}

#[test]
fn time_axes_are_zoomed_together_and_reset() {
    // By dragging, by a double click and by keys.
    holds(&page(&two_laws()), "zoom");
}

#[test]
fn charts_are_read_by_keys() {
    // Without a mouse.
    holds(&page(&two_laws()), "keys");
}

#[test]
fn flows_are_chosen() {
    // All as lines, their mean, or some.
    holds(&page(&two_laws()), "flows");
}

#[test]
fn seeds_and_layout_are_chosen() {
    // One seed by itself; a chart for each law.
    holds(&page(&two_laws()), "seeds");
}

#[test]
fn the_script_computes_what_the_table_says() {
    // Intervals are computed twice, in Rust and in the script: both must agree.
    holds(&page(&two_laws()), "statistics");
}

#[test]
fn every_chart_becomes_a_file() {
    // SVG for a paper and PNG, under sensible names.
    holds(&page(&two_laws()), "files");
}

#[test]
fn printing_draws_every_chart_and_no_control() {
    // Goal: what was out of view or folded is on paper too, and nothing is cut off.
    holds(&page(&two_laws()), "print");
}

#[test]
fn axes_have_three_ticks_and_end_where_figures_end() {
    // Goal: no axis of a share or of Jain's index goes beyond all, and none has fewer than three ticks.
    holds(&page(&two_laws()), "axes");
}

#[test]
fn what_laws_remember_is_drawn_when_it_is_opened() {
    // Goal: a chart for each declared value, of the link with its band over seeds and of flows a line each, names as
    // steps, values below zero on the axis; nothing of it is drawn while it is folded, nor where laws declare nothing.
    holds(&page(&watched_laws(3, 2)), "watched");
}

#[test]
fn light_and_dark() {
    // By the system and by the button; files stay light.
    holds(&page(&two_laws()), "theme");
}

#[test]
fn a_trace_stands_behind_the_throughput() {
    // One law, one seed: nothing to choose, no band.
    let mut lab = Lab::default();
    lab.add("steady", trace_spec(1, 60), |_| 900);
    holds(&page(&lab), "trace");
}

#[test]
fn a_sweep_is_a_line_over_its_values() {
    // The figure for a paper: means with intervals over a swept number.
    let mut lab = Lab::default();
    for (snr, load) in [("5 dB", 500), ("10 dB", 600), ("20 dB", 700)] {
        let point = vec![("channel.snr".to_owned(), snr.to_owned())];
        for seed in 1..=3 {
            lab.add_at("rising", point.clone(), spec(seed, 60), |_| load - 10 * (seed - 1));
            lab.add_at("flat", point.clone(), spec(seed, 60), |_| 400);
        }
    }
    holds(&page(&lab), "sweep");
}

#[test]
fn pairs_of_laws_have_looks_a_sweep_and_tables_that_fit() {
    // Goal: buttons tell the runs of pairs apart, the sweep draws harm by hand's numbers, and neither on the screen nor
    // on paper is a table of pairs cut.
    let mut lab = common::pairs::lab_of(&["0.5 BDP", "1 BDP"]);
    for run in &mut lab.runs {
        run.point[0].0 = "topology.bottleneck.buffer".to_owned();
    }
    holds(&page(&lab), "pairs");
}

#[test]
fn a_page_without_a_series_compares_laws_all_the_same() {
    // Recording may be off.
    let mut lab = two_laws();
    for run in &mut lab.runs {
        run.record.series = fadelab_run::record::Series::default();
    }
    holds(&page(&lab), "bare");
}

/// `flows` flows over the bottleneck whose windows swing, each with a phase of its own, for 1000 s.
fn many_flows(seed: u64, flows: usize) -> (fadelab_run::spec::RunSpec, RunRecord) {
    let mut spec = spec(seed, 1000);
    spec.flows = (0..flows).map(|k| flow(&format!("flow.{k}"), "flow", 0)).collect();
    let mut record = common::record(&common::spec(seed, 1000), |_| 900);
    let template = record.series.flows[0].clone();
    let curve = |k: usize| {
        let mut samples = template.clone();
        for (second, sample) in samples.iter_mut().enumerate() {
            sample.cwnd_pkts = 10 + ((second * 7 + k * 31 + seed as usize * 17) % 50) as u32;
        }
        samples
    };
    record.series.flows = (0..flows).map(curve).collect();
    record.flows_warmup = record
        .series
        .flows
        .iter()
        .map(|samples| samples[(10 * SECOND / SECOND) as usize])
        .collect();
    record.flows_end = record.series.flows.iter().map(|samples| samples[1000]).collect();
    (spec, record)
}

#[test]
fn three_laws_fifty_flows_and_thirty_seeds_stay_readable() {
    // The promise of the largest page: under 8 MB, lazily drawn. How long it takes is measured, not asserted.
    let mut lab = Lab::default();
    for law in ["one", "two", "three"] {
        for seed in 1..=30 {
            let (spec, record) = many_flows(seed, 50);
            lab.add(law, spec.clone(), |_| 0);
            lab.runs.last_mut().unwrap().record = record;
        }
    }
    let page = page(&lab);
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
    println!("the page has {} bytes", page.len());
    holds(&page, "large");
}

#[test]
fn figures_of_a_paper_are_drawn_with_what_was_published() {
    // Curves with their intervals and gaps, the published level where it holds, in both schemes and as a file.
    let mut lab = two_laws();
    lab.pictures.push(picture());
    holds(&page(&lab), "pictures");
}

#[test]
fn a_complaint_of_the_page_is_noticed() {
    // The tests above would pass for ever if complaints did not arrive here.
    let Some(output) = look(&page(&two_laws()), "complaint") else {
        return;
    };
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("a complaint of the page"));
}
