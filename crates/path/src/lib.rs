//! Nodes a packet crosses, without a clock: the simulator and the wall-clock emulator drive the same ones.

pub mod trace;
