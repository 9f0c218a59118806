//! Packets as a router sees them: made whole, and read again by rules of their own, so that the programs under test
//! are not judged by themselves.

/// Length of the Ethernet header in front.
pub const ETHERNET: usize = 14;

/// What a TCP packet of the tests has.
#[derive(Clone, Debug)]
pub struct Made {
    pub ipv6: bool,
    pub ecn: u8,
    pub payload: usize,
    /// Options before the last one, a multiple of four bytes.
    pub before: Vec<u8>,
    pub option: Vec<u8>,
}

/// An option of VCP's wire with these flags.
pub fn vcp_option(flags: u8) -> Vec<u8> {
    vec![254, 8, 0xfa, 0xd1, flags, 1, 0, 0]
}

/// An option of XCP's wire with these codes of RTT, X, delta and echo.
pub fn xcp_option(fields: [u16; 4]) -> Vec<u8> {
    let mut option = vec![254, 12, 0xfa, 0xd2];
    option.extend(fields.iter().flat_map(|field| field.to_be_bytes()));
    option
}

impl Made {
    pub fn frame(&self) -> Vec<u8> {
        let header = 20 + self.before.len() + self.option.len();
        let mut tcp = vec![
            0x12,
            0x34,
            0x56,
            0x78,
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            (header as u8 / 4) << 4,
            0x10,
            0xff,
            0xff,
            0,
            0,
            0,
            0,
        ];
        tcp.extend(&self.before);
        tcp.extend(&self.option);
        tcp.extend((0..self.payload).map(|index| index as u8));
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        let pseudo = if self.ipv6 {
            frame.extend([0x86, 0xdd, 0x60, self.ecn << 4, 0, 0]);
            frame.extend((tcp.len() as u16).to_be_bytes());
            frame.extend([6, 64]);
            let addresses: Vec<u8> = (0..32).collect();
            frame.extend(&addresses);
            [&addresses[..], &(tcp.len() as u32).to_be_bytes(), &[0, 0, 0, 6]].concat()
        } else {
            frame.extend([8, 0, 0x45, 0xb8 | self.ecn]);
            frame.extend((20 + tcp.len() as u16).to_be_bytes());
            frame.extend([0x12, 0x35, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            let sum = !folded(&frame[ETHERNET..]);
            frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
            let length = tcp.len() as u16;
            [&[10, 0, 0, 1, 10, 0, 0, 2, 0, 6][..], &length.to_be_bytes()].concat()
        };
        let sum = !folded(&[&pseudo[..], &tcp].concat());
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        frame.extend(tcp);
        frame
    }
}

/// An ESP packet between two ends, from the first or from the second.
#[derive(Clone, Default)]
#[allow(clippy::struct_excessive_bools, reason = "tests try each with each")]
pub struct Esp {
    pub ipv6: bool,
    /// In a datagram, as through a NAT.
    pub in_udp: bool,
    pub is_from_here: bool,
    pub id: u16,
    /// The first half of the packet: more fragments follow (IPv4).
    pub is_fragment: bool,
    /// By which its end knows the SA: another one after each exchange of keys.
    pub spi: u32,
    pub sequence: u32,
    pub ecn: u8,
}

impl Esp {
    /// Its ends, as commands take them.
    pub const TUNNEL: &str = "192.0.2.1-198.51.100.1";
    pub const TUNNEL_IPV6: &str = "2001:db8::1-2001:db8::2";

    pub fn frame(&self) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if self.ipv6 {
            frame.extend([
                0x86,
                0xdd,
                0x60,
                self.ecn << 4,
                0,
                0,
                0,
                self.payload_bytes(),
                self.protocol(),
                64,
            ]);
            for end in [!self.is_from_here, self.is_from_here] {
                frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 + u8::from(end)]);
            }
        } else {
            frame.extend([8, 0]);
            frame.extend(self.ipv4());
        }
        if self.in_udp {
            // From a port that a NAT chose.
            let ports: [u16; 2] = if self.is_from_here {
                [4500, 61000]
            } else {
                [61000, 4500]
            };
            frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
            frame.extend([0, self.payload_bytes(), 0, 0]);
        }
        frame.extend(self.spi.to_be_bytes());
        frame.extend(self.sequence.to_be_bytes());
        frame.extend([0xa5; 56]);
        frame
    }

    /// UDP or ESP.
    fn protocol(&self) -> u8 {
        if self.in_udp { 17 } else { 50 }
    }

    /// Behind the IP header.
    fn payload_bytes(&self) -> u8 {
        64 + if self.in_udp { 8 } else { 0 }
    }

    fn ipv4(&self) -> Vec<u8> {
        let mut header = vec![0x45, 0xb8 | self.ecn, 0, 20 + self.payload_bytes()];
        header.extend(self.id.to_be_bytes());
        header.extend([if self.is_fragment { 0x20 } else { 0x40 }, 0, 64, self.protocol(), 0, 0]);
        let ends = [[192, 0, 2, 1], [198, 51, 100, 1]];
        header.extend(ends[usize::from(!self.is_from_here)]);
        header.extend(ends[usize::from(self.is_from_here)]);
        let sum = !folded(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    }
}

