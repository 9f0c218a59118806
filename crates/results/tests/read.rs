//! A result read back is the experiment that was written.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{Lab, picture, provenance, spec, trace_spec, two_laws};
use fadelab_results::manifest::FORMAT;
use fadelab_results::{Claim, Error, Experiment, Source, Specs, Summary, Target, Verdict, read, write};

fn put(place: &Path, name: &str, experiment: &Experiment) -> PathBuf {
    let target = Target::Exact(place.join(name));
    write(&target, experiment, &Summary::of(experiment), &provenance(), false).unwrap()
}

/// Two laws with a sweep, a trace, a hidden link that carries data, claims, and counters that do not end in zeros.
fn mixed() -> Experiment {
    let mut lab = two_laws();
    for seed in 1..=2 {
        let point = vec![("rate".to_owned(), "a, \"b\"".to_owned())];
        lab.add_at("steady", point, trace_spec(seed, 60), |second| 900 - second % 7);
    }
    lab.claims.push(Claim {
        id: "fig1.rises".to_owned(),
        published: "rises".to_owned(),
        measured: "falls".to_owned(),
        verdict: Verdict::CannotBeAsPrinted,
        why: "it falls".to_owned(),
    });
    lab.pictures.push(picture());
    for (place, run) in lab.runs.iter_mut().enumerate() {
        let record = &mut run.record;
        record.links_end[0].queue_pkt_ns += 123_456 + place as u128;
        record.links_warmup[0].queue_pkt_ns += 777;
        for (k, sample) in record.series.links[0].iter_mut().enumerate() {
            sample.queue_pkt_ns += 999 * k as u128;
        }
    }
    Experiment {
        warnings: vec!["one seed only".to_owned()],
        sources: vec![Source {
            file: "mine.h".to_owned(),
            text: "int x;\n".to_owned(),
        }],
        ..lab.experiment()
    }
}

#[test]
fn a_result_read_back_gives_the_same_bytes() {
    // Goal: tables, summary, page and setup written again from what was read are those of the first writing.
    let place = tempfile::tempdir().unwrap();
    let first = put(place.path(), "first", &mixed());
    let second = put(place.path(), "second", &read(&first).unwrap());
    let mut compared = 0;
    for entry in fs::read_dir(&first).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() {
            let other = second.join(file.file_name().unwrap());
            assert!(
                fs::read(&file).unwrap() == fs::read(other).unwrap(),
                "{}",
                file.display()
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
    assert_eq!(fs::read(second.join("laws/mine.h")).unwrap(), b"int x;\n");
}

#[test]
fn runs_share_the_spec_that_they_have_in_common() {
    // Goal: runs that differ in their seed alone have one spec, those of another network have another.
    let mut specs = Specs::default();
    let [first, second, other] = [spec(1, 60), spec(2, 60), trace_spec(1, 60)].map(|spec| specs.of(&spec));
    assert!(Arc::ptr_eq(&first, &second));
    assert_ne!(first, other);
}

#[test]
fn runs_without_a_series_are_read_back() {
    // Goal: recording is optional, and so is everything over time.
    let place = tempfile::tempdir().unwrap();
    let mut lab = Lab::default();
    lab.add("steady", spec(7, 60), |_| 900);
    lab.runs[0].record.series = fadelab_run::record::Series::default();
    let experiment = lab.experiment();
    let read = read(&put(place.path(), "r", &experiment)).unwrap();
    assert_eq!(Summary::of(&read), Summary::of(&experiment));
    assert_eq!((read.runs[0].seed, &read.runs[0].spec), (7, &experiment.runs[0].spec));
}

#[test]
fn what_is_no_result_is_refused() {
    // Goal: the message names the folder or the file, what is wrong with it and what to do.
    let place = tempfile::tempdir().unwrap();
    let error = read(place.path()).unwrap_err();
    assert!(matches!(
        error,
        Error::NotAResult {
            file: "manifest.json",
            ..
        }
    ));
    assert!(
        error.to_string().contains("Give a folder that `fadelab run` wrote"),
        "{error}"
    );
    let own = Experiment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..two_laws().experiment()
    };
    let damage: [(&str, &str); 3] = [
        ("links.parquet", "PAR1"),
        (
            "setup.json",
            "{\"specs\": [], \"runs\": [{\"law\": \"a\", \"point\": [], \"seed\": 1, \"spec\": 0, \"events\": 0}]}",
        ),
        ("summary.json", "[]"),
    ];
    for (file, text) in damage {
        let folder = put(place.path(), file, &own);
        fs::write(folder.join(file), text).unwrap();
        let error = read(&folder).unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains(&format!("{file} is damaged: ")), "{error}");
    }
}

/// The line of `manifest.json` that says of which form the files are.
fn form(number: u32) -> String {
    format!("\"format\": {number}")
}

#[test]
fn what_another_version_wrote_is_told_by_it() {
    // Goal: a result of another version that reads as it should is read; where it does not, or where its form is a
    // later one, the message names both versions, the file and what to do.
    let place = tempfile::tempdir().unwrap();
    let experiment = two_laws().experiment();
    let folder = put(place.path(), "old", &experiment);
    assert_eq!(read(&folder).unwrap().version, experiment.version);
    fs::remove_file(folder.join("flows.parquet")).unwrap();
    let message = read(&folder).unwrap_err().to_string();
    let ours = format!("this is {} (format {FORMAT})", env!("CARGO_PKG_VERSION"));
    let theirs = format!("by fadelab 0.0.0-test (format {FORMAT})");
    for part in [&theirs, &ours, "flows.parquet: it is missing", "run the scenario"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let later = put(place.path(), "later", &experiment);
    let manifest = fs::read_to_string(later.join("manifest.json")).unwrap();
    fs::write(
        later.join("manifest.json"),
        manifest.replace(&form(FORMAT), &form(FORMAT + 1)),
    )
    .unwrap();
    let error = read(&later).unwrap_err();
    let told = matches!(error, Error::OtherVersion { format, .. } if format == FORMAT + 1);
    assert!(told, "{error}");
}
