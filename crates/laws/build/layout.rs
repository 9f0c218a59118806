//! Lists every struct field and enumerator of `law.h` with what the C compiler makes of it, for a test to compare.

use std::fmt::Write;

/// Removes block comments; `law.h` has no others and no comment marks in strings.
fn without_comments(header: &str) -> String {
    let mut text = String::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("/*") {
        text.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    text + rest
}

/// Name that a declaration such as `u8 bytes[20]` or `void (*init)(void *state)` declares.
fn declared(declaration: &str) -> Option<&str> {
    let name = match declaration.split_once("(*") {
        Some((_, after)) => after.split(')').next()?,
        None => declaration
            .split('[')
            .next()?
            .split_whitespace()
            .last()?
            .trim_start_matches('*'),
    };
    Some(name.trim()).filter(|name| !name.is_empty())
}

/// Bodies of `KIND law_NAME { ... }`.
fn bodies<'a>(text: &'a str, kind: &str) -> Vec<(&'a str, &'a str)> {
    let opening = format!("{kind} law_");
    let mut found = Vec::new();
    for (place, _) in text.match_indices(&opening) {
        if let Some((name, after)) = text[place + opening.len()..].split_once(" {")
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && let Some((body, _)) = after.split_once('}')
        {
            found.push((name, body));
        }
    }
    found
}

/// C that exports `fadelab_law_layout`: name, offset or value, size; ended by a name of NULL.
pub fn c_source(header: &str) -> String {
    let text = without_comments(header);
    let mut rows = String::new();
    for (name, body) in bodies(&text, "struct") {
        writeln!(rows, "\t{{\"{name}\", 0, sizeof(struct law_{name})}},").expect("a string");
        for field in body.split(';').filter_map(declared) {
            let object = format!("((struct law_{name} *)0)->{field}");
            writeln!(
                rows,
                "\t{{\"{name}.{field}\", __builtin_offsetof(struct law_{name}, {field}), sizeof({object})}},"
            )
            .expect("a string");
        }
    }
    for (_, body) in bodies(&text, "enum") {
        for name in body
            .split(',')
            .filter_map(|item| item.split('=').next())
            .map(str::trim)
            .filter(|n| !n.is_empty())
        {
            writeln!(rows, "\t{{\"{name}\", {name}, 0}},").expect("a string");
        }
    }
    format!(
        "#include \"law.h\"\nstruct row {{\n\tconst char *name;\n\tu64 place;\n\tu64 size;\n}};\n\
         extern const struct row fadelab_law_layout[];\n\
         const struct row fadelab_law_layout[] = {{\n{rows}\t{{NULL, 0, 0}},\n}};\n"
    )
}
