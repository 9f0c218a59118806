//! The JSON Schema of scenarios, for editors that complete and check TOML.
//!
//! It is made from the declared keys and the registered laws. It refuses nothing that [`crate::parse`] takes; what
//! only shows when keys are seen together (a trace that does not exist, a flow with no route) it cannot refuse.

use fadelab_laws::catalogue::{self, Role};
use fadelab_laws::{Capacity, Gateway, ParamInfo, Router, Sender};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::key::{Absent, Key};
use crate::keys::TABLES;
use crate::kind::Kind;
use crate::laws::UDP;
use crate::schema::FIXED_KEYS;
use crate::tunnels;

/// Entries of a JSON object, in order.
type Entries = Vec<(String, Schema)>;

/// A schema, with the keywords that are used here.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Schema {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    dialect: Option<&'static str>,
    #[serde(rename = "$ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(rename = "const", skip_serializing_if = "Option::is_none")]
    only: Option<Value>,
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    words: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    any_of: Vec<Schema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<Schema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_items: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "object")]
    properties: Entries,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "object")]
    pattern_properties: Entries,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_properties: Option<bool>,
    #[serde(rename = "$defs", skip_serializing_if = "Vec::is_empty", serialize_with = "object")]
    definitions: Entries,
}

fn object<S: Serializer>(entries: &Entries, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(name, schema)| (name, schema)))
}

impl Schema {
    fn of(kind: &'static str) -> Self {
        Self {
            kind: Some(kind),
            ..Self::default()
        }
    }

    fn text(pattern: &str) -> Self {
        Self {
            pattern: Some(pattern.to_owned()),
            ..Self::of("string")
        }
    }

    fn words(words: &[&str]) -> Self {
        Self {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            ..Self::default()
        }
    }

    fn only(value: impl Into<Value>) -> Self {
        Self {
            only: Some(value.into()),
            ..Self::default()
        }
    }

    fn range(kind: &'static str, min: f64, max: f64) -> Self {
        Self {
            minimum: Some(min),
            maximum: Some(max),
            ..Self::of(kind)
        }
    }

    fn any(any_of: Vec<Self>) -> Self {
        Self {
            any_of,
            ..Self::default()
        }
    }

    fn list(items: Self) -> Self {
        Self {
            items: Some(Box::new(items)),
            min_items: Some(1),
            ..Self::of("array")
        }
    }

    fn table(properties: Entries) -> Self {
        Self {
            properties,
            additional_properties: Some(false),
            ..Self::of("object")
        }
    }

    fn defined(name: &str) -> Self {
        Self {
            reference: Some(format!("#/$defs/{name}")),
            ..Self::default()
        }
    }

    /// This, or a list of it: a sweep.
    fn swept(self) -> Self {
        Self::any(vec![self.clone(), Self::list(self)])
    }
}

const NUMBER: &str = r"^\s*\+?[0-9]+\.?[0-9]*\s*";

/// A quantity with one of these units, with the pattern of its values.
fn quantity(units: &str, examples: &[&str]) -> Schema {
    Schema {
        examples: examples.iter().map(|example| (*example).to_owned()).collect(),
        ..Schema::text(&format!("{NUMBER}({units})\\s*$"))
    }
}

const DURATION_UNITS: &str = "ns|us|µs|ms|s|min|h";
const RATE_UNITS: &str = "[kMG]?bit/s";

