//! Packets of the simulator: small plain structs in a slab, addressed by number.

use fadelab_path::packet::{FeedbackBytes, Header, PacketId, Store, is_tunnelled};
use prefetch_index::prefetch_index;

use crate::tunnel::{EspNumber, WayId};

/// Headers and options of a SYN: MSS, permission to acknowledge selectively, timestamps and the window's scale.
pub(crate) const SYN_BYTES: u32 = 40 + 20;

/// Most SACK blocks in an ACK: three fit beside timestamps (RFC 2018).
pub(crate) const SACK_BLOCKS_MAX: usize = 3;

/// Flags of the transport.
pub(crate) mod flag {
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 1 << 0;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 1 << 1;
    /// A connection is asked for, or granted. What a client says before the first data come has it, too: none of these
    /// packets is a segment or acknowledges one.
    pub const SYN: u8 = 1 << 2;
    /// An ACK that was held back for a second segment, in vain. No header says it; laws are told what stacks guess.
    pub const DELAYED: u8 = 1 << 3;
    /// Beside SYN: the client has the answer to its own, so that the connection stands.
    pub const GREETED: u8 = 1 << 4;
    /// Beside these: it asks for a download.
    pub const REQUEST: u8 = 1 << 5;
    /// The last that the application has written so far (RFC 9293, section 3.9.1.2).
    pub const PUSH: u8 = 1 << 6;
}

/// A packet under way: what routers see, and what the two ends say to each other. One cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    pub header: Header,
    pub tcp_flags: u8,
    pub sack_blocks: u8,
    /// Marks echoed by this ACK (`LAW_ECN_MODE_EXACT`).
    pub marks: u8,
    pub flow: u32,
    /// Number of the segment; of an ACK: the next one expected.
    pub seq: u32,
    /// `TSval` and `TSecr` (RFC 7323), in microseconds; laws see them in ticks.
    pub ts_val_us: u32,
    pub ts_ecr_us: u32,
    pub sack: [(u32, u32); SACK_BLOCKS_MAX],
}

/// All packets that exist. Numbers are reused, newest first, so that those in use stay in the cache.
#[derive(Debug, Default)]
pub(crate) struct Slab {
    packets: Vec<Packet>,
    /// Beside the packets, and only if some law sends feedback.
    feedback: Vec<FeedbackBytes>,
    with_feedback: bool,
    free: Vec<PacketId>,
    /// Of packets in tunnels, beside the packets, and only if the run has tunnels.
    hidden: Vec<Hidden>,
    with_tunnels: bool,
    flows: u32,
    /// See [`Store::flow_key`], of flows and then of ways through tunnels; empty where no link asks.
    flow_keys: Vec<u64>,
}

/// What routers do not see of a packet in a tunnel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hidden {
    pub header: Header,
    pub way: WayId,
    pub esp: EspNumber,
}

impl Slab {
    /// Of a run with so many flows.
    pub fn new(flows: usize, with_feedback: bool, with_tunnels: bool, flow_keys: Vec<u64>) -> Self {
        Self {
            with_feedback,
            with_tunnels,
            flows: flows as u32,
            flow_keys,
            ..Self::default()
        }
    }

    #[inline(always)]
    pub fn add(&mut self, packet: Packet) -> PacketId {
        let id = self.free.pop().unwrap_or_else(|| self.grow());
        self.packets[id as usize] = packet;
        id
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> PacketId {
        self.packets.push(Packet::default());
        if self.with_feedback {
            self.feedback.push(FeedbackBytes::default());
        }
        if self.with_tunnels {
            self.hidden.push(Hidden::default());
        }
        (self.packets.len() - 1) as PacketId
    }

    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Asks for a packet before it is needed.
    #[inline]
    pub fn fetch(&self, id: PacketId) {
        prefetch_index(&self.packets, id as usize);
    }

    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// The feedback that a packet carries.
    #[inline]
    pub fn feedback_of(&self, id: PacketId) -> Option<&FeedbackBytes> {
        (self.get(id).header.feedback_len > 0).then(|| &self.feedback[id as usize])
    }

    /// The feedback that a packet carries, in a tunnel or not.
    pub fn feedback_inside(&self, id: PacketId) -> Option<&FeedbackBytes> {
        let header = self.hidden(id).map_or(&self.get(id).header, |hidden| &hidden.header);
        (header.feedback_len > 0).then(|| &self.feedback[id as usize])
    }

    /// Where the feedback of a packet lies.
    #[inline]
    pub fn feedback(&mut self, id: PacketId) -> &mut FeedbackBytes {
        &mut self.feedback[id as usize]
    }

    /// A packet enters a tunnel: it shows `outer` until it leaves.
    pub fn hide(&mut self, id: PacketId, way: WayId, esp: EspNumber, outer: Header) {
        let header = std::mem::replace(&mut self.packets[id as usize].header, outer);
        self.hidden[id as usize] = Hidden { header, way, esp };
    }

    /// What is in a packet that is in a tunnel.
    pub fn hidden(&self, id: PacketId) -> Option<&Hidden> {
        is_tunnelled(&self.get(id).header).then(|| &self.hidden[id as usize])
    }

    /// A packet leaves its tunnel with the header that it entered with. Returns the one that it had in the tunnel, and
    /// what ESP's said.
    pub fn bare(&mut self, id: PacketId) -> (Header, EspNumber) {
        let Hidden { header, esp, .. } = self.hidden[id as usize];
        (std::mem::replace(&mut self.packets[id as usize].header, header), esp)
    }

    /// Whether a packet carries data, in a tunnel or not.
    pub fn is_data(&self, id: PacketId) -> bool {
        let shown = &self.packets[id as usize].header;
        if is_tunnelled(shown) {
            self.hidden[id as usize].header.is_data()
        } else {
            shown.is_data()
        }
    }

    /// The most packets that ever were in existence at once.
    #[inline]
    pub fn most_pkts(&self) -> usize {
        self.packets.len()
    }

    /// Packets in existence.
    #[inline]
    pub fn alive(&self) -> u64 {
        (self.packets.len() - self.free.len()) as u64
    }
}

impl Store for Slab {
    #[inline]
    fn header(&mut self, id: PacketId) -> &mut Header {
        &mut self.packets[id as usize].header
    }

    #[inline]
    fn flow(&self, id: PacketId) -> u32 {
        let packet = &self.packets[id as usize];
        if is_tunnelled(&packet.header) {
            // All that goes one way through a tunnel has the same addresses.
            self.flows + self.hidden[id as usize].way
        } else {
            packet.flow
        }
    }

    #[inline]
    fn flow_key(&self, id: PacketId) -> u64 {
        self.flow_keys[self.flow(id) as usize]
    }

    #[inline]
    fn header_and_feedback(&mut self, id: PacketId) -> (&mut Header, Option<&mut FeedbackBytes>) {
        let header = &mut self.packets[id as usize].header;
        let feedback = (header.feedback_len > 0).then(|| &mut self.feedback[id as usize]);
        (header, feedback)
    }
}
