//! Columns of tables: what the sweep and the flows of a row are.

mod common;

use std::fs::File;

use common::{Lab, provenance, spec};
use fadelab_results::{Summary, Target, write};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

const TABLES: [&str; 7] = [
    "links",
    "flows",
    "watch",
    "runs",
    "flow_totals",
    "groups",
    "completions",
];

/// A result over rates in two prefixes and antennas, and the last column of each table's rows that has a name.
fn written() -> (tempfile::TempDir, std::path::PathBuf) {
    let mut lab = Lab::default();
    for (rate, antennas) in [("500 kbit/s", "1x1"), ("2 Mbit/s", "2x2")] {
        let point = [
            ("topology.rate", rate),
            ("channel.antennas", antennas),
            ("run", antennas),
        ];
        let point = point.map(|(key, value)| (key.to_owned(), value.to_owned()));
        lab.add_at("a", point.to_vec(), spec(1, 60), |_| 900);
    }
    let folder = tempfile::tempdir().unwrap();
    let target = Target::Exact(folder.path().join("result"));
    let experiment = lab.experiment();
    let written = write(&target, &experiment, &Summary::of(&experiment), &provenance(), true).unwrap();
    (folder, written)
}

fn rows(file: &std::path::Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn cell<'a>(row: &'a Row, name: &str) -> Option<&'a Field> {
    row.get_column_iter()
        .find(|(column, _)| *column == name)
        .map(|(_, field)| field)
}

#[test]
fn coordinates_are_columns_of_numbers_with_their_unit() {
    // Goal: every table has a column per swept key, numbers in the unit that its name ends in and words as text, beside
    // the columns that it has without a sweep; the table of the columns describes them.
    let (_folder, written) = written();
    for table in TABLES {
        let rows = rows(&written.join(format!("{table}.parquet")));
        for (run, rate, antennas) in [(0, 500_000.0, "1x1"), (1, 2_000_000.0, "2x2")] {
            let of_run = |row: &&Row| cell(row, "run") == Some(&Field::ULong(run));
            let row = rows
                .iter()
                .find(of_run)
                .unwrap_or_else(|| panic!("{table} has no row of {run}"));
            assert_eq!(cell(row, "topology_rate_bps"), Some(&Field::Double(rate)), "{table}");
            assert_eq!(
                cell(row, "channel_antennas"),
                Some(&Field::Str(antennas.to_owned())),
                "{table}"
            );
        }
    }
    let runs = rows(&written.join("runs.parquet"));
    let renamed = cell(&runs[0], "point_run");
    assert_eq!(
        renamed,
        Some(&Field::Str("1x1".to_owned())),
        "`run` is the name of another column"
    );
    let columns = std::fs::read_to_string(written.join("csv/columns.csv")).unwrap();
    let described = "runs,topology_rate_bps,real or null,bit/s,swept key `topology.rate`";
    assert!(columns.lines().any(|line| line == described), "{columns}");
    assert!(fadelab_results::read(&written).is_ok());
}

#[test]
fn rows_of_flows_name_the_law_of_their_sender() {
    // Goal: whoever has one table of flows need not join another to know what sent them.
    let (_folder, written) = written();
    for table in ["flows", "flow_totals", "groups", "completions"] {
        let rows = rows(&written.join(format!("{table}.parquet")));
        let named = |row: &Row| matches!(cell(row, "sender"), Some(Field::Str(name)) if !name.is_empty());
        assert!(!rows.is_empty() && rows.iter().all(named), "{table}");
    }
}
