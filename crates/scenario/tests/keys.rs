//! One list of keys: what it declares is what readers do, what the documentation says and what editors are told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fadelab_scenario::key::Absent;
use fadelab_scenario::keys::TABLES;
use fadelab_scenario::{Options, docs, json, load, parse};

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a text with a file of the tree; with `FADELAB_BLESS=1` writes the file instead.
fn assert_golden(path: &str, text: &str) {
    let file = tree().join(path);
    if std::env::var_os("FADELAB_BLESS").is_some() {
        std::fs::write(file, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        found == text,
        "{path} is out of date; FADELAB_BLESS=1 cargo test -p fadelab-scenario rewrites it"
    );
}

/// Scenarios that together read every key.
const ALL: [&str; 15] = [
    "versus = {laws = ['reno']}",
    "channel = {snr = '30 dB', code = {data = 0.9, ack = 0.5}}",
    "channel = {model = 'packet-scale', good = '4 s', bad = '1 s', bit_error_good = 0.0, bit_error_bad = 1e-5}",
    "channel = {model = 'random', loss_data = 0.01}",
    "channel = {model = 'random', loss_data = 0.01, arq = {tries = 3, retry = '1 ms'}, \
     jitter = {delay = 'normal 5 ms +- 2 ms'}, reorder = {probability = 0.1, delay = '1 ms'}}",
    "topology = {preset = 'parking-lot', hops = ['1 Mbit/s', '2 Mbit/s'], hop = {delay = '1 ms'}}",
    "router = {queues = 8}",
    "flow = {app = 'transfer', size = '1 MB'}",
    "flow = {app = 'cbr', rate = '1 Mbit/s'}",
    "flow = {app = 'sessions', on = '1 s'}",
    "topology.nodes = ['a', 'b']\nlink.n = {from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms', channel = 'n'}\n\
     channel.n = {snr = '30 dB', code = {data = 0.9, ack = 0.5}}\nflow = {from = 'a', to = 'b'}",
    "topology.nodes = ['a', 'b']\nlink.n = {from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms'}\n\
     flow = {from = 'a', to = 'b'}",
    "topology.nodes = ['a', 'b']\nlink.n = {from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms'}\n\
     tunnel.n = {from = 'a', to = 'b'}\nflow = {from = 'a', to = 'b'}",
    "topology.nodes = ['a', 'b']\nlink.n = {from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms'}\n\
     tunnel.n = {from = 'a', to = 'b', rekey = '1 h'}\nflow = {from = 'a', to = 'b'}",
    "topology.nodes = ['a', 'b']\nlink.n = {from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms'}\n\
     tunnel.n = {from = 'a', to = 'b', law = 'vcp', params = {confirm = false}, \
     params_to = {confirm = true}}\nflow = {from = 'a', to = 'b'}",
];

/// Each key that some scenario reads, by its path with `*` for names, and the values that it resolves to.
fn resolved() -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in ALL {
        let mut sets = vec![
            "topology.bottleneck.rate=1 Mbit/s".to_owned(),
            "topology.bottleneck.delay=1 ms".to_owned(),
        ];
        // [versus] names the laws itself.
        sets.extend((!text.starts_with("versus")).then(|| "flow.law=reno".to_owned()));
        let options = Options {
            sets,
            ..Options::default()
        };
        let plan = parse(text.as_bytes(), "s.toml", Path::new(""), &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut table = String::new();
        for line in plan.text.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                table = name
                    .replace(".n.", ".*.")
                    .strip_suffix(".n")
                    .map_or(name.to_owned(), |head| format!("{head}.*"));
                table = table.replace(".n.", ".*.") + ".";
            } else if let Some((key, value)) = line.split_once(" = ") {
                values
                    .entry(format!("{table}{key}"))
                    .or_default()
                    .push(value.to_owned());
            }
        }
    }
    values
}

