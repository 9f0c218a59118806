//! The reference of columns.

mod common;

use std::fs;
use std::path::Path;

use fadelab_results::docs;

#[test]
fn the_reference_of_columns_is_up_to_date() {
    // What the page says about columns is what the code writes; the part above the heading is written by hand.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    let page = fs::read_to_string(path).unwrap();
    let (by_hand, _) = page
        .split_once("\n## Columns\n")
        .expect("docs/results.md has a heading `Columns`");
    common::assert_golden(
        "docs/results.md",
        &format!("{by_hand}\n## Columns\n\n{}", docs::reference()),
    );
}
