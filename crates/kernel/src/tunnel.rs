//! Tunnels that an operator's IPsec made, as programs know them: by the addresses and the ESP header that stand outside
//! (`bpf/tunnel.h`).

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use libbpf_rs::{MapCore, MapFlags, Object};
use serde::{Deserialize, Serialize};

use crate::object::LoadError;

/// Most directions of tunnels that one program tells apart: `TUNNEL_WAYS_MAX`.
pub const WAYS_MAX: usize = 64;

/// Of the programs, in which they look up directions.
const MAP: &str = "tunnel_map";

/// Of what the lowest bit is the role of an outer header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoleFrom {
    /// ESP's sequence number.
    #[default]
    Sequence,
    /// The outer IP identification.
    Id,
    /// The outer IP identification, which the gateway writes where the packet must not be fragmented.
    Written,
}

/// The outer addresses of one direction of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Way {
    pub from: IpAddr,
    pub to: IpAddr,
}

impl Way {
    /// The direction back.
    #[must_use]
    pub fn back(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.from, self.to)
    }
}

impl From<Way> for String {
    fn from(way: Way) -> Self {
        way.to_string()
    }
}

impl TryFrom<String> for Way {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let refused = |allowed| format!("{text}: {allowed}");
        text.parse().map_err(refused)
    }
}

/// As commands take it: two addresses of one version with `-` between.
impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "allowed are two addresses of one version, such as 192.0.2.1-198.51.100.1";
        let (from, to) = text.split_once('-').ok_or_else(|| allowed.to_owned())?;
        let address = |text: &str| -> Result<IpAddr, String> {
            let text = text.trim();
            text.parse().map_err(|_| format!("{text} is no IP address; {allowed}"))
        };
        let way = Self {
            from: address(from)?,
            to: address(to)?,
        };
        if way.from.is_ipv4() != way.to.is_ipv4() || way.from == way.to {
            return Err(allowed.to_owned());
        }
        Ok(way)
    }
}

/// An address as the programs compare it, `struct tunnel_key`.
fn bytes(address: IpAddr) -> [u8; 16] {
    let wide: Ipv6Addr = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    wide.octets()
}

/// Whether a program looks at outer headers at all.
pub(crate) fn is_known_to(object: &Object) -> bool {
    object.maps().any(|map| map.name() == MAP)
}

/// Has a program know a direction of the tunnel of this number.
pub(crate) fn tell(object: &Object, way: Way, number: u32, role: RoleFrom) -> Result<(), LoadError> {
    let map = object.maps().find(|map| map.name() == MAP);
    let key = [bytes(way.from), bytes(way.to)].concat();
    let value = [number.to_ne_bytes(), (role as u32).to_ne_bytes()].concat();
    map.expect("the unit has it")
        .update(&key, &value, MapFlags::ANY)
        .map_err(|error| LoadError::of(format!("the tunnel {way}"), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_read_and_written() {
        // Goal: what is written is read again, of both versions; what is none says what is allowed.
        for text in ["192.0.2.1-198.51.100.1", "2001:db8::1-2001:db8::2"] {
            let way: Way = text.parse().expect("a direction");
            assert_eq!(way.to_string(), text);
            assert_eq!(way.back().back(), way);
        }
        for text in ["192.0.2.1", "192.0.2.1-2001:db8::1", "a-b", "192.0.2.1-192.0.2.1", ""] {
            let error = text.parse::<Way>().expect_err(text);
            assert!(error.contains("allowed are two addresses"), "{text}: {error}");
        }
    }
}
