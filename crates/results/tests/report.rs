//! The page: self-contained, safe against what scenarios contain, and drawn without complaint by a browser.

mod common;

use common::{Lab, picture, spec, trace_spec, two_laws, watched_laws};
use fadelab_results::curves::{Curves, LawCurves};
use fadelab_results::pack::Packed;
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
    for way_out in ["src=", "href=", "@import", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(way_out), "{way_out}");
    }
    // A drawing may refer to a part of itself.
    assert_eq!(page.matches("url(").count(), page.matches("url(#").count());
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

/// A curve by its place: the first panel's law, the table of `field` and the row.
fn curve(curves: &Curves, law: usize, field: fn(&LawCurves) -> &Packed, row: usize, bins_n: usize) -> Vec<f64> {
    let values = field(&curves.panels[0].laws[law]).values();
    values[row * bins_n..][..bins_n]
        .iter()
        .map(|value| value.unwrap_or(f64::NAN))
        .collect()
}

#[test]
fn curves_equal_the_hand_computed_ones() {
    // 60 s at 1 s samples are shown in 1 s bins: in the bin of second 15 `swinging` sends half of what it could.
    let curves = Curves::of(&two_laws().experiment());
    let panel = &curves.panels[0];
    assert_eq!((panel.bin_s, panel.bins_n, panel.flow_bin_s), (1.0, 60, 1.0));
    assert_eq!(panel.laws[0].seeds, ["1", "2", "3"]);
    assert_eq!(panel.flows, ["down.0", "down.1"]);
    assert!(panel.capacity_mbps.is_none());
    let at_15_s = |law, field, row| curve(&curves, law, field, row, 60)[15];
    let close =
        |value: f64, expected: f64| assert!((value - expected).abs() < 1e-4 * expected, "{value}, not {expected}");
    close(at_15_s(1, |law| &law.used, 0), 0.5);
    for (seed, used) in [0.9, 0.89, 0.88].into_iter().enumerate() {
        close(at_15_s(0, |law| &law.used, seed), used);
    }
    close(at_15_s(0, |law| &law.queue_pkts, 0), 10.0);
    close(at_15_s(0, |law| &law.rtt_ms, 0), 100.0);
    // 675 and 225 packets a second with seed 1, of 960 bytes; windows of a tenth of that; 667 with seed 2.
    close(at_15_s(0, |law| &law.cwnd_pkts, 0), 67.0);
    close(at_15_s(0, |law| &law.goodput_mbps, 0), 675.0 * 960.0 * 8e-6);
    close(at_15_s(0, |law| &law.goodput_mbps, 1), 225.0 * 960.0 * 8e-6);
    close(at_15_s(0, |law| &law.goodput_mbps, 2), 667.0 * 960.0 * 8e-6);
    close(at_15_s(0, |law| &law.flow_rtt_ms, 1), 100.0);
    close(panel.laws[0].share_mbps.values()[1].unwrap(), 225.0 * 960.0 * 8e-6);
    assert_eq!(panel.laws[0].completion_s.as_ref().unwrap().n, 6);
}

#[test]
fn long_runs_are_binned_with_the_range_of_the_windows() {
    // 1000 s in bins of 2 s: a bin has two samples, whose lowest, mean and highest window are told.
    let mut lab = Lab::default();
    lab.add(
        "alternating",
        spec(1, 1000),
        |second| if second % 2 == 0 { 800 } else { 400 },
    );
    let curves = Curves::of(&lab.experiment());
    let panel = &curves.panels[0];
    assert_eq!((panel.flow_bin_s, panel.flow_bins_n), (2.0, 500));
    let law = &panel.laws[0];
    let range = law.cwnd_pkts_range.as_ref().unwrap();
    let tenth = |packed: &Packed| packed.values()[10].unwrap().round();
    assert_eq!(
        (tenth(&range[0]), tenth(&law.cwnd_pkts), tenth(&range[1])),
        (30.0, 45.0, 60.0)
    );
}

