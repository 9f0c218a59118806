//! What a law that a user brought must not do, found before it runs.

mod own;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use own::{edited, fadelab, place};

/// A sender with this before its functions and this on each ACK is refused with these words.
fn refused(before: &str, on_ack: &str, words: &[&str]) {
    let place = place();
    edited(
        place.path(),
        "sender",
        "(void)params;",
        &format!("(void)params;\n\t{on_ack}"),
    );
    let path = place.path().join("mine.h");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replacen("LAW void mine_on_ack(", &format!("{before}\nLAW void mine_on_ack("), 1),
    )
    .unwrap();
    for compiler in ["gcc", "clang"] {
        let command = Command::new(env!("CARGO_BIN_EXE_fadelab"))
            .args(["run", "s.toml", "--law", "./mine.h"])
            .env("CC", compiler)
            .current_dir(place.path())
            .output()
            .unwrap();
        let message = String::from_utf8(command.stderr).unwrap();
        assert_eq!(command.status.code(), Some(2), "{compiler}: {message}");
        for word in words {
            assert!(message.contains(word), "{compiler}: `{word}` is missing in:\n{message}");
        }
        assert!(!place.path().join("results").exists());
    }
}

#[test]
fn memory_outside_the_state_is_refused() {
    // Goal: a variable that flows, seeds and threads would share is named, whatever its kind.
    let words = ["outside its state", "counter", "make it const"];
    refused("", "static u64 counter; control->cwnd_pkts += counter++ & 1;", &words);
    refused(
        "static u64 counter = 7;",
        "control->cwnd_pkts += counter++ & 1;",
        &words,
    );
    refused("u64 counter;", "control->cwnd_pkts += counter++ & 1;", &words);
    refused(
        "static __thread u64 counter;",
        "control->cwnd_pkts += counter++ & 1;",
        &words,
    );
}

#[test]
fn calls_out_of_the_header_are_refused() {
    // Goal: what ends the process, takes time or asks the clock is named before anything runs.
    for name in ["exit(0)", "_exit(0)", "fork()", "clock()", "pause()", "abort()"] {
        let symbol = name.split('(').next().unwrap();
        let includes = "#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n";
        refused(
            includes,
            &format!("{name};"),
            &[&format!("it uses `{symbol}`"), "the C library"],
        );
    }
}

#[test]
fn a_constructor_is_refused() {
    // Goal: nothing of a law runs when it is loaded.
    let before = "__attribute__((constructor)) static void early(void)\n{\n\t__builtin_trap();\n}\n";
    refused(before, "", &["a constructor"]);
}

