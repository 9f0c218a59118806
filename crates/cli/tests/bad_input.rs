//! Wrong input, a row each: status 2, one message that says where, what was given, what is allowed and what is near,
//! and nothing written. What results folders refuse is tested beside them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"[run]
duration = "5 s"
seeds = "1..2"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "20 ms"

[channel]
antennas = "2x2"
snr = "30 dB"

[channel.code]
data = 0.93
ack = 0.5

[flow]
law = "reno"
"#;

const GRAPH: &str = r#"[run]
seeds = "1..2"

[topology]
nodes = ["server", "router", "phone"]

[link.wire]
from = "server"
to = "router"
rate = "10 Mbit/s"
delay = "5 ms"

[link.air]
from = "router"
to = "phone"
rate = "2 Mbit/s"
delay = "20 ms"

[flow]
law = "reno"
from = "server"
to = "phone"
"#;

/// A folder of its own for a test, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fadelab-bad-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }

    fn fadelab(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.output().unwrap()
    }

    fn entries(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Demands status 2, one line on standard error with all parts, silence on standard output, and no new file; of
    /// `run` and of `check`.
    fn refuses(&self, arguments: &[&str], parts: &[&str]) {
        for command in ["run", "check"] {
            let before = self.entries();
            let output = self.fadelab(&[&[command], arguments].concat());
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{command} {arguments:?}: {message}");
            for part in parts {
                assert!(message.contains(part), "`{part}` is missing in: {message}");
            }
            assert!(
                message.starts_with("error: ") && message.lines().count() == 1,
                "{message}"
            );
            assert!(message.chars().count() < 2_100, "{message}");
            assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
            assert_eq!(self.entries(), before);
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A line of a scenario, what stands there instead, and what the refusal says.
type Row<'a> = (&'a str, &'a str, &'a [&'a str]);

fn each_row(name: &str, scenario: &str, rows: &[Row]) {
    let folder = Folder::new(name);
    folder.write("s.toml", scenario);
    let good = folder.fadelab(&["check", "s.toml"]);
    assert_eq!(good.status.code(), Some(0), "{}", String::from_utf8_lossy(&good.stderr));
    for (line, other, parts) in rows {
        assert!(scenario.contains(line), "{line} is not in the scenario");
        folder.write("s.toml", scenario.replacen(line, other, 1));
        folder.refuses(&["s.toml"], parts);
    }
}

#[test]
fn keys_and_units() {
    // Goal: a key that does not exist and a unit that is missing or wrong, with the nearest spelling and the line.
    let rate = r#"rate = "2 Mbit/s""#;
    each_row(
        "keys",
        SCENARIO,
        &[
            (
                "delay = ",
                "dealy = ",
                &[
                    "s.toml:7: unknown key `topology.bottleneck.dealy`",
                    "did you mean `delay`?",
                ],
            ),
            (
                "[channel.code]",
                "[channel.cdoe]",
                &["channel.cdoe.data", "did you mean `code`?"],
            ),
            (
                "[flow]",
                "[flwo]",
                &["s.toml:17: unknown key `flwo`", "did you mean `flow`?"],
            ),
            (
                rate,
                "rate = 2",
                &[
                    "s.toml:6: topology.bottleneck.rate = 2: the unit is missing",
                    "\"54 Mbit/s\"",
                ],
            ),
            (
                rate,
                r#"rate = "2 MB/s""#,
                &["unknown unit `MB/s`", "kbit/s, Mbit/s or Gbit/s"],
            ),
            (
                rate,
                r#"rate = "2 mbit/s""#,
                &["unknown unit `mbit/s`", "did you mean `Mbit/s`?"],
            ),
            (
                r#"duration = "5 s""#,
                "duration = 5",
                &["run.duration = 5: the unit is missing", "\"80 ms\""],
            ),
            (
                r#"snr = "30 dB""#,
                r#"snr = "30 db""#,
                &["unknown unit `db`", "did you mean `dB`?"],
            ),
            (
                "[run]",
                "[run.duration]\n[runs]",
                &["`run.duration` is a key and no table"],
            ),
        ],
    );
}

#[test]
fn values_out_of_range() {
    // Goal: rates of zero and below, SNR and code rates beyond what makes a channel, times that do not fit together.
    let rate = r#"rate = "2 Mbit/s""#;
    let snr = r#"snr = "30 dB""#;
    each_row(
        "values",
        SCENARIO,
        &[
            (
                rate,
                r#"rate = "0 Mbit/s""#,
                &["s.toml:6: topology.bottleneck.rate", "greater than zero"],
            ),
            (
                rate,
                r#"rate = "-2 Mbit/s""#,
                &["s.toml:6: topology.bottleneck.rate", "cannot be negative"],
            ),
            (
                snr,
                r#"snr = "201 dB""#,
                &["s.toml:11: channel.snr = \"201 dB\"", "-100 to 200 dB"],
            ),
            (
                snr,
                r#"snr = "-101 dB""#,
                &["channel.snr = \"-101 dB\"", "-100 to 200 dB"],
            ),
            (
                "data = 0.93",
                "data = 1.01",
                &["s.toml:14: channel.code.data = 1.01", "0.1 to 1"],
            ),
            ("data = 0.93", "data = 0.09", &["channel.code.data = 0.09", "0.1 to 1"]),
            ("ack = 0.5", "ack = -0.5", &["channel.code.ack = -0.5", "0.1 to 1"]),
            (
                r#"duration = "5 s""#,
                r#"duration = "0 s""#,
                &["the duration of a run must be greater than zero"],
            ),
            (
                "[flow]",
                "[transport]\npacket = \"41 B\"\n[flow]",
                &["transport.packet = \"41 B\"", "53 B or more"],
            ),
            (
                "[flow]",
                "[transport]\nheader = \"40 kB\"\n[flow]",
                &["transport.header", "40 B to 120 B"],
            ),
            (
                "[flow]",
                "[law.vcp]\nalpha = \"x\"\n[flow]",
                &["law.vcp.alpha = \"x\"", "allowed is 0.001 to 100"],
            ),
        ],
    );
}

#[test]
fn laws_that_do_not_exist_or_do_not_fit() {
    // Goal: an unknown sender or router with the nearest, and a law that needs a capacity where none is configured.
    let law = r#"law = "reno""#;
    each_row(
        "laws",
        SCENARIO,
        &[
            (
                law,
                r#"law = "vpc""#,
                &[
                    "s.toml:18: flow.law = \"vpc\": unknown law `vpc`",
                    "did you mean `vcp`?",
                ],
            ),
            (
                law,
                r#"law = "reno+rde""#,
                &["unknown router `rde`", "did you mean `red`?"],
            ),
            (law, "", &["`flow.law` is missing", "SENDER or SENDER+ROUTER"]),
            (law, "law = []", &["flow.law = []: an empty list sweeps over nothing"]),
        ],
    );
    let folder = Folder::new("capacity");
    folder.write("s.toml", SCENARIO);
    folder.write("cell.down", "0\n1\n2\n");
    let trace = "topology.bottleneck.trace=cell.down";
    let arguments = [
        "s.toml",
        "--set",
        "flow.law=vcp",
        "--set",
        trace,
        "--set",
        "router.capacity=configured",
    ];
    folder.refuses(
        &arguments,
        &["--set router.capacity=configured", "replays a trace", "\"measured\""],
    );
}

#[test]
fn networks_that_do_not_hang_together() {
    // Goal: a link to a node that does not exist and a flow with no route, by name.
    each_row(
        "network",
        GRAPH,
        &[
            (
                r#"to = "router""#,
                r#"to = "ruoter""#,
                &["s.toml:9: link.wire.to = \"ruoter\"", "did you mean `router`?"],
            ),
            (
                "to = \"phone\"\nrate",
                "to = \"server\"\nrate",
                &["link.air.to", "joins the same nodes already"],
            ),
            (
                "to = \"router\"",
                "to = \"router\"\nduplex = false",
                &["flow.to = \"phone\"", "no route from node `phone` to node `server`"],
            ),
            (r#"rate = "2 Mbit/s""#, "", &["`link.air.rate` is missing"]),
        ],
    );
}

#[test]
fn sweeps_that_are_empty_or_too_long() {
    // Goal: an empty list and more runs than --max-runs, located where the list was given.
    let folder = Folder::new("sweeps");
    folder.write("s.toml", SCENARIO);
    let empty = ["s.toml", "--set", "flow.count=[]"];
    folder.refuses(&empty, &["--set flow.count=[]", "an empty list"]);
    let long = ["s.toml", "--set", "run.seeds=1..10001"];
    folder.refuses(
        &long,
        &[
            "--set run.seeds=1..10001: the sweep has 10001 runs",
            "allowed are 10000",
            "--max-runs",
        ],
    );
    let limited = ["s.toml", "--max-runs", "1"];
    folder.refuses(
        &limited,
        &["s.toml:3: the sweep has 2 runs (2 of run.seeds), allowed are 1"],
    );
    folder.refuses(
        &["s.toml", "--seeds", "3..1"],
        &["run.seeds = \"3..1\"", "the range is empty"],
    );
}

#[test]
fn traces_that_are_none() {
    // Goal: a trace that is missing, empty, text, going back, a folder or noise, with its own line.
    let folder = Folder::new("traces");
    folder.write("s.toml", SCENARIO);
    folder.write("empty.down", "");
    folder.write("text.down", "0\n1\nhello\n");
    folder.write("back.down", "0\n5\n4\n");
    folder.write("noise.down", [0xfe; 300]);
    folder.write("still.down", "0\n0\n");
    let key = "topology.bottleneck.trace";
    for (file, part) in [
        ("none.down", "cannot open"),
        ("empty.down", "the trace is empty"),
        ("text.down", "text.down:3: `hello` is not a time"),
        ("back.down", "back.down:3: 4 ms comes after 5 ms"),
        ("noise.down", "noise.down:1: "),
        ("still.down", "ends at 0 ms"),
        (".", "cannot be read"),
    ] {
        folder.refuses(
            &["s.toml", "--set", &format!("{key}={file}")],
            &[&format!("--set {key}={file}"), part],
        );
    }
}

#[test]
fn files_that_are_no_scenario() {
    // Goal: whatever file is given, the answer is prompt and names it.
    let folder = Folder::new("files");
    folder.write("empty.toml", "");
    folder.write("noise.toml", (0..=255u8).cycle().take(4_096).collect::<Vec<_>>());
    folder.write("latin.toml", b"[flow]\nlaw = \"reno\" # caf\xe9\n");
    folder.write("broken.toml", "[run]\nduration = \n");
    folder.write("twice.toml", "[run]\nseeds = 1\nseeds = 2\n");
    folder.write("deep.toml", format!("{}b = 1\n", "a.".repeat(100_000)));
    folder.write("huge.toml", vec![b'#'; (1 << 20) + 1]);
    folder.write("long.toml", format!("[flow]\nlaw = \"{}\"\n", "x".repeat(900_000)));
    let groups: Vec<String> = (0..1_001).map(|n| format!("[flow.g{n}]\n")).collect();
    folder.write("wide.toml", format!("[flow]\n{}", groups.concat()));
    for (file, part) in [
        ("none.toml", "none.toml: cannot be read"),
        ("satelite", "did you mean `satellite`?"),
        ("empty.toml", "empty.toml:1: `flow.law` is missing"),
        ("noise.toml", "noise.toml:"),
        ("latin.toml", "latin.toml:2: not a text file"),
        ("broken.toml", "broken.toml:2: not valid TOML"),
        ("twice.toml", "twice.toml:3: not valid TOML"),
        ("deep.toml", "deep.toml:1: not valid TOML"),
        (
            "huge.toml",
            "huge.toml: the file has 1048577 bytes, a scenario at most 1048576 (1 MiB)",
        ),
        ("long.toml", "unknown law `xxx"),
        ("wide.toml", "[flow] has 1001 entries, allowed are 1000"),
        (".", ".: cannot be read"),
    ] {
        folder.refuses(&[file], &[part]);
    }
    #[cfg(unix)]
    folder.refuses(&["/dev/zero"], &["/dev/zero: the file has", "1 MiB"]);
}

#[test]
fn arguments_of_set() {
    // Goal: a --set is refused in its own words, however deep or strange it is.
    let folder = Folder::new("set");
    folder.write("s.toml", SCENARIO);
    let deep = format!("{}b=1", "a.".repeat(30_000));
    for (set, part) in [
        ("flow.lwa=reno", "--set flow.lwa=reno: unknown key `flow.lwa`"),
        ("run", "no `=`"),
        ("flow.law.x=1", "is to be set below it"),
        ("a..b=1", "is not a dotted key"),
        ("run.duration=\"1\n2\"", "run.duration"),
        (deep.as_str(), "at most 8 parts"),
    ] {
        folder.refuses(&["s.toml", "--set", set], &["--set ", part]);
    }
}

#[test]
fn what_is_odd_runs_with_a_warning() {
    // Goal: VCP without its router, a buffer of one packet, a series without samples and a node without links are
    // warned of once each, and run.
    let folder = Folder::new("odd");
    folder.write("s.toml", SCENARIO);
    folder.write("g.toml", GRAPH.replace("\"phone\"]", "\"phone\", \"moon\"]"));
    let cases: [(&str, &str, &str); 4] = [
        ("s.toml", "flow.law=vcp+droptail", "works only with router `vcp`"),
        ("s.toml", "topology.bottleneck.buffer=0.001 BDP", "is one packet"),
        ("s.toml", "run.record=1 h", "run.record is longer than run.duration"),
        ("g.toml", "run.duration=1 s", "no link leads to or from node `moon`"),
    ];
    for (number, (file, set, part)) in cases.into_iter().enumerate() {
        let out = number.to_string();
        let output = folder.fadelab(&["run", file, "--set", set, "--out", &out]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{message}");
        assert_eq!(message.matches(part).count(), 1, "{message}");
        assert!(folder.0.join(out).join("report.html").is_file());
    }
}
