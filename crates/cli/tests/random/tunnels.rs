//! IPsec tunnels of chance, in graphs.

use fadelab_laws::{Gateway, gateways};

use super::draw::{Draw, Text};
use super::network::{Network, Shape};

/// Writes none, one between any two nodes, or up to three, each along a link: those that overlap would be refused, and
/// so are tunnels that no flow passes.
pub fn write(draw: &mut Draw, text: &mut Text, network: &Network) {
    let Shape::Graph { nodes, links } = &network.shape else {
        return;
    };
    let mut ends: Vec<(usize, usize)> = links.iter().map(|link| (link.from, link.to)).collect();
    match draw.below(4) {
        0 | 1 => ends.clear(),
        2 => {
            let from = draw.below(*nodes);
            ends = vec![(from, (from + 1 + draw.below(nodes - 1)) % nodes)];
        }
        _ => {
            ends.rotate_left(draw.below(links.len()));
            ends.truncate(draw.magnitude(1, 3) as usize);
        }
    }
    for (number, (from, to)) in ends.into_iter().enumerate() {
        text.table(&format!("tunnel.t{number}"));
        text.text("from", format_args!("n{from}"));
        text.text("to", format_args!("n{to}"));
        keys(draw, text);
    }
}

fn keys(draw: &mut Draw, text: &mut Text) {
    let is_transport = draw.one_in(20);
    if is_transport {
        text.text("mode", "transport");
    }
    for (key, values) in [
        ("cipher", &["aes-gcm", "null"][..]),
        ("routers", &["blind", "auto", "auto", "vcp", "dcp_ew"]),
    ] {
        if draw.one_in(2) {
            text.text(key, draw.pick(values));
        }
    }
    let is_ipv6 = !is_transport && draw.one_in(4);
    if is_ipv6 {
        text.text("outer", "ipv6");
    }
    if !is_transport && draw.one_in(4) {
        text.bare("udp", true);
    }
    if draw.one_in(4) {
        text.text("rekey", draw.pick(&["2 s", "3500 ms"]));
        if draw.one_in(3) {
            text.text("rekey_gap", draw.pick(&["1 ms", "400 ms", "3 s"]));
        }
    }
    // IPv6 has no ID, nor a role from one.
    for (key, values) in [
        ("role", &["sequence", "id", "written"][..]),
        ("ip_id", &["counting", "random", "zero"]),
    ] {
        if draw.one_in(2) && !is_ipv6 {
            text.text(key, draw.pick(values));
        }
    }
    // What is the packet's own in transport mode is refused there.
    for (key, values) in [
        ("ecn", &["linux", "rfc6040", "noecn", "none"][..]),
        ("memory", &["tunnel", "flow"]),
        ("law", &laws("auto")),
    ] {
        if draw.one_in(2) && !is_transport {
            text.text(key, draw.pick(values));
        }
    }
    // Ends that are unequal.
    for (key, values) in [
        ("ecn_to", &["linux", "rfc6040", "noecn", "none", "same"][..]),
        ("law_to", &laws("same")),
    ] {
        if draw.one_in(4) && !is_transport {
            text.text(key, draw.pick(values));
        }
    }
}

/// What names the law of a gateway, most often `often`.
fn laws(often: &'static str) -> Vec<&'static str> {
    let named = gateways().iter().map(Gateway::name);
    ["none", often, often].into_iter().chain(named).collect()
}
