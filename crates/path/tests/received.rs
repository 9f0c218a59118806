//! What a capacity part is told of its link: received bytes and limits, with a part that is brought to be watched.

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Once;

use common::{Bench, DATA, MS, constant, spec, step_by_step};
use fadelab_laws::guard::{self, CallRecord};
use fadelab_laws::own::{Source, SourceFile, load_text};
use fadelab_laws::{capacity, router};
use fadelab_path::layer::Arq;
use fadelab_path::spec::LinkSpec;
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model};
use fadelab_phy::random::Stream;

/// A law whose timer asks the part every 5 ms.
const WATCHED: &str = r#"
#include "law.h"

LAW void asked_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	due_us[0] = link->now_us + 5000;
}

LAW u64 asked_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	return queue->now_us + 5000;
}

LAW_TABLE struct law_router asked_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "asked",
	.summary = "Asks its part",
	.timers = 1,
	LAW_NO_PARAMS,
	.init = asked_init,
	.on_timer = asked_on_timer,
};

LAW void asked_estimate(void *state, const void *params, const struct law_interval *interval, struct law_estimate *out)
{
	out->has_aggregate = 1;
	out->aggregate_Bps = -(s64)interval->received_bytes;
}

LAW_TABLE struct law_capacity asked_capacity = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_capacity),
	.name = "asked",
	.summary = "Is asked",
	LAW_NO_PARAMS,
	.estimate = asked_estimate,
};
"#;

/// A link under the law, 8 Mbit/s with packets of 1000 bytes.
fn watched(packets: Option<u32>, bytes: Option<u64>) -> LinkSpec {
    static BROUGHT: Once = Once::new();
    BROUGHT.call_once(|| {
        let file = "asked.h".to_owned();
        let source = Source {
            name: "asked".to_owned(),
            path: file.clone().into(),
            files: vec![SourceFile {
                name: file,
                text: WATCHED.to_owned(),
            }],
            ..Source::default()
        };
        load_text(&source).unwrap_or_else(|error| panic!("{error}"));
    });
    let mut link = spec(constant(8_000_000), 0, packets, bytes);
    let (law, part) = (router("asked").expect("loaded"), capacity("asked").expect("loaded"));
    (link.router.law, link.router.params) = (law, law.default_params());
    (link.router.capacity, link.router.capacity_params) = (part, part.default_params());
    link
}

/// The calls of guarded laws that `run` makes.
fn calls_of(run: impl FnOnce()) -> Vec<CallRecord> {
    let calls = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&calls);
    let run = || guard::observe(move |call| seen.borrow_mut().push(call.record()), run);
    guard::catch(run).unwrap_or_else(|fault| panic!("{fault}"));
    calls.take()
}

fn told(call: &CallRecord, field: &str) -> i64 {
    let found = call.event.get(field).or_else(|| call.queue.get(field));
    found.expect(field).as_i64().expect(field)
}

/// Bursts over a second; returns the calls, and of each packet when its transmission ended and whether it was lost.
fn run(link: &LinkSpec) -> (Vec<CallRecord>, Vec<(u64, bool)>) {
    let mut out = Vec::new();
    let calls = calls_of(|| {
        let (mut bench, mut random) = (Bench::new(link), Stream::new(5, "bursts"));
        for now_ms in 0..1000 {
            for _ in 0..random.below(3) {
                bench.arrive(now_ms * MS, 1000, DATA);
            }
        }
        bench.run(2000 * MS);
        out = bench.out.iter().map(|&(at_ns, _, is_lost)| (at_ns, is_lost)).collect();
    });
    (calls, out)
}

#[test]
fn a_part_is_told_what_the_far_end_received() {
    // Goal: of what began to be sent by the end of an interval, a part is told what is not lost on the air, whichever
    // way the link goes; with ARQ that is every packet once, at the try that comes through.
    let mut lossy = watched(None, Some(20_000));
    lossy.channel = Some(ChannelSpec {
        model: Model::Random { data: 0.2, ack: 0.0 },
        code: CodeSpec::NONE,
    });
    let mut repeating = lossy.clone();
    repeating.layer.arq = Some(Arq {
        tries_max: None,
        retry_ns: MS,
        in_order: false,
    });
    for link in [lossy.clone(), step_by_step(&lossy), repeating] {
        let (calls, out) = run(&link);
        let arrived_until = |until_ns: u64| {
            let sound = out.iter().filter(|&&(at_ns, is_lost)| at_ns <= until_ns && !is_lost);
            sound.count() as i64 * 1000
        };
        let estimates: Vec<&CallRecord> = calls.iter().filter(|call| call.function == "estimate").collect();
        assert_eq!(estimates.len(), 400, "every 5 ms");
        let (mut sent, mut received) = (0, 0);
        for (number, call) in estimates.iter().enumerate() {
            sent += told(call, "sent_bytes");
            received += told(call, "received_bytes");
            // A packet takes a millisecond, and counts from its beginning on, as it does in what is sent.
            let at_ns = (number as u64 + 1) * 5 * MS;
            let range = arrived_until(at_ns)..=arrived_until(at_ns + MS);
            assert!(range.contains(&received), "{number}: {received} is not in {range:?}");
        }
        let lost = out.iter().filter(|(_, is_lost)| *is_lost).count() as i64 * 1000;
        assert_eq!((sent - received, received), (lost, arrived_until(u64::MAX)));
        assert_eq!(lost > 0, link.layer.arq.is_none(), "{lost}");
    }
    // Nothing is lost on a wire.
    let (calls, _) = run(&watched(None, Some(20_000)));
    let estimates = calls.iter().filter(|call| call.function == "estimate");
    for call in estimates {
        assert_eq!(told(call, "sent_bytes"), told(call, "received_bytes"));
    }
}

#[test]
fn a_law_is_told_the_aggregate_of_its_part() {
    // Goal: what the part gives as F stands in the queue that the law is shown from then on.
    let (calls, _) = run(&watched(None, Some(20_000)));
    let mut given = None;
    for call in &calls {
        match call.function.as_str() {
            "estimate" => given = Some(-told(call, "received_bytes")),
            "on_timer" => assert_eq!(
                (Some(told(call, "aggregate_Bps")), told(call, "has_aggregate")),
                (given, 1)
            ),
            _ => {}
        }
    }
    assert!(given.is_some());
}

#[test]
fn limits_are_told_in_bytes() {
    // Goal: a limit in packets counts a full packet for each, parity included; one in bytes stays what it is. Law and
    // part are told the same.
    let coded = Some(ChannelSpec {
        model: Model::Random { data: 0.0, ack: 0.0 },
        code: common::CODE,
    });
    for (packets, bytes, channel, expected) in [
        (Some(30), None, None, 30 * 1500),
        (None, Some(7777), None, 7777),
        (Some(30), Some(7777), None, 7777),
        (Some(30), None, coded, 30 * 1667),
    ] {
        let mut link = watched(packets, bytes);
        link.channel = channel;
        let (calls, _) = run(&link);
        for call in calls.iter().filter(|call| call.function != "on_timer") {
            if call.role == "router" || call.function == "estimate" {
                assert_eq!(told(call, "limit_bytes"), expected, "{}", call.function);
            }
        }
    }
}
