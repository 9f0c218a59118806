//! The simulator: engine, transport, recorder and invariants, in virtual time.
//!
//! It knows nothing of files, of TOML or of the kernel. [`run`] takes a [`fadelab_run::spec::RunSpec`] and gives a
//! [`fadelab_run::record::RunRecord`].

mod clock;
mod delays;
mod ends;
mod engine;
mod flow;
mod layout;
mod network;
mod packet;
mod pipe;
mod ranges;
mod schedule;
pub mod tap;
mod tcp;
mod tunnel;

#[cfg(feature = "fault-injection")]
pub use engine::fault;
pub use engine::{RunError, check, run, run_tapped};
