//! Parameters of a law: what a header declares, and values chosen for one run.

use std::sync::Arc;

use thiserror::Error;

/// One parameter as its header declares it: the only place where it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Key in scenarios.
    pub name: &'static str,
    /// Default, as the integer the law computes with.
    pub value: u64,
    /// Unit in which users write it: `us`, `B`, `pkt`, `1`, `bool`, or choices joined by `|`.
    pub unit: &'static str,
    /// Integers per unit: a user's value times this is what the law computes with.
    pub scale: u64,
    /// Smallest integer allowed.
    pub min: u64,
    /// Largest integer allowed.
    pub max: u64,
    /// Where the default comes from.
    pub source: &'static str,
    /// One sentence.
    pub meaning: &'static str,
}

impl ParamInfo {
    /// Names of the choices, counted from 0; empty where the parameter is a number.
    pub fn choices(&self) -> Vec<&'static str> {
        match self.unit {
            "bool" => vec!["false", "true"],
            unit if unit.contains('|') => unit.split('|').collect(),
            _ => Vec::new(),
        }
    }

    /// A law's integer in the user's unit.
    pub fn to_user(&self, value: u64) -> f64 {
        value as f64 / self.scale as f64
    }

    /// A user's value as the law's integer: `round(value * scale)`, or `None` outside `min..=max`.
    pub fn to_law(&self, value: f64) -> Option<u64> {
        let scaled = (value * self.scale as f64).round();
        // 2^64 is the first double beyond u64; below it the cast is exact, and the range is checked on the integer.
        let is_integer = (0.0..18_446_744_073_709_551_616.0).contains(&scaled);
        is_integer
            .then_some(scaled as u64)
            .filter(|scaled| (self.min..=self.max).contains(scaled))
    }

    /// A law's integer as scenarios write it: `200 ms`, `20 pkt`, `0.25`, `true` or the name of a choice.
    pub fn written(&self, value: u64) -> String {
        let choices = self.choices();
        match self.unit {
            _ if !choices.is_empty() => (*choices.get(value as usize).unwrap_or(&"?")).to_owned(),
            "us" => match value {
                _ if value.is_multiple_of(1_000_000) => format!("{} s", value / 1_000_000),
                _ if value.is_multiple_of(1_000) => format!("{} ms", value / 1_000),
                _ => format!("{value} us"),
            },
            "1" => self.to_user(value).to_string(),
            unit => format!("{} {unit}", self.to_user(value)),
        }
    }

    /// In what scenarios write it, in a word.
    pub fn kind(&self) -> &'static str {
        match self.unit {
            "us" => "time",
            "1" => "number",
            "bool" => "yes or no",
            unit if unit.contains('|') => "choice",
            unit => unit,
        }
    }

    /// The range as scenarios write it, or the choices.
    pub fn range(&self) -> String {
        let choices = self.choices();
        if choices.is_empty() {
            format!("{} to {}", self.written(self.min), self.written(self.max))
        } else {
            choices.join(", ")
        }
    }

    /// What is allowed, in words for error messages.
    pub fn allowed(&self) -> String {
        let choices = self.choices();
        if !choices.is_empty() {
            return format!("one of {}", choices.join(", "));
        }
        let unit = if self.unit == "1" { "" } else { self.unit };
        let range = format!("{} to {} {unit}", self.to_user(self.min), self.to_user(self.max));
        range.trim_end().to_owned()
    }
}

/// Why parameters were refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ParamError {
    /// The law has no parameter of that name.
    #[error("law `{law}` has no parameter `{given}`; {}", hint(nearest))]
    UnknownName {
        law: &'static str,
        /// The name given.
        given: String,
        /// Known names, the most similar first.
        nearest: Vec<&'static str>,
    },
    /// The value is outside the range that the header declares.
    #[error("parameter `{parameter}` of law `{law}`: given {given}, allowed {allowed}")]
    OutOfRange {
        law: &'static str,
        parameter: &'static str,
        /// The value given, in the parameter's unit.
        given: f64,
        allowed: String,
    },
}

/// Second half of the message about an unknown name.
fn hint(nearest: &[&'static str]) -> String {
    if nearest.is_empty() {
        "it has none".to_owned()
    } else {
        format!("known are {}", nearest.join(", "))
    }
}

/// Values of all parameters of one law, in the order of its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Between two zones that no law may touch.
    words: Arc<[u64]>,
}

/// Words before and behind the values, zero unless a law wrote beyond its parameters.
pub(crate) const PARAMS_ZONE_WORDS: usize = 8;

impl Params {
    pub(crate) fn defaults(infos: &[ParamInfo]) -> Self {
        Self::from_values(&infos.iter().map(|info| info.value).collect::<Vec<u64>>())
    }

    /// Defaults of `infos`, overridden by `pairs` of names and values in the users' units.
    pub(crate) fn from_pairs(
        law: &'static str,
        infos: &[ParamInfo],
        pairs: &[(&str, f64)],
    ) -> Result<Self, ParamError> {
        let mut values: Vec<u64> = infos.iter().map(|info| info.value).collect();
        for &(name, given) in pairs {
            let Some(index) = infos.iter().position(|info| info.name == name) else {
                return Err(ParamError::UnknownName {
                    law,
                    given: name.to_owned(),
                    nearest: by_similarity(infos, name),
                });
            };
            let info = &infos[index];
            values[index] = info.to_law(given).ok_or_else(|| ParamError::OutOfRange {
                law,
                parameter: info.name,
                given,
                allowed: info.allowed(),
            })?;
        }
        Ok(Self::from_values(&values))
    }

    /// These very integers, one for each parameter.
    pub(crate) fn from_values(values: &[u64]) -> Self {
        let zone = [0; PARAMS_ZONE_WORDS];
        Self {
            words: [&zone, values, &zone].concat().into(),
        }
    }

    /// The integers, in the order of the header.
    pub fn values(&self) -> &[u64] {
        &self.words[PARAMS_ZONE_WORDS..self.words.len() - PARAMS_ZONE_WORDS]
    }

    /// Whether both are structs of the same size.
    #[inline]
    pub(crate) fn is_as_long_as(&self, other: &Self) -> bool {
        self.words.len() == other.words.len()
    }

    /// Where the law finds them.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const std::ffi::c_void {
        // Without a check of bounds: this is on the way of every call of a law.
        self.words.as_ptr().wrapping_add(PARAMS_ZONE_WORDS).cast()
    }
}

/// Names of `infos`, those that take the fewest edits to become `name` first.
fn by_similarity(infos: &[ParamInfo], name: &str) -> Vec<&'static str> {
    let mut names: Vec<_> = infos.iter().map(|info| info.name).collect();
    names.sort_by_key(|known| edits(known, name));
    names
}

/// Levenshtein distance.
pub(crate) fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
