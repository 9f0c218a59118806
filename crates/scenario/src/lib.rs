//! Scenarios: TOML on one side, the engine's types on the other.
//!
//! Values carry units, lists are sweeps, and whatever is wrong is refused with its line, its key, what was given and
//! what is allowed.

pub mod plan;
