//! What a node sees of a packet.

use fadelab_laws::abi;
pub use fadelab_laws::abi::Header;
use fadelab_phy::channel::PacketKind;

/// Number of a packet in its owner's store.
pub type PacketId = u32;

/// A packet as links pass it on. What a wire needs of it is here, so that only laws, channels and the two ends look
/// into the store.
///
/// Two words, which calls hand over in registers. Three would be written to memory field by field and read back as a
/// whole, for which the processor has to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parcel {
    id_and_tag: u64,
    ip_bytes: u16,
}

impl Parcel {
    /// Packet number `id` of `ip_bytes`, as in its header, with a `tag` that belongs to whoever drives the links, such
    /// as a place on a route.
    #[inline(always)]
    pub fn new(id: PacketId, tag: u32, ip_bytes: u16) -> Self {
        Self {
            id_and_tag: u64::from(id) << 32 | u64::from(tag),
            ip_bytes,
        }
    }

    /// Number of the packet.
    #[inline(always)]
    pub fn id(self) -> PacketId {
        (self.id_and_tag >> 32) as PacketId
    }

    /// The word of whoever drives the links.
    #[inline(always)]
    pub fn tag(self) -> u32 {
        self.id_and_tag as u32
    }

    /// Replaces the tag.
    #[inline(always)]
    pub fn set_tag(&mut self, tag: u32) {
        *self = Self::new(self.id(), tag, self.ip_bytes);
    }

    /// Goes on to the next place on its route: a tag greater by one.
    #[inline(always)]
    pub fn step(&mut self) {
        debug_assert_ne!(self.tag(), u32::MAX, "a route ends before");
        self.id_and_tag += 1;
    }

    #[inline(always)]
    pub fn ip_bytes(self) -> u16 {
        self.ip_bytes
    }
}

/// Feedback of a law, as long as the interface allows.
pub type FeedbackBytes = [u8; abi::FEEDBACK_BYTES_MAX];

/// Whether a packet has an outer header, which is all that a link sees of it.
#[inline]
pub fn is_tunnelled(header: &Header) -> bool {
    header.flags & abi::PACKET_TUNNELLED != 0
}

/// What the channel calls a packet: data and ACKs have code rates of their own. Of a packet in a tunnel nobody can tell
/// that it is an ACK.
#[inline]
pub fn kind(header: &Header) -> PacketKind {
    if header.flags & (abi::PACKET_DATA | abi::PACKET_TUNNELLED) != 0 {
        PacketKind::Data
    } else {
        PacketKind::Ack
    }
}

/// The packets of whoever drives the nodes.
pub trait Store {
    /// Header of a packet that is under way.
    fn header(&mut self, id: PacketId) -> &mut Header;
    /// Number of the flow it belongs to, for links that treat flows apart.
    fn flow(&self, id: PacketId) -> u32;
    /// What stands for that flow in random draws: it follows from the flow's name, and so not from its number, which
    /// another flow before it would change. Where flows have no names it is the number.
    fn flow_key(&self, id: PacketId) -> u64 {
        u64::from(self.flow(id))
    }
    /// Its header, and its feedback where it carries some.
    fn header_and_feedback(&mut self, id: PacketId) -> (&mut Header, Option<&mut FeedbackBytes>);
}
