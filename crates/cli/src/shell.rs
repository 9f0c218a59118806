//! Commands that are printed so that a person can paste them into a shell.

/// An argument as a shell takes it.
pub fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+=/,:".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The command that was given, without the option that throws away what earlier ones did.
pub fn same_command(arguments: impl Iterator<Item = String>) -> String {
    let kept = arguments.filter(|argument| argument != "--fresh");
    kept.map(|argument| quoted(&argument)).collect::<Vec<_>>().join(" ")
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
    fn the_same_command_does_not_begin_again() {
        // Goal: every argument is there but --fresh, which would throw away what was kept.
        let given = ["fadelab", "run", "my file.toml", "--fresh", "--jobs", "2"];
        let command = same_command(given.into_iter().map(str::to_owned));
        assert_eq!(command, "fadelab run 'my file.toml' --jobs 2");
    }
}
