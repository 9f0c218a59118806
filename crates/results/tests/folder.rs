//! The folder of a result: complete or not there, equal bytes for equal input, readable again.

mod common;

use std::fs::{self, File};
use std::path::Path;

use common::{provenance, two_laws};
use fadelab_results::{Error, Experiment, Source, Summary, Target, check_target, write};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

const FILES: [&str; 15] = [
    "answers.parquet",
    "completions.parquet",
    "drops.parquet",
    "flow_totals.parquet",
    "flows.parquet",
    "groups.parquet",
    "histograms.parquet",
    "links.parquet",
    "manifest.json",
    "report.html",
    "runs.parquet",
    "setup.json",
    "summary.json",
    "tunnels.parquet",
    "watch.parquet",
];

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn put(target: &Target, experiment: &Experiment) -> Result<std::path::PathBuf, Error> {
    write(target, experiment, &Summary::of(experiment), &provenance(), false)
}

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let file = File::open(folder.join(format!("{table}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn cell<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter()
        .find(|(column, _)| *column == name)
        .unwrap_or_else(|| panic!("no column {name}"))
        .1
}

#[test]
fn a_result_is_complete_and_leaves_nothing_beside_it() {
    // All files are in the folder, and the temporary one is gone.
    let place = tempfile::tempdir().unwrap();
    let lab = two_laws();
    let folder = put(&Target::Exact(place.path().join("deep/mine")), &lab.experiment()).unwrap();
    assert_eq!(entries(&folder), FILES);
    assert_eq!(entries(&place.path().join("deep")), ["mine"]);
}

#[test]
fn equal_input_gives_equal_bytes() {
    // Everything but the manifest is the same when the same experiment is written twice.
    let place = tempfile::tempdir().unwrap();
    let folders = ["one", "two"].map(|name| {
        let lab = two_laws();
        put(&Target::Exact(place.path().join(name)), &lab.experiment()).unwrap()
    });
    for file in FILES.iter().filter(|file| **file != "manifest.json") {
        assert!(
            fs::read(folders[0].join(file)).unwrap() == fs::read(folders[1].join(file)).unwrap(),
            "{file}"
        );
    }
}

#[test]
fn a_law_of_ones_own_is_kept() {
    // The text that was compiled stands in the folder under its file's name, byte by byte.
    let place = tempfile::tempdir().unwrap();
    let source = Source {
        file: "mine.h".to_owned(),
        text: "/* half a window */\n".to_owned(),
    };
    let experiment = Experiment {
        sources: vec![source.clone()],
        ..two_laws().experiment()
    };
    let folder = put(&Target::Exact(place.path().join("r")), &experiment).unwrap();
    assert_eq!(fs::read_to_string(folder.join("laws/mine.h")).unwrap(), source.text);
}

#[test]
fn numbers_go_on_after_the_highest_one() {
    // A removed folder in between does not make its number come again, and other names do not count.
    let place = tempfile::tempdir().unwrap();
    let parent = place.path().join("results");
    for taken in ["demo-001", "demo-007", "demo-mine", "other-050"] {
        fs::create_dir_all(parent.join(taken)).unwrap();
    }
    let lab = two_laws();
    let target = Target::Numbered {
        parent: parent.clone(),
        name: "demo".to_owned(),
    };
    assert_eq!(put(&target, &lab.experiment()).unwrap(), parent.join("demo-008"));
    assert_eq!(put(&target, &lab.experiment()).unwrap(), parent.join("demo-009"));
}

#[test]
fn a_folder_that_holds_anything_is_refused() {
    // The error names the folder, what is in it and what to do; the folder stays as it was.
    let place = tempfile::tempdir().unwrap();
    let (full, file) = (place.path().join("full"), place.path().join("file"));
    fs::create_dir(&full).unwrap();
    fs::write(full.join("thesis.tex"), "x").unwrap();
    fs::write(&file, "x").unwrap();
    let lab = two_laws();
    let error = put(&Target::Exact(full.clone()), &lab.experiment()).unwrap_err();
    assert!(matches!(error, Error::Occupied { .. }));
    assert!(
        error.to_string().contains("thesis.tex") && error.to_string().contains("move this one away"),
        "{error}"
    );
    assert!(matches!(check_target(&file).unwrap_err(), Error::NotAFolder { .. }));
    assert!(matches!(
        check_target(Path::new("/")).unwrap_err(),
        Error::NoName { .. }
    ));
    assert_eq!(entries(&full), ["thesis.tex"]);
    assert_eq!(entries(place.path()), ["file", "full"]);
}

#[test]
fn an_empty_folder_is_taken() {
    // Scripts make the folder first (mktemp -d); nothing can be lost by using it.
    let place = tempfile::tempdir().unwrap();
    let lab = two_laws();
    assert_eq!(
        entries(&put(&Target::Exact(place.path().to_owned()), &lab.experiment()).unwrap()),
        FILES
    );
}

#[test]
fn link_series_can_be_read_back() {
    // Row, key and value of a sample in the middle of the second run.
    let place = tempfile::tempdir().unwrap();
    let lab = two_laws();
    let folder = put(&Target::Exact(place.path().join("r")), &lab.experiment()).unwrap();
    let rows = rows(&folder, "links");
    assert_eq!(rows.len(), 6 * 61);
    let row = &rows[61 + 30];
    assert_eq!(cell(row, "ground"), &Field::Str("sim".into()));
    assert_eq!(cell(row, "run"), &Field::ULong(1));
    assert_eq!(cell(row, "seed"), &Field::ULong(2));
    assert_eq!(cell(row, "law"), &Field::Str("steady".into()));
    assert_eq!(cell(row, "link"), &Field::Str("bottleneck".into()));
    assert_eq!(cell(row, "time_ns"), &Field::Long(30_000_000_000));
    assert_eq!(cell(row, "sent_pkts"), &Field::Long(30 * 890));
    assert_eq!(cell(row, "queue_pkt_us"), &Field::Long(30 * 10 * 1_000_000));
    assert_eq!(cell(row, "queue_byte_us"), &Field::Long(30 * 10 * 1000 * 1_000_000));
}

#[test]
fn other_tables_can_be_read_back() {
    // One value of each that no other column has by chance.
    let place = tempfile::tempdir().unwrap();
    let lab = two_laws();
    let folder = put(&Target::Exact(place.path().join("r")), &lab.experiment()).unwrap();
    let flows = rows(&folder, "flows");
    assert_eq!(flows.len(), 6 * 3 * 61);
    assert_eq!(cell(&flows[61 + 5], "flow"), &Field::Str("down.1".into()));
    assert_eq!(cell(&flows[61 + 5], "delivered_bytes"), &Field::Long(5 * 225 * 960));
    let runs = rows(&folder, "runs");
    assert_eq!(runs.len(), 6);
    assert_eq!(cell(&runs[0], "sent_pkts"), &Field::Long(50 * 900));
    assert_eq!(cell(&runs[0], "utilisation"), &Field::Double(0.9));
    let totals = rows(&folder, "flow_totals");
    assert_eq!(totals.len(), 6 * 3);
    assert_eq!(cell(&totals[0], "delivered_bytes"), &Field::Long(50 * 675 * 960));
    assert_eq!(cell(&totals[2], "group"), &Field::Str("up".into()));
    let completions = rows(&folder, "completions");
    assert_eq!(completions.len(), 6 * 4);
    assert_eq!(cell(&completions[3], "end_ns"), &Field::Long(30_000_000_000));
}

#[test]
fn absent_figures_are_null() {
    // Without a series there is no swing: the column is null, not zero.
    let place = tempfile::tempdir().unwrap();
    let mut lab = two_laws();
    for run in &mut lab.runs {
        run.record.series = fadelab_run::record::Series::default();
    }
    let folder = put(&Target::Exact(place.path().join("r")), &lab.experiment()).unwrap();
    assert_eq!(cell(&rows(&folder, "runs")[0], "utilisation_sd"), &Field::Null);
    assert_eq!(cell(&rows(&folder, "runs")[0], "utilisation"), &Field::Double(0.9));
    assert!(rows(&folder, "links").is_empty());
}

#[test]
fn files_describe_their_columns() {
    // Units travel inside each file, and nothing in it depends on who wrote it when.
    let place = tempfile::tempdir().unwrap();
    let lab = two_laws();
    let folder = put(&Target::Exact(place.path().join("r")), &lab.experiment()).unwrap();
    let reader = SerializedFileReader::new(File::open(folder.join("flows.parquet")).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    assert_eq!(metadata.created_by(), Some("fadelab"));
    let described = metadata
        .key_value_metadata()
        .unwrap()
        .iter()
        .find(|pair| pair.key == "fadelab.columns")
        .unwrap();
    let columns: serde_json::Value = serde_json::from_str(described.value.as_ref().unwrap()).unwrap();
    let srtt = columns
        .as_array()
        .unwrap()
        .iter()
        .find(|column| column["name"] == "srtt_us")
        .unwrap();
    assert_eq!(srtt["unit"], "µs");
    assert_eq!(columns.as_array().unwrap().len(), metadata.schema_descr().num_columns());
}

#[test]
fn the_manifest_says_where_the_result_came_from() {
    // Scenario, seeds, laws, version and host, so that the run can be repeated elsewhere.
    let place = tempfile::tempdir().unwrap();
    let lab = two_laws();
    let folder = put(&Target::Exact(place.path().join("r")), &lab.experiment()).unwrap();
    let text = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["version"], "0.0.0-test");
    assert_eq!(manifest["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(manifest["laws"], serde_json::json!(["steady", "swinging"]));
    assert_eq!(manifest["scenario"], lab.experiment().scenario);
    assert!(!manifest["host"]["kernel"].as_str().unwrap().is_empty());
    assert_eq!(manifest["events"], 6 * 12_345);
}

#[test]
fn a_link_to_an_empty_folder_is_followed() {
    // Goal: the result stands where the link leads, the link stays, and nothing is left beside either.
    let place = tempfile::tempdir().unwrap();
    let (link, disk) = (place.path().join("link"), place.path().join("disk"));
    fs::create_dir_all(disk.join("real")).unwrap();
    std::os::unix::fs::symlink("disk/real", &link).unwrap();
    let target = Target::Exact(link.clone());
    target.check().unwrap();
    assert_eq!(put(&target, &two_laws().experiment()).unwrap(), link);
    assert_eq!(entries(&disk.join("real")), FILES);
    assert_eq!(entries(&disk), ["real"]);
    assert_eq!(entries(place.path()), ["disk", "link"]);
    assert!(link.is_symlink());
}

#[test]
fn a_name_that_is_too_long_is_refused_before_the_runs() {
    // Goal: the longest name that is allowed can be written, and one byte more is refused at once.
    let place = tempfile::tempdir().unwrap();
    let target = |bytes: usize| Target::Exact(place.path().join("x".repeat(bytes)));
    let Err(Error::LongName { bytes_max, .. }) = target(300).check() else {
        panic!("300 bytes are too long");
    };
    assert!(matches!(target(bytes_max + 1).check(), Err(Error::LongName { .. })));
    target(bytes_max).check().unwrap();
    put(&target(bytes_max), &two_laws().experiment()).unwrap();
    assert_eq!(entries(place.path()), ["x".repeat(bytes_max)]);
}