#[test]
fn a_trace_shows_its_capacity_behind_the_throughput() {
    // 1000 packets of 1000 bytes a second are 8 Mbit/s, of which 900 are used.
    let mut lab = Lab::default();
    lab.add("steady", trace_spec(1, 60), |_| 900);
    let panel = &Curves::of(&lab.experiment()).panels[0];
    let capacity = panel.capacity_mbps.as_ref().unwrap().values()[3].unwrap();
    assert!((capacity - 8.0).abs() < 1e-3, "{capacity}");
    let used = panel.laws[0].used.values()[3].unwrap();
    assert!((used - 7.2).abs() < 1e-3, "{used}");
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
fn claims_stand_below_the_figure_they_are_about() {
    // The page of a paper: a section with a place for the picture, its claims in it, the others after it, tables last.
    let mut lab = two_laws();
    lab.pictures.push(picture());
    for id in ["fig1.a", "fig10.b"] {
        lab.claims.push(Claim {
            id: id.to_owned(),
            published: String::new(),
            measured: "one 1; two 2".to_owned(),
            verdict: Verdict::Reproduced,
            why: String::new(),
        });
    }
    let page = page(&lab);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    let order = [
        at("Figure 1: &lt;shares&gt;"),
        at("two thirds &amp; no more"),
        at("id=\"picture-0\""),
        at(">fig1.a<"),
        at("Claims without a figure"),
        at(">fig10.b<"),
        at("All runs in numbers"),
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert!(page.contains("one 1<br>two 2"));
}

#[test]
fn a_page_with_claims_says_how_they_ended() {
    // The page of a paper: its first sentence is about the paper, not about whichever law won most points.
    let mut lab = two_laws();
    for (id, verdict) in [
        ("a", Verdict::Reproduced),
        ("b", Verdict::Differs),
        ("c", Verdict::Reproduced),
    ] {
        lab.claims.push(Claim {
            id: id.to_owned(),
            published: String::new(),
            measured: String::new(),
            verdict,
            why: String::new(),
        });
    }
    assert!(page(&lab).contains("Of 3 claims: 2 reproduced, 1 differs."));
}

#[test]
fn large_sweeps_say_which_curves_are_missing() {
    // A page stays small; what it leaves out is said and is in the tables.
    let mut lab = Lab::default();
    for point in 0..45 {
        for seed in 1..=90 {
            lab.add_at("a", vec![("snr".into(), format!("{point} dB"))], spec(seed, 11), |_| {
                900
            });
        }
    }
    let curves = Curves::of(&lab.experiment());
    assert_eq!((curves.panels.len(), curves.panels_left_out), (44, 1));
    assert!(page(&lab).contains("those of 1 more are in"));
}

#[test]
fn runs_without_a_series_give_a_page_without_curves() {
    // Recording may be off: the table is still worth a page.
    let mut lab = two_laws();
    for run in &mut lab.runs {
        run.record.series = fadelab_run::record::Series::default();
    }
    let page = page(&lab);
    assert_eq!(data(&page)["panels"], serde_json::json!([]));
    assert!(page.contains("steady"));
}

/// A declared value of the first panel, by the law that declares it.
fn watched<'a>(data: &'a Value, law: &str, name: &str) -> &'a Value {
    let all = data["panels"][0]["watched"].as_array().unwrap();
    let is_asked = |value: &&Value| value["declared_by"] == law && value["name"] == name;
    all.iter().find(is_asked).unwrap()
}

fn numbers(curves: &Value) -> Vec<f64> {
    let base = curves["base"].as_f64().unwrap();
    let packed = Packed {
        step: curves["values"]["step"].as_f64().unwrap(),
        q: curves["values"]["q"].as_str().unwrap().to_owned(),
    };
    packed.values().into_iter().map(|value| value.unwrap() + base).collect()
}

#[test]
fn curves_of_declared_values_are_means_of_bins_and_choices_the_last_of_them() {
    // Goal: 60 s at 1 s samples are shown in bins of 1 s: each curve has the sample at the end of the bin, also below
    // zero, a row per seed at the link and a row per seed and flow at flows; a value belongs to the law that has it.
    let data = data(&page(&watched_laws(2, 2)));
    let load = watched(&data, "vcp", "load_factor");
    assert_eq!(
        (&load["kind"], &load["laws"].as_array().unwrap().len()),
        (&"link".into(), &1)
    );
    let is = numbers(&load["laws"][0]);
    assert_eq!(is.len(), 2 * 60);
    assert!(
        is.iter()
            .zip((1..=60).chain(1..=60))
            .all(|(is, s)| (is - f64::from(s) / 64.0).abs() < 1e-4),
        "{is:?}"
    );
    let codes = numbers(&watched(&data, "vcp", "code")["laws"][0]);
    let near = |is: f64, due: f64| (is - due).abs() < 0.01;
    assert!(near(codes[18], 1.0) && near(codes[19], 2.0) && near(codes[38], 2.0) && near(codes[39], 3.0));
    let aggregate = watched(&data, "xcp", "aggregate_Bps");
    assert_eq!(aggregate["laws"][0]["law"], 1);
    let is = numbers(&aggregate["laws"][0]);
    assert!(near(is[0], -29.0) && near(is[59], 30.0), "{is:?}");
    let windows = &watched(&data, "vcp", "window")["laws"][0];
    assert_eq!(windows["flows"], serde_json::json!([0, 1]));
    let is = numbers(windows);
    assert_eq!(is.len(), 2 * 2 * 60);
    assert!(near(is[0], 2.0) && near(is[60], 102.0), "{is:?}");
}

#[test]
fn a_thousand_flows_whose_laws_declare_values_do_not_cost_the_page_its_size() {
    // Goal: whatever is declared, its curves are some hundred thousand numbers at most, of the first seeds; with few
    // flows every seed has them.
    let counts = |seeds, flows| {
        let data = data(&page(&watched_laws(seeds, flows)));
        let all = data["panels"][0]["watched"].as_array().unwrap().clone();
        let curves: Vec<Value> = all
            .iter()
            .flat_map(|value| value["laws"].as_array().unwrap().clone())
            .collect();
        let values: usize = curves
            .iter()
            .map(|curves| curves["values"]["q"].as_str().unwrap().len() * 3 / 8)
            .sum();
        let window = &watched(&data, "vcp", "window")["laws"][0];
        (
            values,
            window["seeds"].as_array().unwrap().len(),
            window["flows"].as_array().unwrap().len(),
        )
    };
    let (values, seeds, flows) = counts(8, 1000);
    assert!(
        values < 650_000 && seeds < 8 && flows == 1000,
        "{values} {seeds} {flows}"
    );
    let (_, seeds, flows) = counts(3, 10);
    assert_eq!((seeds, flows), (3, 10));
}
