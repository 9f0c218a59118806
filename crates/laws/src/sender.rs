//! The safe type over a sender's table of functions.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::abi;
use crate::described::{DescribedSender, described, infos, kept};
use crate::law::{literal, parameters, watched, with_params};
use crate::params::{ParamInfo, Params};
use crate::state::State;
use crate::watch::WatchInfo;

/// A sender's law: what it does with its window on an ACK, a loss, a timeout.
#[derive(Clone, Debug)]
pub struct Sender {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    router: Option<&'static str>,
    params: Vec<ParamInfo>,
    watch: Vec<WatchInfo>,
    defaults: Params,
    state_bytes: u32,
    zone_bytes: u32,
    flags: u32,
    wire: u32,
    ecn_mode: u32,
    feedback_bytes: u32,
    init: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Start, *mut abi::Control)>,
    on_send: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut abi::Send, *mut abi::Control)>,
    on_ack: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Ack, *mut abi::Control)>,
    on_loss: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Ack, u32, *mut abi::Control)>,
    on_rto: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Ack, *mut abi::Control)>,
    on_restart: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, u64, u64, *mut abi::Control)>,
    on_lost: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Lost, *mut abi::Control)>,
    on_undo: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Ack, u32, *mut abi::Control)>,
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
            // SAFETY: as above.
            watch: unsafe { watched(table.watch, table.watch_n) },
            state_bytes: table.state_bytes,
            zone_bytes: 0,
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
            on_lost: table.on_lost,
            on_undo: table.on_undo,
        }
    }

    /// A law that only a kernel has: it has a name, and no functions that anyone else could call.
    pub(crate) fn of_host(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            header: "",
            router: None,
            params: Vec::new(),
            watch: Vec::new(),
            defaults: Params::defaults(&[]),
            state_bytes: 0,
            zone_bytes: 0,
            flags: 0,
            wire: abi::WIRE_NONE,
            ecn_mode: abi::ECN_MODE_NONE,
            feedback_bytes: 0,
            init: None,
            on_send: None,
            on_ack: None,
            on_loss: None,
            on_rto: None,
            on_restart: None,
            on_lost: None,
            on_undo: None,
        }
    }

    /// Without its functions.
    pub(crate) fn description(&self) -> DescribedSender {
        DescribedSender {
            summary: self.summary.to_owned(),
            router: self.router.map(str::to_owned),
            params: described(&self.params),
            state_bytes: self.state_bytes,
            flags: self.flags,
            wire: self.wire,
            ecn_mode: self.ecn_mode,
            feedback_bytes: self.feedback_bytes,
        }
    }

    /// From that: a law whose programs were compiled elsewhere, and which nobody can call here.
    pub(crate) fn of_description(name: &str, header: &'static str, of: &DescribedSender) -> Self {
        let params = infos(&of.params);
        Self {
            header,
            router: of.router.as_deref().map(kept),
            defaults: Params::defaults(&params),
            params,
            state_bytes: of.state_bytes,
            flags: of.flags,
            wire: of.wire,
            ecn_mode: of.ecn_mode,
            feedback_bytes: of.feedback_bytes,
            ..Self::of_host(kept(name), kept(&of.summary))
        }
    }

    /// Whether only a kernel has it, so that the simulator cannot run it.
    pub fn is_of_host(&self) -> bool {
        self.header.is_empty()
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

    /// Whether the host must tell it of each segment that is lost.
    #[inline]
    pub fn has_on_lost(&self) -> bool {
        self.on_lost.is_some()
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

    /// A segment that is found lost. Nothing is taken from the window.
    #[inline(never)]
    pub fn on_lost(&self, state: &mut State, params: &Params, lost: &abi::Lost, control: &mut abi::Control) {
        if let Some(call) = self.on_lost {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), lost, control) }
        }
    }

    /// The reduction for `cause`, one of `abi::LOSS_*`, was spurious; in `control` stands what the host goes back to.
    #[inline(never)]
    pub fn on_undo(&self, state: &mut State, params: &Params, ack: &abi::Ack, cause: u32, control: &mut abi::Control) {
        if let Some(call) = self.on_undo {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), ack, cause, control) }
        }
    }
}
