//! Figures and tables for papers.

mod common;

use common::{Lab, SECOND, flow, picture, spec, two_laws};
use fadelab_results::print::{self, Asked, Form, Tables};
use fadelab_results::report::paper::{Choice, Figures, Request, pdf};
use fadelab_results::{Summary, report};
use fadelab_run::app::{App, Span};
use fadelab_run::flow::FlowKind;
use fadelab_run::record::{Completion, FlowCounters, Series};

const COLUMN_MM: f64 = 240.0 / 72.0 * 25.4;

fn figures(lab: &Lab) -> Figures {
    let experiment = lab.experiment();
    Figures::of(&experiment, &Summary::of(&experiment)).unwrap()
}

fn request(name: &str) -> Request {
    Request {
        name: name.to_owned(),
        width: COLUMN_MM,
        ..Request::default()
    }
}

fn svg(lab: &Lab, name: &str) -> String {
    figures(lab).draw(&request(name)).unwrap().unwrap().svg
}

/// Flows of one transfer each at three sizes; the larger the longer.
fn transfers(n: usize) -> Lab {
    let mut lab = Lab::default();
    let mut spec = spec(1, 60);
    let transfer = |k: usize| {
        let mut flow = flow(&format!("t.{k}"), "t", 0);
        let app = App::Transfer {
            start: Span::Fixed { ns: 20 * SECOND },
            bytes: 10_000 * (1 + k as u64 % 3),
        };
        let kind = FlowKind::clone(&flow.kind);
        flow.kind = FlowKind { app, ..kind }.into();
        flow
    };
    spec.flows = (0..n).map(transfer).collect();
    lab.add("short", spec, |_| 900);
    let ends = (0..n as u64).map(|k| Completion {
        flow: k as u32,
        start_ns: 20 * SECOND,
        end_ns: 20 * SECOND + (1 + k % 3) * SECOND / 10,
        bytes: 10_000 * (1 + k % 3),
    });
    let record = &mut lab.runs[0].record;
    let samples = record.series.time_ns.len();
    record.flows_warmup.resize(n, FlowCounters::default());
    record.flows_end.resize(n, FlowCounters::default());
    record.series.flows.resize(n, vec![FlowCounters::default(); samples]);
    record.completions = ends.collect();
    lab
}

#[test]
fn every_figure_that_is_listed_as_there_can_be_drawn() {
    // Goal: the command lists no figure that it then refuses, and none holds what a viewer cannot read.
    let mut lab = two_laws();
    lab.pictures.push(picture());
    let figures = figures(&lab);
    let named = figures.list().unwrap();
    let there: Vec<&str> = named.iter().filter(|n| n.there).map(|n| n.name.as_str()).collect();
    assert!(
        there.contains(&"utilisation") && there.contains(&"fig1") && there.len() >= 9,
        "{there:?}"
    );
    for named in &named {
        let drawn = figures.draw(&request(&named.name)).unwrap();
        assert_eq!(drawn.is_some(), named.there, "{}", named.name);
        let Some(drawn) = drawn else { continue };
        for part in ["NaN", "undefined", "var(", "light-dark", "null"] {
            assert!(!drawn.svg.contains(part), "{}: {part}", named.name);
        }
    }
}

