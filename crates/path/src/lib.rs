//! Nodes a packet crosses, without a clock: the simulator and the wall-clock emulator drive the same ones.
//!
//! [`node::Node`] is the one interface; [`wire::Wires`] are the plainest links, many at a time. Both are made of the
//! same parts: a queue with a limit and a law, a transmitter, a channel, and a way to the far end.

mod air;
pub mod counters;
mod delays;
mod evented;
pub mod histogram;
pub mod layer;
pub mod node;
pub mod packet;
mod planned;
pub mod punctuality;
mod queue;
pub mod rates;
mod ring;
mod router;
pub mod spec;
pub mod trace;
mod transit;
mod transmitter;
pub mod violation;
pub mod wire;
