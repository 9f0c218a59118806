//! `fadelab kernel router` on this machine: what it changes, what it refuses, and what is left when it ends.

mod router;

use std::time::{Duration, Instant};

use router::{Space, fadelab, listed, possible, run, said};

#[test]
fn a_router_is_undone_when_it_is_interrupted_or_terminated() {
    // Goal: while it runs the device is shaped and noted; Ctrl-C, SIGTERM and SIGHUP end it with 0 and leave nothing.
    if !possible() {
        return;
    }
    let space = Space::new();
    let before = space.disciplines();
    for signal in ["INT", "TERM", "HUP"] {
        let mut router = space.start("out", &[]);
        router.is_up();
        let during = space.disciplines();
        assert!(
            during.contains("qdisc tbf fade: dev out root refcnt 3 rate 10Mbit"),
            "{during}"
        );
        assert_eq!(space.notes().len(), 1);
        router.signal(signal);
        let (code, text) = router.end();
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(space.disciplines(), before);
        assert_eq!(space.notes(), [""; 0]);
        // Stopped before it has begun, or just after: no load on this machine decides whether the test passes.
        let router = space.start("out", &[]);
        std::thread::sleep(Duration::from_millis(100));
        router.signal(signal);
        let (code, text) = router.end();
        // None: before it could even hear the signal.
        let is_early = code.is_none() || code == Some(130) && text.contains("had not begun");
        assert!(is_early || code == Some(0), "{code:?} {text}");
        assert_eq!(space.disciplines(), before);
        assert_eq!(space.notes(), [""; 0]);
    }
}

#[test]
fn a_device_has_one_router_and_two_devices_have_two() {
    // Goal: the second at a device is refused with the process that has it; one at another device of the namespace is
    // let in, and the first takes it for inside from then on.
    if !possible() {
        return;
    }
    let space = Space::new();
    let mut first = space.start("out", &[]);
    first.is_up();
    let second = fadelab(&["--dev", &space.dev("out"), "--law", "xcp", "--rate", "1 Mbit/s"]).output();
    let second = second.expect("the binary runs");
    let text = said(&second);
    assert_eq!(second.status.code(), Some(2), "{text}");
    assert!(
        text.contains(&format!("has a router already: law vcp, process {}", first.0.id())),
        "{text}"
    );
    let mut other = space.start("side", &[]);
    other.is_up();
    assert_eq!(space.notes().len(), 2);
    for (router, device) in [(&first, "out"), (&other, "side")] {
        let line = format!(
            "router law vcp at {device} in /run/netns/{}\n  process {};",
            space.0,
            router.0.id()
        );
        assert!(listed().contains(&line), "{line}\n{}", listed());
    }
    for router in [other, first] {
        router.signal("INT");
        assert_eq!(router.end().0, Some(0));
    }
    assert_eq!(space.notes(), [""; 0]);
}

