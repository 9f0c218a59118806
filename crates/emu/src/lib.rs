//! Links in real time: packets of real applications cross the nodes of `fadelab-path` under the clock of the machine.

mod lane;
mod packet;

pub use lane::{Fate, Lane, Left};
