//! Scenarios: TOML on one side, runs on the other.
//!
//! [`load`] reads a file, lays `--set` over it, and gives a [`plan::Plan`]: the runs of its sweep in a fixed order, and
//! the scenario itself with everything filled in. Values carry units, lists are sweeps, and whatever is wrong is
//! refused with its line, its key, what was given and what is allowed. `docs/scenario.md` describes every key.

mod capacity;
pub mod channel;
pub mod docs;
mod document;
mod elsewhere;
mod error;
mod flows;
mod ground;
mod groups;
pub mod json;
pub mod key;
pub mod keys;
pub mod kind;
mod laws;
mod layer;
mod memory;
mod name;
mod named;
mod network;
mod own_laws;
pub mod plan;
mod queues;
mod reader;
pub mod ready_made;
mod resolve;
mod run;
mod scenario;
mod schema;
mod seeds;
mod span;
mod starts;
mod sweep;
mod title;
mod topology;
pub mod trace;
mod transport;
mod tunnels;
pub mod unit;
mod value;
mod versus;
mod warnings;
mod way;

pub use error::Refusal;
pub use scenario::{Options, load, parse};
pub use topology::changes::Changes;