#[test]
fn a_rate_changes_when_it_is_to() {
    // Goal: at its instants the bucket lets through what was asked for, and it is the same bucket, with what waits in
    // it; instants that do not ascend are refused before anything is changed.
    if !possible() {
        return;
    }
    let space = Space::new();
    let before = space.disciplines();
    let mut router = space.start("out", &["--rate-changes", "1 s: 4 Mbit/s, 1500 ms: 20 Mbit/s"]);
    router.is_up();
    for rate in ["10Mbit", "4Mbit", "20Mbit"] {
        let shaped = format!("qdisc tbf fade: dev out root refcnt 3 rate {rate}");
        let since = Instant::now();
        while !space.disciplines().contains(&shaped) {
            assert!(
                since.elapsed() < Duration::from_secs(60),
                "{rate}: {}",
                space.disciplines()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    router.signal("INT");
    let (code, text) = router.end();
    assert_eq!((code, space.disciplines()), (Some(0), before.clone()), "{text}");
    let early = space.start("out", &["--rate-changes", "2 s: 4 Mbit/s, 1 s: 5 Mbit/s"]);
    let (code, text) = early.end();
    assert_eq!((code, space.disciplines()), (Some(2), before), "{text}");
    assert!(text.contains("comes too early"), "{text}");
}

#[test]
fn an_operators_discipline_is_kept() {
    // Goal: a device that its operator shapes keeps that, during and after.
    if !possible() {
        return;
    }
    let space = Space::new();
    run(&format!(
        "tc -n {} qdisc add dev out root handle 7: tbf rate 5mbit burst 5kb limit 50kb",
        space.0
    ));
    let before = space.disciplines();
    let mut router = space.start("out", &[]);
    router.is_up();
    assert_eq!(space.disciplines(), before);
    router.signal("INT");
    let (code, text) = router.end();
    assert_eq!(code, Some(0));
    assert!(text.contains("keeps its own queueing discipline, tbf 7:"), "{text}");
    assert_eq!(space.disciplines(), before);
}

#[test]
fn a_router_ends_when_its_device_or_namespace_goes() {
    // Goal: it says which, ends with 1 and leaves nothing.
    if !possible() {
        return;
    }
    for (gone, expected) in [
        ("ip -n NAME link del out", "it is gone"),
        ("ip netns del NAME", "its namespace is gone"),
    ] {
        let space = Space::new();
        let mut router = space.start("out", &[]);
        router.is_up();
        run(&gone.replace("NAME", &space.0));
        let (code, text) = router.end();
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.matches("error:").count(), 1, "{text}");
        assert_eq!(space.notes(), [""; 0]);
    }
}

#[test]
fn a_router_ends_when_its_discipline_goes() {
    // Goal: a law that steers a rate and a queue which are not there any more says so and ends, whether its own
    // discipline is taken away or an operator's is replaced; other devices' disciplines do not concern it.
    if !possible() {
        return;
    }
    let space = Space::new();
    let tc = |command: &str| run(&format!("tc -n {} qdisc {command}", space.0));
    for (prepare, others, change, said) in [
        (
            "",
            "add dev side root pfifo limit 9",
            "del dev out root",
            "tbf fade: was taken away",
        ),
        (
            "add dev out root handle 5: pfifo limit 10",
            "del dev side root",
            "replace dev out root handle 6: pfifo limit 20",
            "pfifo 5: ",
        ),
    ] {
        if !prepare.is_empty() {
            tc(prepare);
        }
        let mut router = space.start("out", &[]);
        router.is_up();
        tc(others);
        tc(change);
        let (code, complaint) = router.end();
        assert_eq!(code, Some(1), "{complaint}");
        assert!(
            complaint.contains(said) && complaint.contains("start the router again"),
            "{complaint}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_message() {
    // Goal: each refusal names what was given and what is allowed or what to do, and leaves nothing behind.
    let cases: [(&[&str], &str); 9] = [
        (&["--dev", "lo", "--law", "vcp"], "--rate 10mbit"),
        (
            &["--dev", "lo", "--law", "nope", "--rate", "1mbit"],
            "known are droptail, red",
        ),
        (
            &["--dev", "lo", "--law", "codel", "--rate", "1mbit"],
            "drops packets when they leave the queue",
        ),
        (&["--dev", "lo", "--law", "vcp", "--rate", "10"], "the unit is missing"),
        (&["--dev", "lo", "--law", "vcp", "--rate", "7bit"], "at least 8 bit/s"),
        (
            &["--dev", "lo", "--law", "vcp", "--rate", "1mbit", "--limit", "3 B"],
            "1514 B",
        ),
        (
            &[
                "--dev",
                "lo",
                "--law",
                "vcp",
                "--rate",
                "1mbit",
                "--set",
                "router.vcp.gama=1",
            ],
            "did you mean `gamma`?",
        ),
        (
            &["--dev", "nosuchdev", "--law", "vcp", "--rate", "1mbit"],
            "device nosuchdev",
        ),
        (&["--dev", "nosuchns:x", "--law", "vcp", "--rate", "1mbit"], "device x"),
    ];
    let begun = Instant::now();
    for (arguments, expected) in cases {
        let output = fadelab(arguments).output().expect("the binary runs");
        let text = said(&output);
        // The last two come as far as the compiler, which not every machine has.
        let code = output.status.code();
        assert!(
            code == Some(2) || text.contains("no clang for BPF"),
            "{arguments:?}: {code:?} {text}"
        );
        assert!(
            text.contains(expected) || text.contains("no clang for BPF"),
            "{arguments:?}: {text}"
        );
        assert!(text.lines().count() <= 4, "{arguments:?}: {text}");
    }
    eprintln!("nine refusals in {:?}", begun.elapsed());
}