#[test]
fn constants_and_copies_stay_allowed() {
    // Goal: tables of constants, with and without addresses, copied structs and wide divisions are no fault.
    let place = place();
    let code = "(void)params;\n\tstatic const char *const names[] = {\"a\", \"b\"};\n\tstruct law_ack copy = *ack;\n\t\
                unsigned __int128 wide = (unsigned __int128)copy.now_us << 40;\n\t\
                if (*names[copy.now_us & 1] == 'c' && wide / (copy.now_us | 1) == 1)\n\t\treturn;";
    edited(place.path(), "sender", "(void)params;", code);
    let (status, _, message) = fadelab(place.path(), &["check", "s.toml", "--law", "./mine.h"]);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn names_that_mean_something_else_are_refused() {
    // Goal: a user's law cannot pass for fair queueing, for a keyword of scenarios or for a header of fadelab.
    let place = place();
    for name in [
        "fq_codel", "none", "auto", "one", "udp", "law", "base", "declare", "fixed",
    ] {
        let file = format!("{name}.h");
        fs::write(place.path().join(&file), "").unwrap();
        let (status, _, message) = fadelab(place.path(), &["run", "s.toml", "--law", &file]);
        assert_eq!(status, 2, "{message}");
        assert!(
            message.contains("the name") && message.contains(&format!("my_{name}.h")),
            "{message}"
        );
    }
}

#[test]
fn tables_that_point_nowhere_are_refused() {
    // Goal: counts and addresses that cannot be end neither in a wrap nor in a crash of the loader.
    let change = |from: &str, to: &str, word: &str| {
        let place = place();
        edited(place.path(), "sender", from, to);
        let (status, _, message) = fadelab(place.path(), &["run", "s.toml", "--law", "./mine.h"]);
        assert_eq!(status, 2, "{message}");
        assert!(message.contains(word), "`{word}` is missing in:\n{message}");
    };
    change(".name = \"mine\"", ".name = (const char *)1", ".name = \"\"");
    let list = "LAW_PARAM_LIST(MINE_PARAMS),";
    change(
        list,
        "LAW_PARAM_LIST(MINE_PARAMS), .router = (const char *)1,",
        ".router",
    );
    for rows in ["536870912", "100000000"] {
        let table = format!(".params = mine_sender_rows, .params_n = {rows},");
        let table = table.replace("mine_sender_rows", "(const struct law_param *)8");
        change(list, &table, "allowed are 256");
    }
    change(
        list,
        ".params = (const struct law_param *)8, .params_n = 1,",
        "no such .params",
    );
    for rows in ["1", "300", "536870912"] {
        let watch = format!("{list} .watch = (const struct law_watch *)8, .watch_n = {rows},");
        change(list, &watch, "no such .watch; allowed are 256");
    }
}

#[test]
fn values_to_watch_that_nobody_could_read_are_refused() {
    // Goal: a value without a unit that is known, without a scale, outside the state, of no size of an integer, without
    // a meaning or under the name of another says in the header's words what is wrong with it.
    let list = "LAW_PARAM_LIST(MINE_PARAMS),";
    let change = |rows: &str, word: &str| {
        let place = place();
        let rows_n = rows.matches('{').count();
        let watch = format!("{list} .watch = (const struct law_watch[]){{{rows}}}, .watch_n = {rows_n},");
        edited(place.path(), "sender", list, &watch);
        let (status, _, message) = fadelab(place.path(), &["run", "s.toml", "--law", "./mine.h"]);
        assert_eq!(status, 2, "{message}");
        assert!(message.contains(word), "`{word}` is missing in:\n{message}");
    };
    let good = "{\"good\", \"pkt\", 1, \"A value\", 0, 4, 0, 0}";
    change(
        "{\"x\", \"furlong\", 1, \"A value\", 0, 4, 0, 0}",
        "unit \"furlong\"; allowed is us, B, B/s, pkt, 1, bool",
    );
    change("{\"x\", \"pkt\", 0, \"A value\", 0, 4, 0, 0}", "scale 0");
    change(
        "{\"x\", \"pkt\", 1, \"A value\", 4000, 8, 0, 0}",
        "8 bytes at 4000 of a state of",
    );
    change(
        "{\"x\", \"pkt\", 1, \"A value\", 4294967295u, 8, 0, 0}",
        "8 bytes at 4294967295",
    );
    change("{\"x\", \"pkt\", 1, \"A value\", 0, 3, 0, 0}", "3 bytes at 0");
    change("{\"x\", \"pkt\", 1, 0, 0, 4, 0, 0}", "unit and meaning are needed");
    change(&format!("{good}, {good}"), "declares the value to watch good twice");
}

#[test]
fn what_is_no_header_file_is_refused() {
    // Goal: a pipe or a device does not hang, and a file that no person wrote is not compiled.
    let place = place();
    let header = place.path().join("mine.h");
    let refused = |word: &str| {
        let (status, _, message) = fadelab(place.path(), &["run", "s.toml", "--law", "mine.h"]);
        assert_eq!(status, 2, "{message}");
        assert!(message.contains(word), "`{word}` is missing in:\n{message}");
        fs::remove_file(&header).unwrap();
    };
    assert!(Command::new("mkfifo").arg(&header).status().unwrap().success());
    refused("not a regular file");
    std::os::unix::fs::symlink("/dev/zero", &header).unwrap();
    refused("not a regular file");
    fs::write(&header, vec![b' '; (1 << 20) + 1]).unwrap();
    refused("allowed are 1048576");
}

#[test]
fn what_a_killed_compile_left_goes_at_the_next_start() {
    // Goal: the temporary folder of a process that ended while the compiler ran does not stay for ever.
    let place = place();
    edited(place.path(), "sender", "(void)params;", "(void)params;");
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let compiler = place.path().join("compiler");
    fs::write(&compiler, "#!/bin/sh\nkill -TERM $PPID\n").unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let left = |compiler: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
        command.args(["check", "s.toml", "--law", "./mine.h"]);
        command
            .env("TMPDIR", &temporary)
            .env("CC", compiler)
            .current_dir(place.path());
        let output = command.output().unwrap();
        (output.status.code(), fs::read_dir(&temporary).unwrap().count())
    };
    assert_eq!(left(compiler.to_str().unwrap()), (None, 1), "ended by the signal");
    assert_eq!(left("cc"), (Some(0), 0));
}

