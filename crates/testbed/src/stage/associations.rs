//! Security associations of tunnels: made, renewed while a run goes on, and counted.

use std::fmt::Write as _;
use std::fs;
use std::mem::replace;
use std::process::Command;

use fadelab_run::tunnel::{Cipher, Family, KEY, Mode, Rekey, SPI_STEP, TunnelRecord, UDP_PORT, spi};

use super::build::batch;
use super::spaces::Spaces;
use super::{Outcome, failed};
use crate::plan::{Plan, Tunnel};

/// Packets by which one may be late before it counts as replayed.
const REPLAY_PKTS: u32 = 32;

/// The associations of both directions of all tunnels, at both ends.
pub struct Associations<'a> {
    plan: &'a Plan,
    spaces: &'a Spaces,
    tunnels: Vec<Renewed>,
}

/// What became of a tunnel's.
#[derive(Clone, Copy, Default)]
struct Renewed {
    times: u32,
    /// Whether the last ones expired and no others are there yet.
    is_gap: bool,
    /// What those counted that are no more: packets that entered, and that left.
    gone: [u64; 2],
}

impl<'a> Associations<'a> {
    /// Those that [`made`] made.
    pub fn new(plan: &'a Plan, spaces: &'a Spaces) -> Self {
        Self {
            plan,
            spaces,
            tunnels: vec![Renewed::default(); plan.tunnels.len()],
        }
    }

    /// Takes away what has expired by now, and renews what is due.
    pub fn renew(&mut self, now_ns: u64) -> Outcome<()> {
        for (number, tunnel) in self.plan.tunnels.iter().enumerate() {
            let Some(rekey) = tunnel.rekey else { continue };
            while self.tunnels[number].times < rekey.renewals(now_ns) {
                if rekey.gap_ns > 0 {
                    self.expire(number)?;
                }
                self.renew_tunnel(number, rekey)?;
            }
            if rekey.is_gap(now_ns) {
                self.expire(number)?;
            }
        }
        Ok(())
    }

    /// Both ends lose the last ones, if they have any, before others are there.
    fn expire(&mut self, number: usize) -> Outcome<()> {
        if !replace(&mut self.tunnels[number].is_gap, true) {
            self.remove(number, self.tunnels[number].times)?;
        }
        Ok(())
    }

    /// Both ends can take what the other one sends before it sends it, as RFC 7296 section 2.8 has it. Those
    /// before stay for what is under way where they did not expire, and those before these go.
    fn renew_tunnel(&mut self, number: usize, rekey: Rekey) -> Outcome<()> {
        let times = self.tunnels[number].times + 1;
        let tunnel = &self.plan.tunnels[number];
        let give = |end: usize, text: &str| self.spaces.at(tunnel.ends[end], || batch("ip", text));
        for (end, ways) in [(0, &[(1, 0)][..]), (1, &[(0, 1), (1, 0)]), (0, &[(0, 1)])] {
            let mut text = String::new();
            for &way in ways {
                add(&mut text, (number, tunnel), end, way, times);
            }
            give(end, &text)?;
        }
        if let Some(gone) = times.checked_sub(2).filter(|_| rekey.gap_ns == 0) {
            self.remove(number, gone)?;
        }
        (self.tunnels[number].times, self.tunnels[number].is_gap) = (times, false);
        Ok(())
    }

    /// Takes those after so many renewals from both ends, and keeps what they counted.
    fn remove(&mut self, number: usize, renewals: u32) -> Outcome<()> {
        let counted = self.counted(number, Some(renewals))?;
        for (sum, packets) in self.tunnels[number].gone.iter_mut().zip(counted) {
            *sum += packets;
        }
        let tunnel = &self.plan.tunnels[number];
        let mut text = String::new();
        for way in [(0, 1), (1, 0)] {
            delete(&mut text, (number, tunnel), way, renewals);
        }
        for node in tunnel.ends {
            self.spaces.at(node, || batch("ip", &text))?;
        }
        Ok(())
    }

    /// What has entered tunnels and left them since they were made.
    pub fn counters(&self) -> Outcome<Vec<TunnelRecord>> {
        let count = |(number, tunnel): (usize, &Tunnel)| {
            let [entered, left] = self.counted(number, None)?;
            let gone = self.tunnels[number].gone;
            let [no_sa_entering_pkts, no_sa_leaving_pkts] = self.without(tunnel)?;
            Ok(TunnelRecord {
                name: tunnel.name.clone(),
                entered_pkts: entered + gone[0],
                left_pkts: left + gone[1],
                dropped_pkts: 0,
                no_sa_entering_pkts,
                no_sa_leaving_pkts,
            })
        };
        self.plan.tunnels.iter().enumerate().map(count).collect()
    }

    /// Packets that found no association where they would have entered, and where they would have left, at both ends.
    fn without(&self, tunnel: &Tunnel) -> Outcome<[u64; 2]> {
        let mut sums = [0; 2];
        for node in tunnel
            .ends
            .into_iter()
            .filter(|_| tunnel.rekey.is_some_and(|rekey| rekey.gap_ns > 0))
        {
            // Of this thread's namespace.
            let read = || fs::read_to_string("/proc/thread-self/net/xfrm_stat").map_err(failed("/proc/net/xfrm_stat"));
            let text = self.spaces.at(node, read)?;
            for (sum, name) in sums.iter_mut().zip(["XfrmOutNoStates", "XfrmInNoStates"]) {
                *sum += statistic(&text, name).ok_or_else(|| format!("/proc/net/xfrm_stat has no {name}"))?;
            }
        }
        Ok(sums)
    }

