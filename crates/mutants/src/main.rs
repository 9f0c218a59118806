//! Shows that the tests notice broken code: puts each mutation of `tests/mutations` into a copy of the tree, one at a
//! time, and demands that its test fails. Demands first that the test passes without it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use clap::Parser;

mod copy;
mod judge;
mod mutation;
mod order;
mod sources;

use copy::Copy;
use judge::{Judge, Verdict};
use mutation::Mutation;
use order::Ages;
use sources::{Changed, MUTATIONS, Sources};

/// Mutations whose tests are run without them in one go, before the first of them is tried: what a mutation breaks is
/// built again with the next one, not once more in between.
const BATCH: usize = 8;

/// Break one thing at a time and see that a test notices.
#[derive(Parser)]
struct Args {
    /// Mutations to try, each a file `tests/mutations/NAME.mutation` [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Begin no mutation after this time, counted from when the first can be tried; take those first whose files
    /// changed last, and skip those whose test cannot run here
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
}

/// A mutation and the files that it touches, as they are with it.
type Case = (Mutation, Result<Changed, String>);

/// How many mutations were tried, and what became of them.
#[derive(Default)]
struct Count {
    tried: usize,
    killed: usize,
    skipped: usize,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all that were tried were killed, or cannot be tried here.
fn run(args: &Args) -> Result<bool, String> {
    let top = Path::new(".").canonicalize().map_err(|error| format!(".: {error}"))?;
    let sources = Sources::read(&top)?;
    let mut cases: Vec<Case> = load(&top, &args.names)?
        .into_iter()
        .map(|mutation| {
            let changed = sources.apply(&mutation);
            (mutation, changed)
        })
        .collect();
    if args.seconds.is_some() {
        let ages = Ages::read(&top)?;
        cases.sort_by_key(|(mutation, changed)| ages.of(&mutation.name, changed.iter().flat_map(Changed::keys)));
    }
    let target = top.join(env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from));
    let target = target.join("mutants");
    let copy = Copy::make(&top, target.join("tree"), &sources)?;
    // All mutations need all that tests can need; a lane of continuous integration takes those that it can.
    let mut judge = Judge::new(copy, &sources, target, args.seconds.is_none());
    let count = try_all(&mut judge, &cases, args.seconds)?;
    println!("\n{} of {} mutations killed", count.killed, count.tried - count.skipped);
    if count.skipped > 0 {
        println!("{} skipped, since their tests cannot run here", count.skipped);
    }
    if count.tried < cases.len() {
        println!("stopped for time: {} were not tried", cases.len() - count.tried);
    } else if args.names.is_empty() {
        print_untouched(&sources, &cases);
    }
    Ok(count.killed + count.skipped == count.tried)
}

/// The mutations of these names, or all.
fn load(top: &Path, names: &[String]) -> Result<Vec<Mutation>, String> {
    let folder = top.join(MUTATIONS);
    if names.is_empty() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        return files.iter().map(|file| Mutation::load(file)).collect();
    }
    let load_one = |name: &String| {
        let file = folder.join(format!("{name}.mutation"));
        if file.is_file() {
            Mutation::load(&file)
        } else {
            Err(format!(
                "there is no mutation `{name}`; they are the files {MUTATIONS}/NAME.mutation"
            ))
        }
    };
    names.iter().map(load_one).collect()
}

/// Tries one after the other, and prints what becomes of each.
fn try_all(judge: &mut Judge, cases: &[Case], seconds: Option<u64>) -> Result<Count, String> {
    let mut count = Count::default();
    let mut begin = None;
    for batch in cases.chunks(BATCH) {
        for (mutation, changed) in batch {
            if changed.is_ok() {
                judge.unsound(&mutation.test)?;
            }
        }
        // The first build takes minutes, in which nothing is tried; from then on the time counts.
        let begin = *begin.get_or_insert_with(Instant::now);
        for (mutation, changed) in batch {
            if seconds.is_some_and(|most| begin.elapsed() >= Duration::from_secs(most)) {
                return Ok(count);
            }
            let verdict = match (changed, judge.unsound(&mutation.test)?) {
                (Err(error), _) => Verdict::Error(error.clone()),
                (_, Some(verdict)) => verdict,
                (Ok(changed), None) => judge.judge(mutation, changed)?,
            };
            println!("{:<44} {verdict}", mutation.name);
            count.tried += 1;
            count.killed += usize::from(verdict == Verdict::Killed);
            count.skipped += usize::from(matches!(verdict, Verdict::Skipped(_)));
        }
    }
    Ok(count)
}

