//! A sweep on one thread and on two: what sharing the machine costs, and whether anybody waits.

use std::time::Instant;

use crate::measure::{self, Words, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::Bench;

const RUNS: u32 = 64;

/// Turns of each in a round, an odd number: one takes a second or two, in which whoever shares the machine may well
/// slow down one of the two by a tenth.
const TURNS: usize = 5;

/// `threads` workers on as many cores. Returns CPU seconds, seconds on the wall, and the share of the workers' time in
/// which one had nothing to do.
fn timed(bench: &Bench, threads: usize) -> Result<[f64; 3], String> {
    let mut words = bench
        .fadelab(
            "scenarios/dumbbell54.toml",
            60,
            &["flow.law=[\"reno\", \"vcp\"]".to_owned()],
        )
        .0;
    for (name, value) in [("--seeds", format!("1..{}", RUNS / 2)), ("--jobs", threads.to_string())] {
        let at = words
            .iter()
            .position(|word| word == name)
            .expect("each run has a seed and a number of threads");
        words[at + 1] = value;
    }
    let first = bench.core + 1 - threads;
    let mut pinned: Vec<String> = ["taskset", "-c"].map(str::to_owned).to_vec();
    pinned.push(format!("{first}-{}", bench.core));
    pinned.extend(words);
    bench.clear()?;
    let mut wall_s = 0.0;
    let cpu_s = measure::cpu_s(|| {
        let began = Instant::now();
        measure::run(&pinned).map_err(|error| format!("{}: {error}", Words(pinned.clone()).line()))?;
        wall_s = began.elapsed().as_secs_f64();
        Ok(())
    })?;
    Ok([cpu_s, wall_s, idle_share(bench)?])
}

/// The share of the workers' time in which one had nothing to do, of what the command noted itself.
fn idle_share(bench: &Bench) -> Result<f64, String> {
    let path = bench.scratch().join("result/manifest.json");
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
    let (mut costs, mut speedups, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        let mut turns = [const { Vec::new() }; 2];
        for _ in 0..TURNS {
            for (threads, turns) in (1..).zip(&mut turns) {
                turns.push(timed(bench, threads)?);
            }
        }
        let [alone, both] = &turns;
        let middle = |turns: &[[f64; 3]], which: usize| median(turns.iter().map(|turn| turn[which]).collect());
        costs.push(middle(both, 0) / middle(alone, 0));
        speedups.push(middle(alone, 1) / middle(both, 1));
        idle.push(middle(both, 2));
    }
    let row = |quantity, value, digits, bound| Row {
        case: "a sweep of 64 runs on two cores".to_owned(),
        quantity,
        value,
        digits,
        bound,
        basis: String::new(),
    };
    Ok(Section {
        name: "sweep",
        about: "A sweep on two threads beside the same on one".to_owned(),
        rows: vec![
            row("x the CPU time of one thread", median(costs), 3, Bound::AtMost(1.05)),
            row(
                "% of the workers' time idle",
                100.0 * median(idle),
                2,
                Bound::AtMost(2.0),
            ),
            row("x as fast", median(speedups), 2, Bound::None),
        ],
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
