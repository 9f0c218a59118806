//! What a node sees of a packet.

use fadelab_laws::abi;
use fadelab_phy::channel::PacketKind;

/// Number of a packet in its owner's store.
pub type PacketId = u32;

/// A packet as links pass it on. What a wire needs of it is here, so that only laws, channels and the two ends look
/// into the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parcel {
    /// Number of the packet.
    pub id: PacketId,
    /// A word that belongs to whoever drives the links, such as a place on a route.
    pub tag: u32,
    /// Number of the flow, which whoever drives the links may want to know before the packet is looked at.
    pub flow: u32,
    /// IP bytes, as in the packet's header.
    pub ip_bytes: u16,
}

/// Feedback of a law, as long as the interface allows.
pub type FeedbackBytes = [u8; abi::FEEDBACK_BYTES_MAX];

/// The part of a packet that routers may read and write. Small, because every hop touches it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// IP bytes, headers and options included.
    pub ip_bytes: u16,
    /// IP identification; its lowest bit is DCP-EW's role.
    pub ip_id: u16,
    /// `abi::PACKET_DATA` and `abi::PACKET_RETRANSMISSION`.
    pub flags: u8,
    /// ECN field, RFC 3168.
    pub ecn: u8,
    /// ECN field of an outer header; equals `ecn` where there is none.
    pub outer_ecn: u8,
    /// Header format of the law, `abi::WIRE_*`.
    pub wire: u8,
    /// Bytes of feedback in use.
    pub feedback_len: u8,
}

impl Header {
    /// Whether it carries payload.
    #[inline]
    pub fn is_data(&self) -> bool {
        u32::from(self.flags) & abi::PACKET_DATA != 0
    }

    /// What the channel calls it: data and ACKs have code rates of their own.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        if self.is_data() {
            PacketKind::Data
        } else {
            PacketKind::Ack
        }
    }
}

/// The packets of whoever drives the nodes.
pub trait Store {
    /// Header of a packet that is under way.
    fn header(&mut self, id: PacketId) -> &mut Header;
    /// Number of the flow it belongs to, for links that treat flows apart.
    fn flow(&self, id: PacketId) -> u32;
    /// Its feedback. Called only for packets with a wire format that has some.
    fn feedback(&mut self, id: PacketId) -> &mut FeedbackBytes;
}
