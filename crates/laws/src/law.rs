//! Safe types over the tables of functions that headers define.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};

use crate::abi;
use crate::params::{ParamError, ParamInfo, Params};
use crate::state::State;

/// Reads a string literal of a law.
///
/// # Safety
/// `text` is null or a string that lives as long as the program.
unsafe fn literal(text: *const c_char) -> Option<&'static str> {
    // SAFETY: the caller vouches for the string.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().expect("laws write ASCII"))
}

/// Reads the rows of a table's parameters.
///
/// # Safety
/// `rows` points to `count` rows that live as long as the program, or `count` is 0.
unsafe fn parameters(rows: *const abi::Param, count: u32, bytes: u32) -> Vec<ParamInfo> {
    assert_eq!(bytes, count * 8, "each parameter is one u64");
    // SAFETY: the caller vouches for the rows and for their strings.
    let row = |index: u32| unsafe {
        let row = &*rows.add(index as usize);
        ParamInfo {
            name: literal(row.name).expect("a name"),
            value: row.value,
            unit: literal(row.unit).expect("a unit"),
            scale: row.scale,
            min: row.min,
            max: row.max,
            source: literal(row.source).expect("a source"),
            meaning: literal(row.meaning).expect("a meaning"),
        }
    };
    (0..count).map(row).collect()
}

/// What all kinds of laws have in common.
macro_rules! common {
    ($type:ident) => {
        impl $type {
            /// Name, as in the registry and in scenarios.
            pub fn name(&self) -> &'static str {
                self.name
            }

            /// Text of the C header.
            pub fn header(&self) -> &'static str {
                self.header
            }

            /// Bytes of memory that the law asks for.
            pub fn state_bytes(&self) -> u32 {
                self.state_bytes
            }

            /// Fresh memory for one instance.
            pub fn new_state(&self) -> State {
                State::new(self.state_bytes)
            }

            /// Pointer to `state` for a call.
            #[inline]
            fn state(&self, state: &mut State) -> *mut c_void {
                assert!(
                    state.bytes() >= self.state_bytes as usize,
                    "the state belongs to another law"
                );
                state.as_mut_ptr()
            }
        }
    };
}

/// What laws with parameters have in common.
macro_rules! with_params {
    ($type:ident) => {
        common!($type);

        impl $type {
            /// One sentence on the law.
            pub fn summary(&self) -> &'static str {
                self.summary
            }

            /// Flags, see [`abi`].
            #[inline]
            pub fn flags(&self) -> u32 {
                self.flags
            }

            /// The parameters that the header declares.
            pub fn params(&self) -> &[ParamInfo] {
                &self.params
            }

            /// Their defaults.
            pub fn default_params(&self) -> Params {
                self.defaults.clone()
            }

            /// Defaults overridden by pairs of a name and a value in the parameter's unit.
            ///
            /// # Errors
            /// A name that the header does not declare, or a value outside the declared range.
            pub fn params_from(&self, pairs: &[(&str, f64)]) -> Result<Params, ParamError> {
                Params::from_pairs(self.name, &self.params, pairs)
            }

            /// Pointer to `params` for a call.
            #[inline]
            fn values(&self, params: &Params) -> *const c_void {
                assert!(
                    params.bytes() == self.params.len() * 8,
                    "the parameters belong to another law"
                );
                params.as_ptr()
            }
        }
    };
}

/// A sender's law: what it does with its window on an ACK, a loss, a timeout.
#[derive(Debug)]
pub struct Sender {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    router: Option<&'static str>,
    params: Vec<ParamInfo>,
    defaults: Params,
    state_bytes: u32,
    flags: u32,
    wire: u32,
    ecn_mode: u32,
    feedback_bytes: u32,
    init: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const abi::Start, *mut abi::Control)>,
    on_send: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *mut abi::Send, *mut abi::Control)>,
    on_ack: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const abi::Ack, *mut abi::Control)>,
    on_loss: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const abi::Ack, u32, *mut abi::Control)>,
    on_rto: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const abi::Ack, *mut abi::Control)>,
    on_restart: Option<unsafe extern "C" fn(*mut c_void, *const c_void, u64, u64, *mut abi::Control)>,
}

with_params!(Sender);

