//! The host of a router's law in the simulator: `laws/host/router.h`, with the memory that it needs.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::mem::{align_of, offset_of, size_of};
use std::ptr;

use crate::abi::{self, HostHeader, HostInstance, HostMeter};
use crate::capacity::Capacity;
use crate::params::Params;
use crate::router::Router;
use crate::state::State;

/// What the law did to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate(u32);

impl Fate {
    /// `enum law_host_fate`.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// It was dropped at its arrival.
    #[inline(always)]
    pub fn is_dropped(self) -> bool {
        self.0 & abi::HOST_DROPPED != 0
    }

    /// It was dropped at its departure.
    #[inline(always)]
    pub fn is_dropped_late(self) -> bool {
        self.0 & abi::HOST_DROPPED_LATE != 0
    }

    /// Its ECN field is another now.
    #[inline(always)]
    pub fn is_marked(self) -> bool {
        self.0 & abi::HOST_MARKED != 0
    }
}

/// A packet as the host meets it.
#[derive(Debug)]
pub struct Shown<'a> {
    /// What of it travels with it.
    pub header: &'a mut abi::Header,
    /// Its feedback; only laws with `abi::ROUTER_FEEDBACK` look at it.
    pub feedback: Option<&'a mut [u8; abi::FEEDBACK_BYTES_MAX]>,
    /// What it costs on the air.
    pub air_bytes: u32,
}

/// The functions of `struct law_host_calls`, none of which is ever left out.
struct Calls {
    start: unsafe extern "C-unwind" fn(*mut HostInstance, *const abi::Link) -> u64,
    arrive: unsafe extern "C-unwind" fn(*mut HostInstance, *mut HostHeader, *mut u8, u32, u64, u32) -> u32,
    leave: unsafe extern "C-unwind" fn(*mut HostInstance, *mut HostHeader, *mut u8, u32, u64, u64) -> u32,
    pass: unsafe extern "C-unwind" fn(*mut HostInstance, *mut HostHeader, *mut u8, u32, u64) -> u32,
    meet: unsafe extern "C-unwind" fn(*mut HostInstance, *mut abi::Packet, u64, u32) -> u32,
    classify: unsafe extern "C-unwind" fn(*mut HostInstance, *mut HostHeader, *mut u8, u32, u64, u32) -> u32,
    pick: unsafe extern "C-unwind" fn(*mut HostInstance, u64) -> u32,
    due: unsafe extern "C-unwind" fn(*const HostInstance, u64) -> u32,
    run_timers: unsafe extern "C-unwind" fn(*mut HostInstance, u64, *const HostMeter) -> u64,
}

/// A router's law and its capacity part at a link, from its start on. Times are in nanoseconds since then.
pub struct RouterHost {
    at: HostInstance,
    calls: Calls,
    due_ns: u64,
    law: &'static Router,
    part: &'static Capacity,
    /// Memory of the law and of the part, and their parameters: the host knows where they lie.
    states: [Vec<u64>; 2],
    params: [Params; 2],
}

// SAFETY: all that `at` points to is owned by the host or a constant.
unsafe impl Send for RouterHost {}
// SAFETY: as above.
unsafe impl Sync for RouterHost {}

impl fmt::Debug for RouterHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterHost")
            .field("law", &self.law.name())
            .field("states", &self.states)
            .field("params", &self.params)
            .field("host", &self.at.host)
            .finish_non_exhaustive()
    }
}

