//! What is left of `fadelab kernel router` when it is killed, and who removes it.

mod router;

use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fadelab_kernel::Version;
use router::{Space, listed, possible, run, said};

/// Every start of a router, and `clean`, removes what any killed router left: tests that look at it take turns.
static LEFTOVERS: Mutex<()> = Mutex::new(());

#[test]
fn what_a_killed_router_leaves_the_next_start_removes() {
    // Goal: whenever a router is killed, the next one starts, says what it removed, and leaves nothing when it ends.
    if !possible() {
        return;
    }
    let _turn = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let space = Space::new();
    let before = space.disciplines();
    let mut left = 0;
    for round in 0..6u64 {
        let mut router = space.start("out", &[]);
        if round < 2 {
            router.is_up();
        } else {
            // Somewhere between the beginning and the end of its start; where does not matter to what is asserted.
            std::thread::sleep(Duration::from_millis(round * 137 % 800));
        }
        router.signal("KILL");
        assert_eq!(router.end().0, None);
        let of_dead = space.finished_notes().len();
        assert_eq!(
            listed()
                .matches(&format!("in /run/netns/{}\n  left by", space.0))
                .count(),
            of_dead
        );
        left += usize::from(space.disciplines() != before);
        let mut next = space.start("out", &[]);
        next.is_up();
        assert_eq!(space.notes().len(), 1);
        next.signal("INT");
        let (code, text) = next.end();
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(space.disciplines(), before);
        assert_eq!(space.notes(), [""; 0]);
    }
    assert!(
        left >= 2,
        "a killed router leaves its discipline: there was something to remove"
    );
}

/// What `fadelab kernel clean` prints.
fn cleaned() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["kernel", "clean"])
        .output();
    let output = output.expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    said(&output)
}

/// Whether edges are links, which a file keeps, and not filters, which the next start of a router removes.
fn edges_stay() -> bool {
    let stay = Version::running().is_some_and(|version| version >= Version::LINKS);
    if !stay {
        eprintln!("skipped: programs at devices are filters before Linux 6.6");
    }
    stay
}

#[test]
fn what_killed_routers_leave_is_listed_and_cleaned() {
    // Goal: `list` shows the edges that a killed router left closed, with its devices; `clean` removes them, what else
    // it left, a filter of ours and a mount that no note speaks of, each in a line, and with nothing left it says so;
    // a router that lives keeps what it has.
    if !possible() || !edges_stay() {
        return;
    }
    let _turn = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let (space, other) = (Space::new(), Space::new());
    let before = space.disciplines();
    let mut router = space.start("out", &[]);
    router.is_up();
    let mut living = other.start("out", &[]);
    living.is_up();
    router.signal("KILL");
    let pid = router.0.id();
    assert_eq!(router.end().0, None);
    let edges = format!(
        "the edges of router law vcp at out in namespace {}, left closed by the killed process {pid}: ",
        space.0
    );
    // Where the kernel knows tunnels, each namespace has some more devices.
    let has_all = |text: &str| {
        let devices = text.split_once(&edges).and_then(|(_, rest)| rest.lines().next());
        let devices: Vec<&str> = devices.iter().flat_map(|line| line.split(", ")).collect();
        ["out-far", "side", "side-far"]
            .iter()
            .all(|name| devices.contains(name))
            && !devices.contains(&"out")
    };
    assert!(has_all(&listed()), "{edges}\n{}", listed());
    run(&format!(
        "tc -n {} qdisc add dev side root handle fade: tbf rate 5mbit burst 5kb limit 50kb",
        space.0
    ));
    // As of a process that was killed before it wrote which law it loads.
    let stray = format!("/run/fadelab/senders/{}", space.0);
    fs::create_dir_all(format!("{stray}/bpf")).expect("root may");
    run(&format!("mount -t bpf bpf {stray}/bpf"));
    // Other tests' routers may have removed what does not keep the domain closed.
    let text = cleaned();
    assert!(
        text.contains(&format!("removed {edges}")) && has_all(&text),
        "{edges}\n{text}"
    );
    assert!(
        text.contains(&format!(
            "removed a token bucket filter at side in namespace {}",
            space.0
        )),
        "{text}"
    );
    assert!(
        text.contains(&format!("removed {stray}, which")) && !fs::exists(&stray).expect("root may"),
        "{text}"
    );
    assert!(!text.contains(&other.0), "{text}");
    assert!(!listed().contains(&space.0), "{}", listed());
    assert_eq!((space.disciplines(), space.notes()), (before, vec![]));
    assert!(other.disciplines().contains("tbf fade:"));
    living.signal("INT");
    assert_eq!(living.end().0, Some(0));
    // Tests beside this one may have left something by now.
    let mut tries = 0..100;
    while cleaned() != "nothing is left that no process or loaded law stands behind\n" {
        assert!(tries.next().is_some(), "{}", cleaned());
        std::thread::sleep(Duration::from_millis(100));
    }
}
