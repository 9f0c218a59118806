//! What a guest builds and runs: namespaces, cables, queues, flows. It is made from a run and travels as JSON.

use std::net::Ipv4Addr;

use fadelab_laws::Field;
use fadelab_laws::recorded::RecordedHead;
use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::{CapacitySpec, LinkSpec};
use fadelab_run::app::App;
use fadelab_run::network::NodeSpec;
use fadelab_run::packet_log::Interface;
use serde::{Deserialize, Serialize};

use crate::sysctl::Sysctl;

mod tunnel;

pub use tunnel::{GatewayObject, Inside, RecordedGateway, Tunnel};

/// Everything that a guest needs to know. Nothing in it depends on the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Seed of the applications, and of the kernel's random numbers.
    pub seed: u64,
    /// End of the run, from the instant at which applications may begin.
    pub duration_ns: u64,
    /// Totals count from here on.
    pub warmup_ns: u64,
    /// Distance between samples of the time series; `None` records no series.
    pub record_interval_ns: Option<u64>,
    /// Laws that the kernel has to be given first.
    pub senders: Vec<SenderObject>,
    /// Hosts and routers; each is a network namespace.
    pub nodes: Vec<NodeSpec>,
    /// Largest IP packet of any flow.
    pub mtu_bytes: u32,
    /// What connects the nodes.
    pub cables: Vec<Cable>,
    pub flows: Vec<Flow>,
    pub tunnels: Vec<Tunnel>,
    /// The gateway whose law is recorded, if one is.
    pub recorded_gateway: Option<RecordedGateway>,
    /// Whether iperf3 is the application of those that always have data.
    pub iperf3: bool,
    /// Settings of each host and router, beside those that its flows ask for.
    pub sysctls: Vec<Sysctl>,
    /// Where packets are logged.
    pub packets: Vec<Interface>,
}

impl Plan {
    /// The ways that results show, by ascending link.
    pub fn shown(&self) -> Vec<(usize, usize, &Way)> {
        let ways = self.cables.iter().enumerate().flat_map(|(cable, spec)| {
            let ends = spec.ways.iter().enumerate();
            ends.filter_map(move |(end, way)| Some((cable, end, way.as_ref()?)))
        });
        let mut shown: Vec<_> = ways.filter(|(_, _, way)| way.shown).collect();
        shown.sort_by_key(|(_, _, way)| way.link);
        shown
    }

    /// Tunnels that end at a node, and with which of their ends.
    pub fn ending_at(&self, node: usize) -> Vec<(usize, usize)> {
        let tunnels = self.tunnels.iter().enumerate();
        tunnels
            .filter_map(|(number, tunnel)| Some((number, tunnel.ends.iter().position(|&end| end == node)?)))
            .collect()
    }
}

/// A sender's law of fadelab's: an object file, and what it becomes in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderObject {
    /// Name of the congestion control.
    pub name: String,
    /// Path of the object in the guest.
    pub object: String,
    /// Nodes and cables through which its packets leave a host, where they get their codepoint.
    pub devices: Vec<(usize, usize)>,
    /// The first line of the record of its calls, where they are recorded.
    pub calls: Option<RecordedHead>,
    /// What it declares as worth watching.
    pub watch: Vec<Field>,
}

/// The memory of a law, and what of it its header declares as worth watching.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub bytes: usize,
    /// The values, in the order of the header.
    pub watch: Vec<Field>,
}

/// A pair of devices, and what happens to packets each way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cable {
    /// The nodes at its ends.
    pub ends: [usize; 2],
    /// From the first end to the second, and back; a way that no link uses is open.
    pub ways: [Option<Way>; 2],
}

impl Cable {
    /// Whether the emulator carries its packets, because the kernel cannot.
    pub fn is_emulated(&self) -> bool {
        self.ways.iter().flatten().any(|way| way.emulated.is_some())
    }

    /// Whether both ways are plain, as those of access links: a packet then crosses it with less work.
    pub fn is_plain(&self) -> bool {
        self.ways.iter().flatten().all(Way::is_plain)
    }
}

/// A link of the scenario: one way of a cable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Way {
    /// Its number in the scenario.
    pub link: u32,
    /// Whether results show it.
    pub shown: bool,
    /// Rate of its transmitter in IP bits per second.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
    pub queue: Queue,
    /// Share of the packets that are lost on the air.
    pub loss: f64,
    /// IP bytes of the largest data packet that crosses it: what a packet that is dropped counts as.
    pub packet_bytes: u32,
    /// Whether data and ACKs cross it.
    pub carries: Carries,
    /// Whether it is the first link of a connection's data.
    pub is_first: bool,
    /// What the emulator does of it; `None`: nothing, the kernel does all.
    pub emulated: Option<Emulated>,
}

/// What the emulator does of a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Emulated {
    pub link: LinkSpec,
    /// Whether queue and law are the emulator's, too; else it is what lies behind the kernel's queue.
    pub whole: bool,
}

/// What crosses a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carries {
    /// Data of some flow.
    pub data: bool,
    /// ACKs of some flow.
    pub acks: bool,
}

/// A queue: its limit, and which law stands at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// How much it holds.
    pub limit: Limit,
    /// What decides at it.
    pub discipline: Discipline,
}

/// How much a queue holds, the packet in transmission excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many IP bytes.
    Bytes(u64),
}

