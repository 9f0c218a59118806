//! What a run is, wherever it runs: the network, the flows, their applications and transport, and what is recorded.
//!
//! A ground (the simulator, a kernel in virtual time) takes a [`spec::RunSpec`] and gives back a
//! [`record::RunRecord`]. Scenarios make the one and results read the other; neither knows a ground. What a link is
//! stands in [`fadelab_path::spec`], beside the code that makes it work.

pub mod app;
pub mod classes;
pub mod crossing;
pub mod flow;
pub mod network;
pub mod packet_log;
pub mod record;
pub mod spec;
pub mod transport;
pub mod tunnel;
