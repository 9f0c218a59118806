//! `fadelab kernel list` with more flows under a law than the kernel notes.

mod hosts;

use std::net::{TcpListener, TcpStream};
use std::path::Path;

use fadelab_kernel::sender::FLOWS_NOTED_MAX;
use hosts::{fadelab, possible, said, unique};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;

const MORE: usize = 1000;

#[test]
fn more_flows_than_are_noted_are_counted() {
    // Goal: of more flows than the kernel notes `list` shows each that it does once, and says of how many they are;
    // when all have ended there is none.
    if !possible() {
        return;
    }
    let name = unique("flmany");
    let kernel = |arguments: &[&str]| fadelab(Path::new("."), &[&["kernel"], arguments].concat());
    let loaded = kernel(&["load", "reno", "--as", &name]);
    assert!(loaded.status.success(), "{}", said(&loaded));
    let flows_n = FLOWS_NOTED_MAX as usize + MORE;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("it is told");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("what is allowed may be had");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = listener.local_addr().expect("bound");
    // The other end is closed at once: a process may not have twice as many open as there are flows.
    let connect = || {
        let socket = TcpStream::connect(place).expect("a connection; `ulimit -Hn` says how many a process may have");
        setsockopt(&socket, TcpCongestion, &name.clone().into()).expect("it is loaded");
        drop(listener.accept().expect("a connection"));
        socket
    };
    let sockets: Vec<TcpStream> = (0..flows_n).map(|_| connect()).collect();
    let (text, json) = (said(&kernel(&["list"])), said(&kernel(&["list", "--json"])));
    drop(sockets);
    let after = said(&kernel(&["list", "--json"]));
    let unloaded = kernel(&["unload", &name]);
    let law = |text: &str| -> serde_json::Value {
        let all: serde_json::Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {}", &text[..text.len().min(600)]));
        let laws = all["laws"].as_array().expect("a list").clone();
        let own = laws.into_iter().find(|law| law["loaded"]["name"] == name.as_str());
        own.expect("it is loaded")
    };
    let (during, after) = (law(&json), law(&after));
    let mut ids: Vec<u64> = during["flows"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|flow| flow["id"].as_u64())
        .collect();
    let listed_n = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), &during["flows_n"]), (listed_n, &flows_n.into()));
    // The kernel forgets some dozens at a time.
    assert!(
        (FLOWS_NOTED_MAX as usize - MORE..=FLOWS_NOTED_MAX as usize).contains(&listed_n),
        "{listed_n}"
    );
    let line = format!(" of {flows_n} flows: those heard last that had an ACK, at most {FLOWS_NOTED_MAX}");
    assert!(text.contains(&line), "{}", &text[..text.len().min(1000)]);
    assert_eq!(
        (&after["flows_n"], after["flows"].as_array().map(Vec::len)),
        (&0.into(), Some(0))
    );
    assert!(unloaded.status.success(), "{}", said(&unloaded));
}
