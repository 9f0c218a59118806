/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A record of each call of a gateway's law: the two headers of a packet that it was shown, what it wrote into the one,
 * and what it remembered of the tunnel before and after, so that the same header can be called with it again elsewhere
 * (`fadelab replay`). Only where RECORD is 1 is anything of it compiled in.
 *
 * As a router's passage (passage.h) it is written under the tunnel's lock, in a place of the processor's own, and
 * handed over behind it; its number tells whoever reads the ring the order in which packets came to the lock. A packet
 * cannot find its processor's place in use: programs of traffic control run with soft interrupts switched off.
 */
#ifndef FADELAB_TRANSIT_H
#define FADELAB_TRANSIT_H

#include "ring.h"

/* What was told, and what came of it. */
struct transit_event {
	union {
		struct law_tunnel tunnel; /* TRANSIT_INIT */
		struct law_packet given;  /* the header that the law reads */
	};
	struct law_packet written[2]; /* the one that it writes, before and after */
};

struct transit {
	struct call_head head;
	struct transit_event event;
	u64 before[WORDS_OF(LAW_STATE_BYTES)];
	u64 after[WORDS_OF(LAW_STATE_BYTES)];
};

#if RECORD

struct {
	MAP_NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct transit *value;
} transits SEC(".maps");

ALWAYS_INLINE struct transit *transit_place(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&transits, &key);
}

ALWAYS_INLINE void transit_begin(struct transit *t, const u64 *state, struct call_chain *chain, u32 number,
                                 u32 function, u64 now_us)
{
	call_begin(&t->head, chain, number, CALL_OF_GATEWAY, function);
	t->head.time_ns = fixed_mul(now_us, 1000);
	t->head.event_bytes = sizeof(t->event);
	t->head.arguments[0] = now_us;
	__builtin_memset(&t->event, 0, sizeof(t->event));
	__builtin_memcpy(t->before, state, sizeof(t->before));
}

ALWAYS_INLINE void transit_end(struct transit *t, const u64 *state)
{
	__builtin_memcpy(t->after, state, sizeof(t->after));
}

ALWAYS_INLINE void transit_hand_over(struct transit *t)
{
	/* Losses of flows are counted together. */
	ring_output(t, sizeof(*t), t->head.id <= INSTANCES_MAX ? (u32)t->head.id : 0);
}

#define TRANSIT_TOLD(t, place, source) __builtin_memcpy(&(t)->event.place, source, sizeof(*(source)))

#else

#define transit_place() ((struct transit *)0)
#define transit_begin(t, state, chain, number, function, now_us) (void)(t)
#define transit_end(t, state) (void)(t)
#define transit_hand_over(t) (void)(t)
#define TRANSIT_TOLD(t, place, source) (void)(t)

#endif

/* Calls the law, and records it; under the lock of the memory. */
ALWAYS_INLINE void encapsulate(struct transit *t, u64 *state, struct call_chain *chain, u32 number, u64 now_us,
                               const struct law_packet *inner, struct law_packet *outer)
{
	transit_begin(t, state, chain, number, TRANSIT_ENCAPSULATE, now_us);
	TRANSIT_TOLD(t, given, inner);
	TRANSIT_TOLD(t, written[0], outer);
	if (LAW_IS.encapsulate)
		LAW_IS.encapsulate(state, SET(law_params), now_us, inner, outer);
	TRANSIT_TOLD(t, written[1], outer);
	transit_end(t, state);
}

ALWAYS_INLINE void decapsulate(struct transit *t, u64 *state, struct call_chain *chain, u32 number, u64 now_us,
                               const struct law_packet *outer, struct law_packet *inner)
{
	transit_begin(t, state, chain, number, TRANSIT_DECAPSULATE, now_us);
	TRANSIT_TOLD(t, given, outer);
	TRANSIT_TOLD(t, written[0], inner);
	if (LAW_IS.decapsulate)
		LAW_IS.decapsulate(state, SET(law_params), now_us, outer, inner);
	TRANSIT_TOLD(t, written[1], inner);
	transit_end(t, state);
}

/* In a memory that has just been given. `number` is its own in recordings. */
ALWAYS_INLINE void begin(struct transit *t, u64 *state, struct call_chain *chain, u32 number,
                         const struct law_tunnel *tunnel)
{
	transit_begin(t, state, chain, number, TRANSIT_INIT, tunnel->now_us);
	TRANSIT_TOLD(t, tunnel, tunnel);
	if (LAW_IS.init)
		LAW_IS.init(state, SET(law_params), tunnel);
	transit_end(t, state);
}

#endif /* FADELAB_TRANSIT_H */
