//! `fadelab kernel load --record` and `fadelab replay`, as one after the other, for laws that users bring.

mod common;
mod hosts;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::Scratch;
use fadelab_laws::recorded::RECORDED_VERSION;
use hosts::{Hosts, Running, command, fadelab, is_registered, possible, said, unique, until};

/// A sender whose state is `bytes` long, and which does this with it on each ACK.
fn law(name: &str, bytes: u32, on_ack: &str) -> String {
    format!(
        r#"#include "fixed.h"
#include "law.h"

LAW void {name}_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{{
	{on_ack}
	if (control->ca_state != LAW_CA_RECOVERY && control->cwnd_pkts < 40)
		control->cwnd_pkts++;
}}

LAW void {name}_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                        struct law_control *control)
{{
	control->ssthresh_pkts = (u32)fixed_max(control->cwnd_pkts / 2, 2);
}}

LAW_TABLE struct law_sender {name}_sender = {{
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "{name}",
	.summary = "Up to 40 packets",
	.state_bytes = {bytes},
	LAW_NO_PARAMS,
	.on_ack = {name}_on_ack,
	.on_loss = {name}_on_loss,
}};
"#
    )
}

/// Records a second of a law between two namespaces, and replays it.
fn replayed(place: &Path, law: &str, sets: &[&str]) -> Output {
    let hosts = Hosts::new();
    let name = unique("flq");
    let arguments = [&["kernel", "load", law, "--as", &name, "--record", "calls"], sets].concat();
    let loaded = Running::start(command(place, &arguments));
    until("the law is loaded", || is_registered(&name));
    hosts.transfer(&name);
    let output = loaded.interrupted();
    assert!(output.status.success(), "{law}: {}", said(&output));
    assert!(!is_registered(&name));
    fadelab(place, &["replay", "calls"])
}

/// Demands that every call came to the same.
fn all_same(output: &Output) {
    let text = said(output);
    assert!(output.status.success(), "{:?}: {text}", output.status);
    assert!(text.contains(" 0 differ\n"), "{text}");
    let calls: u64 = text
        .split(": ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{text}"));
    assert!(calls > 300, "a second of 20 Mbit/s has more calls: {text}");
}

#[test]
fn an_own_law_is_recorded_and_replayed() {
    // Goal: the workflow of the README: a law that `new-law` writes is loaded, recorded and replayed without a
    // difference; so is the one of docs/own-law.md with parameters of its own, one without any state, and one whose
    // state is no multiple of 8 bytes.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    assert!(fadelab(place, &["new-law", "fresh"]).status.success());
    all_same(&replayed(place, "./fresh.h", &[]));

    let gentle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gentle.h");
    fs::copy(gentle, place.join("gentle.h")).expect("room");
    let sets = ["--set", "law.gentle.beta=0.7", "--set", "law.gentle.target_us=5 ms"];
    all_same(&replayed(place, "./gentle.h", &sets));

    fs::write(place.join("stateless.h"), law("stateless", 0, "")).expect("room");
    all_same(&replayed(place, "./stateless.h", &[]));

    let count = "((u32 *)state)[2]++;";
    fs::write(place.join("uneven.h"), law("uneven", 12, count)).expect("room");
    all_same(&replayed(place, "./uneven.h", &[]));
}

