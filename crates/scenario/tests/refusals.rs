//! Everything that is wrong with a scenario is refused with its place, its key, what was given and what is allowed.

use std::path::{Path, PathBuf};

use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, Refusal, parse};

const GOOD: &str = r#"
[run]
duration = "10 s"
seeds = "1..2"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "50 ms"

[channel]
snr = "30 dB"
antennas = "2x2"

[channel.code]
data = 0.93
ack = 0.5

[flow]
law = "reno"
count = 2
"#;

fn plan(text: &str, sets: &[&str]) -> Result<Plan, Refusal> {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    parse(
        text.as_bytes(),
        "s.toml",
        Path::new(""),
        &Options {
            sets,
            ..Options::default()
        },
    )
}

/// The message for `GOOD` with one line replaced by another.
fn refused(line: &str, other: &str) -> String {
    assert!(GOOD.contains(line), "{line} is not in the scenario");
    plan(&GOOD.replacen(line, other, 1), &[])
        .map(drop)
        .expect_err(other)
        .to_string()
}

fn line_of(needle: &str) -> String {
    let line = GOOD
        .lines()
        .position(|line| line == needle)
        .expect("the line is in the scenario")
        + 1;
    format!("s.toml:{line}: ")
}

fn assert_has(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
    assert!(!message.contains('\n'), "more than one line: {message}");
}

/// A file that is gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("fadelab-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_scenario_of_these_tests_is_good() {
    // Goal: each refusal below is caused by the one line it changes.
    let plan = plan(GOOD, &[]).unwrap();
    assert_eq!(plan.runs.len(), 2);
    assert_eq!(plan.sweep_keys, ["run.seeds"]);
}

#[test]
fn unknown_keys_name_the_nearest() {
    // Goal: a misspelt key at any depth is refused at its line, with the keys that exist and the nearest of them.
    let message = refused("delay = \"50 ms\"", "dealy = \"50 ms\"");
    assert_has(
        &message,
        &[
            &line_of("delay = \"50 ms\""),
            "topology.bottleneck.dealy",
            "did you mean `delay`?",
        ],
    );
    assert_has(
        &refused("[channel]", "[chanel]"),
        &["`chanel`", "did you mean `channel`?"],
    );
    assert_has(
        &refused("count = 2", "conut = 2"),
        &["flow.conut", "did you mean `count`?"],
    );
    assert_has(
        &refused("count = 2", "[flow.down]\ncuont = 2"),
        &["flow.down.cuont", "did you mean `count`?"],
    );
    assert_has(
        &refused("[flow]", "[law.rneo]\n[flow]"),
        &["law.rneo", "did you mean `reno`?"],
    );
    assert_has(&refused("[flow]", "[law.reno]\nxyz = 1\n[flow]"), &["law.reno.xyz"]);
    assert_has(&refused("[run]", "runs = 3\n[run]"), &["`runs`", "did you mean `run`?"]);
}

#[test]
fn units_are_required_and_checked() {
    // Goal: a missing, wrong or misspelt unit is refused with the units allowed.
    let rate = "rate = \"2 Mbit/s\"";
    assert_has(
        &refused(rate, "rate = 2"),
        &[&line_of(rate), "rate = 2: the unit is missing", "Mbit/s"],
    );
    assert_has(
        &refused(rate, "rate = \"2 MB/s\""),
        &["unknown unit `MB/s`", "bit/s, kbit/s, Mbit/s or Gbit/s"],
    );
    assert_has(&refused(rate, "rate = \"2 Mbits/s\""), &["did you mean `Mbit/s`?"]);
    assert_has(
        &refused("delay = \"50 ms\"", "delay = \"50 B\""),
        &["unknown unit `B`", "a duration"],
    );
    assert_has(
        &refused("snr = \"30 dB\"", "snr = 30"),
        &["the unit is missing", "\"30 dB\""],
    );
    assert_has(&refused("data = 0.93", "data = \"93 %\""), &["a number without a unit"]);
    assert_has(
        &refused("duration = \"10 s\"", "duration = true"),
        &["a duration is a number with its unit"],
    );
}

