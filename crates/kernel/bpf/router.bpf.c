/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A router's law at a device, by traffic control: each packet that leaves meets the law before the queueing discipline,
 * at its arrival and, at once, at its departure; a timer runs what the law does by time, so that an idle link ages.
 *
 * The unit is compiled with
 *   LAW_HEADER, LAW_TABLE_NAME, LAW_STATE_BYTES, LAW_PARAMS                 the law and the defaults of its parameters
 *   CAPACITY_HEADER, CAPACITY_TABLE_NAME, CAPACITY_STATE_BYTES, CAPACITY_PARAMS   the capacity part, its header where
 *                                it is not the law's
 *   WIRE, WIRE_HEADER, WIRE_TABLE_NAME   number of the law's wire, and its codec
 *   ECHO_BYTES, DATA_BYTES, OPTION_BYTES what packets of the wire carry, and bytes of its option
 *   KERNEL_VERSION               of the kernel it is for, 601 for 6.1
 *   RECORD                       1: each passage and each run of the timers goes into a ring (passage.h)
 *   LOAD_Q32, CODE               of the law's state `s`, where the law has a load factor and a code to show
 */
#include LAW_HEADER
#ifdef CAPACITY_HEADER
#include CAPACITY_HEADER
#endif
#include WIRE_HEADER

#include "host/router.h"
#include "host.h"
#include "host/packet.h"
#include "part/option.h"
#include "passage.h"
#include "queue.h"
#include "seen.h"
#include "set.h"
#include "tunnel.h"

#define LAW_IS LAW_TABLE_NAME
#define PART_IS CAPACITY_TABLE_NAME

/* The kernel finds both by their names. */
struct bpf_spin_lock {
	u32 value;
};

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

/* What happened since the start, except what `now` says. The loader reads it under the lock. */
struct router_counters {
	u64 packets;
	u64 air_bytes;
	u64 own_packets; /* with the option of the law's wire, or in a tunnel that the operator named */
	u64 left[4];     /* own packets by the ECN field with which they left */
	u64 marked[4];   /* packets whose ECN field the law changed, by what it changed it to */
	u64 rewritten;   /* packets whose feedback the law changed */
	u64 dropped;     /* by the law */
	u64 intervals;   /* of the capacity part */
	u64 sent_bytes;  /* by the queueing discipline, 0 where it does not count */
	u64 queue_bytes; /* now */
	u64 queue_pkts;  /* now */
	u64 queue_bytes_max;
	u64 capacity_Bps; /* now: the capacity part's estimate */
	s64 spare_Bps;    /* now: the same */
	u64 load_q32;     /* now: the law's load factor, 0 where it has none */
	u64 code;         /* now: the law's code, 0 where it has none */
	u64 ticks;        /* runs of the timer */
};

/* What the link offered, and how long it was busy, until its rate was changed last. */
struct router_past {
	u64 until_us;
	u64 offered_bytes;
	u64 sent_bytes;
	u64 busy_ns;
};

struct router {
	struct bpf_spin_lock lock;
	u32 started;
	struct bpf_timer timer;
	struct router_counters counters;
	struct router_config config;
	u64 device; /* address of the device's struct in the kernel, once a packet has passed */
	u64 start_us;
	u64 now_us; /* time of the last call: CPUs may come to the lock in another order than to the clock */
	struct router_memory memory;
	struct call_chain chain;
	struct router_past past;
};

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct router *value;
} router_map SEC(".maps");

char router_license[] SEC("license") = "Dual BSD/GPL";

TO_BE_SET u64 law_params[] = {LAW_PARAMS};
TO_BE_SET u64 capacity_params[] = {CAPACITY_PARAMS};

ALWAYS_INLINE struct router *router_get(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&router_map, &key);
}

/* ------------------------------------------------------------------------------------------------ law and part */

