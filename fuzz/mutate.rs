//! Changes of a text that keep some of its grammar: lines come, go and take other values, values are of the kinds that
//! scenarios know. Byte by byte the grammar would be broken long before anything behind it is reached.

use fadelab_laws::{ParamInfo, capacities, routers, senders};
use fadelab_scenario::keys;

/// Words and values that mean something somewhere.
const WORDS: &[&str] = &[
    "true",
    "false",
    "auto",
    "same",
    "all",
    "each",
    "2x2",
    "1x2",
    "gf256",
    "ideal",
    "none",
    "graph",
    "dumbbell",
    "parking-lot",
    "vcp",
    "xcp",
    "reno",
    "cubic",
    "reno+rem",
    "cubic+fq_codel",
    "reno+red",
    "udp",
    "base",
    "mobile",
    "radio",
    "[]",
    "[1, 2]",
    "{}",
    "inf",
    "nan",
    "2020-01-01",
    "['base', 'r1']",
    "[['1 Mbit/s', '2 Mbit/s']]",
    "uniform 0 s..1 s",
    "exponential 5 s",
    "normal 5 ms +- 2 ms",
    "snr - 400 dB",
    "snr - 0 dB",
    "1 BDP",
    "0.5 BDP",
    "2 x bottleneck",
    "per flow",
    "unlimited",
    "greedy",
    "transfer",
    "cbr",
    "sessions",
    "http",
    "both",
    "backward",
    "1..3",
    "2..1",
    "rfc",
    "ns2",
    "linux",
    "wifi",
    "lte-harq",
    "lte-rlc-am",
    "lte-uplink",
    "internet",
    "packet-scale",
    "random",
    "gilbert-elliott",
    "8psk",
    "newreno",
    "sack",
    "measured",
    "configured",
    "traces/generated-lte.down",
    "end",
    "one",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "40",
    "41",
    "120",
    "255",
    "1000",
    "1040",
    "65535",
    "65536",
    "1000000",
    "4294967295",
    "4294967296",
    "1000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "0.5",
    "0.1",
    "1.0",
    "0.000000001",
    "1e-9",
    "1e9",
    "1e300",
    "-1",
    "-0",
    "00",
    "1_000",
    "0x10",
    "99999999999999999999999999999999",
];

const UNITS: &[&str] = &[
    "",
    "ns",
    "us",
    "ms",
    "s",
    "min",
    "h",
    "bit/s",
    "kbit/s",
    "Mbit/s",
    "Gbit/s",
    "B",
    "kB",
    "MB",
    "GB",
    "pkt",
    "bit",
    "kbit",
    "dB",
    "BDP",
    "x bottleneck",
    "..3",
    "%",
];

/// Draws a number below another.
type Draw<'a> = &'a mut dyn FnMut(usize) -> usize;

/// Numbers for a draw, from a seed (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub fn drawn_from(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % below.max(1) as u64) as usize
    }
}

/// One to four changes.
pub fn changed(text: &str, draw: Draw<'_>) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draw(4) {
        let at = draw(lines.len());
        match draw(7) {
            0 if !lines.is_empty() => drop(lines.remove(at)),
            1 if !lines.is_empty() => lines.insert(draw(lines.len()), lines[at].clone()),
            2 => lines.insert(at, format!("{} = {}", key(draw), value(draw))),
            3 => lines.insert(at, format!("{}={}", dotted_key(draw), value(draw))),
            4 => lines.insert(at, parameter(draw)),
            _ => {
                if let Some((name, _)) = lines.get(at).and_then(|line| line.split_once('=')) {
                    lines[at] = format!("{name}={}", value(draw));
                }
            }
        }
    }
    lines.join("\n") + "\n"
}

/// A declared key, as it stands below the heading of its table.
fn key(draw: Draw<'_>) -> &'static str {
    let table = &keys::TABLES[draw(keys::TABLES.len())];
    table.keys[draw(table.keys.len())].name
}

/// A declared key with the path of its table.
fn dotted_key(draw: Draw<'_>) -> String {
    let table = &keys::TABLES[draw(keys::TABLES.len())];
    let path = table.paths[draw(table.paths.len())].replace('*', ["wire", "long", "radio"][draw(3)]);
    let path = format!("{path}.{}", table.keys[draw(table.keys.len())].name);
    path.trim_start_matches('.').to_owned()
}

/// A value of some kind, sensible or not, quoted or bare.
fn value(draw: Draw<'_>) -> String {
    match draw(5) {
        0 => format!("\"{}\"", WORDS[draw(WORDS.len())]),
        1 => WORDS[draw(WORDS.len())].to_owned(),
        2 => NUMBERS[draw(NUMBERS.len())].to_owned(),
        3 => format!("[{}, {}]", quantity(draw), quantity(draw)),
        _ => quantity(draw),
    }
}

fn quantity(draw: Draw<'_>) -> String {
    format!("\"{} {}\"", NUMBERS[draw(NUMBERS.len())], UNITS[draw(UNITS.len())])
}

/// A parameter of a law, at an end of its range or near its default.
fn parameter(draw: Draw<'_>) -> String {
    let laws: Vec<(&str, &str, &[ParamInfo])> = match draw(3) {
        0 => senders().iter().map(|law| ("law", law.name(), law.params())).collect(),
        1 => routers()
            .iter()
            .map(|law| ("router", law.name(), law.params()))
            .collect(),
        _ => capacities()
            .iter()
            .map(|part| ("capacity", part.name(), part.params()))
            .collect(),
    };
    let (table, name, params) = laws[draw(laws.len())];
    let Some(info) = params.get(draw(params.len())) else {
        return format!("{table}.{name}.none={}", value(draw));
    };
    let near = [
        info.min,
        info.max,
        info.min + 1,
        info.max - 1,
        info.value / 2,
        info.value.saturating_mul(2),
    ];
    let given = near[draw(near.len())];
    let text = match info.unit {
        "bool" => (given != 0).to_string(),
        "us" | "B" | "pkt" => format!("\"{given} {}\"", info.unit),
        choices if choices.contains('|') => format!("\"{}\"", choices.split('|').nth(draw(3)).unwrap_or("none")),
        _ => (given as f64 / info.scale as f64).to_string(),
    };
    format!("{table}.{name}.{}={text}", info.name)
}