/// What `$defs` has: kinds that many keys share.
fn definitions() -> Entries {
    let duration = format!(r"\s*\+?[0-9]+\.?[0-9]*\s*({DURATION_UNITS})");
    let span = format!(r"^\s*({duration}|uniform\s+{duration}\s*\.\.\s*{duration}|exponential\s+{duration})\s*$");
    let random = format!(
        r"^\s*(uniform {duration}\s*\.\.\s*{duration}|normal {duration}\s*\+-\s*{duration}|exponential {duration})\s*$"
    );
    let below = r"^\s*(snr -)?\s*[+-]?[0-9]*\.?[0-9]*\s*dB\s*$";
    let change = format!(r"{duration}\s*:\s*\+?[0-9]+\.?[0-9]*\s*{RATE_UNITS}\s*");
    let changes = format!(r"^\s*(none|{change}(,{change})*)\s*$");
    let access = format!(r"{NUMBER}({RATE_UNITS}|x bottleneck)\s*$");
    let senders: Vec<&str> = catalogue::names(Role::Sender).chain([UDP]).collect();
    let routers: Vec<&str> = catalogue::names(Role::Router).collect();
    let (senders, routers) = (senders.join("|"), routers.join("|"));
    let fair = crate::queues::FAIR_PREFIX;
    [
        ("duration", quantity(DURATION_UNITS, &["80 ms"])),
        ("rate", quantity(RATE_UNITS, &["54 Mbit/s"])),
        ("size", quantity("[kMG]?B", &["1040 B"])),
        ("packets", quantity("pkts?|packets?", &["100 pkt"])),
        ("bits", quantity("[k]?bit|bits", &["800 bit"])),
        ("snr", Schema::text(r"^\s*[+-]?[0-9]*\.?[0-9]*\s*dB\s*$")),
        ("snr_bad", Schema::text(below)),
        (
            "buffer",
            quantity("pkts?|packets?|[kMG]?B|BDP", &["100 pkt", "64 kB", "1 BDP"]),
        ),
        ("access_rate", Schema::text(&access)),
        ("rate_changes", Schema::text(&changes)),
        ("time", Schema::text(&span)),
        ("random_delay", Schema::text(&random)),
        ("router", Schema::text(&format!("^({fair})?({routers})$"))),
        ("name", Schema::text("^[A-Za-z0-9_-]+$")),
        ("hops", Schema::text(r"^\s*(all|each|[0-9]+\s*(\.\.\s*[0-9]+)?)\s*$")),
        (
            "law",
            Schema::text(&format!(r"^\s*({senders})\s*(\+\s*({fair})?({routers})\s*)?$")),
        ),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
    .into()
}

fn value_of(kind: &Kind) -> Schema {
    match kind {
        Kind::Text | Kind::Path => Schema::of("string"),
        Kind::Name => Schema::defined("name"),
        Kind::Duration => Schema::defined("duration"),
        Kind::Rate => Schema::defined("rate"),
        Kind::Size | Kind::Sizes(..) => Schema::defined("size"),
        Kind::Packets => Schema::defined("packets"),
        Kind::Bits => Schema::defined("bits"),
        Kind::Snr => Schema::defined("snr"),
        Kind::SnrBad => Schema::defined("snr_bad"),
        Kind::Buffer => Schema::defined("buffer"),
        Kind::AccessRate => Schema::defined("access_rate"),
        Kind::Changes => Schema::defined("rate_changes"),
        Kind::Span => Schema::defined("time"),
        Kind::Delay => Schema::defined("random_delay"),
        Kind::Number(min, max) => Schema::range("number", *min, *max),
        Kind::Whole(min, max) => Schema::range("integer", f64::from(*min), f64::from(*max)),
        Kind::Switch => Schema::of("boolean"),
        Kind::Seeds => Schema::any(vec![
            Schema::range("integer", 0.0, i64::MAX as f64),
            Schema::text(r"^\s*[0-9]+\s*\.\.\s*[0-9]+\s*$"),
        ]),
        Kind::Law => law(),
        Kind::Router => Schema::any(vec![
            Schema::words(&[&["auto"][..], &names(Role::Router)].concat()),
            Schema::defined("router"),
        ]),
        Kind::Capacity => Schema::words(&[&["auto"][..], &names(Role::Capacity)].concat()),
        Kind::Channel => Schema::any(vec![Schema::of("boolean"), Schema::defined("name")]),
        Kind::Way => Schema::any(vec![Schema::defined("hops"), Schema::range("integer", 1.0, 1_000.0)]),
        Kind::Choice(words) => Schema::words(words),
        Kind::Or(kind, word) => Schema::any(vec![value_of(kind), Schema::only(*word)]),
        Kind::OrFalse(kind) => Schema::any(vec![value_of(kind), Schema::only(false)]),
        Kind::OrBool(kind) => Schema::any(vec![value_of(kind), Schema::of("boolean")]),
        Kind::List(kind) => Schema::list(value_of(kind)),
    }
}

fn names(role: Role) -> Vec<&'static str> {
    catalogue::names(role).collect()
}

/// A law's label: editors offer the senders, the pattern takes each with a router.
fn law() -> Schema {
    Schema::any(vec![Schema::words(&names(Role::Sender)), Schema::defined("law")])
}

/// The schema of a key's value, which may be a sweep.
fn key(key: &Key) -> Schema {
    let value = value_of(&key.kind);
    let value = match key.kind {
        Kind::Text if FIXED_KEYS.contains(&key.name) => value,
        // A list of seeds is one value already, and a list of such lists a sweep.
        Kind::Seeds => value.swept().swept(),
        _ => value.swept(),
    };
    let default = match key.default {
        Absent::Is(text) => toml::from_str::<toml::Table>(&format!("v = {text}"))
            .ok()
            .and_then(|mut table| serde_json::to_value(table.remove("v")?).ok()),
        _ => None,
    };
    Schema {
        description: Some(key.meaning().replace('`', "")),
        default,
        ..value
    }
}