#[test]
fn laws_look_on_at_the_acks_that_a_kernel_recorded() {
    // Goal: estimators of built-in laws and of an own one see one transfer of another law, and what they make of it is
    // printed beside each other; whoever cannot look on is refused with what there is instead.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    let watch = "#define COUNTS_WATCH(W, state) W(acks, state->acks_n, \"1\", 1, \"ACKs that were seen\")\n";
    let counting = law("counts", 4, "struct counts_state *s = state;\n\n\ts->acks_n++;")
        .replace(
            "LAW void counts_on_ack",
            &format!("struct counts_state {{\n\tu32 acks_n;\n}};\n\n{watch}\nLAW void counts_on_ack"),
        )
        .replace(
            "LAW_NO_PARAMS,",
            "LAW_NO_PARAMS,\n\tLAW_WATCH_LIST(struct counts_state, COUNTS_WATCH),",
        );
    fs::write(place.join("counts.h"), counting).expect("room");
    all_same(&replayed(place, "cubic", &[]));
    let seen = |more: &[&str]| {
        let output = fadelab(place, &[&["replay", "calls"], more].concat());
        (output.status.code(), said(&output))
    };
    // Both ends of both of iperf3's connections have the law; one of them sends.
    let own = [
        "--shadow",
        "westwood,jersey",
        "--law",
        "./counts.h",
        "--shadow",
        "counts",
        "--flow",
    ];
    let texts = ["1", "2", "3", "4"].map(|flow| (flow, seen(&[&own[..], &[flow]].concat())));
    let longest = texts.into_iter().max_by_key(|(_, (_, text))| text.len());
    let (flow, (status, text)) = longest.expect("four were asked for");
    let first = format!("flow {flow}, law cubic: what it and westwood, jersey, counts, which look on, declare");
    assert!(status == Some(0) && text.starts_with(&first), "{text}");
    let last = text.trim_end().lines().last().unwrap();
    // The link has 20 Mbit/s.
    let words: Vec<&str> = last.split_whitespace().collect();
    let rates = words.windows(2).filter(|pair| pair[1] == "B/s");
    let rates: Vec<f64> = rates.filter_map(|pair| pair[0].parse().ok()).collect();
    assert!(
        rates.len() == 2 && rates.iter().all(|rate| (5e5..1e7).contains(rate)),
        "{last}"
    );
    let acks: u64 = words
        .last()
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("{last}"));
    assert!(acks > 300, "{last}");
    for (more, part) in [
        (
            &["--shadow", "cubic"][..],
            "--shadow cubic: it is the law of the recording",
        ),
        (&["--shadow", "vcp"], "--shadow vcp: `vcp` lives by feedback"),
        (&["--shadow", "jersy"], "--shadow jersy: unknown law"),
        (
            &["--shadow", "jersey", "--flow", "99"],
            "--flow 99: the recording has none",
        ),
        (&["--flow", "1"], "--flow 1: it goes with --watch or --shadow"),
    ] {
        let (status, text) = seen(more);
        assert!(status == Some(2) && text.contains(part), "{more:?}, `{part}`: {text}");
    }
}

#[test]
fn what_a_law_does_outside_its_state_is_told_at_replay() {
    // Goal: the verifier lets a law write behind its state, into the words that fill it up and into what the host keeps
    // there; the replay says so, names the call, and ends with status 1.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    for (name, bytes, write) in [
        ("filling", 12, "((u32 *)state)[3] = 7;"),
        ("behind", 8, "((u64 *)state)[1] = 7;"),
        ("stateful", 0, "((u32 *)state)[0] = 7;"),
    ] {
        fs::write(place.join(format!("{name}.h")), law(name, bytes, write)).expect("room");
        let output = replayed(place, &format!("./{name}.h"), &[]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {text}");
        for part in [
            "on_ack of flow ",
            &format!("at fault: it wrote beyond its state, which has {bytes} bytes"),
            &format!("error: law {name} is at fault in "),
        ] {
            assert!(text.contains(part), "{name}, `{part}`: {text}");
        }
    }
}

/// A router's law with memory that does not fill its words, which marks every other packet that it sees queued.
const MARKER: &str = r#"#include "law.h"

struct marker_state {
	u32 seen_n;
	u32 ticks_n;
	u32 marked_n;
};

LAW void marker_init(void *state, const void *params, const struct law_link *link, u64 *due_us)
{
	due_us[0] = link->now_us + 10000;
}

LAW u32 marker_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct marker_state *s = state;

	s->seen_n++;
	if (packet->ecn && queue->queue_pkts && (s->seen_n & 1)) {
		packet->ecn = 3;
		s->marked_n++;
	}
	return LAW_PASS;
}

LAW u64 marker_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct marker_state *s = state;

	s->ticks_n++;
	return queue->now_us + 10000;
}

#define MARKER_WATCH(W, state) W(marked, state->marked_n, "pkt", 1, "packets that were marked")

LAW_TABLE struct law_router marker_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "marker",
	.summary = "Every other packet behind one that waits",
	.state_bytes = sizeof(struct marker_state),
	LAW_NO_PARAMS,
	LAW_WATCH_LIST(struct marker_state, MARKER_WATCH),
	.timers = 1,
	.init = marker_init,
	.on_enqueue = marker_on_enqueue,
	.on_timer = marker_on_timer,
};
"#;