/// What decides at a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Discipline {
    /// Nothing: first in, first out.
    Fifo,
    /// A queue of the kernel's own.
    Kernel {
        /// Its name, e.g. `red`.
        name: String,
        /// Whether it marks packets that are ECN-capable, where it is one that can.
        marks: bool,
    },
    /// A law of fadelab's, before a queue that is first in, first out.
    Law {
        name: String,
        /// Path of the object in the guest.
        object: String,
        /// The memory of it, and that of its capacity part.
        memories: [Memory; 2],
        /// The first line of the record of what it does, where that is recorded.
        calls: Option<Box<RecordedHead>>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of a host by itself")]
pub struct Flow {
    /// Its name, which also names its random stream.
    pub name: String,
    /// Node of the sender.
    pub from: usize,
    /// Node of the receiver.
    pub to: usize,
    /// Where data go out: a node and one of its cables, in order.
    pub route: Vec<(usize, usize)>,
    /// Where ACKs go out.
    pub route_back: Vec<(usize, usize)>,
    /// Name of the congestion control, as the kernel knows it; `None` is UDP.
    pub law: Option<String>,
    /// What the application does.
    pub app: App,
    /// IP bytes of a full data packet.
    pub packet_bytes: u32,
    /// IP and TCP headers of a data packet, options included.
    pub header_bytes: u32,
    /// Initial window.
    pub cwnd_pkts_initial: u32,
    /// Smallest retransmission timeout.
    pub rto_ns_min: u64,
    /// Whether each packet is acknowledged at once.
    pub acks_at_once: bool,
    /// Whether losses are repaired by selective acknowledgements.
    pub sack: bool,
    /// Whether timestamps are asked for.
    pub wants_timestamps: bool,
    /// Whether ECN is asked for.
    pub ecn: bool,
}

impl Way {
    /// Whether nobody looks at its queue, and no law stands there. At a sender's host TCP does: of a connection a few
    /// packets are in the host's queue (`tcp_small_queue_check`), as long as they count as its own, and `netem` takes
    /// them from it (`skb_orphan_partial`).
    pub fn is_plain(&self) -> bool {
        !self.is_looked_at() && !self.is_first
    }

    /// Whether somebody looks at its queue, or a law stands there.
    fn is_looked_at(&self) -> bool {
        self.emulated.is_some() || self.shown || self.queue.discipline != Discipline::Fifo
    }

    /// Whether packets of a flow may have to wait there whose slowest link has that rate. Hidden links faster than it,
    /// such as access links with room for thousands of packets, are only crossed.
    fn may_fill(&self, slowest_bps: u64) -> bool {
        let is_more_than_a_rate = |Emulated { link, .. }: &Emulated| {
            !matches!(link.capacity, CapacitySpec::Constant { .. })
                || link.channel.is_some()
                || link.layer != LinkLayer::default()
                || link.router.law.name() != "droptail"
        };
        self.shown
            || self.rate_bps <= slowest_bps
            || self.queue.discipline != Discipline::Fifo
            || self.emulated.as_ref().is_some_and(is_more_than_a_rate)
    }

    /// Packets of the queue and of what can be on the way behind it: the limit of a queue that holds both.
    pub fn pkts_max(&self) -> u64 {
        let queue_pkts = match self.queue.limit {
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes / u64::from(self.packet_bytes),
        };
        let smallest_bytes = if self.carries.acks { 40 } else { self.packet_bytes };
        let way_bits = u128::from(self.delay_ns) * u128::from(self.rate_bps) / 1_000_000_000;
        queue_pkts + (way_bits / 8 / u128::from(smallest_bytes)) as u64 + 2
    }
}

impl Flow {
    /// Bytes that it can have on the way: in its slowest link's pipe, and in the queues that may fill. A receive window
    /// with room for others, too, would grow for as long, and a receiver acknowledges each segment while its window
    /// grows.
    pub fn window_bytes_max(&self, cables: &[Cable]) -> u64 {
        let way = |&(node, cable): &(usize, usize)| {
            let cable = &cables[cable];
            cable.ways[usize::from(cable.ends[0] != node)].as_ref()
        };
        let out: Vec<&Way> = self.route.iter().filter_map(way).collect();
        let back = self.route_back.iter().filter_map(way);
        let rtt_ns: u64 = out.iter().copied().chain(back).map(|way| way.delay_ns).sum();
        let rate_bps = out.iter().map(|way| way.rate_bps).min().unwrap_or(0);
        let pipe_bytes = u128::from(rate_bps) * u128::from(rtt_ns) / 8_000_000_000;
        let queues = out
            .iter()
            .filter(|way| way.may_fill(rate_bps))
            .map(|way| match way.queue.limit {
                Limit::Packets(packets) => u64::from(packets) * u64::from(way.packet_bytes),
                Limit::Bytes(bytes) => bytes,
            });
        queues.fold(pipe_bytes as u64, u64::saturating_add)
    }

    /// Payload of a full packet.
    pub fn payload_bytes(&self) -> u32 {
        self.packet_bytes - self.header_bytes
    }

    /// Whether its application writes at a constant rate, which has no end of its own.
    pub fn is_paced(&self) -> bool {
        matches!(self.app, App::Cbr { .. })
    }

    /// Whether curl and nginx carry it.
    pub fn is_download(&self) -> bool {
        matches!(self.app, App::Http { .. })
    }

    /// Whether there are timestamps: they are asked for, and headers have room for them beside 20 bytes each of IP and
    /// TCP (RFC 7323: 12 bytes).
    pub fn timestamps(&self) -> bool {
        self.wants_timestamps && self.header_bytes >= 52
    }
}

/// The port on which receivers listen.
pub const PORT: u16 = 5001;

/// Address of one end of a flow: each has two of its own, so that routes of flows do not meet.
pub fn address(flow: usize, is_receiver: bool) -> Ipv4Addr {
    Ipv4Addr::new(10, (flow >> 8) as u8, flow as u8, 1 + u8::from(is_receiver))
}
