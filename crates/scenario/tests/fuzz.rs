//! Whatever the input, the answer is a plan or a refusal of one line with a place, never a panic.

use std::path::{Path, PathBuf};

use fadelab_scenario::{Options, keys, parse, ready_made};
use proptest::prelude::*;

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        // Goal: any input ends in a plan or in a refusal of one line with a place.
        prop_assert!(is_answered(&bytes, Vec::new()));
    }

    #[test]
    fn no_edit_makes_the_parser_panic(
        which in 0usize..100,
        edits in proptest::collection::vec((any::<prop::sample::Index>(), "[ -~\n]{0,8}", 0usize..8), 1..4),
    ) {
        // Goal: a ready-made scenario with a few bytes exchanged ends in a plan or in a refusal, as above.
        let all: Vec<_> = ready_made::all().collect();
        let mut text = all[which % all.len()].text.to_owned();
        for (at, with, cut) in edits {
            let start = boundary(&text, at.index(text.len() + 1));
            let end = boundary(&text, (start + cut).min(text.len()));
            text.replace_range(start..end, &with);
        }
        prop_assert!(is_answered(text.as_bytes(), Vec::new()), "{text}");
    }

    #[test]
    fn no_value_makes_the_parser_panic(key in any::<prop::sample::Index>(), value in values()) {
        // Goal: every declared key takes any value with a plan or a refusal of one line with a place.
        let keys: Vec<String> = keys::TABLES
            .iter()
            .flat_map(|table| table.keys.iter().map(|key| format!("{}.{}", table.paths[0], key.name)))
            .map(|path| path.replace('*', "wire").trim_start_matches('.').to_owned())
            .collect();
        let set = format!("{}={value}", key.get(&keys));
        let mut scenario = std::fs::read(scenarios().join("integrated.toml")).unwrap();
        scenario.extend(b"[link.wire]\nfrom = 'c1'\nto = 'base'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n");
        prop_assert!(is_answered(&scenario, vec![set]));
    }
}

/// The last place up to `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Values of every kind, sensible and not.
fn values() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("0".to_owned()),
        Just("-1".to_owned()),
        "[0-9]{1,25}",
        "-?[0-9]{1,4}\\.[0-9]{0,12}"
    ];
    let unit = prop::sample::select(vec![
        "",
        "ns",
        "ms",
        "s",
        "h",
        "Mbit/s",
        "Gbit/s",
        "B",
        "GB",
        "pkt",
        "bit",
        "dB",
        "BDP",
        "x bottleneck",
        "..3",
    ]);
    let word = prop::sample::select(vec![
        "true",
        "false",
        "auto",
        "same",
        "all",
        "each",
        "2x2",
        "gf256",
        "none",
        "graph",
        "vcp",
        "base",
        "[]",
        "[1, 2]",
        "{}",
        "inf",
        "2020-01-01",
        "['base', 'r1']",
        "[['1 s']]",
        "uniform 0 s..1 s",
        "snr - 400 dB",
    ]);
    prop_oneof![
        (number, unit).prop_map(|(number, unit)| format!("'{number} {unit}'")),
        word.prop_map(str::to_owned),
        "\\PC{0,12}"
    ]
}

/// Whether a scenario gets a plan, or a refusal that names a place on one line.
fn is_answered(bytes: &[u8], sets: Vec<String>) -> bool {
    let options = Options {
        sets,
        runs_max: 100,
        ..Options::default()
    };
    match parse(bytes, "some.toml", &scenarios(), &options) {
        Ok(plan) => !plan.runs.is_empty(),
        Err(refusal) => !refusal.place.is_empty() && !refusal.message.is_empty() && !refusal.to_string().contains('\n'),
    }
}