ALWAYS_INLINE struct law_host_law router_law(struct router *r)
{
	return (struct law_host_law){
		.law = &LAW_IS,
		.state = r->memory.state,
		.params = SET(law_params),
		.part = &PART_IS,
		.part_state = r->memory.capacity_state,
		.part_params = SET(capacity_params),
	};
}

/* Now, never before the last call. */
ALWAYS_INLINE void router_now(struct router *r, u64 now_us)
{
	r->now_us = fixed_max(r->now_us, now_us);
}

ALWAYS_INLINE void router_note_queue(struct router *r, const struct queue_view *view)
{
	r->memory.host.queue.queue_bytes = view->bytes;
	r->memory.host.queue.queue_pkts = (u32)view->pkts;
	r->counters.queue_bytes = view->bytes;
	r->counters.queue_pkts = view->pkts;
	r->counters.sent_bytes = view->sent_bytes;
	r->counters.queue_bytes_max = fixed_max(r->counters.queue_bytes_max, view->bytes);
}

/* What the link offered is what it was configured to carry, and what it sent kept it busy as long as that takes. */
ALWAYS_INLINE void router_meter(const struct router *r, struct law_host_meter *meter)
{
	meter->arrived_pkts = r->counters.packets;
	meter->arrived_bytes = r->counters.air_bytes;
	meter->sent_bytes = r->counters.sent_bytes;
	meter->offered_bytes =
		r->past.offered_bytes + fixed_mul_div(r->config.capacity_Bps, r->now_us - r->past.until_us, 1000000);
	meter->busy_ns = r->past.busy_ns + fixed_mul_div(fixed_sub(r->counters.sent_bytes, r->past.sent_bytes), 1000000000,
	                                                 r->config.capacity_Bps);
}

/* Writes down what there is to see since the last run of timers. */
ALWAYS_INLINE void router_note_law(struct router *r)
{
	r->counters.intervals = r->memory.host.intervals;
	r->counters.capacity_Bps = r->memory.host.estimate.capacity_Bps;
	r->counters.spare_Bps = r->memory.host.estimate.spare_Bps;
#ifdef LOAD_Q32
	{
		const void *s = r->memory.state;

		r->counters.load_q32 = LOAD_Q32(s);
		r->counters.code = CODE(s);
	}
#endif
}

static int router_tick(void *map, u32 *key, struct router *unused)
{
	struct queue_view view = {};
	struct router *r = router_get();
	u64 now_us = bpf_ktime_get_ns() / 1000, next_us;
	u32 random[LAW_TIMERS_MAX] = {};
	struct law_host_meter meter;
	struct law_host_law law;
	struct passage *p = passage_place();

	if (!r || (RECORD && !p))
		return 0;
	for (u32 timer = 0; timer < LAW_TIMERS_MAX && timer < LAW_IS.timers; timer++)
		random[timer] = bpf_get_prandom_u32();
	law = router_law(r);
	queue_look(r->device, &view);
	bpf_spin_lock(&r->lock);
	router_now(r, now_us);
	now_us = r->now_us;
	passage_begin(p, &r->memory, &r->chain, PASSAGE_TIMERS, now_us, &view);
	router_note_queue(r, &view);
	router_meter(r, &meter);
	PASSAGE_TOLD(p, meter, &meter);
	PASSAGE_TOLD(p, random, &random);
	next_us = law_host_run_timers(&r->memory.host, &law, now_us, &meter, random);
	passage_end(p, &r->memory, next_us);
	router_note_law(r);
	r->counters.ticks++;
	bpf_spin_unlock(&r->lock);
	passage_hand_over(p);
	if (next_us != LAW_TIMER_OFF)
		bpf_timer_start(&r->timer, (next_us - now_us) * 1000, 0);
	return 0;
}

/* ------------------------------------------------------------------------------------------------------ packets */

#define ROUTER_DROPPED (LAW_HOST_DROPPED | LAW_HOST_DROPPED_LATE)

/*
 * Of a packet in a tunnel that the operator named a router sees the outer header. All in it is taken for data of the
 * law's wire (dcp-ew-2010 section III-C): what it is inside nobody can tell.
 */
