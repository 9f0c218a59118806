//! Whether the tables that a header defines are ones that a host can use. What is wrong is said in the header's words.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;

use crate::abi;
use crate::guard::Tables;
use crate::watch::UNITS;

/// State beyond which something must be wrong: a law holds numbers, not packets.
const STATE_BYTES_MAX: u32 = 1 << 20;

/// Parameters beyond which a count must be wrong.
const PARAMS_MAX: u32 = 256;

/// Values to watch beyond which a count must be wrong.
const WATCH_MAX: u32 = 256;

/// What all tables have in common.
struct Common {
    role: &'static str,
    abi: u32,
    size: (u32, usize),
    name: *const c_char,
    state_bytes: u32,
}

/// [`Common`] of a table; the structs of `law.h` share names, not a type.
macro_rules! common_of {
    ($role:literal, $table:expr) => {
        Common {
            role: $role,
            abi: $table.abi,
            size: ($table.size, size_of_val($table)),
            name: $table.name,
            state_bytes: $table.state_bytes,
        }
    };
}

/// The roles that the tables define, if all of them can be used.
///
/// # Safety
/// The tables come from a law compiled against this `law.h`.
pub(super) unsafe fn roles(tables: &Tables, law: &str) -> Result<Vec<&'static str>, String> {
    let mut roles = Vec::new();
    // SAFETY: the caller vouches for the tables.
    unsafe {
        if let Some(table) = tables.sender.as_ref() {
            sender(table, law)?;
            roles.push("sender");
        }
        if let Some(table) = tables.receiver.as_ref() {
            common(&common_of!("receiver", table), law)?;
            feedback("receiver", law, table.feedback_bytes)?;
            roles.push("receiver");
        }
        if let Some(table) = tables.router.as_ref() {
            router(table, law)?;
            roles.push("router");
        }
        if let Some(table) = tables.capacity.as_ref() {
            common(&common_of!("capacity", table), law)?;
            described(
                "capacity",
                law,
                table.summary,
                (table.params, table.params_n, table.params_bytes),
            )?;
            watched("capacity", law, table.state_bytes, (table.watch, table.watch_n))?;
            if table.estimate.is_none() {
                return Err(format!("{law}_capacity has no .estimate: it would never say anything"));
            }
            roles.push("capacity");
        }
        if let Some(table) = tables.gateway.as_ref() {
            gateway(table, law)?;
            roles.push("gateway");
        }
    }
    match roles.as_slice() {
        [] => Err(format!(
            "it defines no law: expected is at least one of {law}_sender, {law}_router, {law}_capacity and \
             {law}_gateway, for example\n  \
             LAW_TABLE struct law_sender {law}_sender = {{.abi = LAW_ABI, ...}};\n\
             `fadelab new-law {law}` writes a header to begin with"
        )),
        ["receiver"] => Err(format!(
            "it defines {law}_receiver, which needs a {law}_sender beside it"
        )),
        _ => Ok(roles),
    }
}

unsafe fn sender(table: &abi::SenderTable, law: &str) -> Result<(), String> {
    // SAFETY: as for roles.
    unsafe {
        common(&common_of!("sender", table), law)?;
        described(
            "sender",
            law,
            table.summary,
            (table.params, table.params_n, table.params_bytes),
        )?;
        watched("sender", law, table.state_bytes, (table.watch, table.watch_n))?;
    }
    feedback("sender", law, table.feedback_bytes)?;
    // SAFETY: as for roles.
    if !table.router.is_null() && unsafe { text(table.router) }.is_none() {
        return Err(format!(
            "{law}_sender has a .router that is no text: expected is a literal, or nothing"
        ));
    }
    if table.state_bytes > abi::STATE_BYTES_MAX && table.flags & abi::SENDER_SOCKET_STORAGE == 0 {
        return Err(format!(
            "{law}_sender has {} bytes of state; the kernel gives a TCP law {} (LAW_STATE_BYTES_MAX): make it smaller, \
             or set LAW_SENDER_SOCKET_STORAGE in .flags and say why",
            table.state_bytes,
            abi::STATE_BYTES_MAX
        ));
    }
    one_of("sender", law, ".wire", table.wire, abi::WIRE_DPCP)?;
    one_of("sender", law, ".ecn_mode", table.ecn_mode, abi::ECN_MODE_EXACT)?;
    if table.on_loss.is_none() && table.flags & abi::SENDER_OWNS_RECOVERY == 0 {
        return Err(format!(
            "{law}_sender has no .on_loss: on a loss the host brings the window to ssthresh_pkts, which .on_loss must \
             set; or the law sets the window itself (LAW_SENDER_OWNS_RECOVERY in .flags)"
        ));
    }
    Ok(())
}

