//! The part of a packet that travels with it, in the order in which routers are shown it.

use std::mem::offset_of;

use super::{PACKET_DATA, Packet};

/// What routers read and write of a packet, without feedback. Its fields lie as those of [`Packet`] do, so that a
/// packet is shown to a law in two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Header {
    /// `PACKET_*`.
    pub flags: u32,
    /// IP bytes, headers and options included.
    pub ip_bytes: u32,
    /// IP identification; its lowest bit is DCP-EW's role.
    pub ip_id: u16,
    /// ECN field, RFC 3168.
    pub ecn: u8,
    /// ECN field of an outer header; equals `ecn` where there is none.
    pub outer_ecn: u8,
    /// The lowest bit of `ip_id`.
    pub role: u8,
    /// Header format of the law, `WIRE_*`.
    pub wire: u8,
    /// Bytes of feedback in use.
    pub feedback_len: u8,
    /// Zero.
    pub reserved: u8,
}

/// Distance of two fields, which has to be the same in both structs.
macro_rules! same_distance {
    ($($from:ident $to:ident),*) => {
        $(assert!(
            offset_of!(Packet, $to) - offset_of!(Packet, $from) == offset_of!(Header, $to) - offset_of!(Header, $from)
        );)*
    };
}

const _: () = {
    same_distance!(flags ip_bytes, ip_id ecn, ip_id outer_ecn, ip_id role, ip_id wire);
    same_distance!(ip_id feedback_len, ip_id reserved);
    assert!(offset_of!(Header, ip_id) == 8 && size_of::<Header>() == 16);
    assert!(offset_of!(Packet, reserved) - offset_of!(Packet, ip_id) == 7);
};

impl Header {
    /// The header of a packet that leaves a host: what follows from other fields is filled in.
    ///
    /// It is put together as the two words in which [`Packet::show`] reads it: a router is shown a packet soon after
    /// its header was written, and had that been field by field, the processor would have to wait for all of them.
    #[inline(always)]
    pub fn new(flags: u32, ip_bytes: u32, ip_id: u16, ecn: u8, wire: u8, feedback_len: u8) -> Self {
        let sizes = u64::from(flags) | u64::from(ip_bytes) << 32;
        let codepoints = (u64::from(ecn) * 0x0101) << 16;
        let marks = u64::from(ip_id) | codepoints | u64::from(ip_id & 1) << 32;
        let rest = marks | u64::from(wire) << 40 | u64::from(feedback_len) << 48;
        const { assert!(cfg!(target_endian = "little"), "the first field is in the lowest bits") };
        // SAFETY: a header is two words without gaps (asserted above), and its integers may hold any bits.
        unsafe { std::mem::transmute([sizes, rest]) }
    }

    /// Whether it carries payload.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.flags & PACKET_DATA != 0
    }
}

impl Packet {
    /// Shows `header`: all of the packet but its feedback.
    #[inline(always)]
    pub fn show(&mut self, header: &Header, air_bytes: u32) {
        self.air_bytes = air_bytes;
        // SAFETY: the fields from `flags` to `ip_bytes`, and those from `ip_id` to `reserved`, are eight bytes each in
        // both structs, in the same order and without gaps (asserted above); integers may hold any bits, and the two
        // structs do not overlap because one is borrowed to be written.
        unsafe {
            let [flags, rest] = std::ptr::from_ref(header).cast::<[u64; 2]>().read();
            let to = std::ptr::from_mut(self).cast::<u8>();
            to.add(offset_of!(Packet, flags)).cast::<u64>().write_unaligned(flags);
            to.add(offset_of!(Packet, ip_id)).cast::<u64>().write_unaligned(rest);
        }
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
                reserved: 0,
            };
            assert_eq!(Header::new(flags, 0x0506_0708, ip_id, 3, 14, 255), expected);
        }
    }

    #[test]
    fn a_packet_is_shown_whole() {
        // Goal: each field of a header comes to the field of the same name, and nothing else of the packet is touched.
        let header = Header {
            flags: 0x0102_0304,
            ip_bytes: 0x0506_0708,
            ip_id: 0x090a,
            ecn: 11,
            outer_ecn: 12,
            role: 13,
            wire: 14,
            feedback_len: 15,
            reserved: 16,
        };
        let mut shown = Packet {
            feedback: [17; _],
            ..Packet::default()
        };
        let before = shown;
        shown.show(&header, 18);
        let expected = Packet {
            flags: header.flags,
            ip_bytes: header.ip_bytes,
            air_bytes: 18,
            ip_id: header.ip_id,
            ecn: header.ecn,
            outer_ecn: header.outer_ecn,
            role: header.role,
            wire: header.wire,
            feedback_len: header.feedback_len,
            reserved: header.reserved,
            ..before
        };
        assert_eq!(format!("{shown:?}"), format!("{expected:?}"));
    }
}
