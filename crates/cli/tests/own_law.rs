//! Laws that users bring, as their authors meet them: refusals, faults, replays, skeletons, explanations.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const SCENARIO: &str = r#"
[run]
duration = "10 s"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "20 ms"
buffer = "20 pkt"

[flow]
law = "reno"
count = 2
"#;

/// A folder of its own with a scenario in it.
fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("s.toml"), SCENARIO).unwrap();
    place
}

fn fadelab(place: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(arguments)
        .current_dir(place)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The skeleton of a role with one piece of text replaced by another.
fn edited(place: &Path, role: &str, from: &str, to: &str) {
    let (status, _, message) = fadelab(place, &["new-law", "mine", "--role", role]);
    assert_eq!(status, 0, "{message}");
    let path = place.join("mine.h");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "`{from}` is not in the skeleton of a {role}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// A header like that is refused with exit status 2 and these words, and nothing is written.
fn refused(role: &str, from: &str, to: &str, words: &[&str]) {
    let place = place();
    edited(place.path(), role, from, to);
    let (status, _, message) = fadelab(place.path(), &["run", "s.toml", "--law", "./mine.h"]);
    assert_eq!(status, 2, "{message}");
    assert!(message.starts_with("error: --law ./mine.h: "), "{message}");
    for word in words {
        assert!(message.contains(word), "`{word}` is missing in:\n{message}");
    }
    assert!(!place.path().join("results").exists());
}

#[test]
fn a_header_that_does_not_compile_shows_the_compilers_message() {
    // Goal: file and line are those of the user's file as it was named.
    refused(
        "sender",
        "return;",
        "retrun;",
        &["does not compile", "./mine.h:4", "retrun"],
    );
    refused(
        "sender",
        "fixed_max(",
        "fixed_maximum(",
        &["does not compile", "./mine.h:", "fixed_maximum"],
    );
}

#[test]
fn a_header_without_its_symbol_is_told_which() {
    // Goal: the names that are expected are in the message.
    refused(
        "sender",
        "law_sender mine_sender",
        "law_sender other",
        &["mine_sender, mine_router and mine_capacity"],
    );
}

#[test]
fn a_table_that_a_host_cannot_use_is_refused() {
    // Goal: each mistake that is easily made in a table is found before a run, and the message says what is expected.
    refused("sender", ".abi = LAW_ABI", ".abi = 7", &[".abi = 7", "LAW_ABI"]);
    refused(
        "sender",
        "sizeof(struct law_sender)",
        "8",
        &[".size = 8", "sizeof(struct law_sender)"],
    );
    refused(
        "sender",
        ".name = \"mine\"",
        ".name = \"other\"",
        &["\"other\"", "expected is \"mine\""],
    );
    refused(
        "sender",
        ".on_loss = mine_on_loss,",
        "",
        &[".on_loss", "LAW_SENDER_OWNS_RECOVERY"],
    );
    refused(
        "sender",
        ".state_bytes = sizeof(struct mine_state)",
        ".state_bytes = 200",
        &["200 bytes", "104"],
    );
    refused(
        "sender",
        ".params_bytes = sizeof(struct mine_params)",
        ".params_bytes = 0",
        &[".params_bytes = 0", "8 bytes"],
    );
    refused(
        "sender",
        "\"1\", 1000",
        "\"hours\", 1000",
        &["parameter 1", "\"hours\"", "us, B, pkt"],
    );
    refused(
        "sender",
        "beta, 500",
        "beta, 5000",
        &["beta is 5000 by default", "1 to 999"],
    );
    refused("sender", ".wire = LAW_WIRE_NONE", ".wire = 9", &[".wire = 9", "0 to 4"]);
    refused("router", ".timers = 1", ".timers = 5", &[".timers = 5", "0 to 4"]);
    refused(
        "capacity",
        ".estimate = mine_estimate,",
        "",
        &["mine_capacity has no .estimate"],
    );
    refused(
        "sender",
        ".summary = \"",
        ".router = \"nowhere\", .summary = \"",
        &["\"nowhere\"", "droptail"],
    );
}

#[test]
fn names_and_files_that_cannot_be_are_refused() {
    // Goal: a missing file, a name no law can have, the name of a built-in law and a missing compiler each say so.
    let place = place();
    fs::write(place.path().join("reno.h"), "").unwrap();
    fs::write(place.path().join("mine.h"), "").unwrap();
    for (file, words) in [
        ("gone.h", "cannot be read"),
        ("My.h", "lower case letters"),
        ("reno.h", "built-in law: name the file otherwise"),
    ] {
        let (status, _, message) = fadelab(place.path(), &["show", "s.toml", "--law", file]);
        assert_eq!(status, 2, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["show", "s.toml", "--law", "mine.h"])
        .env("CC", "no-such-compiler")
        .current_dir(place.path())
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("no-such-compiler") && message.contains("install gcc or clang"),
        "{message}"
    );
}

/// A law like that ends its run with exit status 1, saying function, place and reason; replayed, the call ends so again,
/// and with the skeleton as it was it does not.
fn at_fault(role: &str, from: &str, to: &str, function: &str, at: &str, why: &str) {
    let place = place();
    edited(place.path(), role, from, to);
    let uses = match role {
        "router" => "flow.law=reno+mine",
        "capacity" => "flow.law=vcp",
        _ => "flow.law=mine",
    };
    let mut arguments = vec!["run", "s.toml", "--law", "./mine.h", "--set", uses];
    if role == "capacity" {
        arguments.extend(["--set", "router.capacity=mine"]);
    }
    let (status, _, message) = fadelab(place.path(), &arguments);
    assert_eq!(status, 1, "{message}");
    for word in [
        &format!("law mine, {function} of {at}"),
        why,
        "input: ",
        "fadelab replay results/s-mine-fault.jsonl",
    ] {
        assert!(message.contains(word), "`{word}` is missing in:\n{message}");
    }
    let names: Vec<_> = fs::read_dir(place.path().join("results"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["s-mine-fault.jsonl"], "no result is left");
    let replay = ["replay", "results/s-mine-fault.jsonl"];
    let (status, text, message) = fadelab(place.path(), &replay);
    assert_eq!(status, 0, "{message}");
    assert!(
        text.contains(&format!("law mine, {function} of {at}")) && text.contains("state before"),
        "{text}"
    );
    let verdict = text.lines().last().unwrap();
    assert!(
        verdict.starts_with("still at fault: ") && verdict.contains(why),
        "{text}"
    );
    let header = place.path().join("mine.h");
    let text = fs::read_to_string(&header).unwrap().replacen(to, from, 1);
    fs::write(header, text).unwrap();
    let (_, text, _) = fadelab(place.path(), &replay);
    assert!(
        text.contains("has changed since") && text.contains("no longer at fault"),
        "{text}"
    );
    let (_, text, _) = fadelab(place.path(), &["replay", "--as-recorded", "results/s-mine-fault.jsonl"]);
    assert!(text.contains("still at fault"), "{text}");
}

/// A sender that does this on each ACK from a second on.
fn sender_at_fault(code: &str, why: &str) {
    let code = format!("(void)params;\n\tif (ack->now_us > 1000000) {{\n\t\t{code}\n\t}}");
    at_fault("sender", "(void)params;", &code, "on_ack", "flow 1 (flow.1) at 1.", why);
}

#[test]
fn a_division_by_zero_ends_the_run() {
    // Goal: the operation is named with its line and column.
    sender_at_fault(
        "control->cwnd_pkts /= ack->lost_pkts;",
        "a division by zero, or one that overflows, at ./mine.h:4",
    );
}

#[test]
fn an_overflow_ends_the_run() {
    // Goal: signed arithmetic that leaves its range is named.
    let code = "s64 big = 1ll << 62; control->cwnd_pkts = (u32)(big * (s64)ack->now_us);";
    sender_at_fault(code, "a multiplication that overflows, at ./mine.h:");
}

#[test]
fn a_shift_too_far_ends_the_run() {
    // Goal: a shift by more bits than there are is named.
    sender_at_fault(
        "control->cwnd_pkts = 1u << ack->now_us;",
        "a shift by a negative number of bits, or by too many",
    );
}

#[test]
fn an_index_beyond_its_array_ends_the_run() {
    // Goal: arrays of known length are watched.
    let code = "u32 few[4] = {1, 1, 1, 1}; control->cwnd_pkts = few[ack->now_us];";
    sender_at_fault(code, "an index beyond the array, at ./mine.h:");
}

#[test]
fn a_wild_access_ends_the_run() {
    // Goal: memory that is not the process's ends the call, not the process.
    sender_at_fault(
        "*(volatile u32 *)(ack->now_us & ~3ull) = 1;",
        "an access to memory at 0x",
    );
}

#[test]
fn a_null_pointer_ends_the_run() {
    // Goal: the compiler's check names the line.
    sender_at_fault(
        "u32 *volatile none = NULL; *none = 1;",
        "pointer that is null, misaligned or out of its object, at",
    );
}

#[test]
fn a_recursion_without_end_ends_the_run() {
    // Goal: an exhausted stack is the law's fault, not the end of the process.
    let function = "static u32 deep(u32 n)\n{\n\tvolatile u32 here[64];\n\n\there[n & 63] = n;\n\treturn here[n & 63] + \
                    (n ? deep(n + 2) : 0);\n}\n\nLAW void mine_on_ack(";
    let place = place();
    edited(place.path(), "sender", "LAW void mine_on_ack(", function);
    let path = place.path().join("mine.h");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replacen("(void)params;", "control->cwnd_pkts = deep(1);", 1),
    )
    .unwrap();
    let (status, _, message) = fadelab(place.path(), &["run", "s.toml", "--law", "./mine.h"]);
    assert_eq!(status, 1, "{message}");
    assert!(
        message.contains("law mine, on_ack of flow ") && message.contains("a recursion without end"),
        "{message}"
    );
}

#[test]
fn a_loop_without_end_ends_the_run() {
    // Goal: a call that does not come back is ended, with its place and input.
    sender_at_fault(
        "while (*(volatile const u32 *)&ack->size)\n\t\t\t;",
        "a loop without end",
    );
}

#[test]
fn a_write_beyond_the_state_ends_the_run() {
    // Goal: a law that stores more than it declared is caught at once.
    let code = "((volatile u8 *)state)[sizeof(struct mine_state) + 3] = 1;";
    sender_at_fault(code, "it wrote beyond its state, which has 8 bytes");
}

#[test]
fn a_window_of_nothing_ends_the_run() {
    // Goal: windows below 1, or counted down below zero, are refused where they are made.
    sender_at_fault("control->cwnd_pkts = 0;", "it returned cwnd_pkts = 0");
    sender_at_fault("control->ssthresh_pkts = 0;", "it returned ssthresh_pkts = 0");
    sender_at_fault(
        "control->cwnd_pkts = ack->lost_pkts - 1;",
        "was it counted down below zero?",
    );
}

#[test]
fn a_sender_that_writes_what_is_not_its_own_ends_the_run() {
    // Goal: codepoints are 0 to 3, and the state of recovery is the host's.
    sender_at_fault("control->ecn = 4;", "it returned ecn = 4; codepoints are 0 to 3");
    sender_at_fault(
        "control->ca_state = LAW_CA_LOSS;",
        "it changed ca_state, which is the host's",
    );
}

#[test]
fn windows_in_recovery_are_the_hosts() {
    // Goal: a law that does not own recovery and grows the window in it is told so, as is one whose loss grows it.
    let (from, to) = ("control->ca_state == LAW_CA_RECOVERY || ", "");
    at_fault("sender", from, to, "on_ack", "flow ", "it changed a window in recovery");
    let (from, to) = (
        "control->ssthresh_pkts = (u32)",
        "control->ssthresh_pkts = 1000 + (u32)",
    );
    at_fault(
        "sender",
        from,
        to,
        "on_loss",
        "flow ",
        "the host brings the window to ssthresh",
    );
}

#[test]
fn a_router_that_returns_nonsense_ends_the_run() {
    // Goal: verdicts, codepoints and timers that make no sense are told with the link.
    let enqueue = |code: &str, why: &str| at_fault("router", "(void)queue;", code, "on_enqueue", "link ", why);
    enqueue("(void)queue;\n\treturn 2;", "it returned the verdict 2");
    enqueue("packet->ecn = 4;", "it left ecn = 4 on the packet");
    let from = "return queue->now_us + p->period_us;";
    at_fault(
        "router",
        from,
        "return queue->now_us;",
        "on_timer",
        "link ",
        "which is not after now",
    );
    let from = "due_us[0] = link->now_us + p->period_us;";
    let to = "due_us[0] = link->now_us / (p->period_us - 10000);";
    at_fault("router", from, to, "init", "link ", "a division by zero");
}

#[test]
fn a_capacity_part_that_returns_nonsense_ends_the_run() {
    // Goal: estimates beyond any link, and a capacity that the table does not declare, are told with the link.
    let (from, to) = ("out->capacity_Bps = s->capacity_Bps;", "out->capacity_Bps = ~0ull;");
    at_fault("capacity", from, to, "estimate", "link ", "beyond any link");
}

#[test]
fn skeletons_run_as_they_are_and_are_never_overwritten() {
    // Goal: each role's skeleton compiles without a remark and runs; a second one of the name is refused.
    for (role, sets) in [
        ("sender", &["flow.law=mine"][..]),
        ("router", &["flow.law=reno+mine"]),
        ("capacity", &["flow.law=vcp", "router.capacity=mine"]),
    ] {
        let place = place();
        let (status, text, _) = fadelab(place.path(), &["new-law", "mine", "--role", role]);
        assert!(status == 0 && text.contains("--law ./mine.h"), "{text}");
        let mut arguments = vec!["run", "s.toml", "--law", "mine.h"];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        let (status, _, message) = fadelab(place.path(), &arguments);
        assert_eq!(status, 0, "{role}: {message}");
        assert!(!message.contains("compiler"), "{role}: {message}");
        let before = fs::read(place.path().join("mine.h")).unwrap();
        let (status, _, message) = fadelab(place.path(), &["new-law", "mine.h", "--role", role]);
        assert!(status == 2 && message.contains("exists already"), "{message}");
        assert_eq!(fs::read(place.path().join("mine.h")).unwrap(), before);
    }
}

#[test]
fn a_law_runs_beside_those_that_the_scenario_names() {
    // Goal: without an edit of the scenario a sender joins the laws, a router joins behind senders that bring none; a
    // law that is named is not added again.
    let place = place();
    edited(place.path(), "sender", "500", "500");
    let laws = |arguments: &[&str]| {
        let arguments: Vec<&str> = [&["show", "s.toml", "--law", "mine.h"], arguments].concat();
        let (status, text, message) = fadelab(place.path(), &arguments);
        assert_eq!(status, 0, "{message}");
        text.lines().find(|line| line.starts_with("law = ")).unwrap().to_owned()
    };
    assert_eq!(laws(&[]), r#"law = ["reno", "mine"]"#);
    assert_eq!(
        laws(&["--set", "flow.law=[\"mine+red\", \"xcp\"]"]),
        r#"law = ["mine+red", "xcp"]"#
    );
    fs::remove_file(place.path().join("mine.h")).unwrap();
    edited(place.path(), "router", "20", "20");
    assert_eq!(
        laws(&["--set", "flow.law=[\"reno\", \"xcp\"]"]),
        r#"law = ["reno", "xcp", "reno+mine"]"#
    );
}

#[test]
fn parameters_of_an_own_law_are_keys_of_the_scenario() {
    // Goal: they are shown with their defaults, set, and refused outside the range that the header declares.
    let place = place();
    edited(place.path(), "sender", "500", "500");
    let set = |value: &str| fadelab(place.path(), &["show", "s.toml", "--law", "mine.h", "--set", value]);
    assert!(set("flow.law=mine").1.contains("[law.mine]\nbeta = 0.5\n"));
    assert!(set("law.mine.beta=0.7").1.contains("beta = 0.7\n"));
    let (status, _, message) = set("law.mine.beta=2");
    assert!(status == 2 && message.contains("0.001 to 0.999"), "{message}");
}

#[test]
fn a_result_keeps_the_law_and_explains_its_windows() {
    // Goal: header and hash are in the result; the explanation works from them alone, when the user's file has gone, and
    // tells the step; selectors that do not exist say what does.
    let place = place();
    fs::create_dir(place.path().join("part")).unwrap();
    fs::write(place.path().join("part/half.h"), "#define HALF 500\n").unwrap();
    edited(
        place.path(),
        "sender",
        "#include \"law.h\"",
        "#include \"law.h\"\n#include \"part/half.h\"",
    );
    let (status, _, message) = fadelab(place.path(), &["run", "s.toml", "--law", "mine.h", "--seeds", "1..2"]);
    assert_eq!(status, 0, "{message}");
    let result = place.path().join("results/s-001");
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(result.join("manifest.json")).unwrap()).unwrap();
    let own = &manifest["own_laws"][0];
    assert_eq!(
        (own["name"].as_str(), own["path"].as_str()),
        (Some("mine"), Some("mine.h"))
    );
    assert_eq!(own["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(own["files"], serde_json::json!(["mine.h", "part/half.h"]));
    for name in ["mine.h", "part/half.h"] {
        let kept = fs::read(result.join("laws/mine").join(name)).unwrap();
        assert_eq!(kept, fs::read(place.path().join(name)).unwrap());
        fs::remove_file(place.path().join(name)).unwrap();
    }
    let explain = |arguments: &[&str]| fadelab(place.path(), &[&["explain", "results/s-001"], arguments].concat());
    let (status, text, message) = explain(&["--law", "mine", "--seed", "2", "--flow", "2", "--at", "6s"]);
    assert_eq!(status, 0, "{message}");
    for part in [
        "flow 2 (flow.2), law mine, seed 2",
        "cwnd += acked / cwnd",
        "an ACK of ",
        "ssthresh",
        "beta 0.5",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    let changes = text
        .lines()
        .filter(|line| line.contains(" -> ") && line.contains(" s  "))
        .count();
    assert_eq!(changes, 7, "three before, the one asked for, three after:\n{text}");
    for (arguments, words) in [
        (&["--flow", "3", "--at", "6s"][..], "allowed is 1 to 2"),
        (&["--law", "cubic", "--at", "6s"], "there is reno, mine"),
        (&["--seed", "9", "--at", "6s"], "there is 1, 2"),
        (&["--at", "60s"], "the run ends at 10 s"),
        (&["--at", "6"], "--at 6:"),
        (&[], "--at is missing"),
    ] {
        let (status, _, message) = explain(arguments);
        assert!(status == 2 && message.contains(words), "{message}");
    }
}

#[test]
fn an_explanation_tells_what_the_host_did() {
    // Goal: built-in laws need no compiler; a loss shows the law's step and that the host brought the window down.
    let place = place();
    assert_eq!(fadelab(place.path(), &["run", "s.toml", "-q"]).0, 0);
    let explain = |at: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
            .args(["explain", "results/s-001", "--at", at])
            .env("CC", "no-such-compiler")
            .current_dir(place.path())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    // Every tenth of a second: the first loss is among them, whenever it comes.
    let texts = (1..=60).map(|tenth| explain(&format!("{} ms", 100 * tenth)));
    let loss = texts
        .into_iter()
        .find(|text| text.contains("event       a loss"))
        .expect("a short queue loses");
    assert!(loss.contains("RFC 5681 (4): ssthresh = max(cwnd / 2, 2)"), "{loss}");
    assert!(loss.contains("the host brings the window to ssthresh"), "{loss}");
    assert!(explain("0 ms").contains("a new connection"), "the first call");
}

#[test]
fn a_file_that_is_none_of_calls_is_refused() {
    // Goal: wrong files, versions and records say what is wrong, with the line.
    let place = place();
    let replay = |text: &str| {
        fs::write(place.path().join("calls.jsonl"), text).unwrap();
        let (status, _, message) = fadelab(place.path(), &["replay", "calls.jsonl"]);
        assert_eq!(status, 2, "{message}");
        message
    };
    let head = "{\"fadelab_calls\":1}\n";
    assert!(replay("").contains("no file of calls"));
    assert!(replay("[run]\n").contains("no file of calls"));
    assert!(replay("{\"fadelab_calls\":9}\n").contains("version 9"));
    assert!(replay(head).contains("has no calls"));
    assert!(replay(&format!("{head}{{}}\n")).contains("calls.jsonl:2"));
    let call = |more: &str| format!("{head}{{\"law\":\"reno\",\"role\":\"sender\",\"state\":\"\",{more}}}\n");
    assert!(replay(&call("\"function\":\"on_fire\"")).contains("no law has a function `on_fire`"));
    let wrong = "\"function\":\"on_ack\",\"event\":{\"acked\":1}";
    assert!(replay(&call(wrong)).contains("no field `acked`"));
}

#[test]
fn many_calls_are_replayed_and_compared() {
    // Goal: a file of several calls of a built-in law is made again call by call; equal outcomes count as such, and one
    // that differs is shown in full.
    let place = place();
    let call = |cwnd_pkts: u32, after_pkts: u32| {
        let decision = |cwnd_pkts| {
            format!(
                "{{\"cwnd_pkts\":{cwnd_pkts},\"ssthresh_pkts\":{after_pkts},\"ca_state\":0,\"pacing_Bps\":0,\"ecn\":0}}"
            )
        };
        format!(
            "{{\"law\":\"reno\",\"role\":\"sender\",\"function\":\"on_loss\",\"arguments\":{{\"cause\":0}},\
             \"state\":\"{0}\",\"decision\":{1},\"outcome\":{{\"state\":\"{2}\",\"decision\":{1}}}}}\n",
            "00".repeat(24),
            decision(cwnd_pkts),
            format!("{}{cwnd_pkts:02x}{}", "00".repeat(8), "00".repeat(15)),
        )
    };
    let text = format!("{{\"fadelab_calls\":1}}\n{}{}{}", call(40, 20), call(9, 4), call(9, 5));
    fs::write(place.path().join("calls.jsonl"), text).unwrap();
    let (status, text, message) = fadelab(place.path(), &["replay", "calls.jsonl"]);
    assert_eq!(status, 0, "{message}");
    assert!(
        text.contains("call 3:") && text.contains("ssthresh_pkts  5 -> 4"),
        "{text}"
    );
    assert!(
        text.ends_with("3 calls: 2 as recorded, 1 differ, 0 without a recorded outcome\n"),
        "{text}"
    );
}