#[test]
fn the_type_of_a_key_says_its_range_and_words() {
    // Goal: a value beyond the range, the sizes or the words of its key's type is refused with all that is allowed.
    for (wrong, allowed) in [
        ("dupthresh = 1001", "allowed is 1 to 1000"),
        ("header = \"121 B\"", "allowed is 40 B to 120 B"),
        (
            "recovery = \"newrneo\"",
            "allowed is sack, rack, newreno or reno; did you mean `newreno`?",
        ),
    ] {
        let text = format!("ack = 0.5\n[transport]\n{wrong}");
        assert_has(&refused("ack = 0.5", &text), &[wrong, allowed]);
    }
}

#[test]
fn impossible_values_are_refused() {
    // Goal: zero and negative rates, and values out of their range, are refused with what is allowed.
    let rate = "rate = \"2 Mbit/s\"";
    assert_has(
        &refused(rate, "rate = \"0 Mbit/s\""),
        &[&line_of(rate), "greater than zero"],
    );
    assert_has(&refused(rate, "rate = \"-2 Mbit/s\""), &["cannot be negative"]);
    assert_has(
        &refused("snr = \"30 dB\"", "snr = \"3000 dB\""),
        &["channel.snr = \"3000 dB\"", "allowed is"],
    );
    assert_has(
        &refused("data = 0.93", "data = 1.5"),
        &["channel.code.data = 1.5", "allowed is"],
    );
    assert_has(
        &refused(
            "data = 0.93\nack = 0.5",
            "data = 0.1\nack = 0.5\n[transport]\npacket = \"65535 B\"",
        ),
        &["channel.code.data", "gf256"],
    );
    assert_has(
        &refused("ack = 0.5", "ack = 0"),
        &["channel.code.ack = 0", "allowed is"],
    );
    assert_has(
        &refused("antennas = \"2x2\"", "antennas = \"2x3\""),
        &["1x1, 2x1, 1x2 or 2x2"],
    );
    assert_has(
        &refused("duration = \"10 s\"", "duration = \"0 s\""),
        &["greater than zero"],
    );
    assert_has(
        &refused("duration = \"10 s\"", "duration = \"10 s\"\nwarmup = \"10 s\""),
        &["run.warmup"],
    );
    assert_has(&refused(rate, "rate = \"99 Tbit/s\""), &["unknown unit `Tbit/s`"]);
    assert_has(
        &refused(rate, "rate = \"7 bit/s\""),
        &["the rate of a link is at least \"8 bit/s\""],
    );
    assert_has(
        &refused(rate, "rate = \"99000 Gbit/s\""),
        &["a rate is at most \"10000 Gbit/s\""],
    );
    assert_has(
        &refused("delay = \"50 ms\"", "delay = \"1 h\""),
        &["a delay is at most \"1000 s\""],
    );
    assert_has(
        &refused("count = 2", "start = \"999999999 h\""),
        &["flow.start", "a duration is at most"],
    );
    assert_has(&refused("count = 2", "count = 0"), &["flow.count = 0", "allowed is 1"]);
    assert_has(&refused("count = 2", "path = \"2\""), &["flow.path", "hops 1 to 1"]);
    assert_has(
        &refused("seeds = \"1..2\"", "seeds = \"2..1\""),
        &["run.seeds", "the range is empty"],
    );
    assert_has(
        &refused("seeds = \"1..2\"", "record = \"1 ns\""),
        &["run.record", "samples"],
    );
    assert_has(&refused("seeds = \"1..2\"", "seeds = inf"), &["run.seeds = inf"]);
}

#[test]
fn a_link_back_is_checked_like_the_one_there() {
    // Goal: a rate that routers cannot count is refused by the key of its direction.
    let rate = "rate = \"2 Mbit/s\"";
    assert_has(
        &refused(rate, &format!("{rate}\nrate_back = \"7 bit/s\"")),
        &["rate_back = \"7 bit/s\"", "the rate of a link is at least \"8 bit/s\""],
    );
}

#[test]
fn laws_are_checked() {
    // Goal: an unknown sender, router or application names those that exist; UDP needs constant bit rates.
    let law = "law = \"reno\"";
    assert_has(
        &refused(law, "law = \"rneo\""),
        &[&line_of(law), "unknown law `rneo`", "did you mean `reno`?"],
    );
    assert_has(
        &refused(law, "law = \"reno+dorptail\""),
        &["unknown router", "did you mean `droptail`?"],
    );
    assert_has(&refused(law, "law = \"udp\""), &["app = \"cbr\""]);
    assert_has(&refused(law, ""), &["`flow.law` is missing", "reno"]);
    assert_has(&refused("count = 2", "app = \"gready\""), &["did you mean `greedy`?"]);
    assert_has(&refused("count = 2", "app = \"transfer\""), &["`flow.size` is missing"]);
    assert_has(
        &refused("count = 2", "[flow.up]\nlaw = \"reno+red\""),
        &["flow.up.law", "is a sender"],
    );
}

