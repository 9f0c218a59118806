//! Mathematics of fading channels, without files, clocks or hidden state.
//!
//! From the bottom up: [`symbol_error`] gives the error rate of a modulation symbol for an antenna pair,
//! [`gilbert_elliott`] the chain of good and bad states, [`reed_solomon`] the bytes a code adds and corrects,
//! [`packet_error`] and [`interleaved`] the exact loss of a packet, [`packet_scale`] the chain in continuous time,
//! [`channel`] the description of a channel and the sampler that decides each packet's fate in constant time, [`solve`]
//! the inverse questions. [`random`] has the random numbers of the whole project.
//!
//! Sources are cited by a short name. *VCP*: Li and Yousefi'zadeh, "Analysis, Simulation, and Implementation of VCP: A
//! Wireless Profiling", 2010, whose appendix has the physical and link layer with equations (1) to (6). *New Jersey*:
//! Xu, Tian and Ansari, "Improving TCP performance in integrated wireless communications networks", 2004, whose section
//! 2.1 has the chain in continuous time. What was corrected in them is said where it is used.

pub mod channel;
pub mod gilbert_elliott;
pub mod interleaved;
pub mod packet_error;
pub mod packet_scale;
pub mod random;
pub mod reed_solomon;
mod slots;
pub mod solve;
pub mod symbol_error;
