//! Logs packets while a run goes on: of flows at their senders' hosts, of links where they arrive.
//!
//! Rings hold copies until somebody looks, once a second. An arriving packet is copied before any program at the device
//! touches it, one that leaves behind all of them (`packet(7)`).

use std::borrow::Cow;
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use fadelab_run::packet_log::{Logged, PacketLog, Place};
use fadelab_run::tunnel::{Family, Mode};
use nix::time::ClockId;

use super::build::side_of;
use super::ring::{self, BLOCK_MS, Copied, Ring};
use super::spaces::Spaces;
use super::{Host, Outcome, Recorded, clock_ns, failed};
use crate::plan::{Plan, Tunnel, address};

/// Seconds of a link at its rate for which a ring has room: twice the time between two looks.
const ROOM_S: u64 = 2;
const ROOM_BYTES_MAX: u64 = 64 << 20;
/// Memory that is left for all but the rings: connections, their packets under way, and a second of copies.
const RUN_BYTES: u64 = 256_000_000;

/// Packets are written so late: rings give them away in blocks. The kernel looks at a block every `BLOCK_MS`, rounded
/// up to its tick, and gives it away when it finds it open for the second time: at the latest two periods and two ticks
/// behind its first packet.
const HELD_BACK_NS: u64 = 3 * BLOCK_MS as u64 * 1_000_000;

/// Packets of a run on their way into a log.
pub struct Capture {
    ears: Vec<Ear>,
    log: PacketLog<Box<dyn Write>>,
    duration_ns: u64,
    /// What came while others were taken: time by the clock of the system, interface, bytes.
    heard: Vec<(u64, usize, Vec<u8>)>,
}

/// One ring at one device.
struct Ear {
    ring: Ring,
    /// Place among the interfaces of the log.
    interface: usize,
    hears: Hears,
}

/// What of the packets at a device is logged.
enum Hears {
    /// What arrives, but for packets of these addresses, which arrived in a tunnel that ends here: the kernel shows
    /// what it has decrypted at the same device.
    Arriving(Vec<[IpAddr; 2]>),
    /// What goes from the first address to the second, out or in.
    Pairs(Vec<[IpAddr; 2]>),
}

impl Capture {
    /// Of all that a plan wants logged, or none.
    pub fn begin(plan: &Plan, spaces: &Spaces, host: &dyn Host) -> Outcome<Option<Self>> {
        if plan.packets.is_empty() {
            return Ok(None);
        }
        let heard: Vec<_> = plan
            .packets
            .iter()
            .map(|interface| heard_at(plan, interface.place))
            .collect();
        let rooms = heard.iter().flatten().map(|&(_, cable, _)| room_bytes(plan, cable));
        check_memory(&rooms.map(ring::memory_bytes).collect::<Vec<_>>(), available_bytes()?)?;
        let mut ears = Vec::new();
        for (interface, heard) in heard.into_iter().enumerate() {
            for (node, cable, hears) in heard {
                let device = format!("{}{cable}", side_of(&plan.cables[cable], node));
                ears.push(Ear {
                    ring: spaces.at(node, || Ring::open(&device, room_bytes(plan, cable)))?,
                    interface,
                    hears,
                });
            }
        }
        let about = "fadelab, in a Linux kernel: of a flow what the host of its sender sees, of a link what arrives \
                     over it";
        let out = host.recording(Recorded::Packets)?;
        let has_ipv6 = plan.tunnels.iter().any(|tunnel| tunnel.outer == Family::Ipv6);
        Ok(Some(Self {
            ears,
            log: PacketLog::begin(out, about, &plan.packets, has_ipv6).map_err(failed("the packet log"))?,
            duration_ns: plan.duration_ns,
            heard: Vec::new(),
        }))
    }

