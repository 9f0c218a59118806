//! Commands that are printed so that a person can paste them into a shell.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;

/// An argument as a shell takes it.
pub fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+=/,:".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// An argument of whatever bytes: those that are not UTF-8 are written as dollar-single-quotes take them (POSIX.1-2024,
/// shell command language, section 2.2.4).
fn quoted_bytes(argument: &OsStr) -> String {
    if let Some(text) = argument.to_str() {
        return quoted(text);
    }
    let mut text = "$'".to_owned();
    for &byte in argument.as_encoded_bytes() {
        if (byte.is_ascii_graphic() || byte == b' ') && !b"'\\".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "\\{byte:03o}");
        }
    }
    text + "'"
}

/// The command that was given, without the option that throws away what earlier ones did.
pub fn same_command(arguments: impl Iterator<Item = OsString>) -> String {
    command(arguments.filter(|argument| argument != "--fresh"))
}

/// A command as a shell takes it.
pub fn command(arguments: impl Iterator<Item = OsString>) -> String {
    let words: Vec<String> = arguments.map(|argument| quoted_bytes(&argument)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_a_shell() {
        // Goal: what is printed can be pasted as it is.
        assert_eq!(quoted("flow.law=reno+rem"), "flow.law=reno+rem");
        assert_eq!(quoted("channel.snr=5 dB"), "'channel.snr=5 dB'");
        assert_eq!(quoted("a'b"), "'a'\\''b'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn an_argument_that_is_no_text_survives_a_shell() {
        // Goal: bytes that are not UTF-8 are written, with whatever follows them, so that a shell gives the same bytes.
        use std::os::unix::ffi::OsStringExt;
        let given = OsString::from_vec(b"out \xff7'".to_vec());
        assert_eq!(same_command([given].into_iter()), "$'out \\3777\\047'");
    }

    #[test]
    fn the_same_command_does_not_begin_again() {
        // Goal: every argument is there but --fresh, which would throw away what was kept.
        let given = ["fadelab", "run", "my file.toml", "--fresh", "--jobs", "2"];
        let command = same_command(given.into_iter().map(OsString::from));
        assert_eq!(command, "fadelab run 'my file.toml' --jobs 2");
    }
}
