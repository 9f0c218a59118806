//! The simulator: engine, transport, applications, recorder and invariants, in virtual time.
//!
//! It knows nothing of files, of TOML or of the kernel. [`spec`] says what is simulated, [`record`] what comes out.

pub mod record;
pub mod spec;
