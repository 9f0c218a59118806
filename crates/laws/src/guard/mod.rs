//! The host's side of `guard.h`: sees each call of a guarded law, records it, and ends a run whose law is at fault.
//!
//! Laws that users bring are guarded, and so are the builds of built-in laws that tell their steps; the laws that
//! simulations normally run are neither. A call that traps, loops or returns nonsense unwinds with a [`Fault`], which
//! [`catch`] turns into an error.
#![allow(unsafe_code)]

mod fault;
mod functions;
mod record;
mod sense;
mod signals;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use functions::FUNCTIONS;

pub use fault::{Fault, catch, in_place};
pub(crate) use functions::{Due, Function, Kind, fields_of, from_hex, read, to_hex};
pub use record::{CALLS_VERSION, CallRecord, CallsHead, Outcome};

use crate::abi;
use crate::params::PARAMS_ZONE_WORDS;
use crate::watch::WatchInfo;

/// Bytes before and behind the state of a law that users bring, zero unless the law wrote beyond its own.
pub(crate) const ZONE_BYTES: u32 = 1024;

/// `struct guard_call` up to what only C knows.
#[repr(C)]
pub(crate) struct Call {
    function: u32,
    watched: u32,
    law: *const c_char,
    rows: *const abi::Param,
    rows_n: u32,
    state_bytes: u32,
    flags: u32,
    feedback_bytes: u32,
    timers: u32,
    queues: u32,
    line: u32,
    state: *mut c_void,
    params: *const c_void,
    event: *mut c_void,
    context: *const c_void,
    decision: *mut c_void,
    words: [u64; 2],
    result: u64,
    undefined: *const c_char,
    file: *const c_char,
    column: u32,
    signal: i32,
    address: u64,
    jump: unsafe extern "C" fn(*mut Call),
}

/// `struct guard_host`.
#[repr(C)]
pub(crate) struct Host {
    enter: unsafe extern "C-unwind" fn(*mut Call),
    leave: unsafe extern "C-unwind" fn(*mut Call),
    fault: unsafe extern "C-unwind" fn(*mut Call),
    step: unsafe extern "C-unwind" fn(*const c_char),
}

/// `struct guard_law`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    pub sender: *const abi::SenderTable,
    pub receiver: *const abi::ReceiverTable,
    pub router: *const abi::RouterTable,
    pub capacity: *const abi::CapacityTable,
    pub gateway: *const abi::GatewayTable,
    /// Of the router.
    pub host: *const abi::HostCalls,
}

/// The C function that takes the host and hands out the guarded tables.
pub(crate) type Export = unsafe extern "C" fn(*const Host) -> Tables;

/// What guarded laws are told of their host.
pub(crate) static HOST: Host = Host {
    enter,
    leave,
    fault: at_fault,
    step,
};

/// The memory of a call before it was made.
#[derive(Default)]
struct Before {
    state: Vec<u8>,
    params: Vec<u64>,
    event: Vec<u8>,
    context: Vec<u8>,
    decision: Vec<u8>,
    steps: Vec<*const c_char>,
}

