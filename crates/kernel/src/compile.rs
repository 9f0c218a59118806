//! BPF programs, compiled when they are needed: the text of a unit and the headers of the laws go through clang.
//!
//! A compiled object is plain bytes. It may be loaded on another machine than the one that compiled it, so that guests
//! need no compiler.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use fadelab_laws::{Codec, Params, own};
use thiserror::Error;

use crate::{compiled, packed};

/// Headers that the units share, by the names under which they include them.
const HEADERS: &[(&str, &str)] = &[
    ("call.h", include_str!("../bpf/call.h")),
    ("chain.h", include_str!("../bpf/chain.h")),
    ("choose.h", include_str!("../bpf/choose.h")),
    ("control.h", include_str!("../bpf/control.h")),
    ("observe.h", include_str!("../bpf/observe.h")),
    ("window.h", include_str!("../bpf/window.h")),
    ("feedback.h", include_str!("../bpf/feedback.h")),
    ("flow.h", include_str!("../bpf/flow.h")),
    ("host.h", include_str!("../bpf/host.h")),
    ("invoke.h", include_str!("../bpf/invoke.h")),
    ("exchange.h", include_str!("../bpf/exchange.h")),
    ("mark.h", include_str!("../bpf/mark.h")),
    ("numbers.h", include_str!("../bpf/numbers.h")),
    ("queue.h", include_str!("../bpf/queue.h")),
    ("inside.h", include_str!("../bpf/inside.h")),
    ("passage.h", include_str!("../bpf/passage.h")),
    ("record.h", include_str!("../bpf/record.h")),
    ("ring.h", include_str!("../bpf/ring.h")),
    ("seen.h", include_str!("../bpf/seen.h")),
    ("set.h", include_str!("../bpf/set.h")),
    ("transit.h", include_str!("../bpf/transit.h")),
    ("tunnel.h", include_str!("../bpf/tunnel.h")),
];

/// Folder of users' own laws, beside the headers of fadelab.
const OWN: &str = "own";

/// Language, debug information for the loader, and warnings.
const FLAGS: [&str; 10] = [
    "-std=c11",
    "-O2",
    "-g",
    // Or the temporary folder would stand in the object, and the same law would never give the same bytes.
    "-fdebug-compilation-dir=.",
    "-target",
    "bpf",
    "-Wall",
    "-Wextra",
    "-Werror=implicit-function-declaration",
    "-Wno-unused-parameter",
];

/// Most lines of a compiler's message that are passed on.
const LINES_MAX: usize = 24;

/// Why a program could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// There is no clang, or it cannot be run.
    #[error(
        "no clang for BPF: {why}; install it (Debian: apt-get install clang) or name it in FADELAB_CLANG, or load what \
         `fadelab kernel build` made on another machine"
    )]
    NoClang {
        /// What was tried.
        why: String,
    },
    /// The folder that the compiler works in could not be made.
    #[error("cannot write to a temporary folder: {why}")]
    NoFolder {
        /// What the system said.
        why: String,
    },
    /// The compiler refused the text, which for a user's own law may be the user's.
    #[error("{unit} does not compile for BPF:\n{message}")]
    DoesNotCompile {
        /// Name of the unit.
        unit: String,
        /// The errors with their places, as the compiler wrote them.
        message: String,
    },
}

/// A unit of C for BPF. Headers of the laws are found by their paths below `laws/`, those of this crate by their names.
pub struct Text {
    /// Name of its file in messages.
    pub name: &'static str,
    pub text: &'static str,
    /// Pairs of a macro and its value as C text.
    pub defines: Vec<(&'static str, String)>,
}

impl Text {
    /// The object file, ELF with BTF: one that was brought in a container, for root the one of before if nothing of
    /// this has changed, or a new one.
    ///
    /// # Errors
    /// No clang, no room for temporary files, or what the compiler says.
    pub fn object(&self) -> Result<Vec<u8>, CompileError> {
        let mut source = self.source();
        if let Some(object) = packed::brought(&source.key(), build) {
            return Ok(object);
        }
        let is_known = source.add_program(Path::new(clang()?.get_program()));
        let place = source.place();
        if let Some(object) = compiled::get(&place).filter(|_| is_known) {
            return Ok(object);
        }
        let object = afresh(self.name, self.text, &self.defines)?;
        if is_known {
            compiled::put(&place, &object);
        }
        Ok(object)
    }

    /// By which the object is known in a container: all that it is made from, but for the compiler.
    pub fn key(&self) -> String {
        self.source().key()
    }

