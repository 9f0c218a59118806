//! Whose a packet is at the edge of the domain, read by the rules of `docs/router.md` and not by the program's text.

use std::collections::HashMap;

use crate::packet::Read;

/// Whose a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Others,
    Ours,
    /// TCP's for all that can be seen, and nobody can tell.
    Unknown,
}

/// An edge that remembers whose the first fragments were.
#[derive(Debug, Default)]
pub struct Edge {
    fragments: HashMap<Vec<u8>, Whose>,
}

/// Headers that are looked through.
pub const HEADERS_MAX: usize = 16;

/// Headers of IPv6 that others may follow, but for that of fragments and the authentication header.
pub const EXTENSIONS: [u8; 6] = [0, 43, 60, 135, 139, 140];
pub const FRAGMENT: u8 = 44;
pub const AUTHENTICATION: u8 = 51;
const TCP: u8 = 6;

/// A packet on the way through its headers.
struct Chain<'a> {
    frame: &'a [u8],
    version: u8,
    next: u8,
    at: usize,
    /// Of a fragment: what tells its packet from others, its offset, and what the fragments hold.
    part: Option<(Vec<u8>, usize, u8)>,
}

impl Chain<'_> {
    fn is_extension(&self, next: u8) -> bool {
        let of_ipv6 = next == FRAGMENT || EXTENSIONS.contains(&next);
        next == AUTHENTICATION || self.version == 6 && of_ipv6
    }

    fn may_be_tcp(&self, next: u8) -> bool {
        next == TCP || self.is_extension(next)
    }

    /// Goes behind one more header; `None`: it is not there.
    fn step(&mut self, addresses: &[u8]) -> Option<()> {
        let head = self.frame.get(self.at..self.at + 2)?;
        let units = usize::from(head[1]);
        let (kind, next) = (self.next, head[0]);
        self.next = next;
        if kind != FRAGMENT {
            self.at += if kind == AUTHENTICATION {
                (units + 2) * 4
            } else {
                (units + 1) * 8
            };
            return Some(());
        }
        let Some(header) = self.frame.get(self.at..self.at + 8) else {
            self.next = kind;
            return None;
        };
        let word = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if word & !6 != 0 {
            let key = [&[6], addresses, &header[4..8]].concat();
            self.part = Some((key, word & 0xfff8, next));
        }
        self.at += 8;
        Some(())
    }
}

impl Edge {
    /// Whose it is.
    pub fn see(&mut self, frame: &[u8]) -> Whose {
        let read = Read::of(frame);
        let found = match read.version {
            4 => self.see_ipv4(frame, &read),
            6 => self.see_ipv6(frame, &read),
            _ => None,
        };
        found.unwrap_or(Whose::Others)
    }

    fn see_ipv4(&mut self, frame: &[u8], read: &Read) -> Option<Whose> {
        let header = frame.get(read.ip..read.ip + 20)?;
        let end = read.ip + usize::from(u16::from_be_bytes([header[2], header[3]]));
        let word = usize::from(u16::from_be_bytes([header[6], header[7]]));
        let part = (word & 0x3fff != 0).then(|| {
            let key = [&[4, header[9]], &header[12..20], &header[4..6]].concat();
            (key, (word & 0x1fff) * 8, header[9])
        });
        let chain = Chain {
            frame,
            version: 4,
            next: header[9],
            at: read.ip + usize::from(header[0] & 15) * 4,
            part,
        };
        self.see_chain(chain, &header[12..20], end, read)
    }

    fn see_ipv6(&mut self, frame: &[u8], read: &Read) -> Option<Whose> {
        let header = frame.get(read.ip..read.ip + 40)?;
        let at = read.ip + 40;
        let chain = Chain {
            frame,
            version: 6,
            next: header[6],
            at,
            part: None,
        };
        let end = at + usize::from(u16::from_be_bytes([header[4], header[5]]));
        self.see_chain(chain, &header[8..40], end, read)
    }

    fn see_chain(&mut self, mut chain: Chain<'_>, addresses: &[u8], end: usize, read: &Read) -> Option<Whose> {
        if !chain.may_be_tcp(chain.next) {
            return None;
        }
        let is_later = |chain: &Chain<'_>| matches!(chain.part, Some((_, 1.., _)));
        let mut is_whole = true;
        for _ in 0..HEADERS_MAX {
            if is_later(&chain) || !chain.is_extension(chain.next) {
                break;
            }
            is_whole = chain.step(addresses).is_some();
            if !is_whole {
                break;
            }
        }
        let whose = if is_whole {
            whose(&chain, end, read)
        } else {
            Whose::Others
        };
        let Some((key, offset, holds)) = chain.part.clone() else {
            return Some(whose);
        };
        let may_be_tcp = chain.may_be_tcp(holds);
        Some(match offset {
            0 if may_be_tcp => {
                self.fragments.insert(key, whose);
                whose
            }
            0 => whose,
            _ if may_be_tcp => *self.fragments.get(&key).unwrap_or(&Whose::Unknown),
            _ => Whose::Others,
        })
    }
}

/// Of a packet, or the first fragment of one, behind all its headers but TCP's.
fn whose(chain: &Chain<'_>, end: usize, read: &Read) -> Whose {
    if chain.next != TCP {
        return if chain.is_extension(chain.next) {
            Whose::Unknown
        } else {
            Whose::Others
        };
    }
    let (tcp, there) = (chain.at, end.min(chain.frame.len()));
    let is_first = chain.part.is_some();
    let of_cut = if is_first { Whose::Unknown } else { Whose::Others };
    if tcp + 20 > there {
        return of_cut;
    }
    let tcp_end = tcp + usize::from(chain.frame[tcp + 12] >> 4) * 4;
    if !is_first && (end > chain.frame.len() || tcp_end > there) {
        return Whose::Others;
    }
    let last = (8..=40)
        .step_by(4)
        .any(|bytes| read.own_option(chain.frame, bytes, None).is_some());
    if last || has_option(chain.frame, tcp + 20, tcp_end, there) {
        return Whose::Ours;
    }
    if tcp_end > there { of_cut } else { Whose::Others }
}

/// Goes through the options, of which those before `there` are in the packet.
fn has_option(frame: &[u8], mut at: usize, end: usize, there: usize) -> bool {
    while at + 4 <= end.min(there) {
        let bytes = usize::from(frame[at + 1]);
        match frame[at] {
            0 => return false,
            1 => at += 1,
            _ if bytes < 2 || at + bytes > end => return false,
            254 if bytes >= 8 && frame[at + 2] == 0xfa && frame[at + 3] & 0xf0 == 0xd0 => return true,
            _ => at += bytes,
        }
    }
    false
}
