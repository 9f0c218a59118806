//! Links in real time: packets of real applications cross the nodes of `fadelab-path` under the clock of the machine.
//!
//! From the inside out: `packet` shows nodes what they look at, [`Lane`] is one way of a link without a clock,
//! [`Emulator`] drives lanes between TUN devices, [`record`] keeps what came and what became of it, [`LinkLog`] tells
//! of it as mahimahi does, and [`shell`] puts a command behind a link.

mod clock;
mod emulator;
mod lane;
mod log;
pub mod outcome;
mod outside;
mod packet;
mod pieces;
mod priority;
pub mod record;
pub mod replay;
mod resolver;
pub mod shell;
mod space;
mod tun;
pub mod unprivileged;
mod waiting;

pub use clock::Clock;
pub use emulator::{Emulator, Error, Tally, Way};
pub use lane::{Fate, Lane, LaneSpec, Left};
pub use log::LinkLog;
pub use priority::Priority;
pub use tun::{Tun, dropped_pkts};