impl Sender {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// The table is one that a law defined against this version of `law.h`: its strings and rows live as long as the
    /// program, and its functions touch nothing but the structs they are given, within the sizes the table states.
    pub(crate) unsafe fn new(table: &abi::SenderTable, header: &'static str) -> Self {
        assert_eq!(
            table.abi,
            abi::ABI,
            "the law is compiled against another version of law.h"
        );
        // SAFETY: the caller vouches for the table.
        let (name, summary, router, params) = unsafe {
            let params = parameters(table.params, table.params_n, table.params_bytes);
            (
                literal(table.name),
                literal(table.summary),
                literal(table.router),
                params,
            )
        };
        Self {
            name: name.expect("a law has a name"),
            summary: summary.expect("a law has a summary"),
            header,
            router,
            defaults: Params::defaults(&params),
            params,
            state_bytes: table.state_bytes,
            flags: table.flags,
            wire: table.wire,
            ecn_mode: table.ecn_mode,
            feedback_bytes: table.feedback_bytes,
            init: table.init,
            on_send: table.on_send,
            on_ack: table.on_ack,
            on_loss: table.on_loss,
            on_rto: table.on_rto,
            on_restart: table.on_restart,
        }
    }

    /// Format of the data packets, `abi::WIRE_*`.
    #[inline]
    pub fn wire(&self) -> u32 {
        self.wire
    }

    /// How the receiving host treats congestion marks, `abi::ECN_MODE_*`.
    #[inline]
    pub fn ecn_mode(&self) -> u32 {
        self.ecn_mode
    }

    /// Feedback on data packets, in bytes; 0: none.
    pub fn feedback_bytes(&self) -> u32 {
        self.feedback_bytes
    }

    /// Name of the router's law that it needs on its path.
    pub fn router(&self) -> Option<&'static str> {
        self.router
    }

    /// Whether the host must tell it of each segment.
    #[inline]
    pub fn has_on_send(&self) -> bool {
        self.on_send.is_some()
    }

    /// Whether the host must tell it of restarts after idleness.
    #[inline]
    pub fn has_on_restart(&self) -> bool {
        self.on_restart.is_some()
    }

    /// A new connection; the host's initial window stands in `control`.
    #[inline]
    pub fn init(&self, state: &mut State, params: &Params, start: &abi::Start, control: &mut abi::Control) {
        if let Some(call) = self.init {
            // SAFETY: state and params have the sizes of this law (checked), the structs are those of law.h.
            unsafe { call(self.state(state), self.values(params), start, control) }
        }
    }

    /// Before each segment leaves.
    #[inline]
    pub fn on_send(&self, state: &mut State, params: &Params, send: &mut abi::Send, control: &mut abi::Control) {
        if let Some(call) = self.on_send {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), send, control) }
        }
    }

    /// Each ACK.
    #[inline]
    pub fn on_ack(&self, state: &mut State, params: &Params, ack: &abi::Ack, control: &mut abi::Control) {
        if let Some(call) = self.on_ack {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), ack, control) }
        }
    }

    /// Each loss event or ECN echo; `cause` is one of `abi::LOSS_*`.
    #[inline]
    pub fn on_loss(&self, state: &mut State, params: &Params, ack: &abi::Ack, cause: u32, control: &mut abi::Control) {
        if let Some(call) = self.on_loss {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), ack, cause, control) }
        }
    }

    /// The retransmission timer fired; the host has set the window to 1.
    #[inline]
    pub fn on_rto(&self, state: &mut State, params: &Params, ack: &abi::Ack, control: &mut abi::Control) {
        if let Some(call) = self.on_rto {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), ack, control) }
        }
    }

    /// Sending again at `now_us` after `idle_us` with nothing in flight.
    #[inline]
    pub fn on_restart(
        &self,
        state: &mut State,
        params: &Params,
        now_us: u64,
        idle_us: u64,
        control: &mut abi::Control,
    ) {
        if let Some(call) = self.on_restart {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), now_us, idle_us, control) }
        }
    }
}

/// A receiver's half of a law: what it makes of arriving packets for the ACKs.
#[derive(Debug)]
pub struct Receiver {
    name: &'static str,
    header: &'static str,
    state_bytes: u32,
    feedback_bytes: u32,
    init: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    on_data: Option<unsafe extern "C" fn(*mut c_void, *const abi::Data)>,
    fill_ack: Option<unsafe extern "C" fn(*mut c_void, *mut abi::Fill)>,
    ack_written: Option<unsafe extern "C" fn(*mut c_void, u32)>,
}