unsafe fn router(table: &abi::RouterTable, law: &str) -> Result<(), String> {
    // SAFETY: as for roles.
    unsafe {
        common(&common_of!("router", table), law)?;
        described(
            "router",
            law,
            table.summary,
            (table.params, table.params_n, table.params_bytes),
        )?;
        watched("router", law, table.state_bytes, (table.watch, table.watch_n))?;
    }
    one_of("router", law, ".wire", table.wire, abi::WIRE_DPCP)?;
    one_of("router", law, ".timers", table.timers, abi::TIMERS_MAX as u32)?;
    one_of("router", law, ".queues", table.queues, abi::QUEUES_MAX as u32)?;
    if table.queues == 0 && (table.classify.is_some() || table.pick.is_some()) {
        return Err(format!(
            "{law}_router has .classify or .pick, but no .queues: how many has it?"
        ));
    }
    if table.queues > 0 && (table.classify.is_none() || table.pick.is_none()) {
        return Err(format!(
            "{law}_router has .queues = {}, and needs .classify (which one a packet joins) and .pick (which one sends)",
            table.queues
        ));
    }
    if table.timers > 0 && table.on_timer.is_none() {
        return Err(format!("{law}_router has .timers = {}, but no .on_timer", table.timers));
    }
    if table.timers > 0 && table.control_timer >= table.timers {
        return Err(format!(
            "{law}_router has .control_timer = {}, but its timers are 0 to {}",
            table.control_timer,
            table.timers - 1
        ));
    }
    Ok(())
}

unsafe fn gateway(table: &abi::GatewayTable, law: &str) -> Result<(), String> {
    // SAFETY: as for roles.
    unsafe {
        common(&common_of!("gateway", table), law)?;
        described(
            "gateway",
            law,
            table.summary,
            (table.params, table.params_n, table.params_bytes),
        )?;
        watched("gateway", law, table.state_bytes, (table.watch, table.watch_n))?;
    }
    if table.encapsulate.is_none() && table.decapsulate.is_none() {
        return Err(format!(
            "{law}_gateway has neither .encapsulate nor .decapsulate: it would never carry anything"
        ));
    }
    if table.init.is_some() && table.flags & abi::GATEWAY_DIRECTIONS_APART != 0 {
        return Err(format!(
            "{law}_gateway has an .init, which is told of the first packet of either direction: leave it out, or leave \
             LAW_GATEWAY_DIRECTIONS_APART out of .flags"
        ));
    }
    Ok(())
}

unsafe fn common(common: &Common, law: &str) -> Result<(), String> {
    let Common {
        role,
        abi,
        size,
        name,
        state_bytes,
    } = *common;
    if abi != abi::ABI {
        return Err(format!(
            "{law}_{role} has .abi = {abi}; expected is .abi = LAW_ABI, which is {}",
            abi::ABI
        ));
    }
    if size.0 as usize != size.1 {
        return Err(format!(
            "{law}_{role} has .size = {}; expected is .size = sizeof(struct law_{role}), which is {}",
            size.0, size.1
        ));
    }
    // SAFETY: as for roles.
    let given = unsafe { text(name) }.unwrap_or_default();
    if given != law {
        return Err(format!(
            "{law}_{role} has .name = \"{given}\"; expected is \"{law}\", as the file and the table"
        ));
    }
    if state_bytes > STATE_BYTES_MAX {
        return Err(format!(
            "{law}_{role} has {state_bytes} bytes of state; allowed are {STATE_BYTES_MAX}"
        ));
    }
    Ok(())
}

fn one_of(role: &str, law: &str, field: &str, given: u32, max: u32) -> Result<(), String> {
    if given > max {
        return Err(format!(
            "{law}_{role} has {field} = {given}; allowed is 0 to {max}, see law.h"
        ));
    }
    Ok(())
}

fn feedback(role: &str, law: &str, given: u32) -> Result<(), String> {
    one_of(role, law, ".feedback_bytes", given, abi::FEEDBACK_BYTES_MAX as u32)
}

/// Summary and parameters.
unsafe fn described(
    role: &str,
    law: &str,
    summary: *const c_char,
    (rows, count, bytes): (*const abi::Param, u32, u32),
) -> Result<(), String> {
    // SAFETY: as for roles.
    if unsafe { text(summary) }.is_none_or(|summary| summary.trim().is_empty()) {
        return Err(format!("{law}_{role} has no .summary: one sentence on what it does"));
    }
    if count > PARAMS_MAX {
        return Err(format!(
            "{law}_{role} has .params_n = {count}; allowed are {PARAMS_MAX} parameters: use LAW_PARAM_LIST"
        ));
    }
    if bytes != count * 8 {
        return Err(format!(
            "{law}_{role} has {count} parameters, but .params_bytes = {bytes}; expected is sizeof the struct that \
             LAW_PARAM_FIELD makes of them, {} bytes",
            count * 8
        ));
    }
    let last = rows.wrapping_add(count as usize).cast::<u8>().wrapping_sub(1);
    if count > 0 && !(is_loaded(rows.cast()) && is_loaded(last.cast())) {
        return Err(format!(
            "{law}_{role} has .params_n = {count}, but no such .params: use LAW_PARAM_LIST"
        ));
    }
    let mut names = Vec::new();
    for index in 0..count as usize {
        // SAFETY: the table has that many rows.
        let name = unsafe { parameter(&*rows.add(index)) };
        let name = name.map_err(|why| format!("{law}_{role}, parameter {}: {why}", index + 1))?;
        if names.contains(&name) {
            return Err(format!("{law}_{role} declares the parameter {name} twice"));
        }
        names.push(name);
    }
    Ok(())
}

