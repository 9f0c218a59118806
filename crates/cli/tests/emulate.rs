//! A command behind a link in real time: what it sees, what it leaves behind.

mod hosts;
#[path = "../../path/tests/common/mm_link.rs"]
mod mm_link;
#[path = "../../kernel/tests/common/tap.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod tap;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fadelab_kernel::device::Device;
use hosts::parent::Parent;
use hosts::{fadelab, run, said, unique, until};

/// Whether shells can be made here; says why not, and fails where they must.
fn possible() -> bool {
    let words = [
        "--net",
        env!("CARGO_BIN_EXE_fadelab"),
        "emulate",
        "--rate",
        "10 Mbit/s",
        "--quiet",
        "--",
        "true",
    ];
    let output = Command::new("unshare")
        .args(words)
        .output()
        .expect("it is a part of every system");
    if output.status.success() {
        return true;
    }
    let text = said(&output);
    assert!(
        std::env::var("FADELAB_REQUIRE_BPF").as_deref() != Ok("1"),
        "root and TUN devices are required here, but\n{text}"
    );
    eprintln!("skipped: no link can be emulated here\n{text}");
    false
}

/// Who sleeps for so long: the folder in /proc.
fn sleeper(word: &str) -> Option<PathBuf> {
    let entries = fs::read_dir("/proc").expect("it is mounted").flatten();
    let line = format!("sleep\0{word}\0");
    let mut folders = entries.map(|entry| entry.path());
    folders.find(|folder| fs::read(folder.join("cmdline")).is_ok_and(|found| found == line.as_bytes()))
}

/// Whether somebody does.
fn sleeps(word: &str) -> bool {
    sleeper(word).is_some()
}

/// The process that started another one, whose folder below `/proc` is given.
fn parent(process: &Path) -> Option<PathBuf> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let pid = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Some(Path::new("/proc").join(pid.trim()))
}

/// The emulator that started the shell that started it.
fn emulator_of_sleep(word: &str) -> Option<u32> {
    let emulator = parent(&parent(&sleeper(word)?)?)?;
    emulator.file_name()?.to_str()?.parse().ok()
}

