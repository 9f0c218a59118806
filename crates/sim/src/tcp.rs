//! One honest TCP, in whole segments: what both ends keep and do. The window itself belongs to the law.

pub(crate) mod receiver;
pub(crate) mod scoreboard;
pub(crate) mod sender;

/// Clock of the timestamps that packets carry, in microseconds; it wraps after 71 minutes, as on the wire.
#[inline]
pub(crate) fn clock_us(now_ns: u64) -> u32 {
    (now_ns / 1000) as u32
}

/// A timestamp in ticks, as a law sees it (RFC 7323). The usual tick of 1 us spares a division by a variable.
#[inline]
pub(crate) fn ticks(time_us: u32, tick_ns: u64) -> u32 {
    if tick_ns == 1000 {
        time_us
    } else {
        (u64::from(time_us) * 1000 / tick_ns) as u32
    }
}
