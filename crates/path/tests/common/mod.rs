//! A link on a bench: packets go in at given times, and what comes out is written down.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;

use fadelab_laws::{capacity, router};
use fadelab_path::layer::LinkLayer;
use fadelab_path::link::{Arrival, Departure, Link};
use fadelab_path::packet::{FeedbackBytes, Header, PacketId, Parcel, Store};
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, Queues, RouterSpec};

pub const MS: u64 = 1_000_000;
pub const DATA: u32 = fadelab_laws::abi::PACKET_DATA;

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
        LinkKind {
            capacity: capacity_of,
            delay_ns,
            buffer: Buffer { packets, bytes },
            router: RouterSpec {
                law,
                params: law.default_params(),
                capacity: part,
                capacity_params: part.default_params(),
            },
            queues: Queues::One,
            channel: None,
            layer: LinkLayer::default(),
        },
    )
}

pub fn constant(rate_bps: u64) -> CapacitySpec {
    CapacitySpec::Constant { rate_bps }
}

/// A link with its packets, what is under way, and what came out: (time, packet, whether it was lost).
pub struct Bench {
    pub link: Link,
    pub packets: Packets,
    under_way: VecDeque<(u64, PacketId, bool)>,
    pub out: Vec<(u64, PacketId, bool)>,
}

impl Bench {
    pub fn new(spec: &LinkSpec) -> Self {
        Self {
            link: Link::new(spec, 1, 1500),
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
                Departure::Lost(parcel) => self.out.push((due_ns, parcel.id(), true)),
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
        let arrival = self.link.arrive(now_ns, parcel, &mut self.packets).expect("sound");
        if let Arrival::Leaves { due_ns, is_lost } = arrival {
            self.under_way.push_back((due_ns, parcel.id(), is_lost));
        }
        arrival != Arrival::Dropped
    }
}
