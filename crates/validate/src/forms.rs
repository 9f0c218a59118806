//! Closed forms: what the literature computes with a pencil.

pub mod channel;
pub mod fit;
pub mod max_min;
pub mod path;
pub mod queues;
pub mod rem;
pub mod reno;
pub mod shares;
pub mod vcp;
pub mod window;
pub mod xcp;
