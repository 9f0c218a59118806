//! Nodes a packet crosses, without a clock: the simulator and the wall-clock emulator drive the same ones.
//!
//! A node is polled: [`link::Link::arrive`] takes a packet and, on most links, says at once when it will be at the far
//! end ([`link::Arrival::Leaves`]); [`link::Link::next_due`] says when the link itself wants attention, and
//! [`link::Link::service`] gives it. Whoever drives it owns time and the packets; a node holds only their numbers and
//! looks at what a router may see through [`packet::Store`]. [`wire::Wires`] are the plainest links, many at a time.

mod air;
pub mod counters;
pub mod layer;
pub mod link;
pub mod packet;
mod ring;
mod router;
pub mod spec;
mod stepwise;
pub mod trace;
mod transmitter;
pub mod violation;
pub mod wire;
