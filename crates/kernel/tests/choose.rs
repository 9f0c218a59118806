//! Who may choose a loaded law for a socket.
#![allow(unsafe_code)]

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use common::transfer::load;
use common::{Pair, possible, unique};
use fadelab_kernel::Version;
use fadelab_kernel::sender::{NAME_BYTES_MAX, Unit};

const NOBODY: u32 = 65534;

/// What the system says when a user gives a socket's option this value: nothing, or the number of an error. A thread
/// becomes that user and ends.
fn choose(user: u32, value: Vec<u8>) -> Option<i32> {
    let chooser = std::thread::spawn(move || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
        // SAFETY: the system call takes numbers only, and unlike the function of that name it is for this thread alone.
        assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) }, 0);
        // SAFETY: the value is as long as said.
        let said = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                value.as_ptr().cast(),
                value.len() as libc::socklen_t,
            )
        };
        (said != 0).then(|| io::Error::last_os_error().raw_os_error().unwrap_or_default())
    });
    chooser.join().expect("the thread ends")
}

/// A name that no other test has, as long as it may be.
fn longest() -> String {
    let name = unique("c");
    format!("{name:_<NAME_BYTES_MAX$}")[..NAME_BYTES_MAX].to_owned()
}

#[test]
fn a_law_is_chosen_by_those_who_may() {
    // Goal: everybody may where nobody is named; else root and the users that are named, whatever follows the name in
    // the value, and others get EPERM. A name that the kernel cuts to the law's is refused alike, one that only begins
    // as it does is none, and other congestion controls stay everybody's.
    if !possible(&["ip", "clang"]) {
        return;
    }
    let pair = Pair::new();
    let law = fadelab_laws::sender("cubic").expect("registered");
    for (users, may, may_not) in [
        (None, vec![0, 1234, NOBODY], vec![]),
        (Some(vec![0]), vec![0], vec![1234, NOBODY]),
        (Some(vec![0, 1234]), vec![0, 1234], vec![NOBODY]),
    ] {
        let unit = Unit {
            name: longest(),
            allowed_users: users.clone(),
            ..Unit::new(law, Version::running().expect("Linux"))
        };
        let _loaded = load(&unit, &pair);
        let name = unit.name.as_bytes();
        let mut padded = name.to_vec();
        padded.resize(5000, 0);
        let values = [
            name.to_vec(),
            [name, b"\0"].concat(),
            [name, b"and more"].concat(),
            padded,
        ];
        for value in values {
            for user in &may {
                assert_eq!(choose(*user, value.clone()), None, "{users:?} {user} {}", value.len());
            }
            for user in &may_not {
                let said = choose(*user, value.clone());
                assert_eq!(said, Some(libc::EPERM), "{users:?} {user} {}", value.len());
            }
        }
        assert_eq!(choose(NOBODY, name[..name.len() - 1].to_vec()), Some(libc::ENOENT));
        assert_eq!(choose(NOBODY, b"reno".to_vec()), None);
    }
}