ALWAYS_INLINE void router_look_outside(struct __sk_buff *skb, struct seen *seen)
{
	struct outer outer = {};

	if (!WIRE || seen->packet.tcp_at || !seen->packet.version)
		return;
	outer_take(skb, &seen->packet, &outer);
	if (!outer.number)
		return;
	seen->law.flags = LAW_PACKET_TUNNELLED | LAW_PACKET_DATA;
	seen->law.wire = WIRE;
	seen->law.ecn = 0;
	seen->law.role = (u8)outer.role;
	seen->law.roles = law_roles(outer.role, seen->segments);
	seen->law.roles_known = outer.has_role;
}

/* The field that a router may write. */
ALWAYS_INLINE u32 router_ecn(const struct seen *seen)
{
	return (seen->law.flags & LAW_PACKET_TUNNELLED ? seen->law.outer_ecn : seen->law.ecn) & 3;
}

/* The law at work on one packet, under the lock: enum law_host_fate. */
ALWAYS_INLINE u32 router_pass(struct router *r, struct seen *seen, const struct queue_view *view, const u32 random[2])
{
	struct law_host_law law = router_law(r);

	router_note_queue(r, view);
	r->counters.packets += seen->segments;
	r->counters.air_bytes += seen->law.air_bytes;
	return law_host_pass(&r->memory.host, &law, r->now_us, seen->full, &seen->law, random);
}

/* Counts a packet's enum law_host_fate, under the lock. Only packets of the law's wire are ever written to. */
ALWAYS_INLINE void router_count(struct router *r, const struct seen *seen, u32 fate, u32 rewritten)
{
	u32 ecn = router_ecn(seen), segments = seen->segments, is_own = WIRE && seen->law.wire == WIRE;

	if (fate & ROUTER_DROPPED) {
		r->counters.dropped += segments;
		return;
	}
	r->counters.own_packets += is_own ? segments : 0;
	r->counters.left[ecn] += is_own ? segments : 0;
	/* What finds no room is marked in vain: the discipline drops it next. */
	r->counters.marked[ecn] += fate & LAW_HOST_MARKED && !seen->full ? segments : 0;
	r->counters.rewritten += rewritten ? segments : 0;
}

SEC("tc") int router_egress(struct __sk_buff *skb)
{
	struct router *r = router_get();
	/* Who looks at nothing but the packet needs no time. */
	u64 now_us = RECORD || !(LAW_IS.flags & LAW_ROUTER_BLIND) ? bpf_ktime_get_ns() / 1000 : 0, before[3], after[3];
	struct queue_view view = {};
	struct seen seen = {};
	u32 random[2] = {}, fate, rewritten = 0, confirmed;
	struct passage *p = passage_place();

	if (!r || (RECORD && !p))
		return TC_ACT_UNSPEC;
	r->device = queue_device(skb);
	queue_look(r->device, &view);
	seen_take(skb, r->config.link_bytes, r->config.air_bytes, &seen);
	router_look_outside(skb, &seen);
	/* As the discipline counts what waits: without the link's header where that is left out. */
	seen.full = r->config.limit_bytes && view.bytes + seen.law.air_bytes > r->config.limit_bytes;
	if (LAW_IS.flags & LAW_ROUTER_RANDOM)
		random[0] = bpf_get_prandom_u32();
	if (LAW_IS.flags & LAW_ROUTER_RANDOM_AT_DEQUEUE)
		random[1] = bpf_get_prandom_u32();
	__builtin_memcpy(before, seen.law.feedback, LAW_FEEDBACK_BYTES_MAX);
	confirmed = seen.law.confirmed;
	bpf_spin_lock(&r->lock);
	router_now(r, now_us);
	passage_begin(p, &r->memory, &r->chain, PASSAGE_PACKET, r->now_us, &view);
	PASSAGE_FULL(p, seen.full);
	PASSAGE_TOLD(p, random, &random);
	PASSAGE_TOLD(p, packet[0], &seen.law);
	fate = router_pass(r, &seen, &view, random);
	PASSAGE_TOLD(p, packet[1], &seen.law);
	passage_end(p, &r->memory, fate);
	__builtin_memcpy(after, seen.law.feedback, LAW_FEEDBACK_BYTES_MAX);
	if (DATA_BYTES && seen.law.feedback_len)
		rewritten = before[0] != after[0] || before[1] != after[1] || (u32)before[2] != (u32)after[2];
	router_count(r, &seen, fate, rewritten);
	bpf_spin_unlock(&r->lock);
	passage_hand_over(p);
	if (fate & ROUTER_DROPPED)
		return TC_ACT_SHOT;
	if (seen.packet.version && router_ecn(&seen) != seen.packet.ecn)
		packet_set_ecn(skb, &seen.packet, router_ecn(&seen));
	if (seen.option_at && (rewritten || seen.law.confirmed != confirmed))
		seen_write_option(skb, &seen, rewritten);
	return TC_ACT_UNSPEC;
}

