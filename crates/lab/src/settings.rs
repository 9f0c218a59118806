//! What two results were asked for differently.

use std::collections::BTreeMap;
use std::fmt;

use fadelab_results::Experiment;

/// Something that was asked for differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Another version of fadelab.
    Version {
        /// Of the first result.
        first: String,
        second: String,
    },
    /// The text of a law that is not fadelab's own; the path of its file below `laws`.
    Law(String),
    /// A key of the scenario.
    Key {
        /// Its dotted name.
        name: String,
        /// Its value in the first result, as TOML; `None` where it is not set.
        first: Option<String>,
        second: Option<String>,
    },
    /// The scenarios, in what is no key of one scenario.
    Scenario,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { first, second } => write!(f, "fadelab {first} → {second}"),
            Self::Law(file) => write!(f, "laws/{file} differs"),
            Self::Key { name, first, second } => {
                let value = |value: &'_ Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
                write!(f, "{name}: {} → {}", value(first), value(second))
            }
            Self::Scenario => f.write_str("the scenarios differ"),
        }
    }
}

/// Version, laws of the user's own, and keys of the scenario in which two results differ.
pub fn differing(first: &Experiment, second: &Experiment) -> Vec<Setting> {
    let mut settings = Vec::new();
    if first.version != second.version {
        settings.push(Setting::Version {
            first: first.version.clone(),
            second: second.version.clone(),
        });
    }
    let sources = first.sources.iter().chain(&second.sources);
    let mut files: Vec<&str> = sources.map(|source| source.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let text = |part: &Experiment, file: &str| part.sources.iter().find(|source| source.file == file).cloned();
    let differ = files.into_iter().filter(|file| text(first, file) != text(second, file));
    settings.extend(differ.map(|file| Setting::Law(file.to_owned())));
    settings.extend(keys_of(&keys(&first.scenario), &keys(&second.scenario)));
    if settings.is_empty() && first.scenario != second.scenario {
        settings.push(Setting::Scenario);
    }
    settings
}

/// The keys that have other values.
fn keys_of(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<Setting> {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| old.get(*name) != new.get(*name) && has_law(old, name) && has_law(new, name));
    let setting = |name: &String| Setting::Key {
        name: name.clone(),
        first: old.get(name).cloned(),
        second: new.get(name).cloned(),
    };
    names.into_iter().map(setting).collect()
}

/// Parameters of a law say nothing where the law is not run at all.
fn has_law(keys: &BTreeMap<String, String>, name: &str) -> bool {
    let mut parts = name.splitn(3, '.');
    let (Some(kind @ ("law" | "router")), Some(law)) = (parts.next(), parts.next()) else {
        return true;
    };
    let section = format!("{kind}.{law}.");
    keys.keys().any(|key| key.starts_with(&section))
}

/// A resolved scenario as dotted keys and their values; nothing for the several scenarios of a paper.
fn keys(scenario: &str) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    if let Ok(table) = scenario.parse::<toml::Table>() {
        flatten("", &toml::Value::Table(table), &mut keys);
    }
    keys
}

fn flatten(prefix: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    let dotted = |key: &str| {
        if prefix.is_empty() {
            key.to_owned()
        } else {
            format!("{prefix}.{key}")
        }
    };
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(&dotted(key), value, keys);
            }
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            for (place, value) in items.iter().enumerate() {
                flatten(&format!("{prefix}[{place}]"), value, keys);
            }
        }
        value => {
            keys.insert(prefix.to_owned(), value.to_string());
        }
    }
}
