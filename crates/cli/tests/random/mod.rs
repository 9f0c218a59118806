//! Random scenarios: how they are made, run and judged.

pub mod channel;
pub mod draw;
pub mod flows;
pub mod network;
pub mod ranges;
pub mod relations;
pub mod run;
pub mod scenario;
pub mod table;
pub mod transport;
pub mod tunnels;
