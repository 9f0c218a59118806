//! The part of a packet that travels with it, in the order in which routers are shown it.

use super::PACKET_DATA;

/// What routers read and write of a packet, without feedback: `struct law_host_header`, in words of 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Header {
    /// `PACKET_*`.
    pub flags: u32,
    /// IP bytes, headers and options included.
    pub ip_bytes: u32,
    /// IP identification.
    pub ip_id: u16,
    /// ECN field, RFC 3168.
    pub ecn: u8,
    /// ECN field of an outer header; equals `ecn` where there is none.
    pub outer_ecn: u8,
    /// Which half of a load code the packet is for, by [`Identification`].
    pub role: u8,
    /// Header format of the law, `WIRE_*`.
    pub wire: u8,
    /// Bytes of feedback in use.
    pub feedback_len: u8,
    /// 1: a router of this format saw the packet, see [`Feedback::confirmed`](super::Feedback).
    pub confirmed: u8,
}

/// The IP identification of a packet, and the role that follows from it or that the host gave the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identification {
    /// What stands in the header.
    pub ip_id: u16,
    /// 0: for the most significant half of a load code, 1: for the least.
    pub role: u8,
}

impl Identification {
    /// The role is the lowest bit of the ID (dcp-ew-2010, section III-B).
    #[inline(always)]
    pub fn by_id(ip_id: u16) -> Self {
        Self {
            ip_id,
            role: (ip_id & 1) as u8,
        }
    }
}

impl Header {
    /// The header of a packet that leaves a host: what follows from other fields is filled in.
    ///
    /// It is put together as two words: what follows copies it as a whole, and had it been written field by field, the
    /// processor would have to wait for all of them.
    #[inline(always)]
    pub fn new(
        flags: u32,
        ip_bytes: u32,
        id: Identification,
        ecn: u8,
        wire: u8,
        feedback_len: u8,
        confirmed: u8,
    ) -> Self {
        let sizes = u64::from(flags) | u64::from(ip_bytes) << 32;
        let codepoints = (u64::from(ecn) * 0x0101) << 16;
        let marks = u64::from(id.ip_id) | codepoints | u64::from(id.role) << 32;
        let rest = marks | u64::from(wire) << 40 | u64::from(feedback_len) << 48;
        let rest = rest | u64::from(confirmed) << 56;
        const { assert!(cfg!(target_endian = "little"), "the first field is in the lowest bits") };
        // SAFETY: a header is two words without gaps (asserted in host.rs), and its integers may hold any bits.
        unsafe { std::mem::transmute([sizes, rest]) }
    }

    /// Whether it carries payload.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.flags & PACKET_DATA != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_header_has_every_field_in_its_place() {
        // Goal: what a header is made of stands in the fields of these names, and what follows from them beside it.
        for (flags, ip_id, role) in [(PACKET_DATA, 0xfffe, 0), (0, 0x0701, 1)] {
            let expected = Header {
                flags,
                ip_bytes: 0x0506_0708,
                ip_id,
                ecn: 3,
                outer_ecn: 3,
                role,
                wire: 14,
                feedback_len: 255,
                confirmed: 1,
            };
            let id = Identification::by_id(ip_id);
            assert_eq!(Header::new(flags, 0x0506_0708, id, 3, 14, 255, 1), expected);
        }
    }
}
