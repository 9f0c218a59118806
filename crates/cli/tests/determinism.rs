//! The same scenario and seed give the same bytes: on one thread and on two, in debug and in release builds, and those
//! that this version of the tree is known to give.

mod golden;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use fadelab_laws::catalogue::{self, Role};
use fadelab_scenario::Options;
use golden::standard::{self, StandardRun};
use rayon::prelude::*;

/// The program of the profile in which the tests are built.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fadelab"))
}

#[test]
fn threads_change_no_byte_and_bytes_are_those_of_the_tree() {
    // Goal: twenty standard runs give equal files on one thread and on two, and their hashes are those of
    // tests/golden/hashes.txt.
    let runs = standard::all();
    assert_eq!(runs.len(), 20);
    let row = |run: &StandardRun| {
        let (one, two) = (run.files(program(), 1), run.files(program(), 2));
        let differing = standard::differing(&one, &two);
        assert!(
            differing.is_empty(),
            "{}: {differing:?} depend on the number of threads",
            run.name
        );
        standard::hashes(run, &one)
    };
    let table = standard::table(runs.par_iter().map(row).collect());
    golden::compare("hashes.txt", &table.text(), |before, now| table.moved(before, now));
}

#[test]
fn debug_and_release_give_the_same_bytes() {
    // Goal: five standard runs give equal files in this build and in a release build, and all twenty give the hashes of
    // the tree there. `make determinism` builds it and names it.
    let Some(release) = env::var_os("FADELAB_RELEASE").map(PathBuf::from) else {
        println!("skipped: debug_and_release_give_the_same_bytes: make determinism runs it, with a release build");
        return;
    };
    let runs = standard::all();
    assert_eq!(runs.iter().filter(|run| run.release).count(), 5);
    let row = |run: &StandardRun| {
        let files = run.files(&release, 2);
        if run.release {
            let differing = standard::differing(&files, &run.files(program(), 2));
            assert!(
                differing.is_empty(),
                "{}: {differing:?} differ between the builds",
                run.name
            );
        }
        standard::hashes(run, &files)
    };
    let table = standard::table(runs.par_iter().map(row).collect());
    golden::compare("hashes.txt", &table.text(), |before, now| table.moved(before, now));
}

#[test]
fn standard_runs_use_every_law() {
    // Goal: a sender, router or capacity part that is registered is in a standard run, and so is each kind of channel,
    // recovery and application, so that none can change unnoticed.
    let mut used = BTreeSet::new();
    for run in standard::all() {
        let options = Options {
            sets: run.sets(),
            ..Options::default()
        };
        let plan = fadelab_scenario::load(Path::new(&run.scenario()), &options).unwrap();
        assert!(plan.runs.len() > 1, "{}: one run says nothing about threads", run.name);
        for spec in plan.runs.iter().map(|run| &run.spec) {
            for flow in &spec.flows {
                used.extend(flow.sender.map(|law| format!("sender {}", law.name())));
                used.insert(kind("app", &flow.app));
                used.insert(kind("recovery", &flow.transport.recovery));
            }
            for link in &spec.network.links {
                used.insert(format!("router {}", link.router.law.name()));
                used.insert(format!("capacity {}", link.router.capacity.name()));
                used.insert(kind("rate", &link.capacity));
                used.insert(kind("queues", &link.queues));
                used.extend(link.channel.as_ref().map(|channel| kind("channel", &channel.model)));
            }
        }
    }
    let roles = [Role::Sender, Role::Router, Role::Capacity];
    let laws = roles
        .iter()
        .flat_map(|&role| catalogue::names(role).map(move |name| format!("{} {name}", role.name())));
    let kinds = [
        "app Greedy",
        "app Transfer",
        "app Cbr",
        "app Sessions",
        "recovery Sack",
        "recovery NewReno",
        "rate Constant",
        "rate Trace",
        "queues One",
        "queues Fair",
        "channel Random",
        "channel PacketScale",
        "channel GilbertElliott",
    ];
    let wanted = laws.chain(kinds.map(str::to_owned));
    let unused: Vec<String> = wanted.filter(|name| !used.contains(name)).collect();
    assert!(unused.is_empty(), "in no standard run: {unused:?}; there are {used:?}");
}

/// The variant of an enum by its name.
fn kind(of: &str, value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text
        .find(|letter: char| !letter.is_alphanumeric())
        .unwrap_or(text.len());
    format!("{of} {}", &text[..end])
}