#[test]
fn sweeps_are_checked() {
    // Goal: an empty list, a value twice, a list where none is taken, and too many runs are refused before any is
    // built.
    assert_has(&refused("law = \"reno\"", "law = []"), &["flow.law = []", "empty list"]);
    assert_has(
        &refused("count = 2", "count = [2, 3, 2]"),
        &["flow.count: 2 stands twice"],
    );
    assert_has(&refused("[run]", "title = [\"a\", \"b\"]\n[run]"), &["cannot be swept"]);
    assert_has(
        &refused("seeds = \"1..2\"", "seeds = \"1..10001\""),
        &["10001 runs", "--max-runs"],
    );
    let counts: Vec<String> = (1..=200).map(|count| count.to_string()).collect();
    let counts = format!("count = [{}]", counts.join(", "));
    let message = plan(&GOOD.replace("count = 2", &counts), &["run.seeds=1..100"])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert_has(&message, &["20000 runs (200 of flow.count x 100 of run.seeds)"]);
}

#[test]
fn traces_are_checked() {
    // Goal: a trace that is missing, empty, text or goes back is refused with its key and its line.
    let with = |path: &Path| {
        let rate = format!("trace = \"{}\"", path.display());
        refused("rate = \"2 Mbit/s\"", &rate)
    };
    let given = "topology.bottleneck.trace";
    assert_has(&with(Path::new("no/such.down")), &[given, "cannot open no/such.down"]);
    let empty = Scratch::new("empty", b"");
    assert_has(&with(&empty.0), &[given, "the trace is empty"]);
    let text = Scratch::new("text", b"0\n1\nhello\n");
    assert_has(&with(&text.0), &[given, ":3: `hello` is not a time"]);
    let back = Scratch::new("back", b"0\n5\n4\n");
    assert_has(&with(&back.0), &[given, ":3: 4 ms comes after 5 ms"]);
    let noise = Scratch::new("noise", &[0xfe; 300]);
    assert_has(&with(&noise.0), &[given, ":1: "]);
}

#[test]
fn the_rules_of_mahimahi_are_its_own() {
    // Goal: what mm-link cannot do is refused with the key, what was given and what to do; a trace is needed.
    let trace = Scratch::new("mahimahi", b"1\n2\n3\n");
    let set = format!("topology.bottleneck.trace={}", trace.0.display());
    let exact = "topology.bottleneck.trace_rules=exact-mahimahi";
    let refused = |sets: &[&str]| {
        let sets: Vec<&str> = [&set, exact].into_iter().chain(sets.iter().copied()).collect();
        plan(GOOD, &sets).map(drop).unwrap_err().to_string()
    };
    let parity = refused(&["transport.packet=1400 B"]);
    assert_has(
        &parity,
        &["trace_rules", "1400 B has 1509 B", "at most 1504", "transport.packet"],
    );
    let no_code = "channel.code.mode=none";
    let long = refused(&[no_code, "transport.packet=1501 B"]);
    assert_has(&long, &["1501 B has 1505 B", "take \"plain\""]);
    let fair = refused(&[no_code, "flow.law=reno+fq_codel"]);
    assert_has(&fair, &["topology.bottleneck.trace_rules", "one queue", "`bottleneck`"]);
    assert_has(&refused(&[no_code, "channel.arq.preset=wifi"]), &["neither ARQ"]);
    assert!(plan(GOOD, &[&set, exact, no_code]).is_ok());
    let unknown = plan(GOOD, &[&set, "topology.bottleneck.trace_rules=mahimahi"])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert_has(&unknown, &["allowed is plain or exact-mahimahi"]);
    let unused = plan(GOOD, &[exact]).unwrap().warnings.join("\n");
    assert_has(&unused, &["`topology.bottleneck.trace_rules` has no effect"]);
}

