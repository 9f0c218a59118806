//! When a timer fires of a stack whose clock ticks.

/// A wait counts in whole ticks from the last one, rounded up, and ends with the tick after it. Where it is long it
/// lies in a slot of 8, 64, 512... ticks, and ends with its slot: Linux's timer wheel, whose levels have 64 slots
/// (`calc_wheel_index` of `kernel/time/timer.c`, 6.12). Ticks of 0 are none.
#[inline]
pub(crate) fn due_ns(now_ns: u64, wait_ns: u64, tick_ns: u64) -> u64 {
    if tick_ns == 0 {
        return now_ns + wait_ns;
    }
    let wait_ticks = wait_ns.div_ceil(tick_ns);
    let mut slot_bits = 0;
    while wait_ticks >= 63 << slot_bits {
        slot_bits += 3;
    }
    let slot = (now_ns / tick_ns + wait_ticks) >> slot_bits;
    ((slot + 1) << slot_bits) * tick_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_wait_ends_with_the_slot_of_the_wheel_in_which_it_lies() {
        // Goal: slots by hand, of 4 ms: a delayed ACK of 40 ms ends with the eleventh tick, 248 ms (62 ticks) are the
        // longest wait in slots of one tick, 252 ms (63) lie in slots of 32 ms, 2016 ms (504) in those of 256 ms.
        for (now_ms, wait_ms, due_ms) in [
            (1000, 40, 1044),
            (1003, 40, 1044),
            (1004, 37, 1048),
            (1000, 248, 1252),
            (1000, 252, 1280),
            (1008, 252, 1280),
            (1024, 252, 1280),
            (1028, 252, 1312),
            (1000, 2012, 3040),
            (1000, 2016, 3072),
        ] {
            assert_eq!(
                due_ns(now_ms * MS, wait_ms * MS, 4 * MS),
                due_ms * MS,
                "{now_ms} {wait_ms}"
            );
        }
    }

    #[test]
    fn without_ticks_a_timer_is_exact() {
        // Goal: a tick of 0 leaves the nanosecond as it is.
        assert_eq!(due_ns(1_234_567, 40_000_001, 0), 41_234_568);
    }
}
