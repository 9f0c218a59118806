/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A record of each call of the law: what went in and what came out, byte for byte, so that the same header can be
 * called with it again elsewhere (`fadelab replay`). Compiled in only where RECORD is 1.
 */
#ifndef FADELAB_RECORD_H
#define FADELAB_RECORD_H

#include "flow.h"

/* The functions of a sender's table, in its order. */
enum call_function {
	CALL_INIT = 0,
	CALL_ON_SEND = 1,
	CALL_ON_ACK = 2,
	CALL_ON_LOSS = 3,
	CALL_ON_RTO = 4,
	CALL_ON_RESTART = 5,
	CALL_ON_UNDO = 7,
};

#if RECORD

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

struct {
	MAP_NUMBER(type, MAP_TYPE_RINGBUF);
	MAP_NUMBER(max_entries, 1 << 24);
} calls SEC(".maps");

/* Calls for which there was no room: a record with gaps must say so. */
struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	u64 *value;
} losses SEC(".maps");

ALWAYS_INLINE void count_lost(void)
{
	u32 key = 0;
	u64 *n = bpf_map_lookup_elem(&losses, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
}

ALWAYS_INLINE void call_fill(struct call *call, const struct flow *f, u32 function, const struct law_control *control)
{
	call->flow = f->id;
	call->time_ns = bpf_ktime_get_ns();
	call->function = function;
	call->event_size = 0;
	call->arguments[0] = call->arguments[1] = 0;
	__builtin_memset(call->event, 0, sizeof(call->event));
	call->before = *control;
	__builtin_memcpy(call->state_before, f->state, sizeof(f->state));
}

ALWAYS_INLINE void call_end(struct call *call, const struct flow *f, const struct law_control *control)
{
	call->after = *control;
	__builtin_memcpy(call->state_after, f->state, sizeof(f->state));
	bpf_ringbuf_submit(call, 0);
}

#define CALL_EVENT(source)                                                                                             \
	do {                                                                                                               \
		__builtin_memcpy(call->event, source, sizeof(*(source)));                                                      \
		call->event_size = sizeof(*(source));                                                                          \
	} while (0)
#define CALL_ARGUMENT(place, value) (call->arguments[place] = (value))

/*
 * Makes `statement`, a call of the law, and records it with what `given` puts down of its event and arguments. The call
 * stands there twice, so that the record is looked at once: the verifier of Linux 6.1 forgets at a second look that
 * there was one.
 */
#define RECORDED(f, number, control, given, statement)                                                                 \
	do {                                                                                                               \
		struct call *call = bpf_ringbuf_reserve(&calls, sizeof(struct call), 0);                                       \
                                                                                                                       \
		if (call) {                                                                                                    \
			call_fill(call, f, number, control);                                                                       \
			given;                                                                                                     \
			statement;                                                                                                 \
			call_end(call, f, control);                                                                                \
		} else {                                                                                                       \
			count_lost();                                                                                              \
			statement;                                                                                                 \
		}                                                                                                              \
	} while (0)

#else

#define RECORDED(f, number, control, given, statement) statement

#endif

#endif /* FADELAB_RECORD_H */
