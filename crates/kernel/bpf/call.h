/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One call of the law, as it is recorded (record.h).
 */
#ifndef FADELAB_CALL_H
#define FADELAB_CALL_H

#include "host.h"

/* Of memory that is kept in whole words, at least one. */
#define WORDS_OF(bytes) (((bytes) + 7) / 8 > 0 ? ((bytes) + 7) / 8 : 1)

/* As large as the largest of the events. */
#define EVENT_BYTES 208
_Static_assert(sizeof(struct law_ack) <= EVENT_BYTES && sizeof(struct law_send) <= EVENT_BYTES, "an event fits");

struct call {
	u64 flow;
	u64 time_ns;
	u32 function;     /* enum call_function */
	u32 event_size;   /* bytes of the event in use */
	u64 arguments[2]; /* cause; now_us and idle_us */
	u8 event[EVENT_BYTES];
	struct law_control before;
	struct law_control after;
	u64 state_before[WORDS_OF(STATE_BYTES)];
	u64 state_after[WORDS_OF(STATE_BYTES)];
};

#endif /* FADELAB_CALL_H */