common!(Receiver);

impl Receiver {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// As for [`Sender::new`].
    pub(crate) unsafe fn new(table: &abi::ReceiverTable, header: &'static str) -> Self {
        assert_eq!(
            table.abi,
            abi::ABI,
            "the law is compiled against another version of law.h"
        );
        Self {
            // SAFETY: the caller vouches for the table.
            name: unsafe { literal(table.name) }.expect("a law has a name"),
            header,
            state_bytes: table.state_bytes,
            feedback_bytes: table.feedback_bytes,
            init: table.init,
            on_data: table.on_data,
            fill_ack: table.fill_ack,
            ack_written: table.ack_written,
        }
    }

    /// Feedback on ACKs, in bytes; 0: none.
    pub fn feedback_bytes(&self) -> u32 {
        self.feedback_bytes
    }

    /// Whether the host must tell it if the feedback found room.
    #[inline]
    pub fn has_ack_written(&self) -> bool {
        self.ack_written.is_some()
    }

    /// A new connection.
    #[inline]
    pub fn init(&self, state: &mut State, now_us: u64) {
        if let Some(call) = self.init {
            // SAFETY: the state has the size of this law (checked).
            unsafe { call(self.state(state), now_us) }
        }
    }

    /// Each data packet.
    #[inline]
    pub fn on_data(&self, state: &mut State, data: &abi::Data) {
        if let Some(call) = self.on_data {
            // SAFETY: the state has the size of this law (checked), the struct is that of law.h.
            unsafe { call(self.state(state), data) }
        }
    }

    /// Each ACK, before it leaves.
    #[inline]
    pub fn fill_ack(&self, state: &mut State, fill: &mut abi::Fill) {
        if let Some(call) = self.fill_ack {
            // SAFETY: as in on_data.
            unsafe { call(self.state(state), fill) }
        }
    }

    /// After `fill_ack`: whether the feedback found room.
    #[inline]
    pub fn ack_written(&self, state: &mut State, written: bool) {
        if let Some(call) = self.ack_written {
            // SAFETY: as in init.
            unsafe { call(self.state(state), u32::from(written)) }
        }
    }
}

/// A router's law: what it does with a packet and at each interval.
#[derive(Debug)]
pub struct Router {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    params: Vec<ParamInfo>,
    defaults: Params,
    state_bytes: u32,
    flags: u32,
    wire: u32,
    timers: u32,
    control_timer: u32,
    init: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const abi::Link, *mut u64)>,
    on_enqueue: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *mut abi::Packet, *const abi::Queue) -> u32>,
    on_dequeue: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *mut abi::Packet, *const abi::Queue) -> u32>,
    on_timer: Option<unsafe extern "C" fn(*mut c_void, *const c_void, u32, *const abi::Queue) -> u64>,
}

with_params!(Router);

impl Router {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// As for [`Sender::new`].
    pub(crate) unsafe fn new(table: &abi::RouterTable, header: &'static str) -> Self {
        assert_eq!(
            table.abi,
            abi::ABI,
            "the law is compiled against another version of law.h"
        );
        assert!(
            table.timers as usize <= abi::TIMERS_MAX,
            "a law has at most {} timers",
            abi::TIMERS_MAX
        );
        // SAFETY: the caller vouches for the table.
        let (name, summary, params) = unsafe {
            let params = parameters(table.params, table.params_n, table.params_bytes);
            (literal(table.name), literal(table.summary), params)
        };
        Self {
            name: name.expect("a law has a name"),
            summary: summary.expect("a law has a summary"),
            header,
            defaults: Params::defaults(&params),
            params,
            state_bytes: table.state_bytes,
            flags: table.flags,
            wire: table.wire,
            timers: table.timers,
            control_timer: table.control_timer,
            init: table.init,
            on_enqueue: table.on_enqueue,
            on_dequeue: table.on_dequeue,
            on_timer: table.on_timer,
        }
    }

    /// Packets it is for, `abi::WIRE_*`; `WIRE_NONE`: all.
    #[inline]
    pub fn wire(&self) -> u32 {
        self.wire
    }

    /// How many timers it has.
    #[inline]
    pub fn timers(&self) -> u32 {
        self.timers
    }

    /// The timer before which the host closes the capacity part's interval.
    #[inline]
    pub fn control_timer(&self) -> u32 {
        self.control_timer
    }

