//! Reads `REGISTRY` and writes the C and Rust that stand for each of its lines.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Roles a line of the registry may name. Those before the last are laws; a wire is a format of their packets.
const ROLES: [&str; 6] = ["sender", RECEIVER, ROUTER, "capacity", "gateway", WIRE];

/// A receiver stands in a header of its own, or beside the sender of its name, as in what a user brings.
const RECEIVER: &str = "receiver";

/// A router's law comes with an instance of its host.
const ROUTER: &str = "router";

const WIRE: &str = "wire";

/// The C type of a role's table, without its prefix: `law_wire` is the enumeration of formats.
fn c_type(role: &str) -> &str {
    if role == WIRE { "codec" } else { role }
}

/// One line of a registry.
pub struct Entry {
    pub role: String,
    /// Name of the law and of its header.
    pub name: String,
    /// Path of the header.
    pub header: String,
    /// Whether the header of a sender also defines its receiver.
    pub has_receiver: bool,
}

/// Reads `folder/REGISTRY`: `ROLE NAME` per line, `#` opens a comment.
///
/// The header is `folder/ROLE/NAME.h`, or `folder/NAME.h` where all laws of a folder share it.
pub fn read(folder: &Path) -> Vec<Entry> {
    let path = folder.join("REGISTRY");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let place = format!("{}:{}", path.display(), number + 1);
        let words: Vec<_> = line.split_whitespace().collect();
        let &[role, name] = words.as_slice() else {
            panic!("{place}: given `{line}`, expected `ROLE NAME`, e.g. `sender reno`");
        };
        assert!(
            ROLES.contains(&role),
            "{place}: given role `{role}`, allowed are {}",
            ROLES.join(", ")
        );
        let is_identifier = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        assert!(
            is_identifier,
            "{place}: given name `{name}`, allowed are lower case letters, digits and `_`"
        );
        let nested = folder.join(role).join(format!("{name}.h"));
        let header = if nested.exists() {
            nested
        } else {
            folder.join(format!("{name}.h"))
        };
        let source = fs::read_to_string(&header)
            .unwrap_or_else(|error| panic!("{place}: cannot read {}: {error}", header.display()));
        let has_receiver = role == "sender" && source.contains(&format!("struct law_receiver {name}_receiver"));
        entries.push(Entry {
            role: role.to_owned(),
            name: name.to_owned(),
            header: header.display().to_string(),
            has_receiver,
        });
    }
    entries
}

impl Entry {
    /// A translation unit that includes the header and hands out its tables.
    pub fn c_source(&self) -> String {
        let Entry {
            role,
            name,
            header,
            has_receiver,
        } = self;
        let mut text = format!("#include \"{header}\"\n");
        let roles = [Some(role.as_str()), has_receiver.then_some(RECEIVER)];
        for role in roles.into_iter().flatten() {
            let kind = c_type(role);
            write!(
                text,
                "const struct law_{kind} *fadelab_{role}_{name}(void);\n\
                 const struct law_{kind} *fadelab_{role}_{name}(void)\n{{\n\treturn &{name}_{role};\n}}\n"
            )
            .expect("writing to a string cannot fail");
        }
        if role == ROUTER {
            write!(
                text,
                "#define LAW_HOST_TABLE {name}_router\n#include \"host/calls.h\"\n\
                 const struct law_host_calls *fadelab_host_{name}(void);\n\
                 const struct law_host_calls *fadelab_host_{name}(void)\n{{\n\treturn &law_host_calls;\n}}\n"
            )
            .expect("writing to a string cannot fail");
        }
        text
    }
}

impl Entry {
    /// Whether it is a law and not a format.
    pub fn is_law(&self) -> bool {
        self.role != WIRE
    }

    /// The same law behind the guard, in a build that tells its steps.
    pub fn c_source_explained(&self) -> String {
        let Entry { role, name, header, .. } = self;
        format!(
            "#include \"step.h\"\n#include \"{header}\"\n#define GUARD_NAME {name}\n\
             #define GUARD_EXPORT fadelab_explained_{role}_{name}\n#define GUARD_WATCHED 0\n#include \"guard.h\"\n"
        )
    }
}

/// The Rust side: declarations of the C functions and one list per role.
pub fn rust_source(entries: &[Entry]) -> String {
    let mut declarations = String::new();
    let mut explanations = String::new();
    let mut hosts = String::new();
    let mut lists: [String; ROLES.len()] = Default::default();
    for entry in entries {
        let Entry {
            role,
            name,
            header,
            has_receiver,
        } = entry;
        let place = ROLES.iter().position(|known| known == role).expect("read() checked it");
        let table = [
            "SenderTable",
            "ReceiverTable",
            "RouterTable",
            "CapacityTable",
            "GatewayTable",
            "CodecTable",
        ][place];
        if entry.is_law() {
            let explained = format!("fadelab_explained_{role}_{name}");
            writeln!(declarations, "    fn {explained}(host: *const Host) -> Tables;").expect("a string");
            writeln!(
                explanations,
                "    ({role:?}, {name:?}, {explained}, include_str!({header:?})),"
            )
            .expect("a string");
        }
        writeln!(declarations, "    fn fadelab_{role}_{name}() -> *const abi::{table};").expect("a string");
        writeln!(
            lists[place],
            "    (fadelab_{role}_{name} as _, {name:?}, include_str!({header:?})),"
        )
        .expect("a string");
        if role == ROUTER {
            writeln!(declarations, "    fn fadelab_host_{name}() -> *const abi::HostCalls;").expect("a string");
            writeln!(hosts, "    fadelab_host_{name},").expect("a string");
        }
        if *has_receiver {
            writeln!(
                declarations,
                "    fn fadelab_receiver_{name}() -> *const abi::ReceiverTable;"
            )
            .expect("a string");
            writeln!(
                lists[1],
                "    (fadelab_receiver_{name} as _, {name:?}, include_str!({header:?})),"
            )
            .expect("a string");
        }
    }
    let [senders, receivers, routers, capacities, gateways, wires] = lists;
    format!(
        "unsafe extern \"C\" {{\n{declarations}}}\n\
         const SENDERS: &[Source<abi::SenderTable>] = &[\n{senders}];\n\
         const ROUTERS: &[Source<abi::RouterTable>] = &[\n{routers}];\n\
         const CAPACITIES: &[Source<abi::CapacityTable>] = &[\n{capacities}];\n\
         const GATEWAYS: &[Source<abi::GatewayTable>] = &[\n{gateways}];\n\
         const WIRES: &[Source<abi::CodecTable>] = &[\n{wires}];\n\
         const RECEIVERS: &[Source<abi::ReceiverTable>] = &[\n{receivers}];\n\
         const HOSTS: &[unsafe extern \"C\" fn() -> *const abi::HostCalls] = &[\n{hosts}];\n\
         const EXPLAINED: &[(&str, &str, Export, &str)] = &[\n{explanations}];\n"
    )
}
