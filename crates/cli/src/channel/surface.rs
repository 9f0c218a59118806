//! What a search for code rates found, in words and as a table.

use std::fmt::Write;

use fadelab_lab::code_rates::{PAPER, Pair, Surface};
use fadelab_results::interval::Stat;

use crate::channel::probability;

/// Bits per second in the unit of the table.
const UNIT_BPS: f64 = 1e6;

/// Columns of a cell.
const CELL: usize = 8;

/// The surface, the best pair, the pairs that may be as good, and the papers' pair. `errors` tells the packet errors of
/// data and ACKs of a pair.
pub fn text(heading: &str, surface: &Surface, errors: &dyn Fn(Pair) -> Option<[f64; 2]>) -> String {
    let best = surface.best();
    let mut text =
        format!("{heading}\n\nMean goodput in Mbit/s; data code rate downwards, ACK code rate to the right\n\n");
    text.push_str(&table(surface, best));
    text.push_str("\n* best   ~ no different from the best: the 95 % interval of the paired difference contains 0\n\n");
    let _ = writeln!(text, "best pair         {}", row(surface, best, errors));
    let _ = writeln!(text, "the papers' pair  {}", row(surface, PAPER, errors));
    let _ = writeln!(text, "\n{}\n{}", verdict(surface, best), alike(surface, best));
    text.push_str("The best of many pairs was also lucky: expect a little less of it under other seeds.\n");
    text
}

fn table(surface: &Surface, best: Pair) -> String {
    let sorted = |mut rates: Vec<u32>| {
        rates.sort_unstable();
        rates.dedup();
        rates
    };
    let data = sorted(surface.pairs().map(|pair| pair.0).collect());
    let acks = sorted(surface.pairs().map(|pair| pair.1).collect());
    let mut text = format!("{:>6}", "");
    for &ack in &acks {
        let _ = write!(text, "{:>CELL$} ", rate(ack));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for &data in &data {
        let mut line = format!("{:>6}", rate(data));
        for &ack in &acks {
            let pair = (data, ack);
            let value = surface
                .stat(pair)
                .map_or_else(|| "·".to_owned(), |stat| format!("{:.4}", stat.mean / UNIT_BPS));
            let mark = match pair {
                _ if pair == best => '*',
                _ if surface.is_like(pair, best) => '~',
                _ => ' ',
            };
            let _ = write!(line, "{value:>CELL$}{mark}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn rate(thousandths: u32) -> f64 {
    f64::from(thousandths) / 1e3
}

fn row(surface: &Surface, pair: Pair, errors: &dyn Fn(Pair) -> Option<[f64; 2]>) -> String {
    let goodput = surface.stat(pair).map(|stat| interval(stat, 1.0)).unwrap_or_default();
    let lost = errors(pair).map_or_else(String::new, |[data, ack]| {
        format!(
            "; packet error {} of data, {} of ACKs",
            probability(data),
            probability(ack)
        )
    });
    format!("data {}, ACK {}: {goodput} Mbit/s{lost}", rate(pair.0), rate(pair.1))
}

/// A mean with half its interval.
fn interval(stat: Stat, sign: f64) -> String {
    let mean = sign * stat.mean / UNIT_BPS;
    match stat.ci95_half_width {
        Some(half) => format!("{mean:.4} ± {:.4}", half / UNIT_BPS),
        None => format!("{mean:.4} (one seed: no interval)"),
    }
}

fn verdict(surface: &Surface, best: Pair) -> String {
    let (Some(difference), Some(stat)) = (surface.difference(PAPER, best), surface.stat(best)) else {
        return String::new();
    };
    let less = format!("{} Mbit/s", interval(difference, -1.0));
    let percent = -100.0 * difference.mean / stat.mean;
    if best == PAPER {
        "The papers' pair is the best.".to_owned()
    } else if surface.is_like(PAPER, best) {
        format!("The papers' pair is no different from the best: {less} less ({percent:.2} %).")
    } else {
        format!("The papers' pair is not the best here: {less} less ({percent:.2} %).")
    }
}

/// How many pairs may be as good, and between which rates they lie.
fn alike(surface: &Surface, best: Pair) -> String {
    let all = surface.pairs().count();
    let alike: Vec<Pair> = surface.pairs().filter(|&pair| surface.is_like(pair, best)).collect();
    let range = |of: fn(&Pair) -> u32| {
        let (low, high) = (alike.iter().map(of).min(), alike.iter().map(of).max());
        let [low, high] = [low, high].map(|value| rate(value.unwrap_or(0)));
        if low < high {
            format!("{low} to {high}")
        } else {
            low.to_string()
        }
    };
    format!(
        "{} of {all} pairs are no different from the best: data {}, ACK {}.",
        alike.len(),
        range(|pair| pair.0),
        range(|pair| pair.1)
    )
}
