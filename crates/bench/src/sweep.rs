//! A sweep on one thread and on two: what sharing the machine costs, and whether anybody waits.

use std::ops::RangeInclusive;

use crate::measure::{self, Words, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::{BESIDE, Bench, RESULT};
use crate::slices::{Spent, Turn, beside};

const RUNS: u32 = 64;

/// Virtual seconds of each run.
const RUN_S: u32 = 50;

/// Rounds for each of the bench's: what the use of both cores costs changes with the neighbours of either, and so more
/// than other figures.
const ROUNDS: u32 = 3;

/// Where the results lie: of two threads, of two programs, and of one thread on either core.
const FOLDERS: [&str; 5] = [RESULT, BESIDE, "result-apart", "result-alone", "result-alone-beside"];

/// Who does the sweep.
#[derive(Clone, Copy)]
enum By {
    /// On one of the two cores: the machine may leave one of them more than the other.
    OneThread(usize),
    TwoThreads,
    /// Two programs, which have a core and half of the runs each and share nothing: what the machine itself takes for
    /// the use of both cores.
    TwoPrograms,
}

/// The command for the seeds of `seeds`, on `threads` threads and the cores of `cores`, with its result in `folder`.
fn command(bench: &Bench, threads: usize, seeds: RangeInclusive<u32>, cores: &str, folder: &str) -> Words {
    let laws = ["flow.law=[\"reno\", \"vcp\"]".to_owned()];
    let mut words = bench.fadelab("scenarios/dumbbell54.toml", RUN_S, &laws, folder).0;
    for (name, value) in [
        ("--seeds", format!("{}..{}", seeds.start(), seeds.end())),
        ("--jobs", threads.to_string()),
    ] {
        let at = words.iter().position(|word| word == name);
        words[at.expect("each run has seeds and a number of threads") + 1] = value;
    }
    let pin = ["taskset", "-c", cores].map(str::to_owned);
    Words(pin.into_iter().chain(words).collect())
}

fn turn(bench: &Bench, by: By) -> Turn {
    let cores = [bench.core, bench.core - 1].map(|core| core.to_string());
    let both = cores.join(",");
    let (seeds, half) = (RUNS / 2, RUNS / 4);
    let (commands, folders) = match by {
        By::OneThread(which) => (
            vec![command(bench, 1, 1..=seeds, &cores[which], FOLDERS[3 + which])],
            &FOLDERS[3 + which..4 + which],
        ),
        By::TwoThreads => (vec![command(bench, 2, 1..=seeds, &both, FOLDERS[0])], &FOLDERS[..1]),
        By::TwoPrograms => {
            let commands = vec![
                command(bench, 1, 1..=half, &cores[0], FOLDERS[1]),
                command(bench, 1, half + 1..=seeds, &cores[1], FOLDERS[2]),
            ];
            (commands, &FOLDERS[1..3])
        }
    };
    Turn {
        steps: vec![commands],
        folders: folders.iter().map(|folder| bench.scratch().join(folder)).collect(),
        begins_at: None,
    }
}

/// What a round tells, beside the same sweep on one thread.
struct Round {
    cpu_ratio: f64,
    /// The same of two programs.
    cpu_ratio_apart: f64,
    speed_ratio: f64,
    /// Share of the workers' time in which one had nothing to do.
    idle_share: f64,
}

fn rounds(bench: &Bench) -> Result<Vec<Round>, String> {
    let turns = [By::TwoThreads, By::TwoPrograms, By::OneThread(0), By::OneThread(1)].map(|by| turn(bench, by));
    let round = |_| {
        let spent = beside(turns.each_ref())?;
        let means = |of: fn(&Spent) -> f64| {
            let mean =
                |turns: &Vec<Vec<Spent>>| turns.iter().map(|turn| of(&turn[0])).sum::<f64>() / turns.len() as f64;
            spent.each_ref().map(mean)
        };
        let ([cpu_s, cpu_s_apart, alone_s @ ..], [wall_s, _, alone_wall_s @ ..]) =
            (means(|spent| spent.cpu_s), means(|spent| spent.wall_s));
        let [alone_s, alone_wall_s] = [alone_s, alone_wall_s].map(|of: [f64; 2]| of.iter().sum::<f64>() / 2.0);
        Ok(Round {
            cpu_ratio: cpu_s / alone_s,
            cpu_ratio_apart: cpu_s_apart / alone_s,
            speed_ratio: alone_wall_s / wall_s,
            idle_share: idle_share(bench)?,
        })
    };
    (0..ROUNDS * bench.rounds).map(round).collect()
}

/// The share of the workers' time in which one had nothing to do, which the command itself notes, in a run without
/// slices: they would count as time in which a worker works.
fn idle_share(bench: &Bench) -> Result<f64, String> {
    bench.clear(FOLDERS[0])?;
    measure::run(&turn(bench, By::TwoThreads).steps[0][0].0)?;
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
    let rounds = rounds(bench)?;
    let row = |quantity, of: fn(&Round) -> f64, digits: usize, bound| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        Row {
            case: format!("a sweep of {RUNS} runs on two cores"),
            quantity,
            basis: format!("{:.digits$} to {:.digits$}", values[0], values[values.len() - 1]),
            value: median(values),
            digits,
            bound,
        }
    };
    let cost = "x the CPU time of one thread";
    let beside_programs = "x the CPU time of two programs";
    let idle = "% of the workers' time idle";
    let mut rows = vec![
        row(cost, |round| round.cpu_ratio, 3, Bound::AtMost(1.05)),
        row(
            beside_programs,
            |round| round.cpu_ratio / round.cpu_ratio_apart,
            3,
            Bound::AtMost(1.05),
        ),
        row(idle, |round| 100.0 * round.idle_share, 2, Bound::AtMost(2.0)),
        row("x as fast", |round| round.speed_ratio, 2, Bound::None),
        row(cost, |round| round.cpu_ratio_apart, 3, Bound::None),
    ];
    "two programs with half of them each".clone_into(&mut rows[4].case);
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