    fn source(&self) -> compiled::Source {
        let mut source = compiled::Source::default();
        for part in FLAGS.iter().chain([&self.name, &self.text]) {
            source.add(part);
        }
        for (name, value) in &self.defines {
            source.add(name);
            source.add(value);
        }
        for (file, header) in own::headers().chain(HEADERS.iter().copied()) {
            source.add(file);
            source.add(header);
        }
        // Other laws that users brought are no part of it.
        let is_named = |law: &&own::OwnLaw| {
            let folder = format!("\"{OWN}/{}/", law.source.name);
            self.defines.iter().any(|(_, value)| value.starts_with(&folder))
        };
        for law in own::loaded().into_iter().filter(is_named) {
            source.add(&law.source.name);
            source.add(&law.source.sha256);
        }
        source
    }
}

/// By which builds of fadelab whose objects fit each other know each other.
pub fn build() -> String {
    let mut source = compiled::Source::default();
    for (file, header) in own::headers().chain(HEADERS.iter().copied()) {
        source.add(file);
        source.add(header);
    }
    source.key()
}

/// An object by the compiler, whatever was compiled before.
///
/// # Errors
/// No clang, no room for temporary files, or what the compiler says.
pub fn afresh(name: &str, text: &str, defines: &[(&str, String)]) -> Result<Vec<u8>, CompileError> {
    let no_folder = |error: std::io::Error| CompileError::NoFolder { why: error.to_string() };
    let folder = own::temporary().map_err(no_folder)?;
    write_files(folder.path(), name, text).map_err(no_folder)?;
    for law in own::loaded() {
        write_own(&folder.path().join(OWN).join(&law.source.name), &law.source).map_err(no_folder)?;
    }
    let mut command = clang()?;
    command.current_dir(folder.path()).args(FLAGS).args(["-I", "."]);
    for (macro_name, value) in defines {
        command.arg(format!("-D{macro_name}={value}"));
    }
    command.args(["-c", name, "-o", "unit.o"]);
    run(command, name)?;
    fs::read(folder.path().join("unit.o")).map_err(no_folder)
}

/// The header of a law as the value of a macro for `#include`; `role` is that of its folder below
/// `laws/`.
pub fn law_header(role: &str, name: &str) -> String {
    let is_own = own::loaded().iter().any(|law| law.source.name == name);
    if is_own {
        format!("\"{OWN}/{name}/{name}.h\"")
    } else {
        format!("\"{role}/{name}.h\"")
    }
}

/// The macros by which a unit finds the codec of its packets.
pub fn codec(codec: &Codec) -> [(&'static str, String); 4] {
    let name = codec.wire().name();
    [
        ("WIRE", codec.format().wire.to_string()),
        ("WIRE_HEADER", law_header("wire", name)),
        ("WIRE_TABLE_NAME", format!("{name}_wire")),
        ("OPTION_BYTES", codec.option_bytes().to_string()),
    ]
}

/// Values of parameters, in the order in which the header declares them, as an initialiser list.
pub fn values(params: &Params) -> String {
    let values: Vec<String> = params.values().iter().map(|value| format!("{value}ull")).collect();
    values.join(",")
}

/// Each law has a folder of its own, since two may include different files of the same name.
fn write_own(folder: &Path, source: &own::Source) -> std::io::Result<()> {
    for file in &source.files {
        let path = folder.join(&file.name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, &file.text)?;
    }
    Ok(())
}

fn write_files(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    for (file, header) in own::headers().chain(HEADERS.iter().copied()) {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, header)?;
    }
    fs::write(folder.join(name), text)
}

/// `FADELAB_CLANG`, else the clang of the search path: without a version in its name, or the newest of those with one.
fn clang() -> Result<Command, CompileError> {
    if let Some(given) = std::env::var_os("FADELAB_CLANG").filter(|given| !given.is_empty()) {
        return Ok(Command::new(given));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &String| std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    let versions = (11..=30).rev().map(|version| format!("clang-{version}"));
    let found = std::iter::once("clang".to_owned()).chain(versions).find(is_there);
    found.map(Command::new).ok_or_else(|| CompileError::NoClang {
        why: "none is in PATH".to_owned(),
    })
}

fn run(mut command: Command, unit: &str) -> Result<(), CompileError> {
    // Messages are passed on in the compiler's own words, not in those of the language settings.
    command.env("LC_ALL", "C");
    let program = command.get_program().to_string_lossy().into_owned();
    let Output { status, stderr, .. } = command.output().map_err(|error| CompileError::NoClang {
        why: format!("`{program}` cannot be run: {error}"),
    })?;
    if status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&stderr);
    if message.contains("unable to create target") || message.contains("unknown target") {
        return Err(CompileError::NoClang {
            why: format!("`{program}` cannot compile for BPF"),
        });
    }
    Err(CompileError::DoesNotCompile {
        unit: unit.to_owned(),
        message: errors_of(&message) + remedy(&message),
    })
}

/// What to do about errors whose words say nothing to the author of a law.
fn remedy(message: &str) -> &'static str {
    // libgcc's names of arithmetic on `float` (sf) and `double` (df), which processors without it call.
    let is_of_floats = |line: &str| {
        let function = line.split_once("call to built-in function '__").map(|(_, rest)| rest);
        function.is_some_and(|rest| ["sf", "df"].iter().any(|kind| rest.contains(kind)))
    };
    if message.lines().any(is_of_floats) {
        "\na kernel has no floating point: compute in integers, with fixed.h for fractions"
    } else {
        ""
    }
}

