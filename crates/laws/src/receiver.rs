//! The safe type over a receiver's table of functions.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::abi;
use crate::described::{DescribedReceiver, kept};
use crate::law::{common, literal};
use crate::state::State;

/// A receiver's half of a law: what it makes of arriving packets for the ACKs.
#[derive(Clone, Debug)]
pub struct Receiver {
    name: &'static str,
    header: &'static str,
    state_bytes: u32,
    zone_bytes: u32,
    feedback_bytes: u32,
    init: Option<unsafe extern "C-unwind" fn(*mut c_void, u64)>,
    on_data: Option<unsafe extern "C-unwind" fn(*mut c_void, *const abi::Data)>,
    fill_ack: Option<unsafe extern "C-unwind" fn(*mut c_void, *mut abi::Fill)>,
    ack_written: Option<unsafe extern "C-unwind" fn(*mut c_void, u32)>,
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
            zone_bytes: 0,
            feedback_bytes: table.feedback_bytes,
            init: table.init,
            on_data: table.on_data,
            fill_ack: table.fill_ack,
            ack_written: table.ack_written,
        }
    }

    /// Without its functions.
    pub(crate) fn description(&self) -> DescribedReceiver {
        DescribedReceiver {
            state_bytes: self.state_bytes,
            feedback_bytes: self.feedback_bytes,
        }
    }

    /// From that: a half whose programs were compiled elsewhere, and which nobody can call here.
    pub(crate) fn of_description(name: &str, header: &'static str, of: &DescribedReceiver) -> Self {
        Self {
            name: kept(name),
            header,
            state_bytes: of.state_bytes,
            zone_bytes: 0,
            feedback_bytes: of.feedback_bytes,
            init: None,
            on_data: None,
            fill_ack: None,
            ack_written: None,
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
