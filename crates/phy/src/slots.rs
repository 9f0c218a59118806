//! A number for each packet, by the time slot in which its transmission begins.

use crate::random::CounterDraw;

/// Numbers are below this: 53 bits, as many as a floating-point number in [0, 1) has at least.
pub(crate) const NUMBERS: u64 = 1 << 53;

/// The number for which `number < limit` says the same as `number * 2^-53 < probability`: both products are exact.
pub(crate) fn limit_of(probability: f64) -> u64 {
    libm::ceil(probability * NUMBERS as f64) as u64
}

/// Random numbers by time slot, the air time of 40 bytes.
#[derive(Clone, Debug)]
pub(crate) struct SlotDraw {
    last_slot: u64,
    slot_of: Divider,
    draw: CounterDraw,
    /// How often the last slot in which several packets started was asked for again, and which it is.
    repeats: u64,
    repeated_slot: u64,
}

impl SlotDraw {
    pub fn new(draw: CounterDraw, rate_bps: u64) -> Self {
        // No time reaches the last slot of u64, so the first packet never counts as a repetition.
        Self {
            last_slot: u64::MAX,
            slot_of: Divider::by((40 * 8 * 1_000_000_000 / rate_bps).max(1)),
            draw,
            repeats: 0,
            repeated_slot: u64::MAX,
        }
    }

    /// 64 random bits, of which the upper 53 are the number. Packets are asked about in order of time.
    #[inline(always)]
    pub fn bits(&mut self, start_ns: u64) -> u64 {
        let slot = self.slot_of.quotient(start_ns);
        if slot == self.last_slot {
            return self.bits_again(slot);
        }
        self.last_slot = slot;
        self.draw.at(slot)
    }

    #[cold]
    #[inline(never)]
    fn bits_again(&mut self, slot: u64) -> u64 {
        self.repeats = if slot == self.repeated_slot {
            self.repeats + 1
        } else {
            1
        };
        self.repeated_slot = slot;
        self.draw.at_repeat(slot, self.repeats)
    }
}

/// Divides times by a constant that is known at run time only: a multiplication takes a few cycles, a division of 64
/// bits up to forty.
#[derive(Clone, Copy, Debug)]
struct Divider {
    /// `m = ceil(2^(63 + shift) / divisor)`, in `2^63..2^64`.
    multiplier: u64,
    /// `2^shift` is the smallest power of two that is not below the divisor.
    shift: u32,
}

impl Divider {
    fn by(divisor: u64) -> Self {
        let shift = divisor.next_power_of_two().trailing_zeros();
        Self {
            multiplier: (1u128 << (63 + shift)).div_ceil(u128::from(divisor)) as u64,
            shift,
        }
    }

    /// The quotient of a dividend below 2^63.
    ///
    /// With `m d = 2^(63 + shift) + e`, `0 <= e < d <= 2^shift`, the product `2 n m` is `2^(64 + shift) (n / d)` and
    /// `2 n e / d` more. That is less than `2^(64 + shift) / d`, for `n < 2^63`, and so reaches no further quotient.
    #[inline]
    fn quotient(self, dividend: u64) -> u64 {
        let product = u128::from(dividend << 1) * u128::from(self.multiplier);
        ((product >> 64) as u64) >> self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn quotients_are_those_of_a_division() {
        // Goal: for divisors of any size, and dividends of chance and around multiples of the divisor, the quotient is
        // the one of a division, up to the largest dividend.
        let mut random = Stream::new(1, "divider");
        for round in 0..20_000 {
            let divisor = match round {
                0..64 => 1 + round,
                64..120 => 1 << (round - 64),
                _ => 1 + (random.next_u64() >> 1 >> random.below(63)),
            };
            let divider = Divider::by(divisor);
            let largest = u64::MAX >> 1;
            let multiple = random.below(largest / divisor + 1) * divisor;
            let by_chance = (random.next_u64() >> 1) >> random.below(63);
            let last = largest / divisor * divisor;
            for dividend in [
                0,
                by_chance,
                multiple,
                multiple.saturating_sub(1),
                last,
                last - 1,
                largest,
            ] {
                assert_eq!(divider.quotient(dividend), dividend / divisor, "{dividend} / {divisor}");
            }
        }
    }

    #[test]
    fn limits_say_what_probabilities_say() {
        // Goal: comparing a number with the limit gives what comparing the uniform number with the probability gives,
        // for the numbers beside the limit and for probabilities of any size.
        let mut random = Stream::new(2, "limits");
        let chosen = [0.0, 1.0, f64::MIN_POSITIVE, 0.5, 1e-5, 1.0 - f64::EPSILON / 2.0];
        let of_chance = (0..10_000).map(|_| random.uniform() * random.uniform().powi(30));
        for probability in chosen.into_iter().chain(of_chance) {
            let limit = limit_of(probability);
            assert!(limit <= NUMBERS);
            for number in [limit.saturating_sub(1), limit, limit + 1, 0, NUMBERS - 1] {
                let uniform = number as f64 * (1.0 / NUMBERS as f64);
                assert_eq!(number < limit, uniform < probability, "{number} {probability}");
            }
        }
    }
}
