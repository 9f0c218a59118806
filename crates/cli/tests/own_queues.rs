//! A router's law that a user brings, with queues of its own: what is refused before it runs, and that it runs.

mod own;

use std::fs;

use own::{fadelab, place};

/// A law with these lines in its table, which takes turns between two queues.
fn law(lines: &str) -> String {
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

const WHOLE: &str = ".queues = 2, .classify = mine_classify, .pick = mine_pick,";

#[test]
fn tables_that_do_not_fit_are_refused() {
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
        fs::write(place.path().join("mine.h"), law(lines)).unwrap();
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
    fs::write(place.path().join("mine.h"), law(WHOLE)).unwrap();
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
