//! The simulator: engine, transport, recorder and invariants, in virtual time.
//!
//! It knows nothing of files, of TOML or of the kernel. [`run`] takes a [`fadelab_run::spec::RunSpec`] and gives a
//! [`fadelab_run::record::RunRecord`].

#![warn(missing_docs)]

mod ends;
mod engine;
#[cfg(feature = "fault-injection")]
pub mod fault;
mod flow;
mod layout;
mod network;
mod packet;
mod pipe;
mod ranges;
mod rtt;
mod schedule;
pub mod tap;
mod tcp;

pub use engine::{RunError, check, run, run_tapped};