#[test]
fn a_gateway_that_nothing_uses_is_said() {
    // Goal: a law that the scenario does not name is not passed over in silence, and one that carries nothing is no
    // gateway.
    let place = place();
    let header = |lines: &str| {
        format!(
            "#include \"law.h\"\n\nLAW void mine_carry(void *state, const void *params, u64 now_us, const struct \
             law_packet *from,\n\tstruct law_packet *to)\n{{\n}}\n\nLAW_TABLE struct law_gateway mine_gateway = \
             {{\n\t.abi = LAW_ABI,\n\t.size = sizeof(struct law_gateway),\n\t.name = \"mine\",\n\t.summary = \
             \"Carries\",\n\tLAW_NO_PARAMS,\n\t{lines}\n}};\n"
        )
    };
    for (lines, expected, words) in [
        (
            ".encapsulate = mine_carry,",
            0,
            ["nothing uses the law mine", "--set tunnel.NAME.law=mine would"],
        ),
        ("", 2, ["neither .encapsulate nor .decapsulate", "mine_gateway"]),
    ] {
        fs::write(place.path().join("mine.h"), header(lines)).unwrap();
        let (status, _, message) = fadelab(place.path(), &["check", "s.toml", "--law", "./mine.h"]);
        assert_eq!(status, expected, "{message}");
        for word in words {
            assert!(message.contains(word), "`{word}` is missing in:\n{message}");
        }
    }
}

#[test]
fn feedback_that_fits_no_header_is_refused() {
    // Goal: 20 bytes there and 20 back are 48 of the 28 that timestamps leave, which the run says before it begins; 20
    // and none fit, and where feedback takes no room on the wire nothing is refused.
    let place = place();
    edited(
        place.path(),
        "sender",
        "\t.on_ack =",
        "\t.feedback_bytes = 20,\n\t.on_ack =",
    );
    let run = |setting| fadelab(place.path(), &["run", "s.toml", "--law", "./mine.h", "--set", setting]);
    let (status, _, message) = run("transport.option_space=true");
    assert_eq!(status, 0, "{message}");
    let path = place.path().join("mine.h");
    let receiver = "LAW_TABLE struct law_receiver mine_receiver = {\n\t.abi = LAW_ABI,\n\t.size = sizeof(struct \
                    law_receiver),\n\t.name = \"mine\",\n\t.feedback_bytes = 20,\n};\n\n#endif";
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("#endif", receiver, 1)).unwrap();
    let (status, _, message) = run("transport.option_space=true");
    assert_eq!(status, 2, "{message}");
    for word in ["`mine`", "48 B", "28 B", "option_space = false"] {
        assert!(message.contains(word), "`{word}` is missing in:\n{message}");
    }
    let (status, _, message) = run("transport.option_space=false");
    assert_eq!(status, 0, "{message}");
}

/// A router's law with these lines in its table, which takes turns between two queues.
fn queues(lines: &str) -> String {
    format!(
        "#include \"law.h\"

LAW u32 mine_classify(void *state, const void *params, const struct law_packet *packet, const struct law_queue *queue)
{{
	return packet->ip_id & 1;
}}

LAW u32 mine_pick(void *state, const void *params, const struct law_queue *queue)
{{
	return queue->each_wait_us[0] < queue->each_wait_us[1] || !queue->each_pkts[0];
}}

LAW_TABLE struct law_router mine_router = {{
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = \"mine\",
	.summary = \"Two queues by the parity of packets\",
	LAW_NO_PARAMS,
	{lines}
}};
"
    )
}

/// A law that is whole.
const WHOLE: &str = ".queues = 2, .classify = mine_classify, .pick = mine_pick,";

#[test]
fn queues_that_do_not_fit_are_refused() {
    // Goal: queues without functions, functions without queues, and more queues than there may be, each by its name.
    let place = place();
    for (lines, words) in [
        (".queues = 2, .pick = mine_pick,", [".queues = 2", ".classify"]),
        (".queues = 2, .classify = mine_classify,", [".queues = 2", ".pick"]),
        (".pick = mine_pick,", [".pick", "no .queues"]),
        (
            ".queues = 5, .classify = mine_classify, .pick = mine_pick,",
            [".queues = 5", "0 to 4"],
        ),
    ] {
        fs::write(place.path().join("mine.h"), queues(lines)).unwrap();
        let (status, _, message) = fadelab(place.path(), &["check", "s.toml", "--law", "./mine.h"]);
        assert_eq!(status, 2, "{message}");
        for word in words {
            assert!(message.contains(word), "`{word}` is missing in:\n{message}");
        }
    }
}

#[test]
fn a_law_with_queues_runs_alone() {
    // Goal: it runs where the link has one queue, and is refused by name where a scenario divides that or the kernel's
    // queue would have to be.
    let place = place();
    fs::write(place.path().join("mine.h"), queues(WHOLE)).unwrap();
    let run = |setting: &str| fadelab(place.path(), &["run", "s.toml", "--law", "./mine.h", "--set", setting]);
    let (status, out, message) = run("router.queues=\"auto\"");
    assert_eq!(status, 0, "{message}");
    assert!(out.contains("mine"), "{out}");
    for division in ["\"per flow\"", "\"acks first\"", "16"] {
        let (status, _, message) = run(&format!("router.queues={division}"));
        assert_eq!(status, 2, "{division}: {message}");
        for word in ["router.queues", "mine", "2 queues of its own"] {
            assert!(message.contains(word), "`{word}` is missing in:\n{message}");
        }
    }
}