/// A closure that sees calls.
type Observer = Box<dyn FnMut(&Seen<'_>)>;

thread_local! {
    /// The call that is being made, for handlers of signals: it needs neither construction nor a destructor.
    static CURRENT: Cell<*mut Call> = const { Cell::new(ptr::null_mut()) };
    static BEFORE: RefCell<Before> = RefCell::default();
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// A call of a guarded law that has returned.
pub struct Seen<'a> {
    call: &'a Call,
    before: &'a Before,
}

impl Seen<'_> {
    fn function(&self) -> &'static Function {
        &FUNCTIONS[self.call.function as usize]
    }

    /// Whether it was a call of this very build of a law: others of the name have a literal of their own.
    pub fn is_of(&self, law: &crate::Sender) -> bool {
        self.call.law.cast::<u8>() == law.name().as_ptr()
    }

    /// The role whose function was called.
    pub fn role(&self) -> &'static str {
        self.function().role
    }

    /// Name of the function.
    pub fn name(&self) -> &'static str {
        self.function().name
    }

    /// A sender's control before and after the call; `None` for other roles.
    pub fn controls(&self) -> Option<(abi::Control, abi::Control)> {
        (self.function().decision == Kind::Control).then(|| {
            // SAFETY: the kind says what lies there.
            let after = unsafe { *self.call.decision.cast::<abi::Control>() };
            (read(&self.before.decision), after)
        })
    }

    /// The ACK that a sender's call is about; `None` for other calls.
    pub fn ack(&self) -> Option<abi::Ack> {
        (self.function().event == Kind::Ack).then(|| read(&self.before.event))
    }

    /// When, where the call tells.
    pub fn now_us(&self) -> Option<u64> {
        match self.function().event {
            Kind::Ack => self.ack().map(|ack| ack.now_us),
            Kind::Start => Some(read::<abi::Start>(&self.before.event).now_us),
            Kind::Send => Some(read::<abi::Send>(&self.before.event).now_us),
            _ => self.argument("now_us"),
        }
    }

    /// Argument of that name; `None` where the function has none.
    pub fn argument(&self, name: &str) -> Option<u64> {
        let words = self.function().words.iter().zip(self.call.words);
        words.filter(|(word, _)| **word == name).map(|(_, value)| value).next()
    }

    /// A value to watch of the law whose function was called, before the call and after it.
    pub fn watched(&self, info: &WatchInfo) -> Option<(u64, u64)> {
        // SAFETY: the law's own state, which the call has just been given.
        let after = unsafe { std::slice::from_raw_parts(self.call.state.cast::<u8>(), self.call.state_bytes as usize) };
        Some((info.raw_of(&self.before.state)?, info.raw_of(after)?))
    }

    /// The steps that the law named on its way.
    pub fn steps(&self) -> Vec<String> {
        // SAFETY: literals of the law.
        self.before.steps.iter().map(|step| unsafe { text(*step) }).collect()
    }

    /// The call as text, with its outcome.
    pub fn record(&self) -> CallRecord {
        let mut record = describe(self.call, self.before);
        record.outcome = Some(outcome(self.call, self.before, None));
        record
    }
}

/// Shows `observer` each call of guarded laws that this thread makes while `run` runs.
pub fn observe<R>(observer: impl FnMut(&Seen<'_>) + 'static, run: impl FnOnce() -> R) -> R {
    /// Puts the observer before it back, also when `run` unwinds.
    struct Restore(Option<Observer>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OBSERVER.set(self.0.take());
        }
    }
    let _restore = Restore(OBSERVER.replace(Some(Box::new(observer))));
    run()
}

/// The bytes of the struct at `place`.
unsafe fn bytes<'a>(place: *const c_void, kind: Kind) -> &'a [u8] {
    let count = if place.is_null() { 0 } else { kind.bytes() };
    let place = if count == 0 {
        ptr::NonNull::dangling().as_ptr()
    } else {
        place.cast::<u8>()
    };
    // SAFETY: the caller vouches for a struct of that kind at `place`, which outlives the call.
    unsafe { std::slice::from_raw_parts(place, count) }
}

/// The parameters of a call, with the zones around them.
unsafe fn params(call: &Call) -> &[u64] {
    if call.params.is_null() {
        return &[];
    }
    // SAFETY: the caller vouches for a call with parameters, which `Params` keeps between two zones.
    unsafe {
        let begin = call.params.cast::<u64>().sub(PARAMS_ZONE_WORDS);
        std::slice::from_raw_parts(begin, call.rows_n as usize + 2 * PARAMS_ZONE_WORDS)
    }
}

/// The zones before and behind the state of a watched law.
unsafe fn zones(call: &Call) -> [&[u8]; 2] {
    let state = call.state.cast::<u8>();
    let zone_bytes = ZONE_BYTES as usize;
    // SAFETY: the caller vouches for a state that has the zones.
    unsafe {
        [
            std::slice::from_raw_parts(state.sub(zone_bytes), zone_bytes),
            std::slice::from_raw_parts(state.add(call.state_bytes as usize), zone_bytes),
        ]
    }
}

