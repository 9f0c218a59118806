//! The laws of fadelab, header-only C11 in `laws/`, behind safe Rust types.
//!
//! [`senders`], [`routers`], [`capacities`] and [`gateways`] list what is registered in `laws/REGISTRY`; [`sender`],
//! [`receiver`], [`router`], [`capacity`] and [`gateway`] look one up by name. A law's memory is a [`State`], its
//! settings are [`Params`].
//!
//! ```
//! let law = fadelab_laws::sender("reno").expect("registered");
//! let params = law.default_params();
//! let mut state = law.new_state();
//! let mut control = fadelab_laws::abi::Control { cwnd_pkts: 2, ssthresh_pkts: 64, ..Default::default() };
//! law.init(&mut state, &params, &fadelab_laws::abi::Start::default(), &mut control);
//! assert_eq!(control.cwnd_pkts, 2);
//! ```

pub mod abi;
mod capacity;
pub mod catalogue;
mod codec;
mod described;
#[cfg(test)]
mod fixed;
mod gateway;
pub mod guard;
mod host;
mod law;
pub mod own;
mod params;
mod receiver;
pub mod recorded;
mod registry;
pub mod replay;
mod router;
mod sender;
pub mod shadow;
mod source;
mod state;
mod watch;
mod wire;

pub use capacity::Capacity;
pub use codec::{Codec, OPTION_BYTES_MAX};
pub use described::Description;
pub use gateway::Gateway;
pub use host::{Fate, RouterHost, Shown};
pub use params::{ParamError, ParamInfo, Params};
pub use receiver::Receiver;
pub use registry::{
    LINUX_PREFIX, add_host_router, add_host_sender, capacities, capacity, gateway, gateways, is_builtin, receiver,
    receivers, router, routers, sender, senders, wire, wires,
};
pub use router::{Router, RouterInstance};
pub use sender::Sender;
pub use state::State;
pub use watch::{Field, WatchInfo};
pub use wire::Wire;