unsafe fn parameter(row: &abi::Param) -> Result<String, String> {
    let texts = [row.name, row.unit, row.source, row.meaning];
    // SAFETY: as for roles.
    let [Some(name), Some(unit), Some(_), Some(_)] = texts.map(|literal| unsafe { text(literal) }) else {
        return Err("name, unit, source and meaning are needed, in UTF-8".to_owned());
    };
    let is_choice = unit.contains('|') || unit == "bool";
    if !is_choice && !["us", "B", "pkt", "1"].contains(&unit.as_str()) {
        return Err(format!(
            "{name} has the unit \"{unit}\"; allowed is us, B, pkt, 1, bool, or choices such as \"slow|fast\""
        ));
    }
    if row.scale == 0 {
        return Err(format!("{name} has the scale 0; a user writes value / scale"));
    }
    let choices = if unit == "bool" {
        2
    } else {
        unit.split('|').count() as u64
    };
    if is_choice && (row.scale != 1 || row.max >= choices) {
        return Err(format!(
            "{name} has {choices} choices: scale is 1 and max is {}",
            choices - 1
        ));
    }
    if !(row.min..=row.max).contains(&row.value) {
        return Err(format!(
            "{name} is {} by default, outside its range {} to {}",
            row.value, row.min, row.max
        ));
    }
    Ok(name)
}

/// The values to watch.
unsafe fn watched(
    role: &str,
    law: &str,
    state_bytes: u32,
    (rows, count): (*const abi::Watch, u32),
) -> Result<(), String> {
    let last = rows.wrapping_add(count as usize).cast::<u8>().wrapping_sub(1);
    let is_there = count <= WATCH_MAX && is_loaded(rows.cast()) && is_loaded(last.cast());
    if count > 0 && !is_there {
        return Err(format!(
            "{law}_{role} has .watch_n = {count}, but no such .watch; allowed are {WATCH_MAX} values: use \
             LAW_WATCH_LIST"
        ));
    }
    let mut names = Vec::new();
    for index in 0..count as usize {
        // SAFETY: the table has that many rows.
        let name = unsafe { watch(&*rows.add(index), state_bytes) };
        let name = name.map_err(|why| format!("{law}_{role}, value to watch {}: {why}", index + 1))?;
        if names.contains(&name) {
            return Err(format!("{law}_{role} declares the value to watch {name} twice"));
        }
        names.push(name);
    }
    Ok(())
}

unsafe fn watch(row: &abi::Watch, state_bytes: u32) -> Result<String, String> {
    // SAFETY: as for roles.
    let [Some(name), Some(unit), Some(_)] = [row.name, row.unit, row.meaning].map(|literal| unsafe { text(literal) })
    else {
        return Err("name, unit and meaning are needed, in UTF-8".to_owned());
    };
    if !unit.contains('|') && !UNITS.contains(&unit.as_str()) {
        return Err(format!(
            "{name} has the unit \"{unit}\"; allowed is {}, or choices such as \"slow|fast\"",
            UNITS.join(", ")
        ));
    }
    if row.scale == 0 {
        return Err(format!("{name} has the scale 0; what is shown is the field / scale"));
    }
    let end = u64::from(row.offset) + u64::from(row.bytes);
    if ![1, 2, 4, 8].contains(&row.bytes) || end > u64::from(state_bytes) {
        return Err(format!(
            "{name} is {} bytes at {} of a state of {state_bytes}; expected is an integer of the struct whose size is \
             .state_bytes",
            row.bytes, row.offset
        ));
    }
    Ok(name)
}

/// Whether the address lies in a library that is loaded, as all constants of a law do.
fn is_loaded(place: *const c_void) -> bool {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the address is compared, not read.
    unsafe { libc::dladdr(place, info.as_mut_ptr()) != 0 }
}

/// A literal of the law; `None` where there is none or it is not UTF-8.
unsafe fn text(literal: *const c_char) -> Option<String> {
    if literal.is_null() || !is_loaded(literal.cast()) {
        return None;
    }
    // SAFETY: as for roles.
    let text = unsafe { CStr::from_ptr(literal) };
    text.to_str().ok().map(str::to_owned)
}
