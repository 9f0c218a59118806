//! The safe type over a router's table of functions.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::abi;
use crate::described::{DescribedRouter, described, infos, kept};
use crate::law::{literal, parameters, watched, with_params};
use crate::params::{ParamInfo, Params};
use crate::state::State;
use crate::watch::WatchInfo;

/// A router's law: what it does with a packet and at each interval.
#[derive(Clone, Debug)]
pub struct Router {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    params: Vec<ParamInfo>,
    watch: Vec<WatchInfo>,
    defaults: Params,
    state_bytes: u32,
    zone_bytes: u32,
    flags: u32,
    wire: u32,
    timers: u32,
    control_timer: u32,
    queues: u32,
    init: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Link, *mut u64)>,
    on_enqueue:
        Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut abi::Packet, *const abi::Queue) -> u32>,
    on_dequeue:
        Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut abi::Packet, *const abi::Queue) -> u32>,
    on_timer: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, u32, *const abi::Queue) -> u64>,
    classify:
        Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Packet, *const abi::Queue) -> u32>,
    pick: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Queue) -> u32>,
    /// What the simulator calls in its stead; a queue that only a kernel has has none.
    host: Option<&'static abi::HostCalls>,
}

with_params!(Router);

impl Router {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// As for [`Sender::new`]; `host` is the instance of the host of this very table.
    pub(crate) unsafe fn new(table: &abi::RouterTable, host: &'static abi::HostCalls, header: &'static str) -> Self {
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
        assert!(
            table.queues as usize <= abi::QUEUES_MAX,
            "a law has at most {} queues",
            abi::QUEUES_MAX
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
            // SAFETY: as above.
            watch: unsafe { watched(table.watch, table.watch_n) },
            state_bytes: table.state_bytes,
            zone_bytes: 0,
            flags: table.flags,
            wire: table.wire,
            timers: table.timers,
            control_timer: table.control_timer,
            queues: table.queues,
            init: table.init,
            on_enqueue: table.on_enqueue,
            on_dequeue: table.on_dequeue,
            on_timer: table.on_timer,
            classify: table.classify,
            pick: table.pick,
            host: Some(host),
        }
    }

    /// A queue that only a kernel has: it has a name, and no functions that anyone else could call.
    pub(crate) fn of_host(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            header: "",
            params: Vec::new(),
            watch: Vec::new(),
            defaults: Params::defaults(&[]),
            state_bytes: 0,
            zone_bytes: 0,
            flags: 0,
            wire: abi::WIRE_NONE,
            timers: 0,
            control_timer: 0,
            queues: 0,
            init: None,
            on_enqueue: None,
            on_dequeue: None,
            on_timer: None,
            classify: None,
            pick: None,
            host: None,
        }
    }

    /// Without its functions.
    pub(crate) fn description(&self) -> DescribedRouter {
        DescribedRouter {
            summary: self.summary.to_owned(),
            params: described(&self.params),
            state_bytes: self.state_bytes,
            flags: self.flags,
            wire: self.wire,
            timers: self.timers,
            control_timer: self.control_timer,
            queues: self.queues,
        }
    }

    /// From that: a law whose programs were compiled elsewhere, and which nobody can call here.
    pub(crate) fn of_description(name: &str, header: &'static str, of: &DescribedRouter) -> Self {
        let params = infos(&of.params);
        Self {
            header,
            defaults: Params::defaults(&params),
            params,
            state_bytes: of.state_bytes,
            flags: of.flags,
            wire: of.wire,
            timers: of.timers,
            control_timer: of.control_timer,
            queues: of.queues,
            ..Self::of_host(kept(name), kept(&of.summary))
        }
    }

    /// Whether only a kernel has it, so that the simulator cannot run it.
    pub fn is_of_host(&self) -> bool {
        self.header.is_empty()
    }

    /// The functions of its host; `None` where it is a kernel's own.
    pub(crate) fn host(&self) -> Option<&'static abi::HostCalls> {
        self.host
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
        self.on_enqueue.is_none() && self.on_dequeue.is_none() && self.on_timer.is_none() && self.queues == 0
    }

    /// How many queues it has of its own; 0: it stands at the host's one.
    #[inline]
    pub fn queues(&self) -> u32 {
        self.queues
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
}

/// A router's law at work on one queue: its parameters and its memory. That they fit the law is checked once, here, and
/// not on each packet.
#[derive(Clone, Debug)]
pub struct RouterInstance<'a> {
    law: &'a Router,
    params: Params,
    state: State,
}

impl<'a> RouterInstance<'a> {
    /// A law with `params`, before [`RouterInstance::init`].
    pub fn new(law: &'a Router, params: Params) -> Self {
        Self::with_state(law, params, law.new_state())
    }

    /// As [`RouterInstance::new`], with a memory that was in use.
    pub(crate) fn with_state(law: &'a Router, params: Params, mut state: State) -> Self {
        law.values(&params);
        law.state(&mut state);
        Self { law, params, state }
    }

    #[inline]
    pub fn law(&self) -> &'a Router {
        self.law
    }

    /// Its memory.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A new queue. Fills `due_us` of the first [`Router::timers`] timers.
    pub fn init(&mut self, link: &abi::Link, due_us: &mut [u64; abi::TIMERS_MAX]) {
        if let Some(call) = self.law.init {
            // SAFETY: state and params have the sizes of this law, the structs are those of law.h, and the array has
            // the length that law.h promises.
            unsafe { call(self.state.as_mut_ptr(), self.params.as_ptr(), link, due_us.as_mut_ptr()) }
        }
    }

    /// Each arrival, before the limit is checked: `abi::PASS` or `abi::DROP`.
    #[inline(always)]
    pub fn on_enqueue(&mut self, packet: &mut abi::Packet, queue: &abi::Queue) -> u32 {
        // SAFETY: as in init.
        self.law.on_enqueue.map_or(abi::PASS, |call| unsafe {
            call(self.state.as_mut_ptr(), self.params.as_ptr(), packet, queue)
        })
    }

    /// Each departure from the queue into transmission: `abi::PASS` or `abi::DROP`.
    #[inline(always)]
    pub fn on_dequeue(&mut self, packet: &mut abi::Packet, queue: &abi::Queue) -> u32 {
        // SAFETY: as in init.
        self.law.on_dequeue.map_or(abi::PASS, |call| unsafe {
            call(self.state.as_mut_ptr(), self.params.as_ptr(), packet, queue)
        })
    }

    /// Of a law with queues: the one that an arrival joins.
    pub fn classify(&mut self, packet: &abi::Packet, queue: &abi::Queue) -> u32 {
        // SAFETY: as in init.
        self.law.classify.map_or(0, |call| unsafe {
            call(self.state.as_mut_ptr(), self.params.as_ptr(), packet, queue)
        })
    }

    /// Of a law with queues: the one whose head leaves.
    pub fn pick(&mut self, queue: &abi::Queue) -> u32 {
        // SAFETY: as in init.
        self.law.pick.map_or(0, |call| unsafe {
            call(self.state.as_mut_ptr(), self.params.as_ptr(), queue)
        })
    }

    /// Timer `timer` is due. Returns when it is due next, or [`abi::TIMER_OFF`].
    pub fn on_timer(&mut self, timer: u32, queue: &abi::Queue) -> u64 {
        // SAFETY: as in init.
        self.law.on_timer.map_or(abi::TIMER_OFF, |call| unsafe {
            call(self.state.as_mut_ptr(), self.params.as_ptr(), timer, queue)
        })
    }
}
