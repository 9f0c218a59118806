//! The safe type over a gateway's table of functions.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::abi;
use crate::law::{literal, parameters, watched, with_params};
use crate::params::{ParamInfo, Params};
use crate::state::State;
use crate::watch::WatchInfo;

/// What a gateway does between inner and outer header of a packet.
type Carry = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, u64, *const abi::Packet, *mut abi::Packet);

/// A gateway's law: what it carries between the inner and the outer header of a tunnel.
#[derive(Clone, Debug)]
pub struct Gateway {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    params: Vec<ParamInfo>,
    watch: Vec<WatchInfo>,
    defaults: Params,
    state_bytes: u32,
    zone_bytes: u32,
    flags: u32,
    init: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const abi::Tunnel)>,
    encapsulate: Option<Carry>,
    decapsulate: Option<Carry>,
}

with_params!(Gateway);

impl Gateway {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// As for [`Sender::new`].
    pub(crate) unsafe fn new(table: &abi::GatewayTable, header: &'static str) -> Self {
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
            init: table.init,
            encapsulate: table.encapsulate,
            decapsulate: table.decapsulate,
        }
    }

    /// A new tunnel, which has the state to itself.
    pub fn init(&self, state: &mut State, params: &Params, tunnel: &abi::Tunnel) {
        if let Some(call) = self.init {
            // SAFETY: state and params have the sizes of this law (checked), the struct is that of law.h.
            unsafe { call(self.state(state), self.values(params), tunnel) }
        }
    }

    /// A packet enters its tunnel: what of the `inner` one goes into the header of the `outer` one.
    #[inline]
    pub fn encapsulate(
        &self,
        state: &mut State,
        params: &Params,
        now_us: u64,
        inner: &abi::Packet,
        outer: &mut abi::Packet,
    ) {
        if let Some(call) = self.encapsulate {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), now_us, inner, outer) }
        }
    }

    /// A packet leaves its tunnel: what of the `outer` one goes into the header of the `inner` one.
    #[inline]
    pub fn decapsulate(
        &self,
        state: &mut State,
        params: &Params,
        now_us: u64,
        outer: &abi::Packet,
        inner: &mut abi::Packet,
    ) {
        if let Some(call) = self.decapsulate {
            // SAFETY: as in init.
            unsafe { call(self.state(state), self.values(params), now_us, outer, inner) }
        }
    }
}
