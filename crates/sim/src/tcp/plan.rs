//! What flows of a kind have in common and nothing changes during a run.
//!
//! It is kept once for all of them: with a thousand flows the memory that an ACK touches decides how long it takes, and
//! this stays in the cache.

use std::ptr;
use std::rc::Rc;

use fadelab_laws::{Params, Receiver as ReceiverLaw, Sender as Law};

use crate::spec::{App, FlowSpec, Transport};
use crate::tcp::TickClock;

/// IP and UDP header of a datagram of a flow without a law.
const UDP_HEADER_BYTES: u32 = 28;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Plan {
    pub tcp: Transport,
    /// Clock of the timestamps.
    pub clock: TickClock,
    /// `None` sends datagrams and hears nothing back.
    pub law: Option<&'static Law>,
    pub params: Params,
    pub receiver_law: Option<&'static ReceiverLaw>,
    pub app: App,
    /// Payload of a full packet.
    pub mss_bytes: u32,
}

impl Plan {
    fn new(spec: &FlowSpec) -> Self {
        let header_bytes = if spec.sender.is_some() {
            spec.transport.header_bytes
        } else {
            UDP_HEADER_BYTES
        };
        Self {
            tcp: spec.transport,
            clock: TickClock::new(spec.transport.ts_tick_ns),
            law: spec.sender,
            params: spec.params.clone(),
            receiver_law: spec.receiver,
            app: spec.app,
            mss_bytes: spec.transport.packet_bytes - header_bytes,
        }
    }

    /// The plan of `spec`: that of the flow before it, where it is the same.
    pub fn of(spec: &FlowSpec, before: Option<&Rc<Self>>) -> Rc<Self> {
        let same = before.filter(|plan| {
            plan.law.map(ptr::from_ref) == spec.sender.map(ptr::from_ref)
                && plan.receiver_law.map(ptr::from_ref) == spec.receiver.map(ptr::from_ref)
                && plan.tcp == spec.transport
                && plan.params == spec.params
                && plan.app == spec.app
        });
        same.map_or_else(|| Rc::new(Self::new(spec)), Rc::clone)
    }
}
