//! What is registered, by role and name.
#![allow(unsafe_code)]

use std::sync::LazyLock;

use crate::abi;
use crate::capacity::Capacity;
use crate::receiver::Receiver;
use crate::router::Router;
use crate::sender::Sender;

/// Where a table comes from: the C function that hands it out, the registered name, the text of the header.
type Source<T> = (unsafe extern "C" fn() -> *const T, &'static str, &'static str);

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// Takes over all tables of one kind.
fn load<T: 'static, L>(sources: &[Source<T>], take: impl Fn(&'static T, &'static str) -> L) -> Vec<L> {
    // SAFETY: the functions are generated beside the declarations and return the address of a static table.
    sources
        .iter()
        .map(|&(table, _, header)| take(unsafe { &*table() }, header))
        .collect()
}

// SAFETY, for the four below: the tables come from headers compiled against this very law.h.
static ALL_SENDERS: LazyLock<Vec<Sender>> =
    LazyLock::new(|| load(SENDERS, |table, header| unsafe { Sender::new(table, header) }));
static ALL_RECEIVERS: LazyLock<Vec<Receiver>> =
    LazyLock::new(|| load(RECEIVERS, |table, header| unsafe { Receiver::new(table, header) }));
static ALL_ROUTERS: LazyLock<Vec<Router>> =
    LazyLock::new(|| load(ROUTERS, |table, header| unsafe { Router::new(table, header) }));
static ALL_CAPACITIES: LazyLock<Vec<Capacity>> =
    LazyLock::new(|| load(CAPACITIES, |table, header| unsafe { Capacity::new(table, header) }));

/// All senders' laws, in the order of the registry.
pub fn senders() -> &'static [Sender] {
    &ALL_SENDERS
}

/// All receivers' halves of laws, in the order of the registry.
pub fn receivers() -> &'static [Receiver] {
    &ALL_RECEIVERS
}

/// All routers' laws, in the order of the registry.
pub fn routers() -> &'static [Router] {
    &ALL_ROUTERS
}

/// All capacity parts, in the order of the registry.
pub fn capacities() -> &'static [Capacity] {
    &ALL_CAPACITIES
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
        registered(
            ROUTERS.iter().map(|s| s.1).collect(),
            routers().iter().map(Router::name).collect(),
        );
        registered(
            CAPACITIES.iter().map(|s| s.1).collect(),
            capacities().iter().map(Capacity::name).collect(),
        );
    }
}
