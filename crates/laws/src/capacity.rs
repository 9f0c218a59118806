//! The safe type over a capacity part's table of functions.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::abi;
use crate::described::{DescribedCapacity, described, infos, kept};
use crate::law::{literal, parameters, watched, with_params};
use crate::params::{ParamInfo, Params};
use crate::state::State;
use crate::watch::WatchInfo;

/// A capacity part: how a router learns what its link can carry.
#[derive(Clone, Debug)]
pub struct Capacity {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    params: Vec<ParamInfo>,
    watch: Vec<WatchInfo>,
    defaults: Params,
    state_bytes: u32,
    zone_bytes: u32,
    flags: u32,
    init: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Link)>,
    estimate: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Interval, *mut abi::Estimate)>,
    /// None of a part that nobody can call here.
    table: Option<Table>,
}

/// The table as the header has it, for the host of a router's law.
#[derive(Clone, Copy, Debug)]
struct Table(&'static abi::CapacityTable);

// SAFETY: a table is a constant of its header, whose pointers are to functions and literals.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

with_params!(Capacity);

impl Capacity {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// As for [`Sender::new`].
    pub(crate) unsafe fn new(table: &'static abi::CapacityTable, header: &'static str) -> Self {
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
            // SAFETY: as above.
            watch: unsafe { watched(table.watch, table.watch_n) },
            state_bytes: table.state_bytes,
            zone_bytes: 0,
            flags: table.flags,
            init: table.init,
            estimate: table.estimate,
            table: Some(Table(table)),
        }
    }

    /// The table as the header has it.
    pub(crate) fn table(&self) -> &'static abi::CapacityTable {
        self.table.as_ref().expect("a part that was compiled here").0
    }

    /// Without its functions.
    pub(crate) fn description(&self) -> DescribedCapacity {
        DescribedCapacity {
            summary: self.summary.to_owned(),
            params: described(&self.params),
            state_bytes: self.state_bytes,
            flags: self.flags,
        }
    }

    /// From that: a part whose programs were compiled elsewhere, and which nobody can call here.
    pub(crate) fn of_description(name: &str, header: &'static str, of: &DescribedCapacity) -> Self {
        let params = infos(&of.params);
        Self {
            name: kept(name),
            summary: kept(&of.summary),
            header,
            defaults: Params::defaults(&params),
            params,
            watch: Vec::new(),
            state_bytes: of.state_bytes,
            zone_bytes: 0,
            flags: of.flags,
            init: None,
            estimate: None,
            table: None,
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
