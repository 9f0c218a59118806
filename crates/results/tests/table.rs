//! The terminal's table.

mod common;

use common::{Lab, spec, two_laws};
use fadelab_results::{Summary, table};

#[test]
fn the_table_reads_as_agreed() {
    // The whole text at 100 columns is the golden file: a change shows as a diff of what a person reads.
    let text = table::terminal(&Summary::of(&two_laws().experiment()), Some(100), false);
    common::assert_golden("crates/results/tests/golden/table.txt", &text);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    // Goal: what finds no room goes on below: no line of a table is wider, and every column stands at every width.
    let summary = Summary::of(&two_laws().experiment());
    let headings = |text: &str| {
        let is_heading = |line: &&str| line.starts_with("law ");
        let mut words: Vec<String> = text
            .lines()
            .filter(is_heading)
            .flat_map(str::split_whitespace)
            .filter(|word| *word != "law")
            .map(str::to_owned)
            .collect();
        words.sort();
        words
    };
    let all = headings(&table::terminal(&summary, None, false));
    assert!(all.len() > 8, "{all:?}");
    for width in [60, 80, 100, 130] {
        let text = table::terminal(&summary, Some(width), false);
        for line in text.lines().filter(|line| !line.contains(" minus ")) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert_eq!(headings(&text), all, "at {width}:\n{text}");
    }
}

#[test]
fn colour_only_when_asked_for() {
    // Escape codes in a pipe would spoil what reads it.
    let summary = Summary::of(&two_laws().experiment());
    assert!(!table::terminal(&summary, Some(100), false).contains('\x1b'));
    assert!(table::terminal(&summary, Some(100), true).contains("\x1b[1msteady"));
}

#[test]
fn sweeps_have_a_column_per_coordinate() {
    // A row is found by its point and its law, and the best law is marked within each point.
    let mut lab = Lab::default();
    for (law, loads) in [("a", [900, 300]), ("b", [800, 400])] {
        for (snr, load) in ["30 dB", "5 dB"].into_iter().zip(loads) {
            for seed in 1..=2 {
                lab.add_at(law, vec![("snr".into(), snr.into())], spec(seed, 60), |_| load + seed);
            }
        }
    }
    let view = &table::views(&Summary::of(&lab.experiment()), table::Columns::Usual)[0];
    assert_eq!(view.keys, ["snr", "law"]);
    let rows: Vec<_> = view.rows.iter().map(|row| (row.keys.join(" "), row.best)).collect();
    let expected = [
        ("30 dB a", true),
        ("30 dB b", false),
        ("5 dB a", false),
        ("5 dB b", true),
    ];
    assert_eq!(rows, expected.map(|(keys, best)| (keys.to_owned(), best)));
}

#[test]
fn nobody_wins_by_chance() {
    // Goal: a law is marked as the best if it is ahead by more than the seeds scatter, and never with one seed.
    let best = |seeds: &[(u64, u64)]| {
        let mut lab = Lab::default();
        for (seed, (first, second)) in (1..).zip(seeds) {
            lab.add("a", spec(seed, 60), |_| *first);
            lab.add("b", spec(seed, 60), |_| *second);
        }
        let view = &table::views(&Summary::of(&lab.experiment()), table::Columns::Usual)[0];
        view.rows.iter().map(|row| row.best).collect::<Vec<_>>()
    };
    assert_eq!(best(&[(900, 700)]), [false, false]);
    assert_eq!(best(&[(900, 700), (650, 640), (700, 760)]), [false, false]);
    assert_eq!(best(&[(900, 700), (850, 640), (940, 760)]), [true, false]);
}

#[test]
fn seeds_that_gave_the_same_result_are_told() {
    // Goal: equal runs are no certainty: no interval stands there, and the table says why, whether all laws or one.
    let alike = |both: bool| {
        let mut lab = Lab::default();
        for seed in 1..=3 {
            lab.add("steady", spec(seed, 60), |_| 900);
            lab.add("other", spec(seed, 60), |_| if both { 800 } else { 800 + seed });
        }
        table::terminal(&Summary::of(&lab.experiment()), Some(100), false)
    };
    let all = alike(true);
    assert!(
        all.contains("3 seeds, the same result from each: no interval") && !all.contains('±'),
        "{all}"
    );
    let one = alike(false);
    assert!(
        one.contains("The same result from every seed, so no interval: steady."),
        "{one}"
    );
    assert!(
        one.lines()
            .any(|line| line.starts_with("steady") && !line.contains('±')),
        "{one}"
    );
}