    /// Logs what has come since the last look; the run began at `epoch_ns` of the monotonic clock.
    pub fn look(&mut self, epoch_ns: u64) -> Outcome<()> {
        let now_ns = clock_ns(ClockId::CLOCK_REALTIME)?;
        let epoch_ns = epoch_ns + (now_ns - clock_ns(ClockId::CLOCK_MONOTONIC)?);
        self.take()?;
        // A block is given away a while after its first packet: what other rings have of that time is not here yet.
        self.write(epoch_ns, now_ns.saturating_sub(HELD_BACK_NS))
    }

    /// Logs the rest of the run.
    pub fn finish(mut self, epoch_ns: u64) -> Outcome<()> {
        let epoch_ns = epoch_ns + (clock_ns(ClockId::CLOCK_REALTIME)? - clock_ns(ClockId::CLOCK_MONOTONIC)?);
        std::thread::sleep(Duration::from_nanos(HELD_BACK_NS));
        self.take()?;
        self.write(epoch_ns, epoch_ns + self.duration_ns)?;
        self.log.finish().map_err(failed("the packet log"))
    }

    fn take(&mut self) -> Outcome<()> {
        for ear in &mut self.ears {
            let lost = ear.ring.dropped();
            if lost > 0 {
                return Err(format!(
                    "the packet log lost {lost} packets within a second; log fewer places or a slower link"
                ));
            }
            let (hears, interface) = (&ear.hears, ear.interface);
            ear.ring.take(|copied| {
                if hears.logs(&copied) {
                    self.heard.push((copied.time_ns, interface, copied.bytes));
                }
            });
        }
        self.heard.sort_by_key(|&(time_ns, interface, _)| (time_ns, interface));
        Ok(())
    }

    fn write(&mut self, epoch_ns: u64, until_ns: u64) -> Outcome<()> {
        let count = self.heard.partition_point(|&(time_ns, ..)| time_ns < until_ns);
        for (time_ns, interface, bytes) in self.heard.drain(..count) {
            let packet = Logged {
                interface,
                time_ns: time_ns.saturating_sub(epoch_ns),
                ip_bytes: bytes.len() as u32,
                bytes: Cow::Owned(bytes),
                comment: String::new(),
            };
            self.log.add(packet).map_err(failed("the packet log"))?;
        }
        Ok(())
    }
}

fn heard_at(plan: &Plan, place: Place) -> Vec<(usize, usize, Hears)> {
    match place {
        Place::Link(link) => at_link(plan, link),
        Place::Flow(flow) => at_host(plan, flow as usize),
    }
}

/// Rings are memory that the kernel cannot take back, and a guest that has none left ends.
fn check_memory(rings_bytes: &[u64], available_bytes: u64) -> Outcome<()> {
    let (needed_bytes, most_bytes) = (
        rings_bytes.iter().sum::<u64>(),
        available_bytes.saturating_sub(RUN_BYTES),
    );
    if needed_bytes <= most_bytes {
        return Ok(());
    }
    let largest_bytes = rings_bytes.iter().max().copied().unwrap_or(1);
    Err(format!(
        "packet logs at {} devices need {} MB of memory, and {} of {} MB that are available are for the run; log at \
         most {} such places (--pcap), or slower links: each log has room for {ROOM_S} s of its link, up to {} MB",
        rings_bytes.len(),
        needed_bytes / 1_000_000,
        RUN_BYTES / 1_000_000,
        available_bytes / 1_000_000,
        most_bytes / largest_bytes,
        ROOM_BYTES_MAX / 1_000_000
    ))
}

/// Memory that this kernel could give to programs (`proc_meminfo(5)`).
fn available_bytes() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").map_err(failed("/proc/meminfo"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| "/proc/meminfo does not say how much memory is available".to_owned())
}

/// Bytes for which a ring has room: a good second of the link, with what the kernel writes beside small packets.
fn room_bytes(plan: &Plan, cable: usize) -> usize {
    let ways = plan.cables[cable].ways.iter().flatten();
    let rate_bps: u64 = ways.map(|way| way.rate_bps).sum();
    (rate_bps / 8 * ROOM_S).min(ROOM_BYTES_MAX) as usize
}

