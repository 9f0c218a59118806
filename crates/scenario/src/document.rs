//! The scenario as a tree of values that know where they were written, with `--set` laid over it.

use std::fmt;

use toml::de::{DeTable, DeValue};

use crate::error::{Refusal, clipped};

/// Longest scenario file, so that a mistaken path to a large file ends at once.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of the scenario file, counted from 1.
    Line {
        /// The file as the user named it.
        file: String,
        line: usize,
    },
    /// An argument of `--set`, as it was given.
    Set(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Set(argument) => write!(f, "--set {}", clipped(argument)),
        }
    }
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where.
    pub place: Place,
    /// What.
    pub raw: Raw,
}

/// A value before its type and unit are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    Text(String),
    /// A finite number in plain decimal digits, so that `0.98` is exactly that.
    Number(String),
    /// `true` or `false`.
    Bool(bool),
    /// A list: a sweep, unless the key takes a list.
    List(Vec<Node>),
    /// A table, in the order in which its keys were written.
    Table(Vec<(String, Node)>),
    /// A TOML value that no key takes: a date, infinity, not-a-number.
    Alien(String),
}

impl Raw {
    /// The value that a short TOML text is: a string without escapes, a number or a switch.
    pub fn of(text: &str) -> Self {
        match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(text) => Self::Text(text.to_owned()),
            None => text.parse().map_or_else(|_| Self::Number(text.to_owned()), Self::Bool),
        }
    }

    /// The value as TOML on one line; tables only say that they are tables.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(text) | Self::Alien(text) => text.clone(),
            Self::Bool(value) => value.to_string(),
            Self::List(items) => {
                format!(
                    "[{}]",
                    items.iter().map(|item| item.raw.shown()).collect::<Vec<_>>().join(", ")
                )
            }
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// A TOML string on one line.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl Node {
    /// The entries of a table, none for anything else.
    pub fn entries(&self) -> &[(String, Node)] {
        match &self.raw {
            Raw::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The value under a dotted path.
    pub fn at(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, key| {
            node.entries()
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, child)| child)
        })
    }

    /// The value under a dotted path, to be changed.
    pub fn at_mut(&mut self, path: &str) -> Option<&mut Node> {
        path.split('.').try_fold(self, |node, key| match &mut node.raw {
            Raw::Table(entries) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, child)| child),
            _ => None,
        })
    }

    /// Puts `node` under a dotted path, if there are tables above it or nothing.
    pub fn insert(&mut self, path: &str, node: Node) {
        let keys: Vec<&str> = path.split('.').collect();
        // Where something else than a table stands above, the reader of that key refuses it.
        let _ = self.lay(&keys, node);
    }

    /// Puts `node` under a dotted path.
    ///
    /// # Errors
    /// Something else than a table stands above it.
    pub fn lay_at(&mut self, path: &str, node: Node) -> Result<(), Refusal> {
        let keys: Vec<&str> = path.split('.').collect();
        self.lay(&keys, node)
    }

    /// Takes the entry `name` out of the table at a dotted path, empty for the top, if there are both.
    pub fn remove(&mut self, path: &str, name: &str) -> Option<Node> {
        let table = if path.is_empty() { self } else { self.at_mut(path)? };
        let Raw::Table(entries) = &mut table.raw else {
            return None;
        };
        let place = entries.iter().position(|(entry, _)| entry == name)?;
        Some(entries.remove(place).1)
    }

    /// Lays `node` over the value at `keys`, making tables on the way.
    fn lay(&mut self, keys: &[&str], node: Node) -> Result<(), Refusal> {
        let Some((key, rest)) = keys.split_first() else {
            self.place = node.place;
            self.raw = node.raw;
            return Ok(());
        };
        let Raw::Table(entries) = &mut self.raw else {
            let message = format!(
                "the scenario has {} where `{key}` is to be set below it",
                self.raw.shown()
            );
            return Err(Refusal::new(&node.place, message));
        };
        let index = entries.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            entries.push((
                (*key).to_owned(),
                Node {
                    place: node.place.clone(),
                    raw: Raw::Table(Vec::new()),
                },
            ));
            entries.len() - 1
        });
        entries[index].1.lay(rest, node)
    }
}

