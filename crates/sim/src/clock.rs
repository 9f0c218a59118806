//! The present, and the clocks of timestamps that are read from it.

/// The present instant. Laws and timestamps want microseconds, which are divided out once per event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub ns: u64,
    pub us: u64,
}

impl Now {
    #[inline]
    pub fn at(ns: u64) -> Self {
        Self { ns, us: ns / 1000 }
    }

    /// Clock of the timestamps that packets carry, in microseconds; it wraps after 71 minutes, as on the wire.
    #[inline]
    pub fn clock_us(self) -> u32 {
        self.us as u32
    }
}

/// Converts times into ticks of a timestamp clock (RFC 7323). Dividing 32 bits by a number that is known beforehand is
/// a multiplication by its reciprocal, rounded up, in 64 bits, and exact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickClock {
    tick_us: u32,
    tick_ns: u64,
    reciprocal_q64: u64,
}

impl TickClock {
    /// A clock with a tick of at least 1 us.
    pub fn new(tick_ns: u64) -> Self {
        let tick_us = (tick_ns / 1000).clamp(1, u64::from(u32::MAX)) as u32;
        Self {
            tick_us,
            tick_ns: u64::from(tick_us) * 1000,
            reciprocal_q64: (u64::MAX / u64::from(tick_us)).wrapping_add(1),
        }
    }

    /// Length of a tick.
    pub fn tick_ns(self) -> u64 {
        self.tick_ns
    }

    /// Whole ticks in `time_us`.
    #[inline]
    pub fn ticks(self, time_us: u32) -> u32 {
        if self.tick_us == 1 {
            return time_us;
        }
        ((u128::from(time_us) * u128::from(self.reciprocal_q64)) >> 64) as u32
    }

    /// What the clock shows, modulo 2^32 ticks, at the latest time up to `now` at which [`Now::clock_us`] showed
    /// `time_us`.
    ///
    /// Laws take differences modulo 2^32 ticks, as on the wire; microseconds wrap earlier.
    #[inline]
    pub fn stamp(self, time_us: u32, now: Now) -> u32 {
        if u32::try_from(now.us).is_ok() {
            return self.ticks(time_us);
        }
        self.stamp_late(time_us, now)
    }

    /// The same after the first 71 minutes.
    #[inline(never)]
    fn stamp_late(self, time_us: u32, now: Now) -> u32 {
        let then_us = now.us - u64::from(now.clock_us().wrapping_sub(time_us));
        (then_us / u64::from(self.tick_us)) as u32
    }

    /// `time_us` in ticks, rounded to the nearest.
    #[inline]
    pub fn ticks_nearest(self, time_us: u32) -> u32 {
        self.ticks(time_us.saturating_add(self.tick_us / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;

    #[test]
    fn ticks_are_the_quotient() {
        // Goal: the multiplication gives the quotient for every tick and time, the extremes included.
        let mut random = Stream::new(4, "tick test");
        for tick_us in [1u32, 2, 3, 7, 1000, 4000, 10_000, 999_983, 1_000_000, u32::MAX] {
            let clock = TickClock::new(u64::from(tick_us) * 1000);
            let times = (0..10_000).map(|_| random.next_u64() as u32);
            for time_us in times.chain([0, 1, tick_us - 1, tick_us, u32::MAX - 1, u32::MAX]) {
                assert_eq!(clock.ticks(time_us), time_us / tick_us, "{time_us} / {tick_us}");
            }
        }
    }

    #[test]
    fn stamps_wrap_with_their_ticks() {
        // Goal: stamps are whole ticks since time 0 modulo 2^32, also after microseconds have wrapped, and up to 71
        // minutes after they were taken.
        for tick_us in [1u64, 3, 1000, 10_000, 1_000_000] {
            let clock = TickClock::new(tick_us * 1000);
            for taken_us in [
                0,
                1,
                999_999,
                (1 << 32) - 1,
                1 << 32,
                (1 << 32) + 12_345,
                7 << 32,
                (1 << 44) - 1,
            ] {
                for age_us in [0, 1, 40_000, 60_000_000, (1 << 32) - 1] {
                    let (taken, now) = (Now::at(taken_us * 1000), Now::at((taken_us + age_us) * 1000 + 999));
                    let stamp = clock.stamp(taken.clock_us(), now);
                    assert_eq!(
                        stamp,
                        (taken_us / tick_us) as u32,
                        "{taken_us} us, tick {tick_us} us, age {age_us} us"
                    );
                }
            }
        }
    }
}