#[test]
fn configured_capacity_of_a_trace_is_refused() {
    // Goal: a router cannot be told the capacity of a link that changes all the time.
    let trace = Scratch::new("trace", b"0\n1\n2\n");
    let set = format!("topology.bottleneck.trace={}", trace.0.display());
    let message = plan(GOOD, &[&set, "router.capacity=configured"])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert_has(&message, &["--set router.capacity=configured", "measured"]);
    assert_has(
        &plan(GOOD, &["router.capacity=guessed"])
            .map(drop)
            .unwrap_err()
            .to_string(),
        &["measured", "configured"],
    );
}

#[test]
fn set_is_checked_like_the_file() {
    // Goal: a wrong --set is refused in its own words.
    let refused = |set: &str| plan(GOOD, &[set]).map(drop).expect_err(set).to_string();
    assert_has(
        &refused("flow.lwa=reno"),
        &["--set flow.lwa=reno: unknown key", "did you mean `law`?"],
    );
    assert_has(
        &refused("run.duration=10"),
        &["--set run.duration=10: run.duration = 10: the unit is missing"],
    );
    assert_has(&refused("flow.law.x=1"), &["flow.law.x=1"]);
    assert_has(&refused("run"), &["no `=`", "--set flow.law=xcp"]);
}

#[test]
fn a_sweep_over_nothing_is_refused() {
    // Goal: values of a key without effect would be the same run again and again: they are refused; values that have an
    // effect at some point of the sweep are not.
    let swept = ["flow.size=['1 MB', '2 MB']", "flow.app=['greedy', 'transfer']"];
    let message = plan(GOOD, &swept[..1]).map(drop).unwrap_err().to_string();
    assert_has(
        &message,
        &["--set flow.size=", "2 values has no effect", "give one value or none"],
    );
    assert_eq!(plan(GOOD, &swept).map(|plan| plan.runs.len()), Ok(8));
}

#[test]
fn what_takes_too_much_memory_is_refused() {
    // Goal: runs that would not fit are refused before they are built, whether flows, seeds, points or long routes are
    // too many. The limit is a small one, so that a mistake does not fill the memory.
    let planned = |sets: &[&str]| {
        let options = Options {
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            memory_bytes_max: 900_000,
            ..Options::default()
        };
        parse(GOOD.as_bytes(), "s.toml", Path::new(""), &options)
    };
    let hops = format!("topology.hops=[{}]", vec!["'1 Mbit/s'"; 500].join(", "));
    let row = |count| {
        [
            "topology={preset='parking-lot', hop={delay='1 ms'}}",
            &hops,
            "flow.path=all",
            count,
        ]
    };
    let many_points = [
        "flow.count=100",
        "transport.dupthresh=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]",
    ];
    let many_seeds = ["flow.count=100", "run.seeds=1..30"];
    for sets in [
        &["flow.count=10000"][..],
        &many_seeds,
        &many_points,
        &row("flow.count=300"),
    ] {
        let message = planned(sets).map(drop).expect_err("refused").to_string();
        assert_has(&message, &[&line_of("[flow]"), "more than 1 MB of memory", "--seeds"]);
    }
    for sets in [&["flow.count=100"][..], &row("flow.count=3"), &["run.seeds=1..30"]] {
        assert!(planned(sets).is_ok(), "{sets:?}");
    }
}

#[test]
fn files_are_checked() {
    // Goal: a missing file, a folder, binary noise, a huge file and broken TOML are refused with the file's name.
    let load = |path: &Path| {
        fadelab_scenario::load(path, &Options::default())
            .map(drop)
            .expect_err("refused")
            .to_string()
    };
    assert_has(&load(Path::new("no/such.toml")), &["no/such.toml: cannot be read"]);
    assert_has(&load(&std::env::temp_dir()), &["cannot be read"]);
    let noise = Scratch::new("noise.toml", &[0, 159, 146, 150, 0xff]);
    assert_has(&load(&noise.0), &["noise.toml:1: not a text file"]);
    let huge = Scratch::new("huge.toml", &vec![b'#'; (1 << 20) + 1]);
    assert_has(&load(&huge.0), &["1 MiB"]);
    let broken = Scratch::new("broken.toml", b"[run]\nduration = \n");
    assert_has(&load(&broken.0), &["broken.toml:2: not valid TOML"]);
    let twice = Scratch::new("twice.toml", b"[run]\nseeds = 1\nseeds = 2\n");
    assert_has(&load(&twice.0), &["twice.toml:3: not valid TOML"]);
}