/* ------------------------------------------------------------------------------------------------------- start */

#define CLOCK_MONOTONIC 1

/* The loader runs it once, before it attaches the other: 0 when the law is ready and its timer runs. */
SEC("tc") int router_start(struct __sk_buff *skb)
{
	struct router *r = router_get();
	u32 key = 0;
	struct router_config *config = bpf_map_lookup_elem(&config_map, &key);
	struct law_link link = {.size = sizeof(link)};
	struct law_host_law law;
	struct queue_view view = {};
	struct passage *p = passage_place();
	u64 next_us;

	if (!r || (RECORD && !p) || !config || r->started || bpf_timer_init(&r->timer, &router_map, CLOCK_MONOTONIC))
		return 1;
	r->started = 1;
	r->config = *config;
	link.random = bpf_get_prandom_u32();
	link.now_us = bpf_ktime_get_ns() / 1000;
	link.capacity_Bps = config->capacity_Bps;
	link.limit_bytes = config->limit_bytes;
	if (!link.limit_bytes)
		link.limit_bytes = fixed_max(config->queue_pkts, 1) * fixed_max(config->packet_bytes, 1);
	link.packet_bytes = config->packet_bytes;
	r->now_us = r->start_us = r->past.until_us = link.now_us;
	law = router_law(r);
	passage_begin(p, &r->memory, &r->chain, PASSAGE_START, link.now_us, &view);
	PASSAGE_TOLD(p, link, &link);
	next_us = law_host_start(&r->memory.host, &law, &link);
	passage_end(p, &r->memory, next_us);
	passage_hand_over(p);
	r->counters.capacity_Bps = r->memory.host.estimate.capacity_Bps;
	if (bpf_timer_set_callback(&r->timer, router_tick))
		return 2;
	if (next_us != LAW_TIMER_OFF && bpf_timer_start(&r->timer, fixed_sub(next_us, link.now_us) * 1000, 0))
		return 3;
	return 0;
}

/* The link carries something else from now on, which the configuration says: its law hears of it with the next interval
 * of the capacity part. 0 when that is done. */
SEC("tc") int router_rate(struct __sk_buff *skb)
{
	struct router *r = router_get();
	u32 key = 0;
	struct router_config *config = bpf_map_lookup_elem(&config_map, &key);
	u64 now_us = bpf_ktime_get_ns() / 1000;
	struct law_host_meter meter = {};

	if (!r || !config || !r->started)
		return 1;
	bpf_spin_lock(&r->lock);
	router_now(r, now_us);
	router_meter(r, &meter);
	r->past.until_us = r->now_us;
	r->past.offered_bytes = meter.offered_bytes;
	r->past.busy_ns = meter.busy_ns;
	r->past.sent_bytes = r->counters.sent_bytes;
	r->config.capacity_Bps = config->capacity_Bps;
	r->memory.host.configured_Bps = config->capacity_Bps;
	bpf_spin_unlock(&r->lock);
	return 0;
}
