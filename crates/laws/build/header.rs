//! Reads `law.h`: its structs, enumerators and constants, each with the comment that explains it.
//!
//! This is no C parser. It knows the plain forms that `law.h` keeps to: no nesting, no bit fields, a declaration per
//! statement, comments before a declaration or behind it on its line.

use std::iter;

/// A struct or an enum, without the prefix `law_`.
pub struct Block {
    pub name: String,
    pub comment: String,
    pub items: Vec<Item>,
}

/// A field (`u8 len`) or an enumerator (`LAW_ECN_CE = 3`), as it is written.
pub struct Item {
    pub text: String,
    pub comment: String,
}

/// All blocks `KIND law_NAME { ... }`, whose items end with `separator`.
pub fn blocks(header: &str, kind: &str, separator: char) -> Vec<Block> {
    let opening = format!("\n{kind} law_");
    let starts = header.match_indices(&opening).map(|(place, _)| place);
    let block = |start: usize| {
        let (name, after) = header[start + opening.len()..].split_once(" {\n")?;
        let body = &after[..after.find("\n};")?];
        is_name(name).then(|| Block {
            name: name.to_owned(),
            comment: comment_before(&header[..start]),
            items: items(body, separator),
        })
    };
    starts.filter_map(block).collect()
}

/// Name and value of each `#define LAW_NAME NUMBER` or `(EXPRESSION)`, without the prefix.
pub fn constants(header: &str) -> Vec<(&str, &str)> {
    let defined = header.lines().filter_map(|line| line.strip_prefix("#define LAW_"));
    let split = defined.filter_map(|rest| rest.split_once(' '));
    let without_comment = split.map(|(name, value)| (name, value.split("/*").next().unwrap_or(value).trim()));
    without_comment
        .filter(|(name, value)| {
            is_name(name) && value.starts_with(|first: char| first == '(' || first.is_ascii_digit())
        })
        .collect()
}

/// Name that a declaration such as `u8 bytes[20]` or `void (*init)(void *state)` declares.
pub fn declared(declaration: &str) -> &str {
    let name = match declaration.split_once("(*") {
        Some((_, after)) => after.split(')').next(),
        None => declaration
            .split('[')
            .next()
            .and_then(|text| text.split_whitespace().last()),
    };
    name.expect("a declaration has a name").trim_start_matches('*')
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The comment that ends where the text ends, but for one line break.
fn comment_before(text: &str) -> String {
    let Some(text) = text.strip_suffix("*/") else {
        return String::new();
    };
    plain(&text[text.rfind("/*").expect("a comment begins") + 2..])
}

/// Words of a comment in one line, without the stars that its lines begin with.
fn plain(comment: &str) -> String {
    let words = comment.split_whitespace().filter(|word| *word != "*");
    words.collect::<Vec<_>>().join(" ")
}

/// A declaration without the reason why a stock kernel does not have it, and that reason.
fn split_unavailable(text: &str) -> (String, Option<String>) {
    match text.split_once(" LAW_NOT_IN_KERNEL(\"") {
        Some((declaration, rest)) => {
            let (reason, value) = rest.split_once("\")").expect("a reason ends");
            (
                format!("{declaration}{value}"),
                Some(format!("not in a stock kernel: {reason}")),
            )
        }
        None => (text.to_owned(), None),
    }
}

/// A comment before an item belongs to it, and so does one behind its separator on the same line.
fn items(body: &str, separator: char) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let (mut text, mut comment) = (String::new(), String::new());
    let mut rest = body;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("/*") {
            let (inside, behind) = after.split_once("*/").expect("a comment ends");
            comment = plain(&[&comment, inside].join(" "));
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(separator) {
            let line = behind.lines().next().unwrap_or_default();
            let trailing = line
                .trim_start()
                .strip_prefix("/*")
                .and_then(|inside| inside.split_once("*/"));
            let all = iter::once(comment.as_str()).chain(trailing.map(|(inside, _)| inside));
            let all: Vec<String> = all.map(plain).filter(|words| !words.is_empty()).collect();
            let (declaration, unavailable) = split_unavailable(&plain(&text));
            found.push(Item {
                text: declaration,
                comment: all.into_iter().chain(unavailable).collect::<Vec<_>>().join("; "),
            });
            (text, comment) = (String::new(), String::new());
            rest = match trailing {
                Some(_) => &behind[behind.find("*/").expect("it was found") + 2..],
                None => behind,
            };
        } else {
            let first = rest.chars().next().expect("not empty");
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    found
}
