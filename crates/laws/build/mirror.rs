//! The Rust side of `law.h`, `codec.h` and `host/`: each struct, enumerator and constant, under its name without the
//! prefix.
//!
//! Nothing is declared twice: a field that is added to `law.h` is there with the next build. That the C compiler lays
//! the structs out in the same way is a test of the crate (`abi/tests.rs`).

use std::fmt::Write;

use crate::header::{Block, Item, blocks, constants, declared};

/// Rust that invokes `mirror!`, `enumerators!` and `sized!` of `src/abi`.
pub fn rust_source(header: &str) -> String {
    let structs = blocks(header, "struct", ';');
    let mut rust = String::new();
    for (name, value) in constants(header) {
        let kind = constant_type(&structs, name, value);
        writeln!(rust, "pub const {name}: {kind} = {};", number(value, kind)).expect("a string");
    }
    rust.push_str("enumerators! {\n");
    for item in blocks(header, "enum", ',').iter().flat_map(|block| &block.items) {
        let (name, value) = item.text.split_once(" = ").expect("each enumerator has a value");
        let name = name.strip_prefix("LAW_").expect("each name has the prefix");
        writeln!(rust, "{}{name} = {};", documented(&item.comment), number(value, "u32")).expect("a string");
    }
    rust.push_str("}\nmirror! {\n");
    for block in &structs {
        let (doc, name) = (documented(&block.comment), rust_name(block));
        writeln!(rust, "{doc}{name} = {:?} {{", block.name).expect("a string");
        for field in &block.items {
            let (doc, name) = (documented(&field.comment), declared(&field.text));
            writeln!(rust, "{doc}{name}: {},", rust_type(&structs, &field.text)).expect("a string");
        }
        rust.push_str("}\n");
    }
    rust.push_str("}\nsized! {");
    for block in structs.iter().filter(|block| first_field(block) == "size") {
        write!(rust, " {}", rust_name(block)).expect("a string");
    }
    rust + " }\n"
}

fn documented(comment: &str) -> String {
    match comment {
        "" => String::new(),
        // Brackets and stars mean something in Rust's documentation.
        _ => format!(
            "#[doc = {:?}]\n",
            comment.replace('[', "\\[").replace('*', "\\*").replace('<', "\\<")
        ),
    }
}

fn first_field(block: &Block) -> &str {
    declared(&block.items.first().expect("no struct is empty").text)
}

/// `Feedback` of `law_feedback`; a table of functions, which opens with its version, is `SenderTable`.
fn rust_name(block: &Block) -> String {
    let words = block.name.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    let table = if first_field(block) == "abi" { "Table" } else { "" };
    words.collect::<String>() + table
}

/// A constant that a field has as its length counts elements; one of 64 bits says so by its suffix.
fn constant_type(structs: &[Block], name: &str, value: &str) -> &'static str {
    let dimension = format!("[LAW_{name}]");
    let mut fields = structs.iter().flat_map(|block| &block.items);
    if fields.any(|Item { text, .. }| text.contains(&dimension)) {
        "usize"
    } else if value.contains("ull") {
        "u64"
    } else {
        "u32"
    }
}

/// A number of C in Rust: `1u << 3`, `(1ull << 40)`, `(~0ull)`.
fn number(value: &str, kind: &str) -> String {
    let value = value.trim_start_matches('(').trim_end_matches(')');
    match value.strip_prefix('~') {
        Some(inverted) => format!("!{}", number(inverted, kind)),
        None => value
            .replace("ull", kind)
            .replace("1u ", "1 ")
            .trim_end_matches('u')
            .to_owned(),
    }
}

/// The type of a field or an argument, by the declaration.
fn rust_type(structs: &[Block], declaration: &str) -> String {
    if let Some((result, function)) = declaration.split_once("(*") {
        let (_, arguments) = function.split_once(")(").expect("a pointer to a function");
        let arguments = arguments.trim_end_matches(')').split(", ");
        let arguments: Vec<String> = arguments.map(|argument| rust_argument(structs, argument)).collect();
        let result = match result.trim() {
            "void" => String::new(),
            result => format!(" -> {}", scalar(structs, result)),
        };
        return format!(
            "Option<unsafe extern \"C-unwind\" fn({}){result}>",
            arguments.join(", ")
        );
    }
    match declaration.split_once('[') {
        Some((before, length)) => {
            let element = scalar(structs, before.rsplit_once(' ').expect("a type and a name").0);
            format!(
                "[{element}; {}]",
                length.trim_end_matches(']').trim_start_matches("LAW_")
            )
        }
        None => rust_argument(structs, declaration),
    }
}

/// As [`rust_type`], of what is passed to a function: an array is a pointer to its first element.
fn rust_argument(structs: &[Block], declaration: &str) -> String {
    let (before, name) = declaration.rsplit_once(' ').expect("a type and a name");
    if !name.starts_with('*') && !name.contains('[') {
        return scalar(structs, before);
    }
    match before.strip_prefix("const ") {
        Some(target) => format!("*const {}", scalar(structs, target)),
        None => format!("*mut {}", scalar(structs, before)),
    }
}

fn scalar(structs: &[Block], name: &str) -> String {
    if let Some(name) = name.strip_prefix("struct law_") {
        let block = structs.iter().find(|block| block.name == name);
        return rust_name(block.unwrap_or_else(|| panic!("law.h has no struct law_{name}")));
    }
    let rust = match name.trim() {
        "u8" => "u8",
        "u16" => "u16",
        "u32" => "u32",
        "u64" => "u64",
        "s32" => "i32",
        "s64" => "i64",
        "char" => "c_char",
        "void" => "c_void",
        other => panic!("law.h uses the type {other}, which crates/laws/build/mirror.rs does not know"),
    };
    rust.to_owned()
}