/// The schema of a parameter of a law.
fn parameter(info: &ParamInfo) -> Schema {
    let value = match info.unit {
        "us" => Schema::defined("duration"),
        "B" => Schema::defined("size"),
        "pkt" => quantity("packets?|pkt", &[]),
        "bool" => Schema::of("boolean"),
        "1" => Schema::range("number", info.to_user(info.min), info.to_user(info.max)),
        _ => Schema::words(&info.choices()),
    };
    Schema {
        description: Some(format!(
            "{} ({}; source: {})",
            info.meaning,
            info.allowed(),
            info.source
        )),
        ..value.swept()
    }
}

fn laws(role: Role) -> Entries {
    let params = |name: &str| match role {
        Role::Sender => fadelab_laws::sender(name).map(Sender::params),
        Role::Router => fadelab_laws::router(name).map(Router::params),
        _ => fadelab_laws::capacity(name).map(Capacity::params),
    };
    let table = |name: &str| {
        let properties = params(name).unwrap_or_default().iter();
        Schema::table(properties.map(|info| (info.name.to_owned(), parameter(info))).collect())
    };
    catalogue::names(role)
        .map(|name| (name.to_owned(), table(name)))
        .collect()
}

/// What a tunnel's law may have: the parameters of all gateways.
fn gateway_params() -> Schema {
    let mut params = Entries::new();
    let laws = catalogue::names(Role::Gateway).filter_map(fadelab_laws::gateway);
    for info in laws.flat_map(Gateway::params) {
        let schema = parameter(info);
        match params.iter_mut().find(|(name, _)| name == info.name) {
            // Laws may mean different things by one name.
            Some((_, known)) => *known = Schema::any(vec![known.clone(), schema]),
            None => params.push((info.name.to_owned(), schema)),
        }
    }
    Schema::table(params)
}

/// The table at a path whose names are `*`, with the tables below it.
fn table(path: &str) -> Schema {
    let declared = TABLES.iter().find(|table| table.paths.contains(&path));
    let keys = declared.map_or(&[][..], |table| table.keys);
    let mut schema = Schema::table(
        keys.iter()
            .map(|declared| (declared.name.to_owned(), key(declared)))
            .collect(),
    );
    let mut takes_names = false;
    for below in TABLES.iter().flat_map(|table| table.paths) {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}.")
        };
        let Some(name) = below
            .strip_prefix(prefix.as_str())
            .and_then(|rest| rest.split('.').next())
        else {
            continue;
        };
        if name == "*" {
            takes_names = true;
        } else if !name.is_empty() && schema.properties.iter().all(|(known, _)| known != name) {
            let child = table(&format!("{prefix}{name}"));
            schema.properties.push((name.to_owned(), child));
        }
    }
    if path == "tunnel.*" {
        let tables = tunnels::TABLES_OF_PARAMS.map(|name| (name.to_owned(), gateway_params()));
        schema.properties.extend(tables);
    }
    if takes_names {
        let child = table(&format!("{path}.*"));
        schema
            .pattern_properties
            .push((name_pattern(&schema.properties), child));
    }
    schema
}

/// Names that a scenario may choose: not those of keys, which would then be checked as tables.
fn name_pattern(taken: &Entries) -> String {
    let taken: Vec<&str> = taken.iter().map(|(name, _)| name.as_str()).collect();
    if taken.is_empty() {
        "^[A-Za-z0-9_-]+$".to_owned()
    } else {
        format!("^(?!({})$)[A-Za-z0-9_-]+$", taken.join("|"))
    }
}

/// The schema as JSON text (draft 2020-12).
///
/// # Panics
/// Never: what is written is text and numbers.
pub fn text() -> String {
    let mut root = table("");
    let laws_of = |name: &str, entries: Entries| (name.to_owned(), Schema::table(entries));
    root.properties.push(laws_of("law", laws(Role::Sender)));
    root.properties.push(laws_of("capacity", laws(Role::Capacity)));
    if let Some((_, router)) = root.properties.iter_mut().find(|(name, _)| name == "router") {
        router.properties.extend(laws(Role::Router));
    }
    let live = Schema {
        description: Some("keys of the scenario that are others in real time".to_owned()),
        reference: Some("#".to_owned()),
        ..Schema::default()
    };
    root.properties.push(laws_of("ground", vec![("live".to_owned(), live)]));
    let root = Schema {
        dialect: Some("https://json-schema.org/draft/2020-12/schema"),
        title: Some("Scenario of fadelab"),
        definitions: definitions(),
        ..root
    };
    serde_json::to_string_pretty(&root).expect("a schema is JSON") + "\n"
}
