//! What a law's table of functions says that its comment does not: what it needs of its path and its host.

use crate::catalogue::Role;
use crate::{Capacity, Gateway, Receiver, Router, Sender, Wire, abi, registry};

type Facts = (Vec<(&'static str, String)>, String);

/// Facts with labels, and the most important ones in a few words.
pub fn of(role: Role, name: &str) -> Facts {
    match role {
        Role::Sender => registry::sender(name).map(sender),
        Role::Receiver => registry::receiver(name).map(receiver),
        Role::Router => registry::router(name).map(router),
        Role::Capacity => registry::capacity(name).map(capacity),
        Role::Gateway => registry::gateway(name).map(gateway),
        Role::Wire => registry::wire(name).map(format),
        Role::Part => None,
    }
    .unwrap_or_default()
}

/// What the packets of a format carry.
fn wire(wire: u32) -> Option<&'static str> {
    match wire {
        abi::WIRE_VCP => Some("load code in the ECN bits"),
        abi::WIRE_XCP => Some("XCP header"),
        abi::WIRE_RCP => Some("RCP header"),
        abi::WIRE_PAIR | abi::WIRE_DPCP => Some("half a load code in the ECN bits"),
        _ => None,
    }
}

fn bytes(count: u32) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

fn sender(law: &'static Sender) -> Facts {
    let mut facts = Vec::new();
    let mut needs = Vec::new();
    facts.push((
        "Routers on its path",
        match law.router() {
            Some(router) => {
                needs.push(format!("router {router}"));
                format!("`{router}`")
            }
            None => "any".to_owned(),
        },
    ));
    let on_acks = registry::receiver(law.name()).map_or(0, Receiver::feedback_bytes);
    let feedback = match (law.feedback_bytes(), on_acks) {
        (0, 0) => "none".to_owned(),
        (0, ack) => format!("{} on ACKs", bytes(ack)),
        (data, ack) => format!("{} on data, {} on ACKs", bytes(data), bytes(ack)),
    };
    facts.push((
        "Packets carry",
        wire(law.wire()).unwrap_or("nothing beyond TCP").to_owned(),
    ));
    facts.push(("Feedback", feedback.clone()));
    if on_acks > 0 {
        needs.push(feedback);
    }
    facts.push((
        "Congestion marks",
        match law.ecn_mode() {
            abi::ECN_MODE_CLASSIC => "one reduction a round trip (RFC 3168), where ECN is on",
            abi::ECN_MODE_EXACT => "each mark counts (RFC 8257)",
            _ => "not TCP's: the law reads what it needs by itself",
        }
        .to_owned(),
    ));
    if law.ecn_mode() == abi::ECN_MODE_EXACT {
        needs.push("exact ECN".to_owned());
    }
    let mut of_host = Vec::new();
    for (flag, text) in [
        (abi::SENDER_PACED, "paces where the law asks for it"),
        (
            abi::SENDER_OWNS_RECOVERY,
            "leaves the window to the law in recovery too",
        ),
    ] {
        if law.flags() & flag != 0 {
            of_host.push(text);
        }
    }
    facts.push((
        "The host",
        if of_host.is_empty() {
            "repairs losses".to_owned()
        } else {
            of_host.join("; ")
        },
    ));
    facts.push((
        "State",
        state(law.state_bytes(), law.flags() & abi::SENDER_SOCKET_STORAGE != 0),
    ));
    (facts, needs.join(", "))
}

fn receiver(law: &'static Receiver) -> Facts {
    let needs = format!("sender {}", law.name());
    let facts = vec![
        ("Half of", format!("`{}`", law.name())),
        ("Feedback", format!("{} on ACKs", bytes(law.feedback_bytes()))),
        ("State", bytes(law.state_bytes())),
    ];
    (facts, needs)
}

/// A sender's memory against what the kernel gives.
fn state(count: u32, in_storage: bool) -> String {
    if in_storage {
        return format!("{}, in socket storage", bytes(count));
    }
    format!("{} of the 104 that Linux gives", bytes(count))
}

fn router(law: &'static Router) -> Facts {
    let mut facts = Vec::new();
    let mut needs = Vec::new();
    let has = |flag| law.flags() & flag != 0;
    facts.push((
        "Acts on",
        match wire(law.wire()) {
            Some(wire) => {
                needs.push(format!(
                    "packets with {}{wire}",
                    if law.wire() == abi::WIRE_XCP { "an " } else { "a " }
                ));
                format!("packets with {wire}")
            }
            None => "packets of any kind".to_owned(),
        },
    ));
    facts.push((
        "Capacity",
        if has(abi::ROUTER_NEEDS_CAPACITY) {
            needs.push("known capacity".to_owned());
            "must be known: a part that knows only what is spare is refused"
        } else {
            "need not be known"
        }
        .to_owned(),
    ));
    facts.push(("Timers", law.timers().to_string()));
    if law.queues() > 0 {
        facts.push(("Queues of its own", law.queues().to_string()));
    }
    facts.push(("State", bytes(law.state_bytes())));
    (facts, needs.join(", "))
}

fn capacity(part: &'static Capacity) -> Facts {
    let known = part.flags() & abi::CAPACITY_KNOWN != 0;
    let gives = if known {
        "capacity and spare rate"
    } else {
        "spare rate only"
    };
    let facts = vec![("Gives", gives.to_owned()), ("State", bytes(part.state_bytes()))];
    (facts, gives.to_owned())
}

fn gateway(law: &'static Gateway) -> Facts {
    let state = format!("{} for each tunnel", bytes(law.state_bytes()));
    let directions = if law.flags() & abi::GATEWAY_DIRECTIONS_APART != 0 {
        "each for itself"
    } else {
        "share the state"
    };
    (
        vec![("State", state), ("Directions", directions.to_owned())],
        String::new(),
    )
}

fn format(wire: &'static Wire) -> Facts {
    let serves = match wire.number() {
        abi::WIRE_NONE => "all that have no format of their own".to_owned(),
        number => format!("wire {number} of law.h"),
    };
    (vec![("Serves", serves)], String::new())
}
