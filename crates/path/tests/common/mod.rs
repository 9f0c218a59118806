//! A link on a bench: packets go in at given times, and what comes out is written down.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;

use fadelab_laws::{capacity, router};
use fadelab_path::layer::{DelayLaw, Jitter};
use fadelab_path::node::{Arrival, Departure, Node};
use fadelab_path::packet::{FeedbackBytes, Header, PacketId, Parcel, Store, kind};
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, RouterSpec};
use fadelab_phy::channel::{Antennas, CodeMode, CodeSpec, Model, Modulation};

pub const MS: u64 = 1_000_000;
pub const CODE: CodeSpec = CodeSpec {
    data_rate: 0.9,
    ack_rate: 0.5,
    mode: CodeMode::Ideal,
};

pub const DATA: u32 = fadelab_laws::abi::PACKET_DATA;

pub fn fading(snr_good_db: f64) -> Model {
    Model::GilbertElliott {
        modulation: Modulation::Bpsk,
        antennas: Antennas::TwoByTwo,
        snr_good_db,
        snr_bad_db: snr_good_db - 10.0,
        burst_good_bits: 800.0,
        burst_bad_bits: 8.0,
    }
}

/// Packets by number, and their flows; nothing is reused.
#[derive(Default)]
pub struct Packets(pub Vec<Header>, pub FeedbackBytes, pub Vec<u32>);

impl Packets {
    pub fn add(&mut self, ip_bytes: u16, flags: u32) -> PacketId {
        self.0.push(Header {
            ip_bytes: u32::from(ip_bytes),
            flags,
            ..Header::default()
        });
        (self.0.len() - 1) as PacketId
    }
}

impl Store for Packets {
    fn header(&mut self, id: PacketId) -> &mut Header {
        &mut self.0[id as usize]
    }

    fn flow(&self, id: PacketId) -> u32 {
        self.2.get(id as usize).copied().unwrap_or(0)
    }

    fn header_and_feedback(&mut self, id: PacketId) -> (&mut Header, Option<&mut FeedbackBytes>) {
        let header = &mut self.0[id as usize];
        let feedback = (header.feedback_len > 0).then_some(&mut self.1);
        (header, feedback)
    }
}

pub fn spec(capacity_of: CapacitySpec, delay_ns: u64, packets: Option<u32>, bytes: Option<u64>) -> LinkSpec {
    let (law, part) = (
        router("droptail").expect("a law"),
        capacity("configured").expect("a part"),
    );
    LinkSpec::new(
        "link",
        true,
        LinkKind::new(
            capacity_of,
            delay_ns,
            Buffer { packets, bytes },
            RouterSpec {
                law,
                params: law.default_params(),
                capacity: part,
                capacity_params: part.default_params(),
            },
        ),
    )
}

pub fn constant(rate_bps: u64) -> CapacitySpec {
    CapacitySpec::Constant { rate_bps }
}

/// Goes step by step and delays by nothing.
pub fn step_by_step(spec: &LinkSpec) -> LinkSpec {
    let mut link = spec.clone();
    link.layer.jitter = Some(Jitter {
        delay: DelayLaw::Uniform { min_ns: 0, max_ns: 0 },
        in_order: true,
    });
    link
}

/// A link with its packets, what is under way, and what came out: (time, packet, whether it was lost).
pub struct Bench {
    pub link: Node,
    pub packets: Packets,
    under_way: VecDeque<(u64, PacketId, bool)>,
    pub out: Vec<(u64, PacketId, bool)>,
}

impl Bench {
    pub fn new(spec: &LinkSpec) -> Self {
        Self {
            link: Node::new(spec, 1, 1500),
            packets: Packets::default(),
            under_way: VecDeque::new(),
            out: Vec::new(),
        }
    }

    /// Serves all that is due by `until_ns`, and lets what was handed over come out.
    pub fn run(&mut self, until_ns: u64) {
        loop {
            let leaves_ns = self.under_way.front().map_or(u64::MAX, |first| first.0);
            let due_ns = self.link.next_due();
            if leaves_ns.min(due_ns) > until_ns {
                return;
            }
            if leaves_ns <= due_ns {
                self.link.settle(leaves_ns, &mut self.packets).expect("sound");
                self.out.extend(self.under_way.pop_front());
                continue;
            }
            match self.link.service(due_ns, &mut self.packets).expect("sound") {
                Departure::None => {}
                Departure::Delivered(parcel) => self.out.push((due_ns, parcel.id(), false)),
                Departure::Lost(parcel) | Departure::Dropped(parcel) => self.out.push((due_ns, parcel.id(), true)),
            }
        }
    }

    /// A full data packet of a flow arrives. Returns whether it was taken.
    pub fn arrive_of(&mut self, now_ns: u64, flow: u32, ip_bytes: u16) -> bool {
        self.packets.2.resize(self.packets.0.len(), 0);
        self.packets.2.push(flow);
        self.arrive(now_ns, ip_bytes, DATA)
    }

    /// A packet arrives. Returns whether it was taken.
    pub fn arrive(&mut self, now_ns: u64, ip_bytes: u16, flags: u32) -> bool {
        self.run(now_ns);
        let id = self.packets.add(ip_bytes, flags);
        let parcel = Parcel::new(id, 0, ip_bytes);
        self.enter(now_ns, parcel)
    }

    /// A packet arrives that is among the packets. Returns whether it was taken.
    pub fn enter(&mut self, now_ns: u64, parcel: Parcel) -> bool {
        let kind = kind(self.packets.header(parcel.id()));
        let arrival = self
            .link
            .arrive(now_ns, parcel, kind, &mut self.packets)
            .expect("sound");
        match arrival {
            Arrival::Leaves { due_ns } => self.under_way.push_back((due_ns, parcel.id(), false)),
            Arrival::Lost { due_ns } => self.under_way.push_back((due_ns, parcel.id(), true)),
            Arrival::Taken | Arrival::Dropped => {}
        }
        arrival != Arrival::Dropped
    }
}
