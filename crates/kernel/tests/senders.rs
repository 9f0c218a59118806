//! The laws of senders in this machine's kernel.

use std::path::Path;

use fadelab_kernel::sender::{Sender, Unit};
use fadelab_kernel::Version;

#[test]
fn every_sender_is_taken_by_the_kernel() {
    // Goal: each registered law passes the verifier with all that a host adds to it, recorded or not.
    let version = Version::running().expect("Linux");
    for law in fadelab_laws::senders() {
        for record in [false, true] {
            let unit = Unit { record, name: format!("t{}_{}", std::process::id() % 10000, law.name()), ..Unit::new(law, version) };
            let object = unit.compile().unwrap_or_else(|error| panic!("{}: {error}", law.name()));
            let sender = Sender::load(&object, Path::new("/sys/fs/cgroup/unified"), &[]);
            sender.unwrap_or_else(|error| panic!("{}: {error}", law.name()));
        }
    }
}
