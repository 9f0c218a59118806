//! Every key a scenario may have, so that an unknown one is refused before anything else is looked at.

use fadelab_laws::{capacities, routers, senders};

use crate::document::{Node, Raw};
use crate::error::{Refusal, nearest, one_of};

/// Keys outside groups and laws, in the order in which a resolved scenario has them.
pub const KEYS: &[&str] = &[
    "title",
    "about",
    "run.duration",
    "run.warmup",
    "run.seeds",
    "run.record",
    "topology.preset",
    "topology.pairs",
    "topology.hops",
    "topology.hop.delay",
    "topology.hop.buffer",
    "topology.bottleneck.rate",
    "topology.bottleneck.rate_back",
    "topology.bottleneck.trace",
    "topology.bottleneck.trace_back",
    "topology.bottleneck.delay",
    "topology.bottleneck.buffer",
    "topology.bottleneck.buffer_back",
    "topology.access.rate",
    "topology.access.delay",
    "topology.access.buffer",
    "channel.model",
    "channel.antennas",
    "channel.modulation",
    "channel.snr",
    "channel.snr_bad",
    "channel.burst_good",
    "channel.burst_bad",
    "channel.good",
    "channel.bad",
    "channel.bit_error_good",
    "channel.bit_error_bad",
    "channel.loss_data",
    "channel.loss_ack",
    "channel.code.mode",
    "channel.code.data",
    "channel.code.ack",
    "transport.preset",
    "transport.packet",
    "transport.header",
    "transport.ack",
    "transport.sack_on_wire",
    "transport.initial_window",
    "transport.initial_ssthresh",
    "transport.receive_window",
    "transport.recovery",
    "transport.dupthresh",
    "transport.limited_transmit",
    "transport.delayed_ack",
    "transport.rto_min",
    "transport.rto_min_over_srtt",
    "transport.rto_max",
    "transport.rto_initial",
    "transport.clock_tick",
    "transport.ecn",
    "router.capacity",
];

/// Keys of `[flow]`, and of each group `[flow.NAME]`.
pub const FLOW_KEYS: &[&str] = &[
    "law",
    "app",
    "count",
    "direction",
    "path",
    "start",
    "size",
    "rate",
    "stop",
    "on",
    "off",
];

/// Keys that take a list as their value; a list of lists sweeps them.
pub const LIST_KEYS: &[&str] = &["topology.hops", "run.seeds"];

/// Keys that cannot be swept.
pub const FIXED_KEYS: &[&str] = &["title", "about"];

/// Refuses the first key that no scenario has.
///
/// # Errors
/// The key, with the keys allowed in its table and the nearest of them.
pub fn check(root: &Node) -> Result<(), Refusal> {
    let mut tops: Vec<&str> = KEYS.iter().map(|key| first(key)).collect();
    tops.extend(["flow", "law", "capacity"]);
    for (name, node) in root.entries() {
        match name.as_str() {
            "flow" => check_flow(node)?,
            "law" => check_laws(
                node,
                "law",
                &senders()
                    .iter()
                    .map(|law| (law.name(), law.params()))
                    .collect::<Vec<_>>(),
            )?,
            "capacity" => {
                let parts: Vec<_> = capacities().iter().map(|part| (part.name(), part.params())).collect();
                check_laws(node, "capacity", &parts)?;
            }
            "router" => {
                let laws: Vec<_> = routers().iter().map(|law| (law.name(), law.params())).collect();
                check_laws(node, "router", &laws)?;
            }
            _ => check_under(node, name, &tops)?,
        }
    }
    Ok(())
}

fn first(key: &str) -> &str {
    key.split('.').next().unwrap_or(key)
}

/// Checks a key outside groups and laws, and what is below it.
fn check_under(node: &Node, path: &str, siblings: &[&str]) -> Result<(), Refusal> {
    if KEYS.contains(&path) {
        return Ok(());
    }
    let prefix = format!("{path}.");
    let below: Vec<&str> = KEYS
        .iter()
        .filter_map(|key| key.strip_prefix(prefix.as_str()))
        .map(first)
        .collect();
    if below.is_empty() {
        return Err(unknown(node, path, siblings));
    }
    table(node, path)?
        .iter()
        .try_for_each(|(name, child)| check_under(child, &format!("{prefix}{name}"), &below))
}

fn check_flow(flow: &Node) -> Result<(), Refusal> {
    for (name, node) in table(flow, "flow")? {
        if FLOW_KEYS.contains(&name.as_str()) {
            continue;
        }
        if !matches!(node.raw, Raw::Table(_)) {
            return Err(unknown(node, &format!("flow.{name}"), FLOW_KEYS));
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_name) {
            let message = format!("`{name}` cannot name a group of flows: use letters, digits, `-` and `_`");
            return Err(Refusal::new(&node.place, message));
        }
        for (key, child) in node.entries() {
            if !FLOW_KEYS.contains(&key.as_str()) {
                return Err(unknown(child, &format!("flow.{name}.{key}"), FLOW_KEYS));
            }
        }
    }
    Ok(())
}

/// Checks `[law.NAME]` and its like against what is registered.
fn check_laws(node: &Node, section: &str, known: &[(&str, &[fadelab_laws::ParamInfo])]) -> Result<(), Refusal> {
    for (name, child) in table(node, section)? {
        let path = format!("{section}.{name}");
        if KEYS.contains(&path.as_str()) && !matches!(child.raw, Raw::Table(_)) {
            continue;
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let Some((_, params)) = known.iter().find(|(known, _)| known == name) else {
            return Err(unknown(child, &path, &names));
        };
        let params: Vec<&str> = params.iter().map(|param| param.name).collect();
        for (key, value) in table(child, &path)? {
            if !params.contains(&key.as_str()) {
                return Err(unknown(value, &format!("{path}.{key}"), &params));
            }
        }
    }
    Ok(())
}

fn table<'a>(node: &'a Node, path: &str) -> Result<&'a [(String, Node)], Refusal> {
    match &node.raw {
        Raw::Table(entries) => Ok(entries),
        other => {
            let message = format!(
                "{path} = {}: a table is needed, [{path}] with keys below it",
                other.shown()
            );
            Err(Refusal::new(&node.place, message))
        }
    }
}

fn unknown(node: &Node, path: &str, siblings: &[&str]) -> Refusal {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let mut siblings = siblings.to_vec();
    siblings.dedup();
    let place = if parent.is_empty() {
        "a scenario".to_owned()
    } else {
        format!("[{parent}]")
    };
    let message = format!(
        "unknown key `{path}`: {place} has {}{}",
        one_of(&siblings),
        nearest(key, &siblings)
    );
    Refusal::new(&node.place, message)
}
