//! Runs kept from a sweep that has not come to its end.

mod common;

use std::fs;

use common::{record, spec};
use fadelab_results::{Target, Unfinished};

fn target(place: &std::path::Path) -> Target {
    Target::Numbered {
        parent: place.join("results"),
        name: "demo".to_owned(),
    }
}

#[test]
fn a_run_is_taken_as_it_was_kept() {
    // Goal: all of a record comes back, 128-bit integrals too, and only under its own key.
    let place = tempfile::tempdir().unwrap();
    let store = Unfinished::of(&target(place.path())).unwrap();
    let mut record = record(&spec(1, 60), |_| 900);
    record.links_end[0].queue_byte_ns = u128::from(u64::MAX) * 3;
    store.keep(7, &record).unwrap();
    assert_eq!(store.take(7), Some(record));
    assert_eq!(store.take(8), None);
    assert!(store.has(7) && !store.has(8));
    assert_eq!(store.folder(), place.path().join("results/.demo.unfinished"));
}

#[test]
fn a_damaged_run_is_not_taken() {
    // Goal: a changed byte and a missing end, as after a power failure, make a run that must be run again.
    let place = tempfile::tempdir().unwrap();
    let store = Unfinished::of(&target(place.path())).unwrap();
    let record = record(&spec(1, 60), |_| 900);
    let file = store.folder().join(format!("{:032x}.run", 7));
    let whole = || {
        store.keep(7, &record).unwrap();
        fs::read(&file).unwrap()
    };
    let bytes = whole();
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    for damaged in [&changed[..], &bytes[..bytes.len() - 1], &bytes[..3], &[]] {
        fs::write(&file, damaged).unwrap();
        assert_eq!(store.take(7), None);
    }
    assert_eq!((whole(), store.take(7)), (bytes, Some(record)));
}

#[test]
fn nothing_is_left_but_what_belongs_to_others() {
    // Goal: removing takes the runs of the given keys and what a dead process left; the runs of another sweep and what
    // a living process writes stay, and without them the folder goes.
    let place = tempfile::tempdir().unwrap();
    let store = Unfinished::of(&target(place.path())).unwrap();
    let record = record(&spec(1, 60), |_| 900);
    for key in [1, 2, 3] {
        store.keep(key, &record).unwrap();
    }
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let partial = |pid: u32| store.folder().join(format!("partial-{}-{pid}-{:032x}", host.trim(), 9));
    for pid in [dead.id(), std::process::id()] {
        fs::write(partial(pid), "half").unwrap();
    }
    store.remove(&[1, 2]);
    assert_eq!(store.count().0, 1);
    assert!(!partial(dead.id()).exists() && partial(std::process::id()).exists());
    fs::remove_file(partial(std::process::id())).unwrap();
    store.remove(&[3]);
    assert!(!store.folder().exists());
    store.keep(4, &record).unwrap();
    assert!(
        store.take(4).is_some(),
        "another process may have taken the folder away"
    );
}
