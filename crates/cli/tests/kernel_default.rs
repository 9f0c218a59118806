//! `fadelab kernel load --default`: a law as the default of a network namespace, and what is left of it.

mod hosts;

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use hosts::{Hosts, Running, is_registered, possible, said, unique, until};

const SYSCTL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Two hosts, in whose first the commands run, with its network and the mounts of this process.
struct Place(Hosts);

impl Place {
    fn new() -> Self {
        Self(Hosts::new())
    }

    fn fadelab(&self, arguments: &[&str]) -> Output {
        let words = [&[env!("CARGO_BIN_EXE_fadelab")], arguments].concat();
        self.0.command(0, &words).output().expect("nsenter")
    }

    /// Demands success.
    fn good(&self, arguments: &[&str]) -> String {
        let output = self.fadelab(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        said(&output)
    }

    fn load(&self, law: &str, name: &str, more: &[&str]) -> Output {
        self.fadelab(&[&["kernel", "load", law, "--as", name, "--dev", "wire"], more].concat())
    }

    fn default(&self, host: usize) -> String {
        let output = self.0.command(host, &["cat", SYSCTL]).output().expect("nsenter");
        said(&output).trim().to_owned()
    }

    fn set(&self, host: usize, name: &str) {
        let words = ["sh", "-c", &format!("echo {name} > {SYSCTL}")];
        assert!(self.0.command(host, &words).status().expect("nsenter").success());
    }

    fn list(&self) -> String {
        self.good(&["kernel", "list"])
    }
}

/// What one law of this name leaves in the system.
fn is_gone(name: &str) -> bool {
    let left = fs::read_dir("/run/fadelab/left").into_iter().flatten().flatten();
    let mut left = left.filter(|file| file.file_name().to_string_lossy().starts_with(&format!("{name}-")));
    !is_registered(name) && !Path::new("/run/fadelab/senders").join(name).exists() && left.next().is_none()
}

#[test]
fn a_default_comes_and_goes_with_its_law() {
    // Goal: `--default` sets the sysctl of the namespace in which it runs, new sockets have the law, `list` tells, and
    // unloading brings back what was there; the other namespace is never touched.
    if !possible() {
        return;
    }
    let place = Place::new();
    let before = [place.default(0), place.default(1)];
    let name = unique("fld");
    let output = place.load("vcp", &name, &["--default"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains(&format!("which had {}", before[0])),
        "{}",
        said(&output)
    );
    assert_eq!([place.default(0), place.default(1)], [name.clone(), before[1].clone()]);
    assert!(
        place.list().contains("the default of this namespace"),
        "{}",
        place.list()
    );
    // Twice is refused, and forgets nothing.
    let again = place.load("vcp", &name, &["--default"]);
    assert_eq!(again.status.code(), Some(1), "{}", said(&again));
    assert!(said(&again).contains("is loaded already"), "{}", said(&again));
    let text = place.good(&["kernel", "unload", &name]);
    assert!(
        text.contains(&format!("tcp_congestion_control is {} again", before[0])),
        "{text}"
    );
    assert_eq!([place.default(0), place.default(1)], before);
    assert!(is_gone(&name), "{}", place.list());
    // As is to unload it twice.
    let again = place.fadelab(&["kernel", "unload", &name]);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(said(&again).contains("is not loaded"), "{}", said(&again));
    assert_eq!(place.default(0), before[0]);
}

#[test]
fn a_default_may_be_that_of_another_namespace() {
    // Goal: with a name of `ip netns` the sysctl of that namespace is set and restored; a name that there is not is
    // refused in one line, and one whose namespace has gone needs nothing.
    if !possible() {
        return;
    }
    let place = Place::new();
    let before = [place.default(0), place.default(1)];
    let name = unique("fld");
    let there = format!("--default={}", place.0.0[1]);
    assert!(place.load("reno", &name, &[&there]).status.success());
    assert_eq!([place.default(0), place.default(1)], [before[0].clone(), name.clone()]);
    assert!(
        place
            .list()
            .contains(&format!("the default of namespace {}", place.0.0[1])),
        "{}",
        place.list()
    );
    place.good(&["kernel", "unload", &name]);
    assert_eq!([place.default(0), place.default(1)], before);
    let refused = place.load("reno", &name, &["--default=nosuch"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("--default nosuch: "), "{}", said(&refused));
    assert!(is_gone(&name));
    assert!(place.load("reno", &name, &[&there]).status.success());
    drop(place);
    let hosts = Place::new();
    hosts.good(&["kernel", "unload", &name]);
    until("the law goes with its namespace", || {
        hosts.list();
        is_gone(&name)
    });
}

#[test]
fn two_defaults_are_undone_in_either_order() {
    // Goal: of two laws that became the default one after the other the one that goes first is forgotten by the other,
    // so that the end is what was there before both.
    if !possible() {
        return;
    }
    let place = Place::new();
    let before = place.default(0);
    for last_first in [true, false] {
        let names = [unique("fld"), unique("fld")];
        for name in &names {
            assert!(place.load("reno", name, &["--default"]).status.success());
        }
        assert_eq!(place.default(0), names[1]);
        if last_first {
            place.good(&["kernel", "unload", &names[1]]);
            assert_eq!(place.default(0), names[0]);
            place.good(&["kernel", "unload", &names[0]]);
        } else {
            let text = place.good(&["kernel", "unload", &names[0]]);
            assert!(
                text.contains(&format!("is {}, which somebody set since", names[1])),
                "{text}"
            );
            assert_eq!(place.default(0), names[1]);
            place.good(&["kernel", "unload", &names[1]]);
        }
        assert_eq!(place.default(0), before, "last first: {last_first}");
        assert!(names.iter().all(|name| is_gone(name)));
    }
}

#[test]
fn what_somebody_set_since_stays() {
    // Goal: a default that was changed after the load is left alone and told.
    if !possible() {
        return;
    }
    let place = Place::new();
    let other = if place.default(0) == "reno" { "cubic" } else { "reno" };
    let name = unique("fld");
    assert!(place.load("reno", &name, &["--default"]).status.success());
    place.set(0, other);
    let text = place.good(&["kernel", "unload", &name]);
    assert!(
        text.contains(&format!("is {other}, which somebody set since, and stays so")),
        "{text}"
    );
    assert_eq!(place.default(0), other);
    assert!(is_gone(&name));
}

#[test]
fn what_cannot_be_taken_away_is_listed_until_it_goes() {
    // Goal: sockets that use a law keep it when it is unloaded, as a default that was set by hand does: `unload` and
    // `list` say who does, as text and as JSON, and it is forgotten when they are gone. A route that names it holds
    // nothing.
    if !possible() {
        return;
    }
    let place = Place::new();
    let name = unique("fld");
    assert!(place.load("reno", &name, &[]).status.success());
    let route = format!("ip route change 10.78.0.0/24 dev wire congctl {name}");
    let routed = place
        .0
        .command(0, &route.split(' ').collect::<Vec<_>>())
        .output()
        .expect("nsenter");
    assert!(routed.status.success(), "{}", said(&routed));
    place.set(1, &name);
    // It listens under the default of its host, and so does whoever connects.
    let listens = Running::start(place.0.command(1, &["iperf3", "-s"]));
    let sockets = || {
        let words = ["ss", "-HtnaiO"];
        let text = said(&place.0.command(1, &words).output().expect("nsenter"));
        text.lines().filter(|line| line.contains(&name)).count()
    };
    until("it listens", || sockets() > 0);
    let text = place.good(&["kernel", "unload", &name]);
    let space = &place.0.0[1];
    assert!(
        text.contains(&format!("1 socket, the default of namespace {space}")),
        "{text}"
    );
    assert!(!is_registered(&name));
    let listed = place.list();
    let line = format!("{name}  law reno, unloaded; lives on, without feedback, for 1 socket, the default of");
    assert!(listed.contains(&line), "{listed}");
    let json = place.good(&["kernel", "list", "--json"]);
    assert!(
        json.contains(&format!("\"name\": \"{name}\"")) && json.contains("\"sockets_n\": 1"),
        "{json}"
    );
    let again = place.fadelab(&["kernel", "unload", &name]);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(
        said(&again).contains("it was unloaded and goes when nobody uses it"),
        "{}",
        said(&again)
    );
    place.set(1, "reno");
    let listed = place.list();
    assert!(listed.contains("for 1 socket, and goes"), "{listed}");
    drop(listens);
    until("the law goes", || !place.list().contains(&name));
    assert!(is_gone(&name));
}

#[test]
fn a_law_that_is_loaded_again_takes_its_sockets_defaults_over() {
    // Goal: where the name of an unloaded law is a default still, loading it again gives new sockets the new one, and
    // the old one goes: there are never two, and unloading the new one, as the default, ends at a law of the kernel's.
    if !possible() {
        return;
    }
    let place = Place::new();
    for more in [&[][..], &["--default"]] {
        let name = unique("fld");
        assert!(place.load("reno", &name, &[]).status.success());
        place.set(0, &name);
        let text = place.good(&["kernel", "unload", &name]);
        assert!(text.contains("the default of this namespace"), "{text}");
        assert!(place.load("reno", &name, more).status.success());
        until("the old one goes", || {
            let listed = place.list();
            !listed.contains(&format!("{name}  law reno, unloaded;"))
        });
        if more.is_empty() {
            place.set(0, "reno");
        }
        place.good(&["kernel", "unload", &name]);
        assert!(
            ["cubic", "reno"].contains(&place.default(0).as_str()),
            "{}",
            place.default(0)
        );
        until("the new one goes", || !place.list().contains(&name));
        assert!(is_gone(&name));
    }
}

#[test]
fn a_killed_loader_leaves_a_default_whole_or_not_at_all() {
    // Goal: whenever the command is killed, either the law is loaded, and unloading it brings back the default, or the
    // next command does.
    if !possible() {
        return;
    }
    let place = Place::new();
    let before = place.default(0);
    let next = unique("fld");
    for round in 0..12u64 {
        let name = unique("fld");
        let words = [
            env!("CARGO_BIN_EXE_fadelab"),
            "kernel",
            "load",
            "reno",
            "--as",
            &name,
            "--default",
        ];
        let killed = Running::start(place.0.command(0, &words));
        std::thread::sleep(Duration::from_millis(60 + 40 * round));
        drop(killed);
        assert!(place.load("reno", &next, &[]).status.success());
        place.good(&["kernel", "unload", &next]);
        let whole = place.fadelab(&["kernel", "unload", &name]).status.success();
        assert_eq!(place.default(0), before, "round {round}, loaded whole: {whole}");
        until("nothing is left", || {
            place.list();
            is_gone(&name)
        });
    }
}
