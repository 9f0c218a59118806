//! What is registered, by role and name.
#![allow(unsafe_code)]

use std::sync::{LazyLock, PoisonError, RwLock};

use crate::abi;
use crate::capacity::Capacity;
use crate::described::{Description, kept};
use crate::gateway::Gateway;
use crate::guard::{Export, HOST, Host, Tables};
use crate::receiver::Receiver;
use crate::router::Router;
use crate::sender::Sender;
use crate::wire::Wire;

/// Where a table comes from: the C function that hands it out, the registered name, the text of the header.
type Source<T> = (unsafe extern "C" fn() -> *const T, &'static str, &'static str);

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// All laws of one kind. A law that is added makes a new list; what points into the old one stays valid.
type Laws<L> = LazyLock<RwLock<&'static [L]>>;

/// Takes over all tables of one kind.
fn load<T: 'static, L>(
    sources: &[Source<T>],
    mut take: impl FnMut(&'static T, &'static str) -> L,
) -> RwLock<&'static [L]> {
    // SAFETY: the functions are generated beside the declarations and return the address of a static table.
    let laws = sources
        .iter()
        .map(|&(table, _, header)| take(unsafe { &*table() }, header));
    RwLock::new(laws.collect::<Vec<L>>().leak())
}

/// What is known now.
fn all<L>(laws: &'static Laws<L>) -> &'static [L] {
    *laws.read().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a law at the end.
fn append<L: Clone>(laws: &'static Laws<L>, law: L) {
    let mut known = laws.write().unwrap_or_else(PoisonError::into_inner);
    let mut more = known.to_vec();
    more.push(law);
    *known = more.leak();
}

// SAFETY, for the six below: the tables come from headers compiled against this very law.h.
static ALL_SENDERS: Laws<Sender> =
    LazyLock::new(|| load(SENDERS, |table, header| unsafe { Sender::new(table, header) }));
static ALL_RECEIVERS: Laws<Receiver> =
    LazyLock::new(|| load(RECEIVERS, |table, header| unsafe { Receiver::new(table, header) }));
static ALL_ROUTERS: Laws<Router> = LazyLock::new(|| {
    let mut hosts = HOSTS.iter();
    load(ROUTERS, |table, header| unsafe {
        let host = hosts.next().expect("each router has one, in the same order");
        Router::new(table, &*host(), header)
    })
});
static ALL_CAPACITIES: Laws<Capacity> =
    LazyLock::new(|| load(CAPACITIES, |table, header| unsafe { Capacity::new(table, header) }));
static ALL_GATEWAYS: Laws<Gateway> =
    LazyLock::new(|| load(GATEWAYS, |table, header| unsafe { Gateway::new(table, header) }));
static ALL_WIRES: Laws<Wire> = LazyLock::new(|| load(WIRES, |table, header| unsafe { Wire::new(table, header) }));

/// Adds the laws of a header that a user brought.
///
/// # Safety
/// The tables are those of a guarded law compiled against this `law.h`, checked, and live as long as the program.
pub(crate) unsafe fn add(tables: &Tables, header: &'static str) {
    // SAFETY: the caller vouches for the tables.
    unsafe {
        if let Some(table) = tables.sender.as_ref() {
            append(&ALL_SENDERS, Sender::new(table, header).with_zone());
        }
        if let Some(table) = tables.receiver.as_ref() {
            append(&ALL_RECEIVERS, Receiver::new(table, header).with_zone());
        }
        if let Some(table) = tables.router.as_ref() {
            append(&ALL_ROUTERS, Router::new(table, &*tables.host, header).with_zone());
        }
        if let Some(table) = tables.capacity.as_ref() {
            append(&ALL_CAPACITIES, Capacity::new(table, header).with_zone());
        }
        if let Some(table) = tables.gateway.as_ref() {
            append(&ALL_GATEWAYS, Gateway::new(table, header).with_zone());
        }
    }
}

impl Description {
    /// Of the registered laws of that name.
    pub fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            sender: sender(name).map(Sender::description),
            receiver: receiver(name).map(Receiver::description),
            router: router(name).map(Router::description),
            capacity: capacity(name).map(Capacity::description),
        }
    }
}

/// Makes laws known whose programs were compiled elsewhere.
pub(crate) fn add_described(of: &Description, header: &'static str) {
    let name = &of.name;
    if let Some(of) = &of.sender {
        append(&ALL_SENDERS, Sender::of_description(name, header, of));
    }
    if let Some(of) = &of.receiver {
        append(&ALL_RECEIVERS, Receiver::of_description(name, header, of));
    }
    if let Some(of) = &of.router {
        append(&ALL_ROUTERS, Router::of_description(name, header, of));
    }
    if let Some(of) = &of.capacity {
        append(&ALL_CAPACITIES, Capacity::of_description(name, header, of));
    }
}

