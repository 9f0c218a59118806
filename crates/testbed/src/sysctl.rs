//! Settings of the kernel that a user wants in the namespaces of a run, beside those that the scenario asks for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A setting, as sysctl(8) writes it: `net.ipv4.tcp_recovery=0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sysctl {
    name: String,
    value: String,
}

impl Sysctl {
    /// Its file below `/proc/sys`.
    pub(crate) fn file(&self) -> String {
        self.name.replace('.', "/")
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl FromStr for Sysctl {
    type Err = String;

    /// Only settings of the network are a namespace's own; others would be the machine's.
    fn from_str(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "allowed are settings of a network namespace, such as net.ipv4.tcp_recovery=0";
        let (name, value) = text.split_once('=').ok_or(ALLOWED)?;
        let (name, value) = (name.trim(), value.trim());
        let is_word = |word: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
            !word.is_empty() && word.chars().all(is_letter)
        };
        let is_of_network = name
            .strip_prefix("net.")
            .is_some_and(|rest| rest.split('.').all(is_word));
        if !is_of_network || value.is_empty() {
            return Err(ALLOWED.to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_a_network_are_taken() {
        // Goal: what sysctl(8) takes for a namespace is read; what leads elsewhere, or nowhere, is refused.
        let setting: Sysctl = "net.ipv4.tcp_rmem = 4096 16384 65536".parse().expect("allowed");
        assert_eq!(
            (setting.file().as_str(), setting.value()),
            ("net/ipv4/tcp_rmem", "4096 16384 65536")
        );
        assert_eq!(setting.to_string(), "net.ipv4.tcp_rmem=4096 16384 65536");
        for text in [
            "net.ipv4.tcp_recovery",
            "kernel.sched_rt_runtime_us=1",
            "net.=1",
            "net.ipv4.tcp_recovery=",
            "net...kernel.panic=1",
            "net/../kernel/panic=1",
        ] {
            assert!(text.parse::<Sysctl>().is_err(), "{text}");
        }
    }
}