/// The sum of the Internet checksum (RFC 1071), with one representation of zero.
pub fn folded(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    (words.sum::<u64>() % 0xffff) as u16
}

/// The packet with one representation of zero in TCP's checksum: a sum that is carried on comes to one of the two, a
/// sum that is made anew to the other (RFC 1624 section 3), and receivers take both.
pub fn with_one_zero(mut frame: Vec<u8>) -> Vec<u8> {
    if let Some((tcp, _)) = Read::of(&frame).tcp
        && frame[tcp + 16..tcp + 18] == [0xff; 2]
    {
        frame[tcp + 16..tcp + 18].fill(0);
    }
    frame
}

/// What a packet is by the rules of `laws/host/packet.h`, read from its description and not from its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Offset of the IP header.
    pub ip: usize,
    pub version: u8,
    pub ecn: u8,
    /// Where the TCP header begins and where its options end.
    pub tcp: Option<(usize, usize)>,
    pub has_data: bool,
}

impl Read {
    pub fn of(frame: &[u8]) -> Self {
        let mut read = Self::default();
        let tag = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let (mut ethertype, mut ip) = (tag(12), ETHERNET);
        if matches!(ethertype, Some(0x8100 | 0x88a8)) {
            (ethertype, ip) = (tag(16), ETHERNET + 4);
        }
        read.ip = ip;
        let _ = match ethertype {
            Some(0x0800) => read.ipv4(frame, ip),
            Some(0x86dd) => read.ipv6(frame, ip),
            _ => None,
        };
        read
    }

    fn ipv4(&mut self, frame: &[u8], ip: usize) -> Option<()> {
        let header = frame.get(ip..ip + 20)?;
        if header[0] >> 4 != 4 {
            return None;
        }
        (self.version, self.ecn) = (4, header[1] & 3);
        let length = usize::from(header[0] & 15) * 4;
        let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
        if header[9] != 6 || length < 20 || is_fragment {
            return None;
        }
        self.tcp(
            frame,
            ip + length,
            ip + usize::from(u16::from_be_bytes([header[2], header[3]])),
        )
    }

    fn ipv6(&mut self, frame: &[u8], ip: usize) -> Option<()> {
        let header = frame.get(ip..ip + 8)?;
        if header[0] >> 4 != 6 {
            return None;
        }
        (self.version, self.ecn) = (6, header[1] >> 4 & 3);
        let end = ip + 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
        let (mut at, mut next) = (ip + 40, header[6]);
        for _ in 0..4 {
            if !matches!(next, 0 | 43 | 60) {
                break;
            }
            let extension = frame.get(at..at + 2)?;
            next = extension[0];
            at += 8 + usize::from(extension[1]) * 8;
        }
        if next == 6 { self.tcp(frame, at, end) } else { None }
    }

    fn tcp(&mut self, frame: &[u8], tcp: usize, end: usize) -> Option<()> {
        let options_end = tcp + usize::from(frame.get(tcp + 12)? >> 4) * 4;
        if options_end < tcp + 20 || options_end > end || end > frame.len() {
            return None;
        }
        self.tcp = Some((tcp, options_end));
        self.has_data = end > options_end;
        Some(())
    }

    /// The last option, if it is one of ours of that length and, where a wire is given, of that wire.
    pub fn own_option(&self, frame: &[u8], bytes: usize, wire: Option<u8>) -> Option<usize> {
        let (tcp, end) = self.tcp?;
        let at = end.checked_sub(bytes).filter(|at| *at >= tcp + 20)?;
        let head = frame.get(at..at + 4)?;
        let is_ours = head[0] == 254 && usize::from(head[1]) == bytes && head[2] == 0xfa && head[3] & 0xf0 == 0xd0;
        (is_ours && wire.is_none_or(|wire| head[3] & 15 == wire)).then_some(at)
    }
}
