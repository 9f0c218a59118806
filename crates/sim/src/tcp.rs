//! One honest TCP, in whole segments: what both ends keep and do. The window itself belongs to the law.

pub(crate) mod client;
pub(crate) mod ids;
pub(crate) mod plan;
pub(crate) mod receiver;
pub(crate) mod round_trips;
mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod segments;
pub(crate) mod sender;
pub(crate) mod timers;
