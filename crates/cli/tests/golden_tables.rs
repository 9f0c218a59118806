//! Laws x scenarios as tables that a person reads: a change of behaviour shows as a difference of numbers.

mod golden;

use golden::rows::{laws, table};

/// Makes the table of `tests/golden/NAME.toml` and compares it with `NAME.txt` beside it.
fn check(name: &str) {
    let by_hand = format!("fadelab run tests/golden/{name}.toml --set flow.law=LAW");
    let table = table(&golden::path(&format!("{name}.toml")), &by_hand, &laws(), &[]);
    let file = format!("{name}.txt");
    golden::compare(&file, &table.text(), |before, now| table.moved(before, now));
}

#[test]
fn satellite() {
    // Goal: every law over a fading satellite link gives the numbers of the golden table.
    check("satellite");
}

#[test]
fn terrestrial() {
    // Goal: every law over a wired path of 54 Mbit/s gives the numbers of the golden table.
    check("terrestrial");
}

#[test]
fn lte() {
    // Goal: every law over a link of changing rate gives the numbers of the golden table.
    check("lte");
}

#[test]
fn lossy_dumbbell() {
    // Goal: every law under random loss gives the numbers of the golden table.
    check("lossy-dumbbell");
}

#[test]
fn parking_lot() {
    // Goal: every law over four hops gives the numbers of the golden table, hop by hop.
    check("parking-lot");
}

#[test]
fn differences_name_rows_and_numbers() {
    // Goal: what a person is told of two versions of a table are the rows that moved, the numbers and their names.
    let version = |rows: &[[&str; 3]]| golden::text::Table {
        introduction: "About two laws.".to_owned(),
        heading: vec!["law", "utilisation", "p95 RTT ms"],
        keys: 1,
        rows: rows.iter().map(|row| row.map(str::to_owned).into()).collect(),
    };
    let before = version(&[["a", "0.9", "80.0"], ["b", "0.8", "9.0"], ["c", "0.5", "1.0"]]);
    let now = version(&[["a", "0.9", "81.5"], ["b", "0.8", "9.0"], ["d", "0.5", "1.0"]]);
    assert_eq!(
        before.text(),
        "About two laws.\n\nlaw  utilisation  p95 RTT ms\na            0.9        80.0\n\
         b            0.8         9.0\nc            0.5         1.0\n"
    );
    let moved = now.moved(&before.text(), &now.text());
    assert_eq!(
        moved,
        ["a: p95 RTT ms 80.0 -> 81.5", "d: a new row", "c: the row is gone"]
    );
    assert!(now.moved(&now.text(), &now.text()).is_empty());
}