    /// Whether it looks at neither packets nor time, so that the host spends nothing on it.
    #[inline]
    pub fn is_passive(&self) -> bool {
        self.on_enqueue.is_none() && self.on_dequeue.is_none() && self.on_timer.is_none()
    }

    /// Whether it looks at arrivals.
    #[inline]
    pub fn has_on_enqueue(&self) -> bool {
        self.on_enqueue.is_some()
    }

    /// Whether it looks at departures.
    #[inline]
    pub fn has_on_dequeue(&self) -> bool {
        self.on_dequeue.is_some()
    }

    /// A new queue. Fills `due_us` of the first [`Router::timers`] timers.
    #[inline]
    pub fn init(&self, state: &mut State, params: &Params, link: &abi::Link, due_us: &mut [u64; abi::TIMERS_MAX]) {
        if let Some(call) = self.init {
            // SAFETY: state and params have the sizes of this law (checked), the structs are those of law.h, and the
            // array has the length that law.h promises.
            unsafe { call(self.state(state), self.values(params), link, due_us.as_mut_ptr()) }
        }
    }

    /// Each arrival, before the limit is checked: `abi::PASS` or `abi::DROP`.
    #[inline]
    pub fn on_enqueue(&self, state: &mut State, params: &Params, packet: &mut abi::Packet, queue: &abi::Queue) -> u32 {
        // SAFETY: as in init.
        self.on_enqueue.map_or(abi::PASS, |call| unsafe {
            call(self.state(state), self.values(params), packet, queue)
        })
    }

    /// Each departure from the queue into transmission: `abi::PASS` or `abi::DROP`.
    #[inline]
    pub fn on_dequeue(&self, state: &mut State, params: &Params, packet: &mut abi::Packet, queue: &abi::Queue) -> u32 {
        // SAFETY: as in init.
        self.on_dequeue.map_or(abi::PASS, |call| unsafe {
            call(self.state(state), self.values(params), packet, queue)
        })
    }

    /// Timer `timer` is due. Returns when it is due next, or [`abi::TIMER_OFF`].
    #[inline]
    pub fn on_timer(&self, state: &mut State, params: &Params, timer: u32, queue: &abi::Queue) -> u64 {
        // SAFETY: as in init.
        self.on_timer.map_or(abi::TIMER_OFF, |call| unsafe {
            call(self.state(state), self.values(params), timer, queue)
        })
    }
}

/// A capacity part: how a router learns what its link can carry.
#[derive(Debug)]
pub struct Capacity {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    params: Vec<ParamInfo>,
    defaults: Params,
    state_bytes: u32,
    flags: u32,
    init: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const abi::Link)>,
    estimate: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const abi::Interval, *mut abi::Estimate)>,
}

with_params!(Capacity);

impl Capacity {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// As for [`Sender::new`].
    pub(crate) unsafe fn new(table: &abi::CapacityTable, header: &'static str) -> Self {
        assert_eq!(
            table.abi,
            abi::ABI,
            "the law is compiled against another version of law.h"
        );
        // SAFETY: the caller vouches for the table.
        let (name, summary, params) = unsafe {
            let params = parameters(table.params, table.params_n, table.params_bytes);
            (literal(table.name), literal(table.summary), params)
        };
        Self {
            name: name.expect("a part has a name"),
            summary: summary.expect("a part has a summary"),
            header,
            defaults: Params::defaults(&params),
            params,
            state_bytes: table.state_bytes,
            flags: table.flags,
            init: table.init,
            estimate: table.estimate,
        }
    }

    /// Whether it gives a capacity, not only what is spare.
    #[inline]
    pub fn knows_capacity(&self) -> bool {
        self.flags & abi::CAPACITY_KNOWN != 0
    }

    /// A new link.
    #[inline]
    pub fn init(&self, state: &mut State, params: &Params, link: &abi::Link) {
        if let Some(call) = self.init {
            // SAFETY: state and params have the sizes of this part (checked), the struct is that of law.h.
            unsafe { call(self.state(state), self.values(params), link) }
        }
    }

    /// The end of an interval; `out` is what the law of the router sees from now on.
    #[inline]
    pub fn estimate(&self, state: &mut State, params: &Params, interval: &abi::Interval, out: &mut abi::Estimate) {
        if let Some(call) = self.estimate {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), interval, out) }
        }
    }
}