/// Reads the text of a scenario. `file` is its name in messages.
///
/// # Errors
/// When the text is too long, not UTF-8 or not TOML.
pub fn parse(bytes: &[u8], file: &str) -> Result<Node, Refusal> {
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!(
            "the file has {} bytes, a scenario at most {FILE_BYTES_MAX} (1 MiB)",
            bytes.len()
        );
        return Err(Refusal::new(file, message));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = line_of(bytes, error.valid_up_to());
        Refusal::new(format!("{file}:{line}"), "not a text file: a scenario is TOML in UTF-8")
    })?;
    let table = DeTable::parse(text).map_err(|error| {
        let line = line_of(bytes, error.span().map_or(0, |span| span.start));
        let message = format!("not valid TOML: {}", error.message().replace('\n', "; "));
        Refusal::new(format!("{file}:{line}"), message)
    })?;
    // Where each line ends: counting them anew for every value would take long for a long list.
    let ends: Vec<usize> = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at)
        .collect();
    let place = |offset: usize| Place::Line {
        file: file.to_owned(),
        line: ends.partition_point(|end| *end < offset) + 1,
    };
    Ok(Node {
        place: place(0),
        raw: Raw::Table(table_of(table.get_ref(), &place)),
    })
}

fn line_of(bytes: &[u8], offset: usize) -> usize {
    bytes[..offset.min(bytes.len())].split(|byte| *byte == b'\n').count()
}

fn table_of(table: &DeTable<'_>, place: &impl Fn(usize) -> Place) -> Vec<(String, Node)> {
    table
        .iter()
        .map(|(key, value)| {
            let raw = raw_of(value.get_ref(), place);
            (
                key.get_ref().to_string(),
                Node {
                    place: place(value.span().start),
                    raw,
                },
            )
        })
        .collect()
}

fn raw_of(value: &DeValue<'_>, place: &impl Fn(usize) -> Place) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Raw::Number(number.to_string()),
            Err(_) => Raw::Alien(number.to_string()),
        },
        DeValue::Float(number) => decimal(number.as_str()),
        DeValue::Boolean(value) => Raw::Bool(*value),
        DeValue::Datetime(date) => Raw::Alien(date.to_string()),
        DeValue::Array(items) => Raw::List(
            items
                .iter()
                .map(|item| Node {
                    place: place(item.span().start),
                    raw: raw_of(item.get_ref(), place),
                })
                .collect(),
        ),
        DeValue::Table(table) => Raw::Table(table_of(table, place)),
    }
}

/// A float in plain digits: as written where it has no exponent, else in the shortest form that reads back the same.
fn decimal(text: &str) -> Raw {
    let plain = text.strip_prefix('+').unwrap_or(text);
    if plain
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-')
    {
        return Raw::Number(plain.to_owned());
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Raw::Number(number.to_string()),
        _ => Raw::Alien(text.to_owned()),
    }
}

/// Most parts of a dotted key; no key of a scenario has more than four.
const KEYS_DEEP_MAX: usize = 8;

