//! ESP (RFC 4303), for what a simulated link saw: the same keys, indices and outer addresses as the
//! testbed's tunnels have, so that one reader takes both.

use std::net::IpAddr;

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes128Gcm, KeyInit, Nonce};
use etherparse::{IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, UdpHeader};
use fadelab_run::tunnel::{Cipher, KEY, Mode, TunnelSpec, UDP_PORT, outer_address, spi};
use fadelab_sim::tap::{EspNumber, Outer};
use hmac::{Hmac, Mac};
use sha1::Sha1;

/// AES-128: its key, and behind it the salt (RFC 4106 section 8.1).
const AES_KEY_BYTES: usize = 16;

/// HMAC-SHA1-96 (RFC 2404).
const SHA1_CHECK_BYTES: usize = 12;

/// Both ciphers with the key of all tunnels.
pub struct Esp {
    aes: Aes128Gcm,
    sha1: Hmac<Sha1>,
}

impl Esp {
    pub fn new() -> Self {
        Self {
            aes: Aes128Gcm::new_from_slice(&KEY[..AES_KEY_BYTES]).expect("16 bytes"),
            sha1: <Hmac<Sha1> as Mac>::new_from_slice(&KEY).expect("any length does"),
        }
    }

    /// The whole packet outside, of the whole one inside.
    pub fn encapsulated(&self, inner: &[u8], outer: &Outer, tunnel: &TunnelSpec) -> Vec<u8> {
        let number = outer.tunnel as usize;
        let (from, to) = if outer.is_backward { (1, 0) } else { (0, 1) };
        let (encrypted, next_header, source, destination) = match tunnel.mode {
            Mode::Tunnel => {
                let [source, destination] = [from, to].map(|end| outer_address(tunnel.outer, number, end));
                (inner, IpNumber::IPV4, source, destination)
            }
            Mode::Transport => {
                let (own, behind) = Ipv4Header::from_slice(inner).expect("packets have a header");
                (behind, own.protocol, own.source.into(), own.destination.into())
            }
        };
        let EspNumber { renewals, sequence } = outer.esp;
        let mut esp = [spi(number, to, renewals).to_be_bytes(), sequence.to_be_bytes()].concat();
        let header_bytes = esp.len();
        match tunnel.cipher {
            Cipher::AesGcm => {
                let iv = u64::from(sequence).to_be_bytes();
                let mut sealed = padded(encrypted, next_header);
                let nonce = [&KEY[AES_KEY_BYTES..], &iv].concat();
                let check =
                    self.aes
                        .encrypt_in_place_detached(Nonce::from_slice(&nonce), &esp[..header_bytes], &mut sealed);
                esp.extend(iv);
                esp.extend(sealed);
                esp.extend(check.expect("a packet is short"));
            }
            Cipher::Null => {
                esp.extend(padded(encrypted, next_header));
                let mut check = self.sha1.clone();
                check.update(&esp);
                esp.extend(&check.finalize().into_bytes()[..SHA1_CHECK_BYTES]);
            }
        }
        let mut bytes = headers(outer, tunnel.in_udp, &esp, (source, destination));
        bytes.extend(esp);
        debug_assert_eq!(bytes.len(), usize::from(outer.ip_bytes), "sizes are the simulation's");
        bytes
    }
}

/// What stands in front of ESP: the IP header outside, and one of UDP if it is in a datagram.
fn headers(outer: &Outer, in_udp: bool, esp: &[u8], ends: (IpAddr, IpAddr)) -> Vec<u8> {
    const HOPS: u8 = 64;
    let ecn = IpEcn::try_new(outer.ecn & 3).expect("two bits");
    let (next, udp_bytes) = if in_udp {
        (IpNumber::UDP, UdpHeader::LEN)
    } else {
        (IpNumber::ENCAPSULATING_SECURITY_PAYLOAD, 0)
    };
    let payload_bytes = (udp_bytes + esp.len()) as u16;
    match ends {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let ends = (source.octets(), destination.octets());
            let mut ip = Ipv4Header::new(payload_bytes, HOPS, next, ends.0, ends.1).expect("below 65516 bytes");
            ip.identification = outer.ip_id;
            ip.ecn = ecn;
            ip.header_checksum = ip.calc_header_checksum();
            // Its checksum should be missing (RFC 3948 section 2.1).
            let udp = || UdpHeader::without_ipv4_checksum(UDP_PORT, UDP_PORT, esp.len()).expect("a packet is short");
            with_udp(&ip.to_bytes(), in_udp.then(|| udp().to_bytes()))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let ip = Ipv6Header {
                traffic_class: ecn.value(),
                flow_label: Ipv6FlowLabel::ZERO,
                payload_length: payload_bytes,
                next_header: next,
                hop_limit: HOPS,
                source: source.octets(),
                destination: destination.octets(),
            };
            // It may not be missing (RFC 8200 section 8.1).
            let udp = || UdpHeader::with_ipv6_checksum(UDP_PORT, UDP_PORT, &ip, esp).expect("a packet is short");
            with_udp(&ip.to_bytes(), in_udp.then(|| udp().to_bytes()))
        }
        _ => unreachable!("both ends of a tunnel have addresses of one family"),
    }
}

fn with_udp(ip: &[u8], udp: Option<[u8; UdpHeader::LEN]>) -> Vec<u8> {
    let mut bytes = ip.to_vec();
    bytes.extend(udp.into_iter().flatten());
    bytes
}

/// What is encrypted with its trailer: bytes 1, 2 and so on up to a multiple of four, how many, and what it is (RFC
/// 4303 section 2.4 to 2.6).
fn padded(encrypted: &[u8], next_header: IpNumber) -> Vec<u8> {
    const ALIGNMENT_BYTES: usize = 4;
    const TRAILER_BYTES: usize = 2;
    let unpadded = encrypted.len() + TRAILER_BYTES;
    let padding = unpadded.next_multiple_of(ALIGNMENT_BYTES) - unpadded;
    let mut bytes = encrypted.to_vec();
    bytes.extend((1..=padding).map(|byte| byte as u8));
    bytes.extend([padding as u8, next_header.0]);
    bytes
}