fn print_untouched(sources: &Sources, cases: &[Case]) {
    let changed = cases.iter().filter_map(|(_, changed)| changed.as_ref().ok());
    let touched: BTreeSet<PathBuf> = changed.flat_map(Changed::keys).cloned().collect();
    let untouched = order::untouched(sources, &touched);
    if !untouched.is_empty() {
        println!("\nwithout a mutation of their own:");
    }
    for path in untouched {
        println!("  {}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn every_mutation_finds_its_place() {
        // Goal: a change that makes a mutation stale is noticed with it, not by the next run of all of them.
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let sources = Sources::read(&top).unwrap();
        let mutations = load(&top, &[]).unwrap();
        let failed = mutations.iter().filter_map(|mutation| {
            let error = sources.apply(mutation).err()?;
            Some(format!("\n{MUTATIONS}/{}.mutation: {error}", mutation.name))
        });
        assert_eq!(failed.collect::<String>(), "");
        assert!(!mutations.is_empty());
    }

    #[test]
    fn every_broken_law_compiles() {
        // Goal: a mutation of a law that the compiler refuses, an unused variable say, is noticed with it: it would be
        // an error, not a kill, once it is tried.
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let sources = Sources::read(&top).unwrap();
        let laws = sources
            .files
            .iter()
            .filter(|(path, _)| path.starts_with("laws") && is_of_a_law(path));
        let laws: Vec<(&Path, &str)> = laws
            .map(|(path, text)| (path.as_path(), std::str::from_utf8(text).unwrap()))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &Path, text: &str| {
            let to = folder.path().join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, text).unwrap();
        };
        for (path, text) in &laws {
            put(path, text);
        }
        let includes = laws
            .iter()
            .map(|(path, _)| format!("#include \"{}\"\n", path.strip_prefix("laws").unwrap().display()));
        put(Path::new("all.c"), &includes.collect::<String>());
        let compiles = || compiler_says(&top, folder.path());
        assert_eq!(compiles(), "", "without a mutation");

        let mut failed = String::new();
        for mutation in load(&top, &[]).unwrap() {
            let Ok(changed) = sources.apply(&mutation) else {
                continue;
            };
            let changed: Vec<_> = changed
                .iter()
                .filter(|(path, _)| laws.iter().any(|(law, _)| law == path))
                .collect();
            if changed.is_empty() {
                continue;
            }
            for (path, text) in &changed {
                put(path, text);
            }
            let said = compiles();
            if !said.is_empty() {
                let _ = write!(failed, "\n{MUTATIONS}/{}.mutation: {said}", mutation.name);
            }
            for (path, _) in &changed {
                put(path, std::str::from_utf8(&sources.files[*path]).unwrap());
            }
        }
        assert_eq!(failed, "");
    }

    /// Whether a header is a law's or a part of one; those in `host` are for who calls laws, with a table of theirs.
    fn is_of_a_law(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == "h")
            && !["laws/host", "laws/proofs"].iter().any(|other| path.starts_with(other))
    }

    /// What the compiler says, with the flags of `crates/laws`, of `all.c` and the laws in this folder.
    fn compiler_says(top: &Path, folder: &Path) -> String {
        let output = std::process::Command::new("cc")
            .args([
                "-std=c11",
                "-O2",
                "-D_POSIX_C_SOURCE=200809L",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fsyntax-only",
            ])
            .arg("-I")
            .arg(folder.join("laws"))
            .arg("-I")
            .arg(top.join("crates/laws/guard"))
            .arg(folder.join("all.c"))
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    }
}