/// Records what a router's law does with a second of CUBIC that asks for ECN.
fn record_router(place: &Path, law: &str) {
    let hosts = Hosts::new();
    let ecn = ["sysctl", "-qw", "net.ipv4.tcp_ecn=1"];
    for host in 0..2 {
        assert!(hosts.command(host, &ecn).status().is_ok_and(|status| status.success()));
    }
    let device = format!("{}:wire", hosts.0[0]);
    let arguments = ["kernel", "router", "--law", law, "--dev", &device, "--rate", "20mbit"];
    let mut router = Running::start(command(place, &[&arguments[..], &["--record", "calls"]].concat()));
    router.shows("load");
    hosts.transfer("cubic");
    let output = router.interrupted();
    assert!(output.status.success(), "{law}: {}", said(&output));
}

#[test]
fn a_router_that_comes_to_something_else_is_told() {
    // Goal: of a router's law that computes differently in a kernel, and of one that writes behind its state there, the
    // replay tells what differs and whose fault it is, and ends with status 1.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    let counts = "s->seen_n++;";
    for (name, what, parts) in [
        (
            "uneven",
            "#ifdef __bpf__\n\ts->seen_n++;\n#endif",
            ["memory of the law, from byte 0 on", "come to something else"],
        ),
        (
            "behind",
            "((u32 *)state)[3] = 7;",
            ["it wrote beyond its state", "law behind or its capacity part"],
        ),
    ] {
        let text = MARKER
            .replace(counts, &format!("{counts}\n{what}"))
            .replace("marker", name);
        fs::write(place.join(format!("{name}.h")), text).expect("room");
        record_router(place, &format!("./{name}.h"));
        let output = fadelab(place, &["replay", "calls"]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {text}");
        for part in parts {
            assert!(text.contains(part), "{name}, `{part}`: {text}");
        }
    }
}

#[test]
fn a_router_is_recorded_and_replayed() {
    // Goal: VCP's router, RED and a law that a user brought, whose file changes meanwhile, are recorded at a device
    // with a transfer and come to the same packets and memories again; what a law declares to be watched is shown, and
    // what a cut file has is made again before it ends with status 1.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    fs::write(place.join("marker.h"), MARKER).expect("room");
    for law in ["vcp", "red", "./marker.h"] {
        record_router(place, law);
        if law == "./marker.h" {
            fs::write(place.join("marker.h"), "of later on").expect("room");
        }
        let output = fadelab(place, &["replay", "calls"]);
        let text = said(&output);
        assert!(
            output.status.success() && text.contains(", 0 differ\n"),
            "{law}: {text}"
        );
        let numbers: Vec<u64> = text
            .split(&[' ', '('][..])
            .filter_map(|word| word.parse().ok())
            .collect();
        let [packets_n, marked_n, _, timers_n, same_n, _] = numbers[..] else {
            panic!("{text}")
        };
        assert!(packets_n > 200, "{law}: {text}");
        assert!(law == "red" || timers_n > 5, "RED has no timers: {law}: {text}");
        assert_eq!(same_n, packets_n + timers_n + 1, "{law}: {text}");
        assert!(law != "./marker.h" || marked_n > 20, "{text}");
    }
    let output = fadelab(place, &["replay", "calls", "--watch"]);
    let text = said(&output);
    assert!(output.status.success() && text.contains("a packet passed"), "{text}");
    assert!(text.contains(" 20 pkt"), "{text}");
    let output = fadelab(place, &["replay", "calls", "--watch", "--flow", "1"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let output = fadelab(place, &["replay", "calls", "--shadow", "jersey"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let bytes = fs::read(place.join("calls")).expect("it is there");
    fs::write(place.join("cut"), &bytes[..bytes.len() / 2]).expect("room");
    let output = fadelab(place, &["replay", "cut"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("the calls before the damage") && text.contains("the file is cut there"),
        "{text}"
    );
}

#[test]
fn what_a_guest_recorded_is_replayed() {
    // Goal: the same workflow in virtual time, on the oldest kernel and a newer one (`make newest`: on Debian's
    // newest), whose verifiers take the programs that record: every call of VCP, of XCP, of their receivers, of the
    // laws that go by arrivals and of one that a user brought, with parameters, is made again without a difference, and
    // so is what their routers did; a law that writes behind its state is told.
    let newest = std::env::var("FADELAB_NEWEST_KERNEL").as_deref() == Ok("1");
    for kernel in ["6.1", "6.12"].into_iter().chain(newest.then_some("newest")) {
        if !common::guest::possible(kernel) {
            continue;
        }
        let place = Scratch::new();
        let gentle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gentle.h");
        fs::copy(gentle, place.0.join("gentle.h")).expect("room");
        place.write("filling.h", law("filling", 12, "((u32 *)state)[3] = 7;"));
        let scenario = "[run]\nduration = \"3 s\"\n[topology.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                        [transport]\npreset = \"linux\"\necn = true\n[flow]\nlaw = \"linux:reno\"\ncount = 2\n";
        place.write("net.toml", scenario);
        for (law, more) in [
            ("gentle", &["--law", "./gentle.h", "--set", "law.gentle.beta=0.7"][..]),
            ("filling", &["--law", "./filling.h"]),
            ("vcp", &[]),
            ("xcp", &[]),
            ("veno", &[]),
            ("westwood", &[]),
            ("westwood_plus", &[]),
            ("jersey", &[]),
            ("new_jersey", &[]),
        ] {
            let choice = format!("flow.law={law}");
            let run = ["testbed", "run", "net.toml", "--kernel", kernel, "--set", &choice];
            let kept = ["--seeds", "1", "--quiet", "--out", law, "--record", "calls"];
            let has_router = ["vcp", "xcp", "jersey", "new_jersey"].contains(&law);
            let router = if has_router {
                &["--record-router", "passages"][..]
            } else {
                &[]
            };
            let output = place.fadelab(&[&run[..], &kept, router, more].concat());
            assert!(output.status.success(), "{law}, {kernel}: {}", said(&output));
            let output = place.fadelab(&["replay", "calls"]);
            if law == "filling" {
                assert_eq!(output.status.code(), Some(1), "{kernel}: {}", said(&output));
                assert!(
                    said(&output).contains("wrote beyond its state"),
                    "{kernel}: {}",
                    said(&output)
                );
            } else {
                all_same(&output);
                if has_router {
                    all_same(&place.fadelab(&["replay", "passages"]));
                }
                let has_ends = said(&output).contains(" of 2 receiving ends; ");
                assert_eq!(
                    has_ends,
                    ["vcp", "xcp"].contains(&law),
                    "{law}, {kernel}: {}",
                    said(&output)
                );
            }
        }
    }
}

#[test]
fn a_damaged_recording_is_told_with_status_1() {
    // Goal: of a recording of a real transfer under a law with a receiver, calls that are removed, doubled, swapped or
    // changed, and a cut, end the replay with status 1 and the place in one line, after what is before was made again;
    // as it was written it ends with status 0. A recording of an older format is refused in one line.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    let whole = replayed(place, "vcp", &["--dev", "lo"]);
    all_same(&whole);
    let bytes = fs::read(place.join("calls")).expect("it is there");
    let demand = |bytes: &[u8], part: &str| {
        fs::write(place.join("damaged"), bytes).expect("room");
        let output = fadelab(place, &["replay", "damaged"]);
        let (status, text) = (output.status.code(), said(&output));
        assert_eq!(status, Some(1), "{text}");
        let line = text.lines().find(|line| line.starts_with("error: damaged: damaged: "));
        assert!(line.is_some_and(|line| line.contains(part)), "`{part}`: {text}");
    };
    let middle = bytes.len() / 2;
    for (at, part) in [
        (3, "the first line, at byte 0: "),
        (middle, "call "),
        (bytes.len() - 1, "call "),
    ] {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        demand(&changed, part);
    }
    demand(&bytes[..middle], "the file is cut there");
    demand(&bytes[..20], "the file is cut there");
    demand(&[&bytes[..middle], &bytes[middle + 8..]].concat(), "call ");
    demand(&[&bytes[..middle + 8], &bytes[middle..]].concat(), "call ");
    let line = bytes.iter().position(|byte| *byte == b'\n').expect("a line");
    let old = String::from_utf8(bytes[..line].to_vec()).expect("JSON");
    let old = old
        .replace(&format!("calls\":{RECORDED_VERSION}"), "calls\":1")
        .replace("receiver_state_bytes", "receiver");
    fs::write(place.join("old"), old + "\n").expect("room");
    let output = fadelab(place, &["replay", "old"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let text = said(&output);
    let refused = format!("a recording of version 1; this fadelab reads version {RECORDED_VERSION}");
    assert!(text.lines().count() == 1 && text.contains(&refused), "{text}");
}
