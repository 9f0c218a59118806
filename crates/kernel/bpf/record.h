/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A record of each call of the law: what went in and what came out, byte for byte, so that the same header can be
 * called with it again elsewhere (`fadelab replay`). Compiled in only where RECORD is 1.
 *
 * A record grows beside the flow, under the socket's lock, and not in the ring: of programs that hold a piece of the
 * ring the verifier of Linux 6.1 takes every path for another one, and gives up on laws with a few branches.
 */
#ifndef FADELAB_RECORD_H
#define FADELAB_RECORD_H

#include "flow.h"
#include "ring.h"

#if RECORD

/* Where there is no room the next record of the chain says so, and the end of the file. */
ALWAYS_INLINE void call_hand_over(void *record, u32 bytes, struct call_chain *chain)
{
	chain->lost_n += ring_output(record, bytes, 0);
}

ALWAYS_INLINE void call_fill(struct flow *f, u32 function, const struct law_control *control)
{
	struct call *call = &f->call;

	call_begin(&call->head, &f->chain, f->id, CALL_OF_SENDER, function);
	call->head.time_ns = bpf_ktime_get_ns();
	__builtin_memset(call->event, 0, sizeof(call->event));
	call->before = *control;
	__builtin_memcpy(call->state_before, f->state, sizeof(f->state));
}

ALWAYS_INLINE void call_end(struct flow *f, const struct law_control *control)
{
	struct call *call = &f->call;

	call->after = *control;
	__builtin_memcpy(call->state_after, f->state, sizeof(f->state));
	call_hand_over(call, sizeof(*call), &f->chain);
}

ALWAYS_INLINE void receipt_fill(struct echo *e, u32 function)
{
	struct receipt *receipt = &e->receipt;

	if (!e->id)
		e->id = __sync_fetch_and_add(&echoes_n, 1) + 1;
	call_begin(&receipt->head, &e->chain, e->id, CALL_OF_RECEIVER, function);
	receipt->head.time_ns = bpf_ktime_get_ns();
	__builtin_memset(receipt->event, 0, sizeof(receipt->event));
	__builtin_memcpy(receipt->state_before, e->state, sizeof(e->state));
}

ALWAYS_INLINE void receipt_end(struct echo *e)
{
	struct receipt *receipt = &e->receipt;

	__builtin_memcpy(receipt->state_after, e->state, sizeof(e->state));
	call_hand_over(receipt, sizeof(*receipt), &e->chain);
}

/* `record` is the call of a flow or the receipt of an echo. */
#define CALL_EVENT(record, source)                                                                                     \
	do {                                                                                                               \
		__builtin_memcpy((record)->event, source, sizeof(*(source)));                                                  \
		(record)->head.event_bytes = sizeof(*(source));                                                                \
	} while (0)
#define CALL_WRITTEN(record, source)                                                                                   \
	__builtin_memcpy((record)->event + sizeof((record)->event) / 2, source, sizeof(*(source)))
#define CALL_ARGUMENT(record, place, value) ((record)->head.arguments[place] = (value))

/*
 * Makes `statement`, a call of the law, and records it with what `given` puts down of its event and arguments before
 * and `written` of what the law wrote into the event.
 */
#define RECORDED(f, number, control, given, statement, written)                                                        \
	do {                                                                                                               \
		call_fill(f, number, control);                                                                                 \
		given;                                                                                                         \
		statement;                                                                                                     \
		written;                                                                                                       \
		call_end(f, control);                                                                                          \
	} while (0)
#define RECEIVED(e, number, given, statement, written)                                                                 \
	do {                                                                                                               \
		receipt_fill(e, number);                                                                                       \
		given;                                                                                                         \
		statement;                                                                                                     \
		written;                                                                                                       \
		receipt_end(e);                                                                                                \
	} while (0)

#else

#define RECORDED(f, number, control, given, statement, written) statement
#define RECEIVED(e, number, given, statement, written) statement

#endif

/* Of a call whose event the law may not write. */
#define NOTHING_WRITTEN (void)0

#endif /* FADELAB_RECORD_H */