unsafe extern "C-unwind" fn enter(call: *mut Call) {
    // SAFETY: the wrapper passes its own call, with the pointers that the law is about to be given.
    unsafe {
        let seen = &*call;
        let function = &FUNCTIONS[seen.function as usize];
        BEFORE.with_borrow_mut(|before| {
            before.state.clear();
            let state = std::slice::from_raw_parts(seen.state.cast::<u8>(), seen.state_bytes as usize);
            before.state.extend_from_slice(state);
            before.params.clear();
            before.params.extend_from_slice(params(seen));
            before.context.clear();
            before.context.extend_from_slice(bytes(seen.context, function.context));
            before.event.clear();
            before.event.extend_from_slice(bytes(seen.event, function.event));
            before.decision.clear();
            before
                .decision
                .extend_from_slice(bytes(seen.decision, function.decision));
            before.steps.clear();
        });
        if seen.watched != 0 {
            signals::watch_this_thread();
        }
    }
    CURRENT.set(call);
}

unsafe extern "C-unwind" fn leave(call: *mut Call) {
    CURRENT.set(ptr::null_mut());
    // SAFETY: as in enter.
    let call = unsafe { &*call };
    BEFORE.with_borrow(|before| {
        if call.watched != 0
            && let Some(why) = sense::trespass(call, before).or_else(|| sense::nonsense(call, before))
        {
            fault::raise(call, before, why);
        }
        OBSERVER.with_borrow_mut(|observer| {
            if let Some(observer) = observer {
                observer(&Seen { call, before });
            }
        });
    });
}

unsafe extern "C-unwind" fn at_fault(call: *mut Call) {
    CURRENT.set(ptr::null_mut());
    // SAFETY: as in enter.
    let call = unsafe { &*call };
    BEFORE.with_borrow(|before| fault::raise(call, before, signals::why(call)));
}

unsafe extern "C-unwind" fn step(text: *const c_char) {
    BEFORE.with_borrow_mut(|before| before.steps.push(text));
}

/// A string literal of a law.
unsafe fn text(literal: *const c_char) -> String {
    // SAFETY: the caller vouches for the literal.
    unsafe { CStr::from_ptr(literal) }.to_string_lossy().into_owned()
}

/// What a call was given.
fn describe(call: &Call, before: &Before) -> CallRecord {
    let function = &FUNCTIONS[call.function as usize];
    let event = function.event.fields(&before.event);
    // SAFETY: the wrapper's pointers, of the kinds that the function's row names.
    let queue = function
        .context
        .fields(unsafe { bytes(call.context, function.context) });
    let words = function.words.iter().zip(call.words);
    let arguments: BTreeMap<String, u64> = words.map(|(name, word)| ((*name).to_owned(), word)).collect();
    let mut params = BTreeMap::new();
    for row in 0..call.rows_n as usize {
        // SAFETY: a law's parameters are one u64 for each of its rows.
        let (name, value) = unsafe { (text((*call.rows.add(row)).name), *call.params.cast::<u64>().add(row)) };
        params.insert(name, value);
    }
    let times = [event.get("now_us"), queue.get("now_us")];
    let now_us = times.into_iter().flatten().next().and_then(serde_json::Value::as_u64);
    let now_us = now_us.or_else(|| arguments.get("now_us").copied());
    CallRecord {
        // SAFETY: the table's name.
        law: unsafe { text(call.law) },
        role: function.role.to_owned(),
        function: function.name.to_owned(),
        place: String::new(),
        time_ns: now_us.unwrap_or(0).saturating_mul(1000),
        params,
        state: to_hex(&before.state),
        arguments,
        event,
        queue,
        decision: function.decision.fields(&before.decision),
        outcome: None,
    }
}

/// What came of a call.
fn outcome(call: &Call, before: &Before, fault: Option<String>) -> Outcome {
    let function = &FUNCTIONS[call.function as usize];
    // SAFETY: as in describe; the state has the size that the table states.
    unsafe {
        let state = std::slice::from_raw_parts(call.state.cast::<u8>(), call.state_bytes as usize);
        let event = if function.writes_event() {
            function.event
        } else {
            Kind::None
        };
        Outcome {
            result: function.result.filter(|_| fault.is_none()).map(|_| call.result),
            fault,
            state: to_hex(state),
            event: event.fields(bytes(call.event, event)),
            decision: function.decision.fields(bytes(call.decision, function.decision)),
            steps: before.steps.iter().map(|step| text(*step)).collect(),
        }
    }
}
