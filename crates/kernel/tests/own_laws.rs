//! Laws that users bring, compiled for a kernel: a receiver beside its sender, and what no kernel tells.

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/own.rs"]
mod own;

use fadelab_kernel::Version;
use fadelab_kernel::compile::CompileError;
use fadelab_kernel::router::object::{Recipe, compile, obstacle};
use fadelab_kernel::sender::Unit;
use fadelab_laws::{capacity, router, sender};
use own::bring_text;

/// Whether there is no compiler, without which nothing is to be tested.
fn has_no_compiler<T>(result: &Result<T, CompileError>) -> bool {
    let missing = matches!(result, Err(CompileError::NoClang { .. }));
    if missing {
        eprintln!("skipped: own_laws: no clang for BPF");
    }
    missing
}

#[test]
fn a_receiver_beside_its_sender_is_found() {
    // Goal: a law that a user brings is one file: its receiver's half is compiled from the header of the sender.
    bring_text(
        "whole",
        r#"
#include "law.h"

LAW void whole_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                       struct law_control *control)
{
	control->ssthresh_pkts = ack->feedback.bytes[0] ? 2 : 1;
}

LAW_TABLE struct law_sender whole_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "whole",
	.summary = "Two halves in one file",
	LAW_NO_PARAMS,
	.on_loss = whole_on_loss,
};

LAW void whole_fill_ack(void *state, struct law_fill *fill)
{
	fill->feedback.len = fill->feedback.present = 1;
}

LAW_TABLE struct law_receiver whole_receiver = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_receiver),
	.name = "whole",
	.feedback_bytes = 1,
	.fill_ack = whole_fill_ack,
};
"#,
    );
    let unit = Unit::new(sender("whole").expect("brought"), Version::OLDEST);
    assert!(unit.receiver.is_some() && unit.carries_feedback());
    let object = unit.compile();
    if !has_no_compiler(&object) {
        assert_eq!(&object.expect("it compiles")[..4], b"\x7fELF");
    }
}

#[test]
fn a_part_beside_its_router_is_found() {
    // Goal: a router's law and its capacity part may stand in one file that a user brings, read once.
    let law = r#"
LAW_TABLE struct law_router joint_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "joint",
	.summary = "Beside its part",
	LAW_NO_PARAMS,
};
"#;
    bring_text("joint", &(part("joint", "\tout->spare_Bps = 0;") + law));
    let (law, part) = (router("joint").expect("brought"), capacity("joint").expect("brought"));
    let object = compile(&Recipe {
        law,
        params: &law.default_params(),
        part,
        part_params: &part.default_params(),
        kernel: Version::OLDEST,
        record: false,
    });
    if !has_no_compiler(&object) {
        assert_eq!(&object.expect("it compiles")[..4], b"\x7fELF");
    }
}

#[test]
fn a_law_with_queues_has_no_place_at_a_device() {
    // Goal: whoever puts a law at a device is told that the device has one queue, by the law's name.
    bring_text(
        "several",
        r#"
#include "law.h"

LAW u32 several_classify(void *state, const void *params, const struct law_packet *packet,
                         const struct law_queue *queue)
{
	return packet->ecn & 1;
}

LAW u32 several_pick(void *state, const void *params, const struct law_queue *queue)
{
	return !queue->each_pkts[0];
}

LAW_TABLE struct law_router several_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "several",
	.summary = "Two queues",
	LAW_NO_PARAMS,
	.queues = 2,
	.classify = several_classify,
	.pick = several_pick,
};
"#,
    );
    let (law, part) = (
        router("several").expect("brought"),
        capacity("configured").expect("registered"),
    );
    let why = obstacle(law, part).expect("a device has one queue");
    assert!(why.contains("several") && why.contains("2 queues of its own"), "{why}");
    assert_eq!(obstacle(router("red").expect("registered"), part), None);
}

/// A capacity part whose estimate is `line`.
fn part(name: &str, line: &str) -> String {
    format!(
        r#"#include "law.h"
LAW void {name}_estimate(void *state, const void *params, const struct law_interval *interval, struct law_estimate *out)
{{
{line}
}}

LAW_TABLE struct law_capacity {name}_capacity = {{
	.abi = LAW_ABI,
	.size = sizeof(struct law_capacity),
	.name = "{name}",
	.summary = "Reads what its link's far end received",
	LAW_NO_PARAMS,
	.estimate = {name}_estimate,
}};
"#
    )
}

#[test]
fn what_no_kernel_tells_is_refused_where_it_is_read() {
    // Goal: a part that reads what a device cannot know is refused with the field, the reason and its line; one that
    // leaves the line out for a kernel is taken, and both run in the simulator.
    let line = "\tout->spare_Bps = (s64)interval->received_bytes;";
    bring_text("hears", &part("hears", line));
    bring_text("spares", &part("spares", &format!("#ifndef __bpf__\n{line}\n#endif")));
    let law = router("xcp").expect("registered");
    let compiled = ["hears", "spares"].map(|part| {
        let part = capacity(part).expect("brought");
        compile(&Recipe {
            law,
            params: &law.default_params(),
            part,
            part_params: &part.default_params(),
            kernel: Version::OLDEST,
            record: false,
        })
    });
    if compiled.iter().any(has_no_compiler) {
        return;
    }
    let [refused, taken] = compiled;
    assert_eq!(&taken.expect("it compiles")[..4], b"\x7fELF");
    let message = refused.expect_err("it reads what no device knows").to_string();
    for part in [
        "hears.h:4:",
        "received_bytes",
        "a device does not hear what the far end received",
    ] {
        assert!(message.contains(part), "{message}");
    }
}
