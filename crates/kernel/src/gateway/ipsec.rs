//! The IPsec tunnels that go out from a namespace, as `ip xfrm` lists them.

use std::path::Path;
use std::process::Command;

use super::{GatewayError, MARK_MASK};
use crate::device::within;
use crate::tunnel::{RoleFrom, Way};

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
    pub behind: Behind,
    /// Bits of packets' marks by which its policies or SAs choose packets.
    pub mark_mask: u32,
}

/// What ESP's header stands behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    Ip,
    /// As through a NAT (RFC 3948).
    Udp,
}

impl Outgoing {
    /// Why no gateway's law can work here, and what to do; `None`: one can.
    pub fn obstacle(&self, role: RoleFrom) -> Option<String> {
        let way = self.way;
        if self.is_offloaded {
            return Some(format!(
                "tunnel {way}: a device encrypts its packets behind all programs, so nobody can mark their outer \
                 headers; make its SAs without offload"
            ));
        }
        if self.mark_mask & MARK_MASK != 0 {
            return Some(format!(
                "tunnel {way}: its policies or SAs choose packets by the bits {:#x} of their marks, and a gateway \
                 needs {MARK_MASK:#x} for itself; choose by lower bits",
                self.mark_mask
            ));
        }
        let is_ipv6 = way.from.is_ipv6();
        if role == RoleFrom::Id && (is_ipv6 || !self.has_ids) {
            return Some(format!(
                "tunnel {way}: its outer headers have no ID that changes (IPv4 without the flag nopmtudisc, or IPv6); \
                 take --role sequence, at the other gateway and the routers too"
            ));
        }
        (role == RoleFrom::Written && is_ipv6)
            .then(|| format!("tunnel {way}: an IPv6 header has no ID to write; take --role sequence"))
    }

    /// What works otherwise here than an operator may think, and what to do.
    pub fn remarks(&self) -> Vec<&'static str> {
        let noecn = "its SAs have the flag noecn, so CE of RFC 3168 routers in it reaches nobody; codes of a gateway's \
                     law come out nevertheless";
        let fragments = "its SAs have the flag nopmtudisc, so its packets may be fragmented, and fragments carry no \
                         code; make packets inside small enough, or the SAs without the flag";
        let remarks = [(self.noecn, noecn), (self.has_ids, fragments)];
        let told = remarks.into_iter().filter(|(is_so, _)| *is_so);
        told.map(|(_, remark)| remark).collect()
    }
}

/// All ESP tunnels into which a policy of a namespace sends packets, each once; `None`: of this one.
///
/// # Errors
/// `ip` cannot be run, or it fails.
pub fn outgoing(netns: Option<&Path>) -> Result<Vec<Outgoing>, GatewayError> {
    let policies = listed(netns, "policy")?;
    let states = listed(netns, "state")?;
    Ok(read(&policies, &states))
}

fn listed(netns: Option<&Path>, what: &str) -> Result<String, GatewayError> {
    let failed = |why: String| GatewayError::Listing {
        what: format!("ip xfrm {what}"),
        why,
    };
    let run = || Command::new("ip").env("LC_ALL", "C").args(["xfrm", what]).output();
    let output = within(netns, run).and_then(|output| output);
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
    let (mut is_out, mut way, mut mark_mask) = (false, None, 0);
    for line in policies.lines() {
        let text = line.trim();
        if let Some(direction) = text.strip_prefix("dir ") {
            is_out = direction.starts_with("out");
            mark_mask = 0;
        }
        mark_mask |= mask_of(text);
        if let Some(template) = text.strip_prefix("tmpl ") {
            way = ends(template).filter(|_| is_out);
        } else if text.starts_with("proto esp") && text.contains("mode tunnel") {
            let fresh = way.take().filter(|way| found.iter().all(|known| known.way != *way));
            found.extend(fresh.map(|way| with_flags(way, states, mark_mask)));
        }
    }
    found
}

/// The mask of a line `mark VALUE/MASK`, else 0.
fn mask_of(line: &str) -> u32 {
    let mark = line
        .strip_prefix("mark ")
        .and_then(|rest| rest.split_whitespace().next());
    let mask = mark.and_then(|mark| mark.split_once("/0x"));
    mask.and_then(|(_, mask)| u32::from_str_radix(mask, 16).ok())
        .unwrap_or(0)
}

/// What the newest SA of a direction says; the kernel lists that first.
fn with_flags(way: Way, states: &str, mark_mask: u32) -> Outgoing {
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
        behind: if own.iter().any(|line| line.contains("encap type espinudp")) {
            Behind::Udp
        } else {
            Behind::Ip
        },
        is_offloaded: own.iter().any(|line| line.contains("offload")),
        mark_mask: own.iter().fold(mark_mask, |mask, line| mask | mask_of(line.trim())),
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
                      \treplay-window 32 flag nopmtudisc\n\
                      \tencap type espinudp sport 4500 dport 4500 addr 0.0.0.0\n";
        let found = read(policies, states);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].way.to_string(), "192.0.2.1-192.0.2.2");
        assert_eq!(
            (
                found[0].noecn,
                found[0].has_ids,
                found[0].is_offloaded,
                found[0].mark_mask
            ),
            (false, true, false, 0)
        );
        assert_eq!((found[0].remarks().len(), found[0].behind), (1, Behind::Udp));
    }

    #[test]
    fn marks_of_the_operator_are_read_and_refused_where_a_gateway_needs_them() {
        // Goal: masks of a policy and of an SA count together; one that touches a gateway's bits is in its way, with
        // each source of the role, and lower ones are not.
        let listed = |policy: &str, state: &str| {
            let policies = format!(
                "src 10.0.0.0/24 dst 10.1.0.0/24 \n\tdir out priority 0 \n\tmark {policy} \n\
                 \ttmpl src 192.0.2.1 dst 192.0.2.2\n\t\tproto esp reqid 0 mode tunnel\n"
            );
            let states = format!("src 192.0.2.1 dst 192.0.2.2\n\tproto esp spi 0x2\n\tmark {state} \n");
            read(&policies, &states)[0]
        };
        let low = listed("0x1/0xff", "0x100/0x100");
        assert_eq!((low.mark_mask, low.obstacle(RoleFrom::Sequence)), (0x1ff, None));
        for high in [
            listed("0x1/0xffffffff", "0/0"),
            listed("0x1/0x1", "0x1000000/0x1000000"),
        ] {
            let why = high.obstacle(RoleFrom::Sequence).expect("it is in the way");
            assert!(why.contains("0xff000000 for itself; choose by lower bits"), "{why}");
        }
    }
}