#[test]
fn a_command_is_behind_the_link_and_tells_how_it_ended() {
    // Goal: a transfer of 200 kB over 10 Mbit/s and 2 x 30 ms crosses it both ways, as the recording shows, which comes
    // to the same; the status is the command's, of a signal too; nothing is left but what was there.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let before = parent.state();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("link").display().to_string();
    let mut server = parent.command(&["iperf3", "-s", "-1"]).spawn().expect("iperf3");
    until("the server listens", || parent.told("ss -ltnH").contains(":5201"));
    let transfer = "iperf3 -c $FADELAB_OUTSIDE -n 200K && ip -o link show && exit 7";
    let done = parent.emulate(&["--delay", "30 ms", "--record", &file, "--", "sh", "-c", transfer]);
    let text = said(&done);
    assert_eq!(done.status.code(), Some(7), "{text}");
    assert!(
        !text.contains("wire"),
        "the devices of its parent are not the command's: {text}"
    );
    assert!(server.wait().expect("it ends").success());
    let replay = fadelab(Path::new("."), &["replay", &file]);
    let text = said(&replay);
    assert!(replay.status.success() && text.contains("otherwise: 0"), "{text}");
    let arrived = text
        .split(" packets came")
        .next()
        .and_then(|words| words.rsplit(' ').next());
    assert!(arrived.and_then(|number| number.parse().ok()) > Some(150), "{text}");
    let killed = parent.emulate(&["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.status.code(), Some(137), "{}", said(&killed));
    assert_eq!(parent.emulate(&["--", "no_such_command"]).status.code(), Some(127));
    assert_eq!(parent.emulate(&["--", "/proc/self/maps"]).status.code(), Some(126));
    assert_eq!(parent.state(), before);
}

/// The lines of what leaves and of what is dropped, as `mm-link` writes them.
fn lines_of_mm_link(trace_ms: &[u64], limit: usize, arrivals: &[(u64, u32)], end_ms: u64) -> Vec<String> {
    let (taken, left) = mm_link::emulate(trace_ms, limit, arrivals, end_ms);
    let dropped = arrivals.iter().zip(taken).filter(|(_, is_taken)| !is_taken);
    let dropped = dropped.map(|((at_ms, bytes), _)| format!("{at_ms} d 1 {bytes}"));
    let left = left.into_iter().map(|(at_ms, id)| {
        let (came_ms, bytes) = arrivals[id as usize];
        format!("{at_ms} - {bytes} {}", at_ms - came_ms)
    });
    dropped.chain(left).collect()
}

/// Demands that what a log says of packets that left or were dropped is what mm-link makes of those that came. Gives
/// the lines of these and the opportunities.
fn as_by_mm_link(log: &str, trace_ms: &[u64], queue_pkts: usize) -> (Vec<String>, Vec<u64>) {
    let mut arrivals = Vec::new();
    let (mut passed, mut offered_ms) = (Vec::new(), Vec::new());
    for line in log.lines().skip(2) {
        let fields: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a number");
        match fields[1] {
            "+" => arrivals.push((number(0), number(2) as u32)),
            "#" => offered_ms.push(number(0)),
            _ => passed.push(line.to_owned()),
        }
    }
    let end_ms = *offered_ms.last().expect("time passed");
    let mut expected = lines_of_mm_link(trace_ms, queue_pkts, &arrivals, end_ms);
    // Those of one ms stand in another order: there is no other rule for it.
    expected.sort_unstable();
    passed.sort_unstable();
    assert_eq!(passed, expected);
    (passed, offered_ms)
}

#[test]
fn a_log_of_real_packets_is_that_of_mm_link() {
    // Goal: what TCP sends through TUN devices over a recorded capacity, with a queue of 12 packets that overflows,
    // leaves and is dropped as by mm-link, line by line, whatever delay is behind it; so does what the other way
    // carries. The view has a line a second for each.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    // Up to five opportunities at a time, none for up to 30 ms.
    let mut trace_ms: Vec<u64> = (0..400).map(|n: u64| n / 5 * 7 + n * n % 11 + n / 50 * 20).collect();
    trace_ms.sort_unstable();
    let lines: Vec<String> = trace_ms.iter().map(u64::to_string).collect();
    fs::write(at("trace"), lines.join("\n")).expect("a folder of ours");
    let mut server = parent.command(&["iperf3", "-s", "-1"]).spawn().expect("iperf3");
    until("the server listens", || parent.told("ss -ltnH").contains(":5201"));
    let words = format!(
        "{} emulate --trace {} --exact-mahimahi --delay 15ms --buffer 12pkt --log {} --view={} -- sh -c",
        env!("CARGO_BIN_EXE_fadelab"),
        at("trace"),
        at("log"),
        at("view")
    );
    let mut words: Vec<&str> = words.split(' ').collect();
    words.push("iperf3 -c $FADELAB_OUTSIDE -n 600K -C reno && sleep 1.1");
    let done = parent.command(&words).output().expect("nsenter runs");
    assert!(done.status.success(), "{}", said(&done));
    assert!(server.wait().expect("it ends").success());
    let up = fs::read_to_string(at("log.up")).expect("it was written");
    let (passed, offered_ms) = as_by_mm_link(&up, &trace_ms, 12);
    let drops_n = passed.iter().filter(|line| line.contains(" d ")).count();
    assert!(drops_n > 0 && passed.len() > 280, "{drops_n} of {}", passed.len());
    let period_ms = trace_ms[399];
    let opportunities = (0..).flat_map(|round| trace_ms.iter().map(move |ms| ms + round * period_ms));
    assert!(opportunities.take(offered_ms.len()).eq(offered_ms), "each has a line");
    let view = fs::read_to_string(at("view")).expect("it was written");
    let ways = view.lines().skip(1).map(|line| line.split_whitespace().nth(1));
    assert!(
        view.starts_with("  time_s way")
            && ways.eq(["up", "down"].repeat(view.lines().count() / 2).into_iter().map(Some)),
        "{view}"
    );
    assert!(view.lines().count() >= 3, "{view}");
    let down = fs::read_to_string(at("log.down")).expect("it was written");
    assert!(down.starts_with("# fadelab link (down) > "), "{down}");
    let (passed, _) = as_by_mm_link(&down, &trace_ms, 12);
    // How many segments an ACK stands for is the receiver's to choose.
    let is_ack = |line: &&String| line.contains(" - 56 ");
    assert!(passed.iter().filter(is_ack).count() > 10, "ACKs of 52 bytes: {down}");
}

#[test]
fn a_router_s_law_of_ones_own_is_at_the_queues() {
    // Goal: a header in place of a law's name, with its parameters: it drops the first packet that leaves each way and
    // every second one from there on, so that half of all that came is lost, with the odd one more; and what was
    // recorded under it is made again.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording").display().to_string();
    // Under a name of its own, for the whole workspace's tests know it, too.
    let kth = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/laws/kth.h")).expect("the law");
    fs::write(
        folder.path().join("mykth.h"),
        kth.replace("kth", "mykth").replace("KTH", "MYKTH"),
    )
    .expect("a file");
    let law = &*folder.path().join("mykth.h").display().to_string();
    let own = ["--delay", "5 ms", "--router", law, "--record", &recording];
    let sets = ["--set", "router.mykth.first=1", "--set", "router.mykth.every=2"];
    let ping = ["--", "sh", "-c", "ping -c 9 -i 0.2 -W 1 $FADELAB_OUTSIDE || true"];
    let text = said(&parent.emulate(&[&own[..], &sets, &ping].concat()));
    for way in ["up: ", "down: "] {
        // "up: 6 packets arrived in 1.8 s, 0.00 Mbit/s; 7 dropped, 0 lost, ..."
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(way))
            .unwrap_or_else(|| panic!("{way}is not told: {text}"));
        let number = |text: &str| text.split(' ').next().and_then(|word| word.parse::<u32>().ok());
        let arrived = number(line).expect("a number");
        let mut parts = line.split([',', ';']).map(str::trim);
        let dropped = parts.find(|part| part.ends_with(" dropped")).and_then(number);
        assert!(
            arrived > 0 && dropped.is_some_and(|dropped| dropped == (arrived + dropped).div_ceil(2)),
            "{text}"
        );
        assert!(line.contains(" 0 lost,"), "{text}");
    }
    let replay = fadelab(folder.path(), &["replay", "recording", "--law", law]);
    assert!(replay.status.success(), "{}", said(&replay));
    let unknown = said(&fadelab(folder.path(), &["replay", "recording"]));
    assert!(
        unknown.contains("no router's law `mykth` is known here") && unknown.contains("--law ./mine.h"),
        "{unknown}"
    );
    let table = folder.path().join("table.csv");
    let words = ["replay", "recording", "--law", law, "--packets", "table.csv"];
    assert!(fadelab(folder.path(), &words).status.success());
    let table = fs::read_to_string(table).expect("it was written");
    assert!(
        table.starts_with("way,number,arrived_ns,") && table.contains("\nup,0,") && table.contains(",dropped,"),
        "{table}"
    );
}

#[test]
fn the_outside_of_a_shell_in_a_shell_is_that_of_the_outer_one() {
    // Goal: from a shell in a shell an address of the parent's is reached, over both links: no answer is there before
    // both delays have passed twice.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let fadelab = env!("CARGO_BIN_EXE_fadelab");
    let inner = format!("{fadelab} emulate --rate '20 Mbit/s' --delay '40 ms' -- ping -c 3 -i 0.2 10.76.0.1");
    let done = parent.emulate(&["--delay", "30 ms", "--", "sh", "-c", &inner]);
    let text = said(&done);
    assert!(done.status.success(), "{text}");
    let least = text
        .lines()
        .find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")?.split('/').next());
    assert!(least.and_then(|ms| ms.parse::<f64>().ok()) >= Some(140.0), "{text}");
}

#[test]
fn settings_stay_as_long_as_one_shell_needs_them() {
    // Goal: of two shells in a namespace the first to end leaves the other its way outside; the last puts back what
    // was.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let before = parent.state();
    let words = [unique("10"), unique("10")].map(|word| word.replace('_', "."));
    let mut shells = [0, 1].map(|at| {
        let shell = parent.started(&["--", "sleep", &words[at]]);
        until("the command runs", || sleeps(&words[at]));
        shell
    });
    let [first, second] = &mut shells;
    // As from its parent.
    run(&format!("kill {}", first.id()));
    assert_eq!(first.wait().expect("it ends").code(), Some(128 + 15));
    assert_eq!(parent.state()[2].trim(), "1", "the other one needs it");
    run(&format!("kill {}", second.id()));
    second.wait().expect("it ends");
    assert!(!words.iter().any(|word| sleeps(word)));
    assert_eq!(parent.state(), before);
}

#[test]
fn nothing_is_left_of_a_shell_that_was_killed() {
    // Goal: whenever a shell is killed, from its first moment on, its devices, its translation, its command, what that
    // has started in the background, and its settings are gone soon.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let before = parent.state();
    for round in 0..12 {
        let word = unique("10").replace('_', ".");
        let command = format!("sleep {word} & sleep {word}");
        let mut shell = parent.started(&["--", "sh", "-c", &command]);
        std::thread::sleep(Duration::from_millis(round * 20));
        shell.kill().expect("it runs");
        shell.wait().expect("it ends");
        until("nothing is left", || !sleeps(&word) && parent.state() == before);
    }
}

#[test]
fn a_shell_in_a_killed_shell_is_ended_by_its_own_guard() {
    // Goal: where an inner shell cannot end in order, because it stands still when the outer one is killed, its guard
    // does so before it goes itself: what runs behind the inner link ends, too, also what the command left behind and
    // what has to be killed, which a guard does last, when the outer one has come by.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let before = parent.state();
    let word = unique("10").replace('_', ".");
    let fadelab = env!("CARGO_BIN_EXE_fadelab");
    let mut outer = parent.started(&[
        "--",
        fadelab,
        "emulate",
        "-q",
        "--rate",
        "20 Mbit/s",
        "--",
        "sh",
        "-c",
        &format!("trap '' TERM; setsid sleep {word} & wait"),
    ]);
    until("the command runs", || sleeps(&word));
    let inner = emulator_of_sleep(&word).expect("an emulator started it");
    assert_ne!(inner, outer.id(), "the inner emulator is another one");
    run(&format!("kill -STOP {inner}"));
    outer.kill().expect("it runs");
    outer.wait().expect("it ends");
    until("nothing is left", || !sleeps(&word) && parent.state() == before);
}

#[test]
fn an_emulator_that_was_stopped_says_that_it_was_disturbed() {
    // Goal: what comes while the emulator stands still is late, and nobody takes that for the link's: a status of 1
    // where that was asked for, and a line in any case.
    if !possible() {
        return;
    }
    let parent = Parent::new();
    let word = unique("1").replace('_', ".");
    let shell = parent.started(&["--strict", "--", "sleep", "3"]);
    until("the command runs", || parent.told("ip -o link show").contains("fade"));
    std::thread::sleep(Duration::from_millis(500));
    run(&format!("kill -STOP {}", shell.id()));
    std::thread::sleep(Duration::from_secs(1));
    run(&format!("kill -CONT {}", shell.id()));
    let done = shell.wait_with_output().expect("it ends");
    let text = said(&done);
    assert!(
        text.contains("disturbed") && text.contains("stood still"),
        "{word} {text}"
    );
    assert_eq!(done.status.code(), Some(1), "{text}");
}

/// Whether laws can be loaded, too.
fn possible_with_laws() -> bool {
    possible() && hosts::possible()
}

#[test]
fn a_law_of_the_kernel_is_held_back_by_the_emulated_router() {
    // Goal: under `--law` and `--router` connections each way keep the queue short and lose nothing, since the emulated
    // router marks VCP's packets and writes XCP's grants; without the router nothing is marked. The law is gone with
    // the command.
    if !possible_with_laws() {
        return;
    }
    let parent = Parent::new();
    for (law, router) in [("vcp", "vcp"), ("xcp", "xcp"), ("vcp", "droptail")] {
        // A server each: between two tests one of iperf3 has nobody at its port for a moment, and resets who comes
        // then.
        let mut servers = ["5201", "5202"].map(|port| {
            let server = parent.command(&["iperf3", "-s", "-p", port]).spawn().expect("iperf3");
            until("the server listens", || {
                parent.told("ss -ltnH").contains(&format!(":{port}"))
            });
            server
        });
        let there = "iperf3 -c $FADELAB_OUTSIDE -t 2";
        let both = format!("{there} && {there} -p 5202 -R && cat /proc/sys/net/ipv4/tcp_congestion_control");
        let link = ["--delay", "10 ms", "--law", law, "--router", router];
        // Windows grow by a sixteenth in t_rho: a fifth of the paper's fills the link within two seconds.
        let faster = ["--set", "law.vcp.trho_us=40 ms", "--set", "router.vcp.trho_us=40 ms"];
        let faster = if router == "vcp" { &faster[..] } else { &[] };
        let done = parent.emulate(&[&link[..], faster, &["--", "sh", "-c", &both]].concat());
        let text = said(&done);
        for server in &mut servers {
            server.kill().expect("it runs");
            server.wait().expect("it ends");
        }
        assert!(done.status.success(), "{text}");
        let name = text
            .lines()
            .find(|line| line.starts_with("fa_"))
            .expect("the default inside");
        assert!(!hosts::is_registered(name), "{name} is left");
        for way in ["up", "down"] {
            let line = text
                .lines()
                .find(|line| line.starts_with(&format!("{way}:")))
                .expect("its line");
            let is_marked = !line.contains(" 0 marked");
            assert_eq!(is_marked, router == "vcp", "{law} {router}: {line}");
            assert!(
                router == "droptail" || line.contains("; 0 dropped, 0 lost"),
                "{law} {router}: {line}"
            );
        }
    }
}

#[test]
fn codes_of_a_law_end_where_packets_leave_for_others() {
    // Goal: of a transfer under VCP to a host behind the shell's parent no packet arrives there with a bit in its ECN
    // field, although the emulated router marked them; the option, which harms nobody, is there.
    if !possible_with_laws() {
        return;
    }
    let (parent, far) = (Parent::new(), unique("flo"));
    let name = &parent.0;
    run(&format!("ip netns add {far}"));
    run(&format!("ip -n {name} link set other netns {far}"));
    for words in ["addr add 10.76.0.2/24 dev other", "link set other up", "link set lo up"] {
        run(&format!("ip -n {far} {words}"));
    }
    let space = format!("/run/netns/{far}");
    let tap = tap::Tap::new(&Device {
        name: "other".to_owned(),
        netns: Some(space.clone().into()),
    });
    let mut server = Command::new("nsenter");
    server
        .args([&format!("--net={space}"), "iperf3", "-s", "-1"])
        .stdout(Stdio::null());
    let mut server = server.spawn().expect("iperf3");
    let client = "until iperf3 -c 10.76.0.2 -t 2; do sleep 0.2; done";
    let law = [
        "--delay", "10 ms", "--law", "vcp", "--router", "vcp", "--", "sh", "-c", client,
    ];
    let done = parent.emulate(&law);
    let _ = server.kill();
    let _ = server.wait();
    let seen = tap.seen();
    run(&format!("ip netns del {far}"));
    let text = said(&done);
    assert!(done.status.success(), "{text}");
    let up = text.lines().find(|line| line.starts_with("up:")).expect("its line");
    assert!(!up.contains(" 0 marked"), "{up}");
    let seen = seen.get(&5201).expect("the transfer's");
    assert!(seen.data[0] > 500 && seen.data[1..] == [0; 3], "{seen:?}");
    assert!(seen.options.get(&8) > Some(&500), "{seen:?}");
}
