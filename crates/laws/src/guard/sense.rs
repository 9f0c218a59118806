//! Whether what a law returned makes sense: what `law.h` demands of it.
#![allow(unsafe_code)]

use super::functions::{FUNCTIONS, Function, Kind};
use super::{Before, Call};
use crate::abi;

/// Beyond any path; a window that was counted down below zero is larger.
const WINDOW_PKTS_MAX: u32 = 1 << 30;

/// Beyond any link, in bytes per second and in bytes.
const ESTIMATE_MAX: u64 = 1 << 50;

/// What a watched call wrote that is not its own.
pub(super) fn trespass(call: &Call, before: &Before) -> Option<String> {
    let function = &FUNCTIONS[call.function as usize];
    let is_written = |zone: &[u8]| zone.iter().any(|byte| *byte != 0);
    // SAFETY: the wrapper's pointers, of the kinds that the function's row names; a watched law's state has its zones.
    let (zones, params, event, context) = unsafe {
        (
            super::zones(call),
            super::params(call),
            super::bytes(call.event, function.event),
            super::bytes(call.context, function.context),
        )
    };
    let bytes = call.state_bytes;
    if is_written(zones[1]) {
        return Some(format!(
            "it wrote beyond its state, which has {bytes} bytes (.state_bytes)"
        ));
    }
    if is_written(zones[0]) {
        return Some("it wrote before its state".to_owned());
    }
    if before.params != params {
        return Some(
            "it changed its parameters, which all flows and seeds share: keep what changes in the state".into(),
        );
    }
    if !function.writes_event() && before.event != event || before.context != context {
        return Some("it changed what the host shows it (const in law.h)".to_owned());
    }
    None
}

/// What is wrong with what a call returned; `before` is the memory of the call before it was made.
pub(super) fn nonsense(call: &Call, before: &Before) -> Option<String> {
    let function = &FUNCTIONS[call.function as usize];
    // SAFETY: the pointers are those that the law was called with, of the kinds that the function's row names.
    unsafe {
        let event = match function.event {
            Kind::Send => feedback(&(*call.event.cast::<abi::Send>()).feedback, call.feedback_bytes),
            Kind::Fill => fill(&*call.event.cast::<abi::Fill>(), call.feedback_bytes),
            Kind::Packet => packet(&super::read(&before.event), &*call.event.cast::<abi::Packet>()),
            _ => None,
        };
        let decision = || match function.decision {
            Kind::Control => {
                let before: abi::Control = super::read(&before.decision);
                control(call, &before, &*call.decision.cast::<abi::Control>())
            }
            Kind::Estimate => estimate(call.flags, &*call.decision.cast::<abi::Estimate>()),
            Kind::Due => {
                let due_us = std::slice::from_raw_parts(call.decision.cast::<u64>(), call.timers as usize);
                let now_us = (*call.event.cast::<abi::Link>()).now_us;
                due_us.iter().position(|due_us| *due_us < now_us).map(|timer| {
                    format!(
                        "timer {timer} is due at {} us, in the past ({now_us} us now)",
                        due_us[timer]
                    )
                })
            }
            _ => None,
        };
        event.or_else(decision).or_else(|| returned(call, function))
    }
}

fn control(call: &Call, before: &abi::Control, after: &abi::Control) -> Option<String> {
    let function = FUNCTIONS[call.function as usize].name;
    if after.ssthresh_pkts == 0 {
        return Some("it returned ssthresh_pkts = 0; it is at least 1 packet".to_owned());
    }
    if after.cwnd_pkts == 0 {
        let is_paced = call.flags & abi::SENDER_PACED != 0;
        if after.cwnd_fraction == 0 || !is_paced {
            let fraction = after.cwnd_fraction;
            return Some(format!(
                "it returned cwnd_pkts = 0 with cwnd_fraction = {fraction}; a window is at least 1 packet or, of a law \
                 with LAW_SENDER_PACED, a fraction of one"
            ));
        }
    }
    if after.cwnd_pkts > WINDOW_PKTS_MAX {
        let cwnd_pkts = after.cwnd_pkts;
        return Some(format!(
            "it returned cwnd_pkts = {cwnd_pkts}; was it counted down below zero?"
        ));
    }
    if after.ecn > abi::ECN_CE {
        return Some(format!("it returned ecn = {}; codepoints are 0 to 3", after.ecn));
    }
    if after.ca_state != before.ca_state {
        return Some("it changed ca_state, which is the host's".to_owned());
    }
    let known = abi::CONTROL_APP_LIMITED | abi::CONTROL_PACED_BY_ACKS;
    if after.flags & !known != 0 {
        let flags = after.flags;
        return Some(format!(
            "it returned control.flags = {flags:#x}; allowed are LAW_CONTROL_APP_LIMITED and LAW_CONTROL_PACED_BY_ACKS"
        ));
    }
    let window = |control: &abi::Control| (control.cwnd_pkts, control.cwnd_fraction);
    let is_host_s = call.flags & abi::SENDER_OWNS_RECOVERY == 0 && before.ca_state == abi::CA_RECOVERY;
    if function == "on_ack" && is_host_s && window(before) != window(after) {
        return Some(
            "it changed the window in recovery, which is the host's: look at ca_state, or set LAW_SENDER_OWNS_RECOVERY"
                .to_owned(),
        );
    }
    None
}

