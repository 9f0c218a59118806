//! `fadelab kernel router` on this machine: what it changes, what it refuses, and what is left however it ends.

#[path = "../../kernel/tests/common/iproute.rs"]
mod iproute;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use fadelab_kernel::Version;

fn fadelab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
    command.args(["kernel", "router"]).args(arguments);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// Whether this machine can run a router; says why not, and fails where it must.
fn possible() -> bool {
    let check = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["kernel", "check"])
        .output();
    let check = check.expect("the binary runs");
    if check.status.success() {
        return true;
    }
    let required = std::env::var("FADELAB_REQUIRE_BPF").as_deref() == Ok("1");
    assert!(!required, "BPF is required here, but\n{}", said(&check));
    eprintln!("skipped: no law can be loaded here\n{}", said(&check));
    false
}

fn run(command: &str) -> String {
    let words = iproute::words(command);
    let output = Command::new(&words[0]).args(&words[1..]).output().expect("iproute2");
    assert!(output.status.success(), "{command}: {}", said(&output));
    said(&output)
}

/// Every start of a router, and `clean`, removes what any killed router left: a test that looks at it runs alone.
static LEFTOVERS: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    LEFTOVERS.read().unwrap_or_else(PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    LEFTOVERS.write().unwrap_or_else(PoisonError::into_inner)
}

/// A namespace with a device to route through, `out`, and another, `side`.
struct Space(String);

impl Space {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("flk{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        run(&format!("ip netns add {name}"));
        for device in ["out", "side"] {
            run(&format!(
                "ip -n {name} link add {device} type veth peer name {device}-far"
            ));
            run(&format!("ip -n {name} link set {device} up"));
            run(&format!("ip -n {name} link set {device}-far up"));
        }
        Self(name)
    }

    fn dev(&self, name: &str) -> String {
        format!("{}:{name}", self.0)
    }

    /// The disciplines of its devices, which is all that outlives a process there.
    fn disciplines(&self) -> String {
        run(&format!("tc -n {} qdisc show", self.0))
    }

    /// Notes of routers at its devices, also those that a process was killed while writing.
    fn notes(&self) -> Vec<String> {
        self.notes_in(|_| true)
    }

    /// Notes that have their name: a killed process may leave one that it had not finished, which tells nothing.
    fn finished_notes(&self) -> Vec<String> {
        self.notes_in(|file| file.extension().is_some_and(|extension| extension == "json"))
    }

    fn notes_in(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<String> {
        let files = fs::read_dir("/run/fadelab").into_iter().flatten().flatten();
        let files = files.map(|file| file.path()).filter(|file| is_asked(file));
        let texts = files.filter_map(|file| fs::read_to_string(file).ok());
        texts.filter(|text| text.contains(&self.0)).collect()
    }

    fn start(&self, device: &str, more: &[&str]) -> Running {
        let dev = self.dev(device);
        let arguments = [&["--dev", &dev, "--law", "vcp", "--rate", "10mbit"], more].concat();
        let mut command = fadelab(&arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running(child.expect("the binary runs"))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

/// A router in the foreground, killed with its test.
struct Running(Child);

impl Running {
    /// Waits until it shows something: then all is in place.
    fn is_up(&mut self) {
        let mut line = String::new();
        let stdout = self.0.stdout.take().expect("piped");
        let mut lines = BufReader::new(stdout);
        lines.read_line(&mut line).expect("text");
        assert!(line.contains("load"), "{line}{}", self.complaint());
        // Whoever writes to a closed pipe is stopped by it.
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
    }

    fn signal(&self, signal: &str) {
        // The child has not been waited for, so that its number is its own.
        let status = Command::new("sh")
            .args(["-c", &format!("kill -{signal} {}", self.0.id())])
            .status();
        assert!(status.expect("a shell").success());
    }

    fn complaint(&mut self) -> String {
        let mut text = String::new();
        self.0
            .stderr
            .take()
            .expect("piped")
            .read_to_string(&mut text)
            .expect("text");
        text
    }

    fn end(mut self) -> (Option<i32>, String) {
        let code = self.0.wait().expect("a child").code();
        let text = self.complaint();
        (code, text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `fadelab kernel list` prints.
fn listed() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["kernel", "list"])
        .output();
    said(&output.expect("the binary runs"))
}

#[test]
fn a_router_is_undone_when_it_is_interrupted_or_terminated() {
    // Goal: while it runs the device is shaped and noted; Ctrl-C, SIGTERM and SIGHUP end it with 0 and leave nothing.
    if !possible() {
        return;
    }
    let _turn = beside_others();
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
fn what_a_killed_router_leaves_the_next_start_removes() {
    // Goal: whenever a router is killed, the next one starts, says what it removed, and leaves nothing when it ends.
    if !possible() {
        return;
    }
    let _turn = alone();
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
    let _turn = alone();
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

#[test]
fn a_device_has_one_router_and_two_devices_have_two() {
    // Goal: the second at a device is refused with the process that has it; one at another device of the namespace is
    // let in, and the first takes it for inside from then on.
    if !possible() {
        return;
    }
    let _turn = beside_others();
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
fn an_operators_discipline_is_kept() {
    // Goal: a device that its operator shapes keeps that, during and after.
    if !possible() {
        return;
    }
    let _turn = beside_others();
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
    let _turn = beside_others();
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
    let _turn = beside_others();
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
    let _turn = beside_others();
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
