//! Reads one point of a sweep from the tree, and notes what it read so that the resolved scenario can be written.

use std::collections::BTreeMap;

use crate::document::{Node, Raw};
use crate::error::{Refusal, clipped, nearest, one_of};
use crate::key::{Absent, Declared};
use crate::unit::Scalar;

/// A key as one point of the sweep read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its dotted path.
    pub path: String,
    /// Its value as canonical TOML.
    pub text: String,
}

/// Reads values by their dotted path, at one point of a sweep.
pub struct Reader<'a> {
    root: &'a Node,
    chosen: &'a [String],
    picks: &'a BTreeMap<String, usize>,
    /// What was read, in order.
    pub seen: Vec<Seen>,
    /// What is allowed but rarely meant.
    pub warnings: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Reads `root`, which chose these names (`schema::chosen_names`). The list at each path of `picks` stands for its
    /// item of that index.
    pub fn new(root: &'a Node, chosen: &'a [String], picks: &'a BTreeMap<String, usize>) -> Self {
        Self {
            root,
            chosen,
            picks,
            seen: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The names that the scenario chose under one section, in the order in which they stand.
    pub fn names_in(&self, section: &str) -> Vec<&'a str> {
        let name = |path: &'a String| path.strip_prefix(section)?.strip_prefix('.');
        self.chosen.iter().filter_map(name).collect()
    }

    /// The value at a path, if it is given.
    pub fn node(&self, path: &str) -> Option<&'a Node> {
        let node = self.root.at(path)?;
        match (&node.raw, self.picks.get(path)) {
            (Raw::List(items), Some(pick)) => items.get(*pick),
            _ => Some(node),
        }
    }

    /// Whether the key at a path has a list of values.
    pub fn is_swept(&self, path: &str) -> bool {
        self.picks.contains_key(path)
    }

    /// Notes what a key amounts to.
    pub fn note(&mut self, path: &str, text: String) {
        self.seen.push(Seen {
            path: path.to_owned(),
            text,
        });
    }

    /// The value, if it is given.
    pub fn given<T: Scalar>(&mut self, path: &str) -> Result<Option<T>, Refusal> {
        let Some(node) = self.node(path) else { return Ok(None) };
        let value = T::read(&node.raw).map_err(|why| refusal(node, path, &why))?;
        self.note(path, value.shown());
        Ok(Some(value))
    }

    /// The value, or its default.
    pub fn or<T: Scalar>(&mut self, path: &str, default: T) -> Result<T, Refusal> {
        if let Some(value) = self.given(path)? {
            return Ok(value);
        }
        self.note(path, default.shown());
        Ok(default)
    }

    /// The value of a declared key of `table`, or its default.
    pub fn take<T: Scalar>(&mut self, table: &str, row: &Declared<T>) -> Result<T, Refusal> {
        let default = match row.key.default {
            Absent::Is(text) => Some(T::read(&Raw::of(text)).expect("a default is a value")),
            _ => None,
        };
        self.take_from(table, row, default)
    }

    /// The value of a declared key of `table`, or this default.
    pub fn take_or<T: Scalar>(&mut self, table: &str, row: &Declared<T>, default: T) -> Result<T, Refusal> {
        self.take_from(table, row, Some(default))
    }

    /// The value of a declared key of `table`, or what a preset has, if it has it.
    pub fn take_from<T: Scalar>(&mut self, table: &str, row: &Declared<T>, preset: Option<T>) -> Result<T, Refusal> {
        self.map(&row.key.path(table), preset, row.example, row.check)
    }

    /// A list of strings that is one value, if it is given.
    pub fn words(&mut self, path: &str, example: &str) -> Result<Option<Vec<String>>, Refusal> {
        let Some(node) = self.node(path) else { return Ok(None) };
        let Raw::List(items) = &node.raw else {
            return Err(self.refuse(path, example));
        };
        let word = |item: &Node| String::read(&item.raw).map_err(|why| refusal(item, path, &why));
        let words: Vec<String> = items.iter().map(word).collect::<Result<_, _>>()?;
        self.note(path, node.raw.shown());
        Ok(Some(words))
    }

    /// The value, which must be given.
    pub fn need<T: Scalar>(&mut self, path: &str, example: &str) -> Result<T, Refusal> {
        self.given(path)?.ok_or_else(|| self.missing(path, example))
    }

    /// The refusal of a scenario without `path`; it points at the nearest table above it.
    pub fn missing(&self, path: &str, example: &str) -> Refusal {
        let mut parent = path;
        while let Some((above, _)) = parent.rsplit_once('.') {
            parent = above;
            if let Some(node) = self.root.at(parent) {
                return Refusal::new(&node.place, format!("`{path}` is missing: {example}"));
            }
        }
        Refusal::new(&self.root.place, format!("`{path}` is missing: {example}"))
    }

    /// Reads a value with `take`, which may refuse what it reads.
    pub fn map<T: Scalar, U>(
        &mut self,
        path: &str,
        default: Option<T>,
        example: &str,
        take: impl FnOnce(T) -> Result<U, String>,
    ) -> Result<U, Refusal> {
        let value = match default {
            Some(default) => self.or(path, default)?,
            None => self.need(path, example)?,
        };
        take(value).map_err(|why| self.refuse(path, &why))
    }

    /// The refusal of the value at `path`, or of its default.
    pub fn refuse(&self, path: &str, why: &str) -> Refusal {
        if let Some(node) = self.node(path) {
            return refusal(node, path, why);
        }
        let text = self
            .seen
            .iter()
            .rev()
            .find(|seen| seen.path == path)
            .map_or("", |seen| seen.text.as_str());
        Refusal::new(&self.root.place, format!("{path} = {text} (default): {why}"))
    }
}

/// What a word stands for.
///
/// # Errors
/// It is none of them, with those that there are.
pub fn chosen<T: Copy>(word: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(name, _)| *name == word);
    let names = || -> Vec<&str> { choices.iter().map(|(name, _)| *name).collect() };
    let refused = || format!("allowed is {}{}", one_of(&names()), nearest(word, &names()));
    found.map(|(_, choice)| *choice).ok_or_else(refused)
}

fn refusal(node: &Node, path: &str, why: &str) -> Refusal {
    Refusal::new(&node.place, format!("{path} = {}: {why}", clipped(&node.raw.shown())))
}
