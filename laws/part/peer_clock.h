/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receiver's timestamp clock as a sender sees it in ACKs. Its tick is not signalled (RFC 7323 section 5.4 asks for
 * 1 ms to 1 s; Linux has 1 ms, and 1 us by route), so it is learnt: what passed here over what passed there, looked at
 * after a quarter of a second, then half, one, and every two. What the delays of ACKs add is of the order of
 * delay / time. The beginning moves on after a minute, so that a clock that drifts is followed.
 *
 * A clock that stands, or whose pace since the last look is another than before, is not believed until it has kept one
 * for a second.
 */
#ifndef FADELAB_PART_PEER_CLOCK_H
#define FADELAB_PART_PEER_CLOCK_H

#include "fixed.h"
#include "law.h"

#define PEER_CLOCK_LOOK_US_MIN 250000ull
#define PEER_CLOCK_LOOK_US_MAX 2000000ull
#define PEER_CLOCK_TRUST_US 1000000ull
/* A pace taken over that long is not given up for one over less. */
#define PEER_CLOCK_SETTLED_US 16000000ull
#define PEER_CLOCK_SPAN_US_MAX 64000000ull
/* RFC 7323 section 5.4: a second at most. */
#define PEER_CLOCK_TICK_US_MAX 1000000ull

#define PEER_CLOCK_TICK_US_LINUX 1000ull

struct peer_clock {
	u64 tick_q16;   /* microseconds */
	u64 begun_us;   /* when the time began from which the tick is taken, */
	u64 look_us;    /* and the last look at it */
	u32 begun_tick; /* TSval then, */
	u32 look_tick;
	u32 last_tick; /* and with the last ACK */
	u8 is_begun;
	u8 is_settled; /* the tick is of PEER_CLOCK_SETTLED_US or more */
	u8 is_doubted; /* it stood or left its pace */
	u8 reserved;
};

/* A tick to begin with; 0: that of Linux. */
LAW void peer_clock_init(struct peer_clock *clock, u64 assumed_us)
{
	clock->tick_q16 = fixed_min(assumed_us ? assumed_us : PEER_CLOCK_TICK_US_LINUX, PEER_CLOCK_TICK_US_MAX) << 16;
}

/* Ticks from one reading to a later one. The clock wraps; one that goes back has gone ahead by nearly all of it. */
LAW u32 peer_clock_ticks(u32 from, u32 to)
{
	return (u32)(((1ull << 32) + to - from) & 0xffffffff);
}

LAW void peer_clock_begin(struct peer_clock *clock, u64 now_us, u32 tick)
{
	clock->begun_us = clock->look_us = now_us;
	clock->begun_tick = clock->look_tick = clock->last_tick = tick;
	clock->is_begun = 1;
}

/* Length of a tick where so many pass in a time; 0 for none, and for one that is too long. */
LAW u64 peer_clock_pace_q16(u64 passed_us, u32 ticks)
{
	u64 pace_q16 = fixed_div(fixed_min(passed_us, 1ull << 46) << 16, ticks);

	return pace_q16 >> 16 > PEER_CLOCK_TICK_US_MAX ? 0 : pace_q16;
}

LAW void peer_clock_look(struct peer_clock *clock, u64 now_us, u32 tick, u32 learns)
{
	u64 span_us = fixed_sub(now_us, clock->begun_us);
	u64 pace_q16 = peer_clock_pace_q16(span_us, peer_clock_ticks(clock->begun_tick, tick));
	u64 recent_q16 = peer_clock_pace_q16(fixed_sub(now_us, clock->look_us), peer_clock_ticks(clock->look_tick, tick));

	if (!pace_q16 || recent_q16 > pace_q16 + pace_q16 / 2 || recent_q16 < pace_q16 - pace_q16 / 3) {
		LAW_STEP("the peer's clock stands or has left its pace: not believed");
		clock->is_doubted = 1;
		clock->is_settled = 0;
		peer_clock_begin(clock, now_us, tick);
		return;
	}
	if (span_us >= PEER_CLOCK_SETTLED_US)
		clock->is_settled = 1;
	if (learns && (span_us >= PEER_CLOCK_SETTLED_US || !clock->is_settled))
		clock->tick_q16 = pace_q16;
	if (span_us >= PEER_CLOCK_TRUST_US)
		clock->is_doubted = 0;
	if (span_us >= PEER_CLOCK_SPAN_US_MAX) {
		clock->begun_us = clock->look_us;
		clock->begun_tick = clock->look_tick;
	}
	clock->look_us = now_us;
	clock->look_tick = tick;
}

/* Looks are as far apart as the time since the beginning was long, within bounds. */
LAW u32 peer_clock_is_look_due(const struct peer_clock *clock, u64 now_us)
{
	u64 kept_us = fixed_sub(clock->look_us, clock->begun_us);
	u64 due_us = fixed_min(fixed_max(kept_us, PEER_CLOCK_LOOK_US_MIN), PEER_CLOCK_LOOK_US_MAX);

	return fixed_sub(now_us, clock->look_us) >= due_us;
}

/*
 * Takes an ACK's TSval; returns what passed at the receiver since the one before, in microseconds. 0 for the first, and
 * for an ACK that a later one has overtaken. `learns`: whether the tick is taken from what is seen.
 */
LAW u64 peer_clock_passed_us(struct peer_clock *clock, u64 now_us, u32 tick, u32 learns)
{
	u32 ticks = peer_clock_ticks(clock->last_tick, tick);

	if (!clock->is_begun) {
		peer_clock_begin(clock, now_us, tick);
		return 0;
	}
	clock->last_tick = tick;
	if (peer_clock_is_look_due(clock, now_us))
		peer_clock_look(clock, now_us, tick, learns);
	if (ticks >> 31)
		return 0;
	/* No more than a minute or two matters to anybody, and the product stays within 64 bits. */
	return (fixed_min(ticks, 1u << 27) * fixed_min(clock->tick_q16, PEER_CLOCK_TICK_US_MAX << 16)) >> 16;
}

#endif /* FADELAB_PART_PEER_CLOCK_H */
