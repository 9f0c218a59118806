//! A sweep on one thread and on two: what sharing the machine costs, and whether anybody waits.

use std::ops::RangeInclusive;
use std::thread;
use std::time::Instant;

use crate::measure::{self, Pairs, Words, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::{Bench, RESULT};

const RUNS: u32 = 64;

/// Virtual seconds of each run. A turn takes about a second with that: many short ones tell more than few long ones.
const RUN_S: u32 = 20;

/// Where the results of one or two programs lie.
const FOLDERS: [&str; 2] = [RESULT, "result-beside"];

/// Who does the sweep.
#[derive(Clone, Copy)]
enum By {
    OneThread,
    TwoThreads,
    /// Two programs, which have a core and half of the runs each and share nothing: what the machine itself takes for
    /// the use of both cores.
    TwoPrograms,
}

/// A turn: what it cost, and the share of the workers' time in which one had nothing to do.
struct Turn {
    cpu_s: f64,
    wall_s: f64,
    idle_share: f64,
}

/// The command for the seeds of `seeds`, on `threads` threads and the cores of `cores`, with its result in `folder`.
fn command(bench: &Bench, threads: usize, seeds: RangeInclusive<u32>, cores: &str, folder: &str) -> Vec<String> {
    let laws = ["flow.law=[\"reno\", \"vcp\"]".to_owned()];
    let mut words = bench.fadelab("scenarios/dumbbell54.toml", RUN_S, &laws).0;
    let out = bench.scratch().join(folder).display().to_string();
    for (name, value) in [
        ("--seeds", format!("{}..{}", seeds.start(), seeds.end())),
        ("--jobs", threads.to_string()),
        ("--out", out),
    ] {
        let at = words.iter().position(|word| word == name);
        words[at.expect("each run has seeds, a number of threads and a folder") + 1] = value;
    }
    let pin = ["taskset", "-c", cores].map(str::to_owned);
    pin.into_iter().chain(words).collect()
}

fn take_turn(bench: &Bench, by: By) -> Result<Turn, String> {
    let (one, both) = (bench.core.to_string(), format!("{}-{}", bench.core - 1, bench.core));
    let (seeds, half) = (RUNS / 2, RUNS / 4);
    let commands = match by {
        By::OneThread => vec![command(bench, 1, 1..=seeds, &one, FOLDERS[0])],
        By::TwoThreads => vec![command(bench, 2, 1..=seeds, &both, FOLDERS[0])],
        By::TwoPrograms => {
            let other = (bench.core - 1).to_string();
            vec![
                command(bench, 1, 1..=half, &one, FOLDERS[0]),
                command(bench, 1, half + 1..=seeds, &other, FOLDERS[1]),
            ]
        }
    };
    for folder in FOLDERS {
        bench.clear(folder)?;
    }
    let began = Instant::now();
    let cpu_s = measure::cpu_s(|| side_by_side(&commands))?;
    Ok(Turn {
        cpu_s,
        wall_s: began.elapsed().as_secs_f64(),
        idle_share: idle_share(bench)?,
    })
}

/// Runs all at once.
fn side_by_side(commands: &[Vec<String>]) -> Result<(), String> {
    thread::scope(|scope| {
        let runs: Vec<_> = commands
            .iter()
            .map(|words| scope.spawn(move || measure::run(words)))
            .collect();
        for (run, words) in runs.into_iter().zip(commands) {
            let outcome = run.join().expect("a failure is an error");
            outcome.map_err(|error| format!("{}: {error}", Words(words.clone()).line()))?;
        }
        Ok(())
    })
}

/// The share of the workers' time in which one had nothing to do, of what the command noted itself.
fn idle_share(bench: &Bench) -> Result<f64, String> {
    let path = bench.scratch().join(FOLDERS[0]).join("manifest.json");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    share_of(&text).ok_or_else(|| format!("{} says nothing of idle workers", path.display()))
}

fn share_of(manifest: &str) -> Option<f64> {
    let manifest: serde_json::Value = serde_json::from_str(manifest).ok()?;
    let number = |pointer| manifest.pointer(pointer).and_then(serde_json::Value::as_f64);
    Some(number("/sharing/idle_s")? / (number("/threads")? * number("/wall_time_s")?))
}

/// # Errors
/// In words, where a run fails or there is one core only.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    if bench.core == 0 {
        return Err("a sweep on two cores needs two; this machine has one".to_owned());
    }
    eprintln!("bench: a sweep of {RUNS} runs");
    let cpu_s = |by| Ok(take_turn(bench, by)?.cpu_s);
    let (mut alone_s, mut both) = (Vec::new(), Vec::new());
    let costs = Pairs::of(
        bench.rounds,
        || {
            let turn = take_turn(bench, By::TwoThreads)?;
            both.push([turn.wall_s, turn.idle_share]);
            Ok(turn.cpu_s)
        },
        || {
            let turn = take_turn(bench, By::OneThread)?;
            alone_s.push(turn.wall_s);
            Ok(turn.cpu_s)
        },
    )?;
    let costs_apart = Pairs::of(bench.rounds, || cpu_s(By::TwoPrograms), || cpu_s(By::OneThread))?;
    let [wall_s, idle_share] = [0, 1].map(|which| median(both.iter().map(|turn| turn[which]).collect()));
    let row = |quantity, value, digits, bound| Row {
        case: format!("a sweep of {RUNS} runs on two cores"),
        quantity,
        value,
        digits,
        bound,
        basis: String::new(),
    };
    let cost = "x the CPU time of one thread";
    let idle = "% of the workers' time idle";
    let mut rows = vec![
        row(cost, costs.ratio(), 3, Bound::AtMost(1.05)),
        row(idle, 100.0 * idle_share, 2, Bound::AtMost(2.0)),
        row("x as fast", median(alone_s) / wall_s, 2, Bound::None),
        row(cost, costs_apart.ratio(), 3, Bound::None),
    ];
    "two programs with half of them each".clone_into(&mut rows[3].case);
    Ok(Section {
        name: "sweep",
        about: "A sweep on two threads beside the same on one".to_owned(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_a_share_of_all_workers() {
        // Goal: what one of two workers waits at the end is half as much of both's time, and a manifest that does not
        // tell is no share of 0.
        let manifest = r#"{"wall_time_s": 10.0, "threads": 2, "sharing": {"cpu_time_s": 19.0, "idle_s": 1.0}}"#;
        assert_eq!(share_of(manifest), Some(0.05));
        assert_eq!(share_of(r#"{"wall_time_s": 10.0, "threads": 2}"#), None);
    }
}
