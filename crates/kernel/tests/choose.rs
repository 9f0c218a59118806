//! Who may choose a loaded law for a socket.
#![allow(unsafe_code)]

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

use common::transfer::load;
use common::{Pair, possible, unique};
use fadelab_kernel::Version;
use fadelab_kernel::cgroup::Group;
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

/// How a process of another user ends that gives a socket this congestion control: 0 where it may. It is in the group,
/// if one is named.
fn chooses(group: Option<&Path>, name: &str) -> Option<i32> {
    let enter = group.map_or_else(String::new, |group| {
        format!("echo $$ > {}/cgroup.procs;", group.display())
    });
    let chooser = format!(
        "exec setpriv --reuid {NOBODY} --clear-groups perl -MSocket -e \
         'socket(my $s, PF_INET, SOCK_STREAM, 0); exit(setsockopt($s, 6, 13, \"{name}\") ? 0 : int($!))'"
    );
    let status = Command::new("sh").args(["-c", &(enter + &chooser)]).status();
    status.expect("a shell").code()
}

#[test]
fn a_law_is_chosen_in_the_groups_that_may() {
    // Goal: whoever is in a group that is named, or in one below it, may choose the law, whatever the user; others of
    // that user may not, nor does a group that was made anew under the name.
    if !possible(&["ip", "clang", "setpriv", "perl"]) {
        return;
    }
    let pair = Pair::new();
    let (named, below) = (pair.cgroup.join("named"), pair.cgroup.join("named/below"));
    fs::create_dir_all(&below).expect("root makes groups");
    let unit = Unit {
        name: longest(),
        allowed_users: Some(vec![0]),
        allowed_groups: vec![Group::at(&named).expect("a group")],
        ..Unit::new(
            fadelab_laws::sender("cubic").expect("registered"),
            Version::running().expect("Linux"),
        )
    };
    let loaded = load(&unit, &pair);
    assert_eq!(chooses(Some(&named), &unit.name), Some(0));
    assert_eq!(chooses(Some(&below), &unit.name), Some(0));
    for elsewhere in [None, Some(pair.cgroup.as_path())] {
        assert_eq!(chooses(elsewhere, &unit.name), Some(libc::EPERM), "{elsewhere:?}");
    }
    for folder in [&below, &named] {
        fs::remove_dir(folder).expect("nobody is in it");
    }
    fs::create_dir(&named).expect("root makes groups");
    assert_eq!(chooses(Some(&named), &unit.name), Some(libc::EPERM));
    drop(loaded);
    fs::remove_dir(&named).expect("nobody is in it");
    assert!(Group::at(Path::new("/tmp")).is_err());
}