impl RouterHost {
    /// A law with its parameters, and a capacity part with its own, at a new link.
    ///
    /// # Panics
    /// If the law is a queue of a kernel (`is_of_host`), or the parameters are not of these laws.
    pub fn new(
        (law, params): (&'static Router, &Params),
        (part, part_params): (&'static Capacity, &Params),
        link: &abi::Link,
    ) -> Self {
        // SAFETY: the host consists of integers only; all zeros is what law_host_start asks for.
        let host: abi::Host = unsafe { std::mem::zeroed() };
        let states = [law.new_state(), part.new_state()];
        let mut begun = Self::with_memory((law, params), (part, part_params), &host, states);
        begun.start(link);
        begun
    }

    /// A law and a part that go on from what was remembered of them.
    ///
    /// # Panics
    /// As [`RouterHost::new`], and if a state is not one of the law's or the part's.
    pub(crate) fn with_memory(
        (law, params): (&'static Router, &Params),
        (part, part_params): (&'static Capacity, &Params),
        host: &abi::Host,
        [state, part_state]: [State; 2],
    ) -> Self {
        let table = law.host().expect("a law of the registry");
        let calls = Calls::of(table).expect("calls.h leaves none out");
        assert!(
            state.bytes() >= law.state_bytes() as usize && part_state.bytes() >= part.state_bytes() as usize,
            "the states are those of the law and the part"
        );
        let (params, part_params) = (params.clone(), part_params.clone());
        let ((state, memory), (part_state, part_memory)) = (state.into_parts(), part_state.into_parts());
        let at = HostInstance {
            host: *host,
            random: [0; abi::TIMERS_MAX],
            state,
            params: law.values(&params),
            part: part.table(),
            part_state,
            part_params: part.values(&part_params),
        };
        Self {
            at,
            calls,
            due_ns: u64::MAX,
            law,
            part,
            states: [memory, part_memory],
            params: [params, part_params],
        }
    }

    /// A new link.
    pub(crate) fn start(&mut self, link: &abi::Link) {
        // SAFETY: states and parameters have the sizes of the law and the part, and the table is the law's.
        self.due_ns = unsafe { (self.calls.start)(&raw mut self.at, link) };
    }

    #[inline(always)]
    pub fn law(&self) -> &'static Router {
        self.law
    }

    /// What the host remembers.
    pub(crate) fn host(&self) -> &abi::Host {
        &self.at.host
    }

    /// The states of the law and of the part, word by word.
    pub(crate) fn states(&self) -> [&[u64]; 2] {
        // Without what a guard puts around them.
        let own = |place: *mut c_void, memory: &'_ [u64]| {
            let zone = (place as usize - memory.as_ptr() as usize) / size_of::<u64>();
            zone..memory.len() - zone
        };
        let [law, part] = &self.states;
        [&law[own(self.at.state, law)], &part[own(self.at.part_state, part)]]
    }

    /// Where the state of the law and that of the part lie.
    pub fn state_addresses(&self) -> [usize; 2] {
        [self.at.state, self.at.part_state].map(|place| place as usize)
    }

    /// Adds the values to watch of the law, and those of the part, to `values`.
    pub fn watch(&self, values: &mut Vec<u64>) {
        let [law, part] = self.states();
        values.extend(self.law.watch().iter().map(|info| info.raw(law)));
        values.extend(self.part.watch().iter().map(|info| info.raw(part)));
    }

    /// When the next timer is due; `u64::MAX`: none.
    #[inline(always)]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Random words that the law was shown with packets.
    #[inline(always)]
    pub fn drawn(&self) -> u64 {
        self.at.host.drawn
    }

    /// Says what the law is shown as random with the next packet, at its arrival (0) or departure: the first word, of a
    /// passage the second for its departure.
    #[inline(always)]
    pub fn set_random(&mut self, place: usize, word: u32) {
        self.at.random[place] = word;
    }

    /// Says what waits, without the packet of the next call.
    #[inline(always)]
    pub fn set_queue(&mut self, bytes: u64, pkts: u32) {
        (self.at.host.queue.queue_bytes, self.at.host.queue.queue_pkts) = (bytes, pkts);
    }

    /// Says what the capacity part is told from now on that the link can carry, in bytes per second. A law that scales
    /// with its link has been told what that was at the start.
    pub fn set_configured(&mut self, bytes_per_s: u64) {
        self.at.host.configured_Bps = bytes_per_s;
    }

    /// Says what waits in queue `index` of a law that has several, and how long its head has waited.
    pub fn set_own_queue(&mut self, index: usize, bytes: u64, pkts: u32, wait_ns: u64) {
        let queue = &mut self.at.host.queue;
        queue.each_bytes[index] = bytes;
        queue.each_pkts[index] = pkts;
        queue.each_wait_us[index] = wait_ns / 1000;
    }

    /// The queue of its own that an arrival is to join, which may be none that there is.
    pub fn classify(&mut self, now_ns: u64, full: bool, packet: Shown<'_>) -> u32 {
        let (header, feedback, air_bytes) = packet.places();
        // SAFETY: as in arrive.
        unsafe { (self.calls.classify)(&raw mut self.at, header, feedback, air_bytes, now_ns, u32::from(full)) }
    }

    /// The queue of its own whose head is to leave, which may be none that there is.
    pub fn pick(&mut self, now_ns: u64) -> u32 {
        // SAFETY: as in arrive.
        unsafe { (self.calls.pick)(&raw mut self.at, now_ns) }
    }

    /// An arrival, before the limit of the queue is applied; `full`: that will drop it.
    #[inline(always)]
    pub fn arrive(&mut self, now_ns: u64, full: bool, packet: Shown<'_>) -> Fate {
        let (header, feedback, air_bytes) = packet.places();
        // SAFETY: the instance is that of the law; header and feedback are borrowed for the call.
        Fate(unsafe { (self.calls.arrive)(&raw mut self.at, header, feedback, air_bytes, now_ns, u32::from(full)) })
    }

    /// A departure from the queue into transmission, after `wait_ns`.
    #[inline(always)]
    pub fn leave(&mut self, now_ns: u64, wait_ns: u64, packet: Shown<'_>) -> Fate {
        let (header, feedback, air_bytes) = packet.places();
        // SAFETY: as in arrive.
        Fate(unsafe { (self.calls.leave)(&raw mut self.at, header, feedback, air_bytes, now_ns, wait_ns) })
    }

    /// An arrival with room and, unless that is its end, the departure at the same instant.
    #[inline(always)]
    pub fn pass(&mut self, now_ns: u64, packet: Shown<'_>) -> Fate {
        let (header, feedback, air_bytes) = packet.places();
        // SAFETY: as in arrive.
        Fate(unsafe { (self.calls.pass)(&raw mut self.at, header, feedback, air_bytes, now_ns) })
    }

    /// A passage of a packet with all that a kernel's program showed the law of it.
    pub(crate) fn meet(&mut self, now_us: u64, full: bool, packet: &mut abi::Packet) -> Fate {
        // SAFETY: as in arrive.
        Fate(unsafe { (self.calls.meet)(&raw mut self.at, packet, now_us, u32::from(full)) })
    }

    /// Runs the timers that are due, each with a word of `random`.
    pub fn run_timers(&mut self, now_ns: u64, meter: &HostMeter, mut random: impl FnMut() -> u32) {
        // SAFETY: as in arrive.
        let due = unsafe { (self.calls.due)(&raw const self.at, now_ns) };
        for (timer, word) in self.at.random.iter_mut().enumerate() {
            if due & 1 << timer != 0 {
                *word = random();
            }
        }
        self.run_timers_as_set(now_ns, meter);
    }

    /// The same with the words that were set.
    pub(crate) fn run_timers_as_set(&mut self, now_ns: u64, meter: &HostMeter) {
        // SAFETY: as in arrive.
        self.due_ns = unsafe { (self.calls.run_timers)(&raw mut self.at, now_ns, meter) };
    }
}

impl Calls {
    fn of(table: &abi::HostCalls) -> Option<Self> {
        Some(Self {
            start: table.start?,
            arrive: table.arrive?,
            leave: table.leave?,
            pass: table.pass?,
            meet: table.meet?,
            due: table.due?,
            run_timers: table.run_timers?,
            classify: table.classify?,
            pick: table.pick?,
        })
    }
}

impl Shown<'_> {
    /// Where C finds header and feedback, and the bytes on the air.
    #[inline(always)]
    fn places(self) -> (*mut HostHeader, *mut u8, u32) {
        let feedback = self.feedback.map_or(ptr::null_mut(), |bytes| bytes.as_mut_ptr());
        (ptr::from_mut(self.header).cast(), feedback, self.air_bytes)
    }
}

/// Whether a field of a header is where C looks for it.
macro_rules! same_place {
    ($($field:ident)*) => {
        $(assert!(offset_of!(abi::Header, $field) == offset_of!(HostHeader, $field));)*
    };
}

const _: () = {
    same_place!(flags ip_bytes ip_id ecn outer_ecn role wire feedback_len confirmed);
    assert!(size_of::<abi::Header>() == size_of::<HostHeader>());
    assert!(align_of::<abi::Header>() >= align_of::<HostHeader>());
};
