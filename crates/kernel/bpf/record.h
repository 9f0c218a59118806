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

ALWAYS_INLINE void call_fill(struct flow *f, u32 function, const struct law_control *control)
{
	struct call *call = &f->call;

	call->flow = f->id;
	call->time_ns = bpf_ktime_get_ns();
	call->function = function;
	call->event_size = 0;
	call->arguments[0] = call->arguments[1] = 0;
	__builtin_memset(call->event, 0, sizeof(call->event));
	call->before = *control;
	__builtin_memcpy(call->state_before, f->state, sizeof(f->state));
}

ALWAYS_INLINE void call_end(struct flow *f, const struct law_control *control)
{
	struct call *call = &f->call;

	call->after = *control;
	__builtin_memcpy(call->state_after, f->state, sizeof(f->state));
	if (bpf_ringbuf_output(&calls, call, sizeof(*call), 0))
		count_lost();
}

#define CALL_EVENT(f, source)                                                                                          \
	do {                                                                                                               \
		__builtin_memcpy((f)->call.event, source, sizeof(*(source)));                                                  \
		(f)->call.event_size = sizeof(*(source));                                                                      \
	} while (0)
#define CALL_ARGUMENT(f, place, value) ((f)->call.arguments[place] = (value))

/*
 * Makes `statement`, a call of the law, and records it with what `given` puts down of its event and arguments. The
 * record grows beside the flow, under the socket's lock, and not in the ring: of programs that hold a piece of the ring
 * the verifier of Linux 6.1 takes every path for another one, and gives up on laws with a few branches.
 */
#define RECORDED(f, number, control, given, statement)                                                                 \
	do {                                                                                                               \
		call_fill(f, number, control);                                                                                 \
		given;                                                                                                         \
		statement;                                                                                                     \
		call_end(f, control);                                                                                          \
	} while (0)

#else

#define RECORDED(f, number, control, given, statement) statement

#endif

#endif /* FADELAB_RECORD_H */