fn feedback(feedback: &abi::Feedback, declared_bytes: u32) -> Option<String> {
    if feedback.present > 1 {
        return Some(format!(
            "it returned feedback.present = {}; allowed is 0 or 1",
            feedback.present
        ));
    }
    let too_long = feedback.present == 1 && u32::from(feedback.len) > declared_bytes;
    too_long.then(|| {
        format!(
            "it returned feedback.len = {}; its table declares {declared_bytes} (.feedback_bytes), at most {} can be",
            feedback.len,
            abi::FEEDBACK_BYTES_MAX
        )
    })
}

fn fill(fill: &abi::Fill, declared_bytes: u32) -> Option<String> {
    if fill.ecn > abi::ECN_CE {
        return Some(format!("it returned ecn = {}; codepoints are 0 to 3", fill.ecn));
    }
    feedback(&fill.feedback, declared_bytes)
}

fn packet(before: &abi::Packet, packet: &abi::Packet) -> Option<String> {
    let read_only = [
        ("size", before.size, packet.size),
        ("flags", before.flags, packet.flags),
        ("ip_bytes", before.ip_bytes, packet.ip_bytes),
        ("air_bytes", before.air_bytes, packet.air_bytes),
        ("ip_id", before.ip_id.into(), packet.ip_id.into()),
        ("role", before.role.into(), packet.role.into()),
        ("wire", before.wire.into(), packet.wire.into()),
        ("segments", before.segments, packet.segments),
        ("roles_known", before.roles_known, packet.roles_known),
    ];
    if let Some((field, was, is)) = read_only.into_iter().find(|(_, was, is)| was != is) {
        return Some(format!(
            "it changed {field} of the packet from {was} to {is}; a router may only read it"
        ));
    }
    if usize::from(packet.feedback_len) > abi::FEEDBACK_BYTES_MAX {
        return Some(format!(
            "it left feedback_len = {} on the packet; at most {} bytes fit",
            packet.feedback_len,
            abi::FEEDBACK_BYTES_MAX
        ));
    }
    let codes = [("ecn", packet.ecn), ("outer_ecn", packet.outer_ecn)];
    let wrong = codes.into_iter().find(|(_, code)| u32::from(*code) > abi::ECN_CE);
    wrong.map(|(field, code)| format!("it left {field} = {code} on the packet; codepoints are 0 to 3"))
}

fn estimate(flags: u32, estimate: &abi::Estimate) -> Option<String> {
    if estimate.capacity_Bps != 0 && flags & abi::CAPACITY_KNOWN == 0 {
        return Some("it returned a capacity_Bps, but its table lacks LAW_CAPACITY_KNOWN".to_owned());
    }
    let flags = [
        ("has_queue_control", estimate.has_queue_control),
        ("has_aggregate", estimate.has_aggregate),
    ];
    if let Some((field, given)) = flags.into_iter().find(|(_, given)| *given > 1) {
        return Some(format!("it returned {field} = {given}; allowed is 0 or 1"));
    }
    let fields = [
        ("capacity_Bps", estimate.capacity_Bps),
        ("spare_Bps", estimate.spare_Bps.unsigned_abs()),
        ("queue_control_bytes", estimate.queue_control_bytes.unsigned_abs()),
        ("aggregate_Bps", estimate.aggregate_Bps.unsigned_abs()),
    ];
    let wrong = fields.into_iter().find(|(_, size)| *size > ESTIMATE_MAX);
    wrong.map(|(field, size)| format!("it returned {field} of {size}, beyond any link (2^50)"))
}

fn returned(call: &Call, function: &Function) -> Option<String> {
    match function.result? {
        "verdict" if call.result > u64::from(abi::DROP) => Some(format!(
            "it returned the verdict {}; allowed is LAW_PASS (0) or LAW_DROP (1)",
            call.result
        )),
        "verdict" if call.result == u64::from(abi::DROP) && function.name == "on_dequeue" => {
            let declared = call.flags & abi::ROUTER_DROPS_AT_DEQUEUE != 0;
            (!declared).then(|| "it drops in on_dequeue, but its table lacks LAW_ROUTER_DROPS_AT_DEQUEUE".to_owned())
        }
        "queue" if call.result >= u64::from(call.queues) => Some(format!(
            "it returned queue {}; its table declares {} (.queues), counted from 0",
            call.result, call.queues
        )),
        "queue" if function.name == "pick" => {
            // SAFETY: a queue is picked among those of a queue that is shown.
            let each_pkts = unsafe { (*call.context.cast::<abi::Queue>()).each_pkts };
            let empty = each_pkts[call.result as usize] == 0;
            empty.then(|| format!("it picked queue {}, which is empty (each_pkts)", call.result))
        }
        "due_us" => {
            // SAFETY: a timer is called with a queue.
            let now_us = unsafe { (*call.context.cast::<abi::Queue>()).now_us };
            (call.result <= now_us).then(|| {
                let due_us = call.result;
                format!(
                    "its timer is due again at {due_us} us, which is not after now ({now_us} us): it would never end"
                )
            })
        }
        _ => None,
    }
}