/// Where a link ends: a node, a cable, and what is logged there.
fn at_link(plan: &Plan, link: u32) -> Vec<(usize, usize, Hears)> {
    let mut heard = Vec::new();
    for (number, cable) in plan.cables.iter().enumerate() {
        for (end, way) in cable.ways.iter().enumerate() {
            if way.as_ref().is_some_and(|way| way.link == link) {
                let node = cable.ends[1 - end];
                heard.push((node, number, Hears::Arriving(decrypted(plan, node))));
            }
        }
    }
    heard
}

/// Addresses of what leaves tunnels at a node.
fn decrypted(plan: &Plan, node: usize) -> Vec<[IpAddr; 2]> {
    let mut pairs = Vec::new();
    // In transport mode no device sees the decrypted packet.
    for tunnel in plan.tunnels.iter().filter(|tunnel| tunnel.mode == Mode::Tunnel) {
        for inside in &tunnel.inside {
            let [_, leaves] = Tunnel::direction(inside);
            if tunnel.ends[leaves] == node {
                pairs.push(inside.addresses().map(IpAddr::from));
            }
        }
    }
    pairs
}

/// Where a flow's data leave its sender's host and its ACKs arrive, by one device or two.
fn at_host(plan: &Plan, flow: usize) -> Vec<(usize, usize, Hears)> {
    let route = &plan.flows[flow];
    let [sender, receiver] = [false, true].map(|is_receiver| IpAddr::from(address(flow, is_receiver)));
    let out = route.route.first().map(|&(_, cable)| (cable, [sender, receiver]));
    let back = route.route_back.last().map(|&(_, cable)| (cable, [receiver, sender]));
    let mut heard: Vec<(usize, Vec<[IpAddr; 2]>)> = Vec::new();
    for (cable, pair) in out.into_iter().chain(back) {
        match heard.iter_mut().find(|(known, _)| *known == cable) {
            Some((_, pairs)) => pairs.push(pair),
            None => heard.push((cable, vec![pair])),
        }
    }
    let heard = heard.into_iter();
    heard
        .map(|(cable, pairs)| (route.from, cable, Hears::Pairs(pairs)))
        .collect()
}

impl Hears {
    fn logs(&self, copied: &Copied) -> bool {
        let pair = addresses(&copied.bytes);
        match (self, pair) {
            (_, None) => false,
            (Self::Arriving(decrypted), Some(pair)) => !copied.is_outgoing && !decrypted.contains(&pair),
            (Self::Pairs(pairs), Some(pair)) => pairs.contains(&pair),
        }
    }
}

/// Source and destination of a packet of IPv4, or of ESP over IPv6, in UDP or not: what else IPv6 has is the kernel's
/// own.
fn addresses(packet: &[u8]) -> Option<[IpAddr; 2]> {
    const ESP_OR_UDP: [u8; 2] = [50, 17];
    match packet.first()? >> 4 {
        4 => Some([part(packet, 12)?, part(packet, 16)?].map(|octets: [u8; 4]| octets.into())),
        6 if ESP_OR_UDP.contains(packet.get(6)?) => {
            Some([part(packet, 8)?, part(packet, 24)?].map(|octets: [u8; 16]| octets.into()))
        }
        _ => None,
    }
}

fn part<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::check_memory;

    #[test]
    fn logs_that_memory_has_no_room_for_are_refused_with_how_many_have() {
        // Goal: all memory but the run's is the logs' to the byte; beyond, the error says what is needed, what there is
        // and how many logs of the largest kind fit.
        const MB: u64 = 1_000_000;
        assert_eq!(check_memory(&[50 * MB; 4], 456 * MB), Ok(()));
        assert_eq!(check_memory(&[], 0), Ok(()));
        let error = check_memory(&[50 * MB; 5], 456 * MB).expect_err("250 MB of 200");
        for part in ["at 5 devices need 250 MB", "256 of 456 MB", "at most 4 such places"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
