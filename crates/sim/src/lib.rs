//! The simulator: engine, transport, applications, recorder and invariants, in virtual time.
//!
//! It knows nothing of files, of TOML or of the kernel. [`spec`] says what is simulated, [`run`] simulates it and
//! [`record`] says what comes out.

pub mod app;
mod engine;
#[cfg(feature = "fault-injection")]
pub mod fault;
mod flow;
mod layout;
mod network;
mod packet;
mod pipe;
mod ranges;
pub mod record;
mod rtt;
mod schedule;
pub mod spec;
pub mod tap;
mod tcp;

pub use engine::{RunError, check, run, run_tapped};
