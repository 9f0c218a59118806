//! Runs of ns-2 and what they print: lines of a name and a number.

use std::collections::BTreeMap;
use std::process::Command;

use crate::lab;

/// Folder of the Tcl, from the top of the project.
const FOLDER: &str = "tests/differential/ns2";

#[derive(Clone, Debug, PartialEq)]
pub struct Output(BTreeMap<String, f64>);

/// The words of a run of `script` with `arguments`, pairs of a name and a value; values with spaces stand in quotes.
pub fn words(script: &str, arguments: &[(&str, &str)], seed: u64) -> Vec<String> {
    let mut words = vec!["ns".to_owned(), format!("{FOLDER}/{script}.tcl")];
    for &(name, value) in arguments {
        words.extend([name.to_owned(), value.to_owned()]);
    }
    words.extend(["seed".to_owned(), seed.to_string()]);
    words
}

/// The words as a shell takes them.
pub fn line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        if word.contains(' ') {
            format!("\"{word}\"")
        } else {
            word.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Runs ns-2 and reads what it prints.
///
/// # Errors
/// ns-2 cannot be started, ends with an error, or prints something else than lines of a name and a number.
pub fn run(words: &[String]) -> Result<Output, String> {
    let line = line(words);
    let output = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(lab::top())
        .output()
        .map_err(|error| format!("{line}: {error}; tools/setup validate installs ns-2"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{line}: {}: {}", output.status, said.trim()));
    }
    Output::parse(&String::from_utf8_lossy(&output.stdout)).map_err(|what| format!("{line}: {what}"))
}

/// The law that it was told to take, and a table of its own that it made larger.
fn is_of_tcp_linux(line: &str) -> bool {
    line.starts_with("cmd select_ca ") || (line.starts_with("0x") && line.ends_with(" resizing timestamp table"))
}

impl Output {
    /// Reads lines of a name and a finite number. What TCP/Linux says of itself is left out.
    ///
    /// # Errors
    /// The first line that is something else, a name that comes twice, or no line at all.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        let told = (1..).zip(text.lines());
        for (number, line) in told.filter(|(_, line)| !is_of_tcp_linux(line)) {
            let pair = line.split_once(' ').and_then(|(name, value)| {
                let value: f64 = value.trim().parse().ok()?;
                value.is_finite().then_some((name, value))
            });
            let (name, value) = pair.ok_or_else(|| format!("line {number} is no name and number: '{line}'"))?;
            if values.insert(name.to_owned(), value).is_some() {
                return Err(format!("line {number}: '{name}' comes twice"));
            }
        }
        if values.is_empty() {
            return Err("it printed nothing".to_owned());
        }
        Ok(Self(values))
    }

    /// A value by its name.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn get(&self, name: &str) -> Result<f64, String> {
        let value = self.0.get(name).copied();
        value.ok_or_else(|| format!("ns-2 printed no '{name}'"))
    }

    /// Rates of the flows of `group`, in Mbit/s on the wire, in no particular order.
    pub fn rates_mbps(&self, group: &str) -> Vec<f64> {
        let place = |name: &str| {
            let rest = name.strip_prefix(group)?.strip_prefix('_')?;
            rest.strip_suffix("_mbps")?.parse::<u32>().ok()
        };
        let flows = self.0.iter().filter(|(name, _)| place(name).is_some());
        flows.map(|(_, &rate)| rate).collect()
    }

    /// `part` of `whole`.
    ///
    /// # Errors
    /// One of the two is missing, or the whole is nothing.
    pub fn ratio(&self, part: &str, whole: &str) -> Result<f64, String> {
        let (part_pkts, whole_pkts) = (self.get(part)?, self.get(whole)?);
        if whole_pkts == 0.0 {
            return Err(format!("ns-2 counted no '{whole}'"));
        }
        Ok(part_pkts / whole_pkts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ns2_prints_is_read() {
        // Goal: names and numbers, integers and powers of ten, come back by name; flows by their group and no other.
        let text = "cmd select_ca veno\n0x556ccf3ec5c0 resizing timestamp table\nutilisation 0.99980\n\
                    flow_1_mbps 5.5\nflow_2_mbps 4.5\nflows_1_mbps 9\nqueue_pkt_s 1.5e+05\n\
                    dropped_pkts 40\narrived_pkts 80\n";
        let output = Output::parse(text).expect("sound");
        assert_eq!(output.get("utilisation"), Ok(0.9998));
        assert_eq!(output.get("queue_pkt_s"), Ok(150_000.0));
        assert_eq!(output.rates_mbps("flow"), [5.5, 4.5]);
        assert_eq!(output.ratio("dropped_pkts", "arrived_pkts"), Ok(0.5));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        // Goal: half lines, words, values that are not finite, names that come twice and silence are errors that say
        // where; a name that is missing is an error that says which.
        for (text, said) in [
            ("utilisation\n", "line 1 is no name and number: 'utilisation'"),
            ("a 1\nb one\n", "line 2 is no name and number: 'b one'"),
            ("a 1 2\n", "line 1 is no name and number: 'a 1 2'"),
            ("a nan\n", "line 1 is no name and number: 'a nan'"),
            ("a 1\n\nb 2\n", "line 2 is no name and number: ''"),
            ("a 1\na 1\n", "line 2: 'a' comes twice"),
            ("", "it printed nothing"),
        ] {
            assert_eq!(Output::parse(text), Err(said.to_owned()), "{text:?}");
        }
        let output = Output::parse("arrived_pkts 0\ndropped_pkts 0\n").expect("sound");
        assert_eq!(output.get("sent_pkts"), Err("ns-2 printed no 'sent_pkts'".to_owned()));
        let nothing = output.ratio("dropped_pkts", "arrived_pkts");
        assert_eq!(nothing, Err("ns-2 counted no 'arrived_pkts'".to_owned()));
    }
}
