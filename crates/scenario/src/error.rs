//! Refusals: one message that says where, which key, what was given, what is allowed and what is near to it.

use std::fmt;

/// Why a scenario is refused. Its text is one line, meant for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Refusal {
    /// `file:line`, `file`, or `--set key=value`.
    pub place: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl Refusal {
    /// A refusal at a place.
    pub fn new(place: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            place: place.to_string(),
            message: cut(&message.into(), MESSAGE_CHARS_MAX),
        }
    }
}

/// Longest value that a message repeats in full.
const CLIP_CHARS: usize = 120;

/// Longest message, whatever it repeats.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// What was given, on one line and not too long of it: a message has to be read.
pub fn clipped(given: &str) -> String {
    cut(given, CLIP_CHARS)
}

fn cut(text: &str, chars_max: usize) -> String {
    let mut line: String = text.chars().take(chars_max).flat_map(shown_char).collect();
    if text.chars().nth(chars_max).is_some() {
        line.push_str("...");
    }
    line
}

/// Line ends and other control characters as escapes.
fn shown_char(c: char) -> Vec<char> {
    if c.is_control() {
        c.escape_default().collect()
    } else {
        vec![c]
    }
}

/// `did you mean` for the candidate nearest to what was given, or nothing where none is near.
pub fn nearest(given: &str, candidates: &[&str]) -> String {
    match nearest_spelling(given, candidates) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// The candidate with the smallest edit distance, if it shares more than half of its letters with what was given.
fn nearest_spelling<'a>(given: &str, candidates: &[&'a str]) -> Option<&'a str> {
    if given.len() > CLIP_CHARS {
        return None;
    }
    let given = given.to_lowercase();
    candidates
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&given, &name.to_lowercase()), *name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| distance * 2 < given.chars().count().max(name.len()))
        .map(|(_, name)| name)
}

/// A list for people: `a`, `a or b`, `a, b or c`.
pub fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}
