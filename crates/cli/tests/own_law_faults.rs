//! Every way in which a law that a user brought can be at fault, and its replay.

mod own;

use std::fs;

use own::{edited, fadelab, place};

/// A law like that ends its run with exit status 1, saying function, place and reason; replayed, the call ends so
/// again, and with the skeleton as it was it does not.
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
    at_fault("sender", "(void)params;", &code, "on_ack", "flow 2 (flow.2) at 1.", why);
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
    let code = "s64 big = (1ll << 62) * (s64)ack->now_us; control->cwnd_pkts = (u32)(big >> 40) | 1;";
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
    let function = "static u32 deep(u32 n)\n{\n\tvolatile u32 here[64];\n\n\there[n & 63] = n;\n\t\
                    return here[n & 63] + (n ? deep(n + 2) : 0);\n}\n\nLAW void mine_on_ack(";
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
fn a_write_before_or_far_beyond_the_state_ends_the_run() {
    // Goal: neither the allocator nor another flow's state is reached by an index that is wrong.
    sender_at_fault("((volatile u64 *)state)[-1] = 1;", "it wrote before its state");
    sender_at_fault(
        "((volatile u8 *)state)[sizeof(struct mine_state) + 300] = 1;",
        "it wrote beyond its state",
    );
}

#[test]
fn a_write_into_what_the_law_may_only_read_ends_the_run() {
    // Goal: parameters, which flows and seeds share, what lies around them, and the event stay as they were.
    let why = "it changed its parameters";
    sender_at_fault("((volatile u64 *)(u64)params)[0] += 1;", why);
    sender_at_fault(
        "((volatile u64 *)(u64)params)[sizeof(struct mine_params) / 8] = 1;",
        why,
    );
    sender_at_fault(
        "((volatile struct law_ack *)(u64)ack)->rtt_us += 1;",
        "it changed what the host shows it",
    );
}

#[test]
fn a_router_that_changes_what_it_may_only_read_ends_the_run() {
    // Goal: sizes and kind of a packet, and the queue, are the host's, and feedback is no longer than a packet holds.
    let enqueue = |code: &str, why: &str| at_fault("router", "(void)queue;", code, "on_enqueue", "link ", why);
    enqueue("packet->ip_bytes += 1;", "it changed ip_bytes of the packet");
    enqueue("packet->wire ^= 1;", "it changed wire of the packet");
    enqueue("packet->feedback_len = 21;", "it left feedback_len = 21");
    enqueue(
        "((volatile struct law_queue *)(u64)queue)->queue_pkts += 1;",
        "it changed what the host shows it",
    );
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
    // Goal: a law that does not own recovery and grows the window in it is told so, as is one that sets a flag which
    // nobody knows, or leaves a window below one packet to a host that does not pace.
    let (from, to) = (
        "control->ca_state == LAW_CA_RECOVERY ||",
        "control->ca_state > LAW_CA_LOSS ||",
    );
    at_fault(
        "sender",
        from,
        to,
        "on_ack",
        "flow ",
        "it changed the window in recovery",
    );
    let loss = |code: &str, why: &str| {
        let (from, to) = (
            "control->ssthresh_pkts = (u32)",
            format!("{code}control->ssthresh_pkts = (u32)"),
        );
        at_fault("sender", from, &to, "on_loss", "flow ", why);
    };
    loss("control->flags = 8; ", "it returned control.flags = 0x8; allowed are");
    loss(
        "control->cwnd_pkts = 0; control->cwnd_fraction = 7; ",
        "it returned cwnd_pkts = 0 with cwnd_fraction = 7",
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
