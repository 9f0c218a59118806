//! The IPsec tunnels that go out from a namespace, as `ip xfrm` lists them.

use std::process::Command;

use super::GatewayError;
use crate::device::{Device, within};
use crate::tunnel::Way;

/// A tunnel of the kernel's IPsec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub way: Way,
    /// Whether the ECN field stays outside.
    pub noecn: bool,
    /// Whether outer headers may be fragmented, and so have an ID of their own.
    pub has_ids: bool,
    /// Whether a device encrypts, behind all programs.
    pub is_offloaded: bool,
}

/// All ESP tunnels into which a policy of the device's namespace sends packets, each once.
///
/// # Errors
/// `ip` cannot be run, or it fails.
pub fn outgoing(device: &Device) -> Result<Vec<Outgoing>, GatewayError> {
    let policies = listed(device, "policy")?;
    let states = listed(device, "state")?;
    Ok(read(&policies, &states))
}

fn listed(device: &Device, what: &str) -> Result<String, GatewayError> {
    let failed = |why: String| GatewayError::Listing {
        what: format!("ip xfrm {what}"),
        why,
    };
    let run = || Command::new("ip").env("LC_ALL", "C").args(["xfrm", what]).output();
    let output = within(device.netns.as_deref(), run).and_then(|output| output);
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `src A dst B` at the beginning of a line, or behind `tmpl`.
fn ends(line: &str) -> Option<Way> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["src", from, "dst", to, ..] => format!("{from}-{to}").parse().ok(),
        _ => None,
    }
}

fn read(policies: &str, states: &str) -> Vec<Outgoing> {
    let mut found: Vec<Outgoing> = Vec::new();
    let (mut is_out, mut way) = (false, None);
    for line in policies.lines() {
        let text = line.trim();
        if let Some(direction) = text.strip_prefix("dir ") {
            is_out = direction.starts_with("out");
        }
        if let Some(template) = text.strip_prefix("tmpl ") {
            way = ends(template).filter(|_| is_out);
        } else if text.starts_with("proto esp") && text.contains("mode tunnel") {
            let fresh = way.take().filter(|way| found.iter().all(|known| known.way != *way));
            found.extend(fresh.map(|way| with_flags(way, states)));
        }
    }
    found
}

/// What the newest SA of a direction says; the kernel lists that first.
fn with_flags(way: Way, states: &str) -> Outgoing {
    let mut own = states.lines().skip_while(|line| ends(line) != Some(way));
    let own: Vec<&str> = own
        .next()
        .into_iter()
        .chain(own.take_while(|line| line.starts_with(char::is_whitespace)))
        .collect();
    let has_flag = |flag: &str| {
        let flags = own
            .iter()
            .filter_map(|line| line.split_once(" flag ").map(|(_, flags)| flags));
        flags
            .into_iter()
            .any(|flags| flags.split_whitespace().any(|word| word == flag))
    };
    Outgoing {
        way,
        noecn: has_flag("noecn"),
        has_ids: has_flag("nopmtudisc"),
        is_offloaded: own.iter().any(|line| line.contains("offload")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_are_read_from_what_ip_prints() {
        // Goal: of policies the outgoing ones in tunnel mode count, each pair of outer addresses once, with the flags
        // of its own SA.
        let policies = "src 10.0.0.0/24 dst 10.1.0.0/24 \n\tdir out priority 0 \n\ttmpl src 192.0.2.1 dst 192.0.2.2\n\
                        \t\tproto esp reqid 0 mode tunnel\n\
                        src 10.2.0.0/24 dst 10.1.0.0/24 \n\tdir out priority 0 \n\ttmpl src 192.0.2.1 dst 192.0.2.2\n\
                        \t\tproto esp reqid 0 mode tunnel\n\
                        src 10.1.0.0/24 dst 10.0.0.0/24 \n\tdir fwd priority 0 \n\ttmpl src 192.0.2.2 dst 192.0.2.1\n\
                        \t\tproto esp reqid 0 mode tunnel\n\
                        src 10.3.0.0/24 dst 10.1.0.0/24 \n\tdir out priority 0 \n\ttmpl src 0.0.0.0 dst 0.0.0.0\n\
                        \t\tproto esp reqid 0 mode transport\n";
        let states = "src 192.0.2.2 dst 192.0.2.1\n\tproto esp spi 0x1 reqid 0 mode tunnel\n\
                      \treplay-window 32 flag noecn nopmtudisc\n\
                      src 192.0.2.1 dst 192.0.2.2\n\tproto esp spi 0x2 reqid 0 mode tunnel\n\
                      \treplay-window 32 flag nopmtudisc\n";
        let found = read(policies, states);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].way.to_string(), "192.0.2.1-192.0.2.2");
        assert_eq!(
            (found[0].noecn, found[0].has_ids, found[0].is_offloaded),
            (false, true, false)
        );
    }
}