/// Lays one `--set key=value` over the tree. The value is TOML where it parses as such, else a string.
///
/// # Errors
/// When the argument has no `=`, the key is not a dotted path, or the path goes through a value.
pub fn set(root: &mut Node, argument: &str) -> Result<(), Refusal> {
    let place = Place::Set(argument.to_owned());
    let example = "write key=value, for example --set flow.law=xcp";
    let Some((key, value)) = argument.split_once('=') else {
        return Err(Refusal::new(&place, format!("no `=`: {example}")));
    };
    let keys: Vec<&str> = key.trim().split('.').collect();
    if keys.len() > KEYS_DEEP_MAX {
        let message = format!("a key has at most {KEYS_DEEP_MAX} parts: {example}");
        return Err(Refusal::new(&place, message));
    }
    let is_bare = |key: &&str| !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if !keys.iter().all(is_bare) {
        return Err(Refusal::new(
            &place,
            format!("`{}` is not a dotted key: {example}", key.trim()),
        ));
    }
    let value = value.trim();
    let everywhere = |_: usize| place.clone();
    let raw = match DeValue::parse(value) {
        Ok(parsed) => raw_of(parsed.get_ref(), &everywhere),
        Err(_) => Raw::Text(value.to_owned()),
    };
    root.lay(&keys, Node { place, raw })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Raw {
        Raw::Number(text.to_owned())
    }

    #[test]
    fn a_value_knows_its_line() {
        // Goal: a message can point at the line of any value, list items included.
        let root = parse(b"a = 1\n[b]\nc = [\n  2,\n  'x',\n]\n", "s.toml").unwrap();
        let list = root.at("b.c").unwrap();
        assert_eq!(list.place.to_string(), "s.toml:3");
        let Raw::List(items) = &list.raw else {
            panic!("{list:?}")
        };
        assert_eq!(items[1].place.to_string(), "s.toml:5");
    }

    #[test]
    fn numbers_keep_their_digits() {
        // Goal: decimal fractions are exact, exponents and radixes are written out, and infinity is no number.
        let root = parse(
            b"a = 0.98\nb = 1_000.5\nc = 1e3\nd = 0x10\ne = inf\nf = +2.50",
            "s.toml",
        )
        .unwrap();
        let raws: Vec<_> = root.entries().iter().map(|(_, node)| node.raw.clone()).collect();
        let expected = [
            number("0.98"),
            number("1000.5"),
            number("1000"),
            number("16"),
            Raw::Alien("inf".into()),
            number("2.50"),
        ];
        assert_eq!(raws, expected);
    }

    #[test]
    fn noise_and_syntax_are_refused_with_a_line() {
        // Goal: whatever bytes come, the answer is a refusal that names the file and a line.
        assert_eq!(parse(b"a = 1\n\xff\xfe", "s.toml").unwrap_err().place, "s.toml:2");
        assert_eq!(parse(b"a = 1\nb = = 2\n", "s.toml").unwrap_err().place, "s.toml:2");
        assert!(parse(&[0, 1, 2, 3, 127], "s.toml").is_err());
        assert!(parse(&vec![b' '; FILE_BYTES_MAX], "s.toml").is_ok());
        let refusal = parse(&vec![b' '; FILE_BYTES_MAX + 1], "s.toml").unwrap_err();
        assert!(refusal.to_string().contains("1 MiB"), "{refusal}");
    }

    #[test]
    fn set_replaces_and_adds() {
        // Goal: --set takes TOML values and bare words, makes tables, and refuses to go through a value.
        let mut root = parse(b"[flow]\nlaw = ['vcp', 'xcp']\n", "s.toml").unwrap();
        for argument in ["flow.law=reno+rem", "run.seeds=[1, 2]", "run.duration = 80 ms", "x=3"] {
            set(&mut root, argument).unwrap();
        }
        assert_eq!(root.at("flow.law").unwrap().raw, Raw::Text("reno+rem".into()));
        assert_eq!(root.at("run.seeds").unwrap().raw.shown(), "[1, 2]");
        assert_eq!(root.at("run.duration").unwrap().raw, Raw::Text("80 ms".into()));
        assert_eq!(root.at("x").unwrap().raw, number("3"));
        assert!(set(&mut root, "flow.law.x=1").is_err());
        assert!(set(&mut root, "flow").unwrap_err().to_string().contains("no `=`"));
        assert!(set(&mut root, "a..b=1").is_err());
    }
}