/// The errors of a compiler's message with the lines that show their places; warnings and counts are left out.
fn errors_of(message: &str) -> String {
    let mut lines = Vec::new();
    let mut wanted = false;
    for line in message.lines() {
        if line.contains("error:") {
            wanted = true;
        } else if line.contains("warning:") || line.contains(" generated.") || line.starts_with("In file included") {
            wanted = false;
        }
        if wanted {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        lines = message.lines().collect();
    }
    if lines.len() > LINES_MAX {
        lines.truncate(LINES_MAX);
        lines.push("(and more)");
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &'static str, defines: &[(&'static str, String)]) -> Text {
        Text {
            name: "unit.bpf.c",
            text,
            defines: defines.to_vec(),
        }
    }

    #[test]
    fn a_message_keeps_its_errors_and_loses_the_rest() {
        // Goal: who reads a refusal sees what is wrong and where, not the warnings before it.
        let message = "a.c:1:2: warning: unused\n  int x;\n  ^\na.c:3:4: error: unknown type\n  foo y;\n  ^\n\
                       1 warning and 1 error generated.\n";
        assert_eq!(errors_of(message), "a.c:3:4: error: unknown type\n  foo y;\n  ^");
        assert_eq!(errors_of("out of memory\n"), "out of memory");
    }

    #[test]
    fn a_unit_that_is_wrong_is_told_by_its_name_and_line() {
        // Goal: the place that a message names is the one in the text, not one in a temporary folder.
        let Err(CompileError::DoesNotCompile { unit, message }) = unit("\nint f(void) { return y; }\n", &[]).object()
        else {
            // Without a compiler there is nothing to test.
            assert!(matches!(unit("", &[]).object(), Err(CompileError::NoClang { .. })));
            return;
        };
        assert_eq!(unit, "unit.bpf.c");
        assert!(message.starts_with("unit.bpf.c:2:22: error:"), "{message}");
    }

    #[test]
    fn floating_point_is_told_with_the_remedy() {
        // Goal: who computes with float or double learns that a kernel cannot, and what to use; others do not.
        for (text, is_told) in [
            ("int f(int a) { return a * 0.5f; }\n", true),
            ("int f(int a) { return a * 0.5; }\n", true),
            ("int f(void) { return y; }\n", false),
        ] {
            match unit(text, &[]).object() {
                Err(CompileError::DoesNotCompile { message, .. }) => {
                    assert_eq!(
                        message.contains("compute in integers, with fixed.h"),
                        is_told,
                        "{message}"
                    );
                }
                other => assert!(matches!(other, Err(CompileError::NoClang { .. })), "{text}"),
            }
        }
    }

    #[test]
    fn a_unit_finds_the_laws_and_the_codec() {
        // Goal: headers of both folders are there, and macros arrive as they were given.
        let text = "#include LAW_HEADER\n#include \"host.h\"\nint f(void) { return VALUE + sizeof(vcp_router); }\n";
        let defines = [("LAW_HEADER", "\"router/vcp.h\"".to_owned()), ("VALUE", "7".to_owned())];
        match unit(text, &defines).object() {
            Ok(bytes) => assert_eq!(&bytes[..4], b"\x7fELF"),
            Err(error) => assert!(matches!(error, CompileError::NoClang { .. }), "{error}"),
        }
    }

    #[test]
    fn the_same_unit_gives_the_same_bytes() {
        // Goal: nothing of the folder or of the moment is in an object: a guest's run would differ with it.
        let text = "#include \"router/vcp.h\"\nint f(void) { return sizeof(vcp_router); }\n";
        let (one, other) = (afresh("unit.bpf.c", text, &[]), afresh("unit.bpf.c", text, &[]));
        assert_eq!(one, other);
    }
}