#[test]
fn a_figure_has_units_a_legend_and_lines_that_grey_tells_apart() {
    // Goal: a figure says its axes and laws, and is read in black and white print.
    let svg = svg(&two_laws(), "utilisation");
    for part in [
        "Utilisation (%)",
        "Time (s)",
        ">steady<",
        ">swinging<",
        "width=\"84.67mm\"",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    // The swatch and the line of each law, whose colours are those of laws that are not built in.
    let mut dashes: Vec<&str> = svg
        .split("stroke-dasharray=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(dashes.len(), 4, "{dashes:?}");
    dashes.sort_unstable();
    assert!(
        dashes[0] == dashes[1] && dashes[1] != dashes[2] && dashes[2] == dashes[3],
        "{dashes:?}"
    );
}

#[test]
fn the_command_draws_what_the_page_draws() {
    // Goal: there is one code of charts: the script of the command is part of the page's.
    let experiment = two_laws().experiment();
    let page = report::html(&experiment, &Summary::of(&experiment)).unwrap();
    assert!(
        page.contains(include_str!("../../../web/figure.js")) && page.contains(include_str!("../../../web/time.js"))
    );
}

#[test]
fn a_figure_is_as_wide_as_asked_and_shows_what_is_asked() {
    // Goal: width, hidden laws and a span of time reach the drawing.
    let lab = two_laws();
    let asked = Request {
        width: 120.0,
        hidden: vec![1],
        state: Choice {
            zoom: Some([10.0, 30.0]),
            ..Choice::default()
        },
        ..request("queue")
    };
    let svg = figures(&lab).draw(&asked).unwrap().unwrap().svg;
    assert!(svg.contains("width=\"120.00mm\"") && svg.contains(">30</text>"));
    assert!(!svg.contains("swinging") && !svg.contains(">60</text>"));
}

#[test]
fn what_a_result_lacks_gives_no_figure() {
    // Goal: without a series, a second law or a sweep there is no figure of it, and no failure either.
    let mut lab = Lab::default();
    lab.add("alone", spec(1, 60), |_| 900);
    lab.runs[0].record.series = Series::default();
    let figures = figures(&lab);
    for name in [
        "utilisation",
        "cwnd",
        "shares",
        "sweep",
        "differences",
        "completion-by-size",
    ] {
        assert_eq!(figures.draw(&request(name)).unwrap(), None, "{name}");
    }
    assert!(figures.draw(&request("metrics")).unwrap().is_some());
}

#[test]
fn a_crowd_of_transfers_is_drawn_by_size_and_not_as_lines() {
    // Goal: a thousand short transfers give completion times by size; a few, or one size, give what they gave.
    let many = figures(&transfers(90));
    assert!(many.draw(&request("cwnd")).unwrap().is_none());
    assert!(many.draw(&request("shares")).unwrap().is_none());
    let drawn = many.draw(&request("completion-by-size")).unwrap().unwrap();
    assert!(drawn.note.contains("90 short") && drawn.svg.matches("<circle").count() == 90);
    let asked = Request {
        state: Choice {
            flows: Some("all"),
            ..Choice::default()
        },
        ..request("cwnd")
    };
    assert!(many.draw(&asked).unwrap().is_some());
    assert!(figures(&transfers(6)).draw(&request("cwnd")).unwrap().is_some());
    assert!(
        figures(&transfers(1))
            .draw(&request("completion-by-size"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_pdf_carries_its_letters_and_its_size() {
    // Goal: a paper's printer needs no font: the letters are in the file, and the page is as wide as the figure.
    let bytes = pdf(&svg(&two_laws(), "utilisation")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    // LaTeX warns of what says that it is newer.
    assert!(text.starts_with("%PDF-1.5\n") && text.contains("Arimo"));
    assert!(text.contains("/FontFile"), "no font");
    let (_, sides) = text.split_once("/MediaBox [0 0 ").expect("a page has a size");
    let width: f64 = sides.split(' ').next().unwrap().parse().unwrap();
    assert!((width - 240.0).abs() < 0.01, "{width} points");
}

fn asked(columns: &[&str]) -> Asked {
    Asked {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..Asked::default()
    }
}

#[test]
fn tables_have_the_cells_of_the_terminal() {
    // Goal: LaTeX has the rules of booktabs and escaped text, Markdown its pipes, each row as many cells as headings.
    let summary = Summary::of(&two_laws().experiment());
    let links = summary.data_links();
    let latex = print::tables(
        &summary,
        &links,
        &[Tables::Laws, Tables::Groups],
        Form::Latex,
        &Asked::default(),
    )
    .unwrap();
    for part in ["\\toprule", "\\midrule", "\\bottomrule", "\\%", " $\\pm$ ", "swinging"] {
        assert!(latex.contains(part), "{part} in {latex}");
    }
    let cells = |line: &str| line.matches(" & ").count();
    let lines: Vec<&str> = latex.lines().filter(|line| line.ends_with("\\\\")).collect();
    assert!(
        lines.len() == 4 && lines.iter().all(|line| cells(line) == cells(lines[0])),
        "{latex}"
    );
    let markdown = print::tables(&summary, &links, &[Tables::Laws], Form::Markdown, &Asked::default()).unwrap();
    let chosen = |columns: &[&str]| print::tables(&summary, &links, &[Tables::Laws], Form::Markdown, &asked(columns));
    // The columns that are asked for, in that order, by the whole heading or by how it begins.
    let few = chosen(&["RTT", "util"]).unwrap();
    assert!(few.contains("| law | RTT (ms) | utilisation (%) |"), "{few}");
    // A percentile alone has its interval; a table that nobody asked for it has the three in one cell.
    let p99 = chosen(&["wait p99"]).unwrap();
    assert!(p99.contains("| law | wait p99 (ms) |"), "{p99}");
    assert!(!markdown.contains("wait p99"), "{markdown}");
    let refusal = chosen(&["RTT", "price"]).unwrap_err();
    assert!(
        refusal.starts_with("no table has a column price; there are: utilisation, "),
        "{refusal}"
    );
    assert!(
        markdown.contains("| --- | ---: |") && markdown.contains("| steady | 89.0 ± "),
        "{markdown}"
    );
}

#[test]
fn csv_has_numbers_in_columns_of_their_own() {
    // Goal: mean, ends of the interval and number of seeds are read without parsing text, with units in the headings.
    let summary = Summary::of(&two_laws().experiment());
    let text = print::tables(
        &summary,
        &summary.data_links(),
        &[Tables::Laws],
        Form::Csv,
        &Asked::default(),
    )
    .unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let wanted = [
        "link",
        "law",
        "utilisation (1)",
        "utilisation ci95_low (1)",
        "utilisation ci95_high (1)",
        "utilisation n",
    ];
    assert_eq!(lines[0][..6], wanted);
    let numbers: Vec<f64> = lines[1][2..6].iter().map(|cell| cell.parse().unwrap()).collect();
    assert!(
        (numbers[0] - 0.89).abs() < 1e-3 && numbers[1] < numbers[0] && numbers[0] < numbers[2] && lines[1][5] == "3",
        "{numbers:?}"
    );
    let few = print::tables(
        &summary,
        &summary.data_links(),
        &[Tables::Laws],
        Form::Csv,
        &asked(&["rtt_ms_mean", "drop"]),
    );
    let few = few.unwrap();
    assert!(few.starts_with("link,law,rtt_ms_mean (ms),rtt_ms_mean ci95_low (ms)") && few.contains(",drop_rate (1),"));
    let refusal = print::tables(
        &summary,
        &summary.data_links(),
        &[Tables::Laws],
        Form::Csv,
        &asked(&["price"]),
    );
    assert!(
        refusal
            .unwrap_err()
            .starts_with("no figure of the CSV is called price; there are: utilisation, ")
    );
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    assert_eq!(
        print::tables(&summary, &[], &[Tables::Laws], Form::Csv, &Asked::default()).unwrap(),
        ""
    );
}

#[test]
fn one_link_is_the_bottleneck_whatever_it_is_called() {
    // Goal: the link called `bottleneck` is first, and where one flow runs alone its link is no access link.
    let of = |name: &str, flows: usize| {
        let mut spec = spec(1, 60);
        spec.network.links[0].name = name.into();
        spec.flows.truncate(flows);
        let mut lab = Lab::default();
        lab.add("a", spec, |_| 900);
        Summary::of(&lab.experiment())
    };
    assert_eq!(of("bottleneck", 2).bottleneck.as_deref(), Some("bottleneck"));
    let alone = of("only", 1);
    assert_eq!(
        (alone.bottleneck.as_deref(), alone.access_links.len()),
        (Some("only"), 0)
    );
}
