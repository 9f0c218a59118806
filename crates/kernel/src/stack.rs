//! Devices that lie on others: a bridge, bond or team on its ports, a VLAN or macvlan on the device that carries it. A
//! packet that leaves the upper one leaves the lower one next.

use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::device::ip;

/// Kinds of devices that lie on the one that `ip` calls their link. Of veth pairs and tunnels it is something else.
const CARRIED: [&str; 7] = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "hsr"];

/// A device, and on which others it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Its kind, as `ip` has it; empty for hardware.
    pub kind: String,
    /// The bridge, bond or team of which it is a port.
    pub master: Option<String>,
    /// The device of this namespace that carries its packets.
    pub carrier: Option<String>,
    /// Whether a device of another namespace carries them.
    pub is_carried_elsewhere: bool,
}

/// All devices of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks(Vec<Layer>);

/// What is read of `ip -json -details link`.
#[derive(Deserialize)]
struct Told {
    ifname: String,
    #[serde(default)]
    master: Option<String>,
    #[serde(default)]
    link: Option<String>,
    #[serde(default)]
    link_netnsid: Option<i64>,
    #[serde(default)]
    linkinfo: Option<Info>,
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    info_kind: String,
}

impl Stacks {
    /// Those of a namespace; `None`: of this one.
    ///
    /// # Errors
    /// When there is no `ip`, or the namespace is not there.
    pub fn read(netns: Option<&Path>) -> io::Result<Self> {
        Self::parse(&ip(netns, &["-json", "-details", "link", "show"])?)
    }

    fn parse(json: &[u8]) -> io::Result<Self> {
        let told: Vec<Told> = serde_json::from_slice(json)?;
        let layer = |told: Told| {
            let kind = told.linkinfo.map(|info| info.info_kind).unwrap_or_default();
            let is_carried = CARRIED.contains(&kind.as_str());
            Layer {
                name: told.ifname,
                master: told.master,
                carrier: told.link.filter(|_| is_carried),
                is_carried_elsewhere: is_carried && told.link_netnsid.is_some(),
                kind,
            }
        };
        Ok(Self(told.into_iter().map(layer).collect()))
    }

    /// A device by its name.
    pub fn get(&self, name: &str) -> Option<&Layer> {
        self.0.iter().find(|layer| layer.name == name)
    }

    /// Names of the devices that are ports of one.
    pub fn ports<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_port = move |layer: &&Layer| layer.master.as_deref() == Some(name);
        self.0.iter().filter(is_port).map(|layer| layer.name.as_str())
    }

    /// Names of the devices on which one lies.
    pub fn below<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let carrier = self.get(name).and_then(|layer| layer.carrier.as_deref());
        self.ports(name).chain(carrier)
    }

    /// Names of the devices that lie on one.
    pub fn above<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lies_on = move |layer: &&Layer| self.below(&layer.name).any(|lower| lower == name);
        self.0.iter().filter(lies_on).map(|layer| layer.name.as_str())
    }

    /// Those below one, those below these, and so on.
    pub fn all_below<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        let mut next: Vec<&str> = self.below(name).collect();
        while let Some(lower) = next.pop() {
            if !found.contains(&lower) {
                found.push(lower);
                next.extend(self.below(lower));
            }
        }
        found
    }

    /// A device with what it lies on, such as `br0 (bridge) on eth0 and tap1 (tun)`.
    pub fn described(&self, name: &str) -> String {
        let kind = self.get(name).map_or("", |layer| layer.kind.as_str());
        let kind = if kind.is_empty() {
            String::new()
        } else {
            format!(" ({kind})")
        };
        let below: Vec<String> = self.below(name).map(|lower| self.described(lower)).collect();
        let on = if below.is_empty() { "" } else { " on " };
        format!("{name}{kind}{on}{}", below.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ip -json -details link` of a host with a VLAN on a bond of two cards, a bridge on it, and what is no stack.
    const TOLD: &[u8] = br#"[
        {"ifname": "lo"}, {"ifname": "eth0", "master": "bond0"}, {"ifname": "eth1", "master": "bond0"},
        {"ifname": "bond0", "linkinfo": {"info_kind": "bond"}},
        {"ifname": "bond0.5", "link": "bond0", "master": "br0", "linkinfo": {"info_kind": "vlan"}},
        {"ifname": "tap1", "master": "br0", "linkinfo": {"info_kind": "tun"}},
        {"ifname": "br0", "linkinfo": {"info_kind": "bridge"}},
        {"ifname": "wire", "link": "far", "linkinfo": {"info_kind": "veth"}},
        {"ifname": "far", "link": "wire", "linkinfo": {"info_kind": "veth"}},
        {"ifname": "gre1", "link": "eth0", "linkinfo": {"info_kind": "gre"}},
        {"ifname": "mac0", "link_index": 7, "link_netnsid": 0, "linkinfo": {"info_kind": "macvlan"}}
    ]"#;

    #[test]
    fn devices_lie_on_ports_and_carriers() {
        // Goal: a stack is followed to its bottom through ports and carriers; pairs and tunnels are none.
        let stacks = Stacks::parse(TOLD).expect("it is JSON");
        assert_eq!(stacks.all_below("br0"), ["tap1", "bond0.5", "bond0", "eth1", "eth0"]);
        assert_eq!(
            stacks.described("br0"),
            "br0 (bridge) on bond0.5 (vlan) on bond0 (bond) on eth0 and eth1 and tap1 (tun)"
        );
        assert_eq!(stacks.above("bond0").collect::<Vec<_>>(), ["bond0.5"]);
        for alone in ["wire", "far", "gre1", "eth0", "mac0", "nosuch"] {
            assert_eq!(stacks.all_below(alone), Vec::<&str>::new(), "{alone}");
        }
        assert!(stacks.get("mac0").expect("it is there").is_carried_elsewhere);
    }
}
