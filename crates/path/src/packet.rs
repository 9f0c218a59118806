//! What a node sees of a packet.

use fadelab_laws::abi;
pub use fadelab_laws::abi::Header;
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
    /// IP bytes, as in the packet's header.
    pub ip_bytes: u16,
}

/// Feedback of a law, as long as the interface allows.
pub type FeedbackBytes = [u8; abi::FEEDBACK_BYTES_MAX];

/// What the channel calls a packet: data and ACKs have code rates of their own.
#[inline]
pub(crate) fn kind(header: &Header) -> PacketKind {
    if header.is_data() {
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
    /// Its header, and its feedback where it carries some.
    fn header_and_feedback(&mut self, id: PacketId) -> (&mut Header, Option<&mut FeedbackBytes>);
}
