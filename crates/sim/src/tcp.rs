//! One honest TCP, in whole segments: what both ends keep and do. The window itself belongs to the law.

pub(crate) mod receiver;
pub(crate) mod scoreboard;
pub(crate) mod sender;

/// Ticks of a timestamp clock at `now_ns` (RFC 7323). The usual tick of 1 us spares a division by a variable.
#[inline]
pub(crate) fn ticks(now_ns: u64, tick_ns: u64) -> u32 {
    (if tick_ns == 1000 { now_ns / 1000 } else { now_ns / tick_ns }) as u32
}