/// What names of laws begin with that Linux brings itself.
pub const LINUX_PREFIX: &str = "linux:";

/// Makes a sender's law known that only a kernel has. Asking again changes nothing.
pub fn add_host_sender(name: &str, summary: &str) {
    if sender(name).is_none() {
        append(&ALL_SENDERS, Sender::of_host(kept(name), kept(summary)));
    }
}

/// Makes a queue known that only a kernel has. Asking again changes nothing.
pub fn add_host_router(name: &str, summary: &str) {
    if router(name).is_none() {
        append(&ALL_ROUTERS, Router::of_host(kept(name), kept(summary)));
    }
}

/// Whether a built-in law of any role has that name.
pub fn is_builtin(name: &str) -> bool {
    EXPLAINED.iter().any(|(_, builtin, _, _)| *builtin == name)
}

/// The tables of a built-in law in the build that tells its steps, and its header.
pub(crate) fn explained(role: &str, name: &str) -> Option<(Tables, &'static str)> {
    let of = |role| EXPLAINED.iter().find(move |law| (law.0, law.1) == (role, name));
    // A receiver may stand in the header of its sender.
    let found = of(role).or_else(|| of("sender").filter(|_| role == "receiver"));
    // SAFETY: the functions are generated beside the declarations.
    found.map(|&(_, _, export, header)| (unsafe { export(&raw const HOST) }, header))
}

/// All senders' laws, in the order of the registry, then those that users brought.
pub fn senders() -> &'static [Sender] {
    all(&ALL_SENDERS)
}

/// All receivers' halves of laws, in the same order.
pub fn receivers() -> &'static [Receiver] {
    all(&ALL_RECEIVERS)
}

/// All routers' laws, in the same order.
pub fn routers() -> &'static [Router] {
    all(&ALL_ROUTERS)
}

/// All capacity parts, in the same order.
pub fn capacities() -> &'static [Capacity] {
    all(&ALL_CAPACITIES)
}

/// All gateways' laws, in the same order.
pub fn gateways() -> &'static [Gateway] {
    all(&ALL_GATEWAYS)
}

/// All formats of packets, in the order of the registry.
pub fn wires() -> &'static [Wire] {
    all(&ALL_WIRES)
}

/// The format of that name.
pub fn wire(name: &str) -> Option<&'static Wire> {
    wires().iter().find(|wire| wire.name() == name)
}

/// The format of packets of a wire, `WIRE_*`; all that have none of their own share one.
pub(crate) fn wire_of(number: u32) -> &'static Wire {
    let own = wires().iter().find(|wire| wire.number() == number);
    own.or_else(|| wires().iter().find(|wire| wire.number() == abi::WIRE_NONE))
        .expect("`plain` is registered")
}

/// The sender's law of that name.
pub fn sender(name: &str) -> Option<&'static Sender> {
    senders().iter().find(|law| law.name() == name)
}

/// The receiver's half of the sender's law of that name; `None` where a plain TCP receiver will do.
pub fn receiver(name: &str) -> Option<&'static Receiver> {
    receivers().iter().find(|law| law.name() == name)
}

/// The router's law of that name.
pub fn router(name: &str) -> Option<&'static Router> {
    routers().iter().find(|law| law.name() == name)
}

/// The gateway's law of that name.
pub fn gateway(name: &str) -> Option<&'static Gateway> {
    gateways().iter().find(|law| law.name() == name)
}

/// The capacity part of that name.
pub fn capacity(name: &str) -> Option<&'static Capacity> {
    capacities().iter().find(|part| part.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_names_are_those_of_the_tables() {
        // Goal: a line of the registry and the table in its header cannot name the same law differently.
        let registered = |names: Vec<&'static str>, tables: Vec<&'static str>| assert_eq!(names, tables);
        registered(
            SENDERS.iter().map(|s| s.1).collect(),
            senders().iter().map(Sender::name).collect(),
        );
        registered(
            RECEIVERS.iter().map(|s| s.1).collect(),
            receivers().iter().map(Receiver::name).collect(),
        );
        for receiver in receivers() {
            assert!(
                sender(receiver.name()).is_some(),
                "{} is half of nothing",
                receiver.name()
            );
        }
        registered(
            ROUTERS.iter().map(|s| s.1).collect(),
            routers().iter().map(Router::name).collect(),
        );
        registered(
            CAPACITIES.iter().map(|s| s.1).collect(),
            capacities().iter().map(Capacity::name).collect(),
        );
        registered(
            GATEWAYS.iter().map(|s| s.1).collect(),
            gateways().iter().map(Gateway::name).collect(),
        );
        registered(
            WIRES.iter().map(|s| s.1).collect(),
            wires().iter().map(Wire::name).collect(),
        );
    }
}