#[test]
fn readers_take_the_declared_keys_and_defaults() {
    // Goal: each declared key is read by some scenario, and where it has a default, that is what it resolves to.
    let resolved = resolved();
    let mut checked = 0;
    for table in TABLES {
        let path = table.paths[0];
        for key in table.keys {
            let path = if path.is_empty() {
                key.name.to_owned()
            } else {
                format!("{path}.{}", key.name)
            };
            let values = resolved.get(&path);
            match key.default {
                Absent::Is(text) => {
                    assert!(
                        values.is_some_and(|values| values.iter().any(|value| value == text)),
                        "{path}: {values:?}"
                    );
                    checked += 1;
                }
                Absent::Nothing => assert_eq!(values, None, "{path}"),
                _ => assert!(values.is_some(), "nothing reads {path}"),
            }
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn the_documentation_has_every_key() {
    // Goal: the tables of docs/scenario.md are those of the declarations, and none is missing.
    let path = "docs/scenario.md";
    let page = std::fs::read_to_string(tree().join(path)).unwrap();
    for table in docs::paths() {
        assert!(
            page.contains(&format!("<!-- keys of {table} -->\n| key |")),
            "{path} has no table of [{table}]"
        );
    }
    assert_golden(path, &docs::with_tables(&page));
}

#[test]
fn the_schema_is_up_to_date() {
    // Goal: editors that take the schema from the documentation folder get that of this version.
    assert_golden("docs/scenario.schema.json", &json::text());
}

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&serde_json::from_str(&json::text()).unwrap()).unwrap()
}

fn instance(text: &str) -> serde_json::Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

#[test]
fn the_schema_takes_every_shipped_scenario() {
    // Goal: an editor marks nothing in the scenarios of the project, as they are written and as they resolve.
    let validator = validator();
    let mut count = 0;
    let papers = std::fs::read_dir(tree().join("papers")).unwrap();
    let papers = papers.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    for folder in papers.chain([tree().join("scenarios")]) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            let of_the_ledger = ["claims.toml", "figures.toml", "studies.toml"]
                .iter()
                .any(|end| name.ends_with(end));
            if of_the_ledger || path.extension().is_none_or(|end| end != "toml") {
                continue;
            }
            count += 1;
            let written = std::fs::read_to_string(&path).unwrap();
            let resolved = load(&path, &Options::default()).unwrap().text;
            for text in [written, resolved] {
                if let Err(error) = validator.validate(&instance(&text)) {
                    panic!("{name}: {error} at {}", error.instance_path());
                }
            }
        }
    }
    assert!(count >= 9, "{count}");
    for text in ALL {
        assert!(validator.is_valid(&instance(text)), "{text}");
    }
}

#[test]
fn the_schema_refuses_what_shows_in_one_value() {
    // Goal: unknown keys, wrong units and words, and values out of range are marked in an editor, and the reader
    // refuses each of them as well.
    let validator = validator();
    let good = "topology.bottleneck.rate = '1 Mbit/s'\ntopology.bottleneck.delay = '1 ms'\n";
    for wrong in [
        "flow.lwa = 'reno'",
        "runs = {}",
        "flow.law = 'rneo'",
        "flow.law = 'reno+dorptail'",
        "run.duration = 10",
        "run.duration = '10 B'",
        "run.duration = []",
        "run.seeds = '1-3'",
        "run.seeds = -1",
        "flow.count = 0",
        "flow.count = 1.5",
        "flow.direction = 'left'",
        "flow.a.b = 1",
        "channel.snr = 30",
        "channel = {snr = '30 dB', code = {data = 1.5, ack = 0.5}}",
        "channel = {snr = '30 dB', code = {data = 0.05, ack = 0.5}}",
        "channel = {model = 'random', loss_data = 2}",
        "channel.antennas = '3x3'",
        "transport.dupthresh = 0",
        "transport.packet = '1000'",
        "law.reno.xyz = 1",
        "law.rneo = {}",
        "law.reno.limit_pkts = 2",
        "router.capacity = 'guessed'",
        "topology.bottleneck.buffer = '3 m'",
        "topology.access.rate = '2 x'",
        "link.a.frm = 'x'",
    ] {
        let text = format!("{good}{wrong}");
        assert!(!validator.is_valid(&instance(&text)), "the schema takes {wrong}");
        let sets = if wrong.contains("law =") {
            Vec::new()
        } else {
            vec!["flow.law=reno".to_owned()]
        };
        let options = Options {
            sets,
            ..Options::default()
        };
        assert!(
            parse(text.as_bytes(), "s.toml", Path::new(""), &options).is_err(),
            "the reader takes {wrong}"
        );
    }
}
