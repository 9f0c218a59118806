/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A record of each passage of a packet through a router's law and of each run of its timers: what the law, its host and
 * its capacity part remembered before and after, what they were told, and what came of it, so that the same headers
 * can be run with it again elsewhere (`fadelab replay`). Only where RECORD is 1 is anything of it compiled in.
 *
 * A record is written under the router's lock, in a place of the processor's own, and handed over behind it: under a
 * spin lock the kernel lets programs call nothing. So records of two processors may come to the ring in another order
 * than to the lock. Their numbers, counted under the lock, tell the right one to whoever reads the ring; so does a
 * number that never comes, for which there was no room.
 *
 * Neither a packet nor the timer can find its processor's place in use: both run in soft interrupts or with these
 * switched off.
 */
#ifndef FADELAB_PASSAGE_H
#define FADELAB_PASSAGE_H

#include "host/router.h"
#include "queue.h"
#include "ring.h"

/* All that a router's law, its host and its capacity part remember, in one piece. */
struct router_memory {
	struct law_host host;
	u64 state[WORDS_OF(LAW_STATE_BYTES)];
	u64 capacity_state[WORDS_OF(CAPACITY_STATE_BYTES)];
};

/* What was told, and what came of it. */
struct passage_event {
	u64 queue_bytes;
	u64 queue_pkts;
	u64 result; /* of a packet enum law_host_fate, otherwise when the next timer is due, us */
	u32 random[LAW_TIMERS_MAX];
	union {
		struct law_link link;        /* PASSAGE_START */
		struct law_packet packet[2]; /* PASSAGE_PACKET: before and after */
		struct law_host_meter meter; /* PASSAGE_TIMERS */
	};
};

struct passage {
	struct call_head head;
	struct passage_event event;
	struct router_memory before;
	struct router_memory after;
};

#if RECORD

struct {
	MAP_NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct passage *value;
} passages SEC(".maps");

ALWAYS_INLINE struct passage *passage_place(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&passages, &key);
}

ALWAYS_INLINE void passage_begin(struct passage *p, const struct router_memory *memory, struct call_chain *chain,
                                 u32 function, u64 now_us, const struct queue_view *view)
{
	call_begin(&p->head, chain, 1, CALL_OF_ROUTER, function);
	p->head.time_ns = fixed_mul(now_us, 1000);
	p->head.event_bytes = sizeof(p->event);
	p->head.arguments[0] = now_us;
	__builtin_memset(&p->event, 0, sizeof(p->event));
	p->event.queue_bytes = view->bytes;
	p->event.queue_pkts = view->pkts;
	p->before = *memory;
}

ALWAYS_INLINE void passage_end(struct passage *p, const struct router_memory *memory, u64 result)
{
	p->event.result = result;
	p->after = *memory;
}

ALWAYS_INLINE void passage_hand_over(struct passage *p)
{
	ring_output(p, sizeof(*p), 1);
}

#define PASSAGE_TOLD(p, place, source) __builtin_memcpy(&(p)->event.place, source, sizeof(*(source)))
#define PASSAGE_FULL(p, is_full) ((p)->head.arguments[1] = (is_full))

#else

#define passage_place() ((struct passage *)0)
#define passage_begin(p, memory, chain, function, now_us, view) (void)(p)
#define passage_end(p, memory, result) (void)(p)
#define passage_hand_over(p) (void)(p)
#define PASSAGE_TOLD(p, place, source) (void)(p)
#define PASSAGE_FULL(p, is_full) (void)(p)

#endif

#endif /* FADELAB_PASSAGE_H */