    /// What those of a tunnel that are there count, or only those after so many renewals: packets that entered, and
    /// that left.
    fn counted(&self, number: usize, renewals: Option<u32>) -> Outcome<[u64; 2]> {
        let mut counted = [0; 2];
        for (end, &node) in self.plan.tunnels[number].ends.iter().enumerate() {
            let listed = self.spaces.at(node, listed)?;
            for (sum, to) in counted.iter_mut().zip([1 - end, end]) {
                let is_asked = |other: u32| match renewals {
                    Some(renewals) => other == spi(number, to, renewals),
                    None => other % SPI_STEP == spi(number, to, 0),
                };
                *sum += packets_of(&listed, is_asked);
            }
        }
        Ok(counted)
    }
}

/// Commands of `ip` that make the first associations of a tunnel at one of its ends.
pub fn made(text: &mut String, number: usize, tunnel: &Tunnel, end: usize) {
    for way in [(0, 1), (1, 0)] {
        add(text, (number, tunnel), end, way, 0);
    }
}

/// The association of one direction, as an end has it.
fn add(text: &mut String, (number, tunnel): (usize, &Tunnel), end: usize, (from, to): (usize, usize), renewals: u32) {
    let mut flags = String::new();
    // What is inside is of another family than the header outside.
    let is_mixed = tunnel.outer == Family::Ipv6;
    for (is_set, flag) in [
        (tunnel.noecn[end], "noecn"),
        (tunnel.has_ids, "nopmtudisc"),
        (is_mixed, "af-unspec"),
    ] {
        if is_set {
            let _ = write!(flags, " flag {flag}");
        }
    }
    // The address of whoever asked for it, which no kernel looks at.
    let in_udp = if tunnel.in_udp {
        format!(" encap espinudp {UDP_PORT} {UDP_PORT} 0.0.0.0")
    } else {
        String::new()
    };
    let mode = mode(tunnel);
    for [src, dst] in tunnel.outside(number, from) {
        let _ = writeln!(
            text,
            "xfrm state add src {src} dst {dst} proto esp spi {:#x} mode {mode} {} \
             replay-window {REPLAY_PKTS}{flags}{in_udp}",
            spi(number, to, renewals),
            cipher(tunnel)
        );
    }
}

fn delete(text: &mut String, (number, tunnel): (usize, &Tunnel), (from, to): (usize, usize), renewals: u32) {
    for [src, dst] in tunnel.outside(number, from) {
        let _ = writeln!(
            text,
            "xfrm state delete src {src} dst {dst} proto esp spi {:#x}",
            spi(number, to, renewals)
        );
    }
}

/// As `ip` calls it.
pub fn mode(tunnel: &Tunnel) -> &'static str {
    match tunnel.mode {
        Mode::Tunnel => "tunnel",
        Mode::Transport => "transport",
    }
}

fn cipher(tunnel: &Tunnel) -> String {
    let mut key = "0x".to_owned();
    for byte in KEY {
        let _ = write!(key, "{byte:02x}");
    }
    match tunnel.cipher {
        Cipher::AesGcm => format!("aead rfc4106(gcm(aes)) {key} 128"),
        Cipher::Null => format!("auth-trunc hmac(sha1) {key} 96 enc cipher_null \"\""),
    }
}

/// The associations of this thread's namespace, with what they count.
fn listed() -> Outcome<String> {
    let output = Command::new("ip").args(["-s", "xfrm", "state"]).output();
    let output = output.map_err(failed("ip xfrm state"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A value of `/proc/net/xfrm_stat`: a name and a number on each line.
fn statistic(text: &str, name: &str) -> Option<u64> {
    let mut fields = text.lines().map(|line| line.split_whitespace());
    let mut of_name = fields.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    of_name.next()?.parse().ok()
}

/// Packets that the associations of the asked indices have handled: on the line behind `lifetime current:`, as in
/// `7660(bytes), 83(packets)`.
fn packets_of(listed: &str, is_asked: impl Fn(u32) -> bool) -> u64 {
    let mut sum = 0;
    let mut lines = listed.lines();
    let mut is_one = false;
    while let Some(line) = lines.next() {
        if let Some((_, rest)) = line.split_once(" spi 0x") {
            let index = rest.split('(').next().unwrap_or_default();
            is_one = u32::from_str_radix(index, 16).is_ok_and(&is_asked);
        } else if is_one && line.contains("lifetime current:") {
            let packets = lines.next().and_then(|line| line.split(", ").nth(1)?.split('(').next());
            sum += packets.and_then(|packets| packets.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_of_the_asked_associations() {
        // Goal: what `ip -s xfrm state` prints of three SAs is read of each, and of one that is not there 0; a
        // direction's are added up over its renewals.
        let one = |spi: &str, packets: u32| {
            format!(
                "src 172.31.0.1 dst 172.31.0.2\n\tproto esp spi {spi}(4097) reqid 0(0x00000000) mode tunnel\n\
                 \tlifetime config:\n\t  limit: soft (INF)(bytes), hard (INF)(bytes)\n\
                 \tlifetime current:\n\t  7660(bytes), {packets}(packets)\n\t  add 2026-01-01 00:00:03 use -\n"
            )
        };
        let text = one("0x00001001", 83) + &one("0x00001000", 7) + &one("0x00011001", 5);
        assert_eq!(
            [0x1001, 0x1000, 0x1002].map(|spi| packets_of(&text, |other| other == spi)),
            [83, 7, 0]
        );
        assert_eq!(packets_of(&text, |other| other % SPI_STEP == spi(0, 1, 0)), 88);
    }
}
