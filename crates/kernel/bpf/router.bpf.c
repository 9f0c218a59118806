/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A router's law at a device, by traffic control: each packet that leaves meets the law before the queueing discipline,
 * at its arrival and, at once, at its departure; a timer runs what the law does by time, so that an idle link ages.
 *
 * The unit is compiled with
 *   LAW_HEADER, LAW_TABLE_NAME, LAW_STATE_BYTES, LAW_PARAMS                 the law and its parameters
 *   CAPACITY_HEADER, CAPACITY_TABLE_NAME, CAPACITY_STATE_BYTES, CAPACITY_PARAMS   the capacity part
 *   WIRE, WIRE_HEADER, WIRE_TABLE_NAME   number of the law's wire, and its codec
 *   ECHO_BYTES, DATA_BYTES, OPTION_BYTES what packets of the wire carry, and bytes of its option
 *   KERNEL_VERSION               of the kernel it is for, 601 for 6.1
 *   LOAD_Q32, CODE               of the law's state `s`, where the law has a load factor and a code to show
 */
#include LAW_HEADER
#include CAPACITY_HEADER
#include WIRE_HEADER

#include "host.h"
#include "packet.h"
#include "part/option.h"
#include "queue.h"

#define LAW_IS LAW_TABLE_NAME
#define PART_IS CAPACITY_TABLE_NAME
#define CODEC WIRE_TABLE_NAME

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
	u64 own_packets; /* with the option of the law's wire */
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

#define WORDS(bytes) ((bytes) / 8 + 1)

/* When a timer of the law ran last, as far as it is told what came since. */
struct last_run {
	u64 packets;
	u64 air_bytes;
	u64 queue_bytes_min;
};

struct router {
	struct bpf_spin_lock lock;
	u32 started;
	struct bpf_timer timer;
	struct router_counters counters;
	struct router_config config;
	u64 device; /* address of the device's struct in the kernel, once a packet has passed */
	u64 now_us; /* time of the last call: CPUs may come to the lock in another order than to the clock */
	u64 closed_us;
	u64 closed_arrived_bytes;
	u64 closed_sent_bytes;
	u64 last_start_us; /* when the last packet was let into the queue, */
	u64 last_bytes;    /* and its on-air bytes */
	u64 due_us[LAW_TIMERS_MAX];
	struct last_run ran[LAW_TIMERS_MAX];
	struct law_estimate estimate;
	u64 state[WORDS(LAW_STATE_BYTES)];
	u64 capacity_state[WORDS(CAPACITY_STATE_BYTES)];
};

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct router *value;
} router_map SEC(".maps");

char router_license[] SEC("license") = "Dual BSD/GPL";

static const u64 law_params[] = {LAW_PARAMS};
static const u64 capacity_params[] = {CAPACITY_PARAMS};
static const struct law_format format = {
	.size = sizeof(format),
	.wire = WIRE,
	.data_bytes = DATA_BYTES,
	.echo_bytes = ECHO_BYTES,
};

ALWAYS_INLINE struct router *router_get(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&router_map, &key);
}

/* ------------------------------------------------------------------------------------------------ law and part */

ALWAYS_INLINE void law_look(const struct router *r, const struct queue_view *view, u32 random, struct law_queue *queue)
{
	queue->size = sizeof(*queue);
	queue->random = random;
	queue->now_us = r->now_us;
	queue->queue_bytes = view->bytes;
	queue->queue_pkts = (u32)view->pkts;
	queue->full = 0;
	queue->wait_us = 0;
	queue->spare_Bps = r->estimate.spare_Bps;
	queue->capacity_Bps = r->estimate.capacity_Bps;
	queue->queue_control_bytes = r->estimate.queue_control_bytes;
	queue->has_queue_control = r->estimate.has_queue_control;
	queue->last_bytes = (u32)r->last_bytes;
	queue->last_start_us = r->last_start_us;
	queue->arrived_pkts = 0;
	queue->arrived_bytes = 0;
	queue->queue_bytes_min = 0;
}

/* What happened since a timer ran last. */
ALWAYS_INLINE void law_look_back(struct router *r, u32 timer, const struct queue_view *view, struct law_queue *queue)
{
	struct last_run *ran = &r->ran[timer];

	queue->arrived_pkts = r->counters.packets - ran->packets;
	queue->arrived_bytes = r->counters.air_bytes - ran->air_bytes;
	queue->queue_bytes_min = ran->queue_bytes_min;
	ran->packets = r->counters.packets;
	ran->air_bytes = r->counters.air_bytes;
	ran->queue_bytes_min = view->bytes;
}

/* Now, never before the last call. */
ALWAYS_INLINE void router_now(struct router *r, u64 now_us)
{
	r->now_us = fixed_max(r->now_us, now_us);
}

ALWAYS_INLINE void router_note_queue(struct router *r, const struct queue_view *view)
{
	for (u32 timer = 0; timer < LAW_IS.timers && timer < LAW_TIMERS_MAX; timer++)
		r->ran[timer].queue_bytes_min = fixed_min(r->ran[timer].queue_bytes_min, view->bytes);
	r->counters.queue_bytes = view->bytes;
	r->counters.queue_pkts = view->pkts;
	r->counters.sent_bytes = view->sent_bytes;
	r->counters.queue_bytes_max = fixed_max(r->counters.queue_bytes_max, view->bytes);
}

/* The end of the capacity part's interval. What the link offered is what it was configured to carry. */
ALWAYS_INLINE void router_close_interval(struct router *r, const struct queue_view *view, u64 queue_bytes_min)
{
	u64 interval_us = r->now_us - r->closed_us;
	u64 sent_bytes = fixed_sub(view->sent_bytes, r->closed_sent_bytes);
	u64 busy_us = fixed_min(fixed_mul_div(sent_bytes, 1000000, r->config.capacity_Bps), interval_us);
	struct law_interval interval = {
		.size = sizeof(interval),
		.now_us = r->now_us,
		.interval_us = interval_us,
		.offered_bytes = fixed_mul_div(r->config.capacity_Bps, interval_us, 1000000),
		.sent_bytes = sent_bytes,
		.arrived_bytes = r->counters.air_bytes - r->closed_arrived_bytes,
		.busy_us = busy_us,
		.idle_us = interval_us - busy_us,
		.queue_bytes = view->bytes,
		.queue_bytes_min = queue_bytes_min,
		.limit_bytes = r->config.limit_bytes,
		.configured_Bps = r->config.capacity_Bps,
	};

	if (PART_IS.estimate)
		PART_IS.estimate(r->capacity_state, capacity_params, &interval, &r->estimate);
	r->closed_us = r->now_us;
	r->closed_arrived_bytes = r->counters.air_bytes;
	r->closed_sent_bytes = view->sent_bytes;
	r->counters.intervals++;
	r->counters.capacity_Bps = r->estimate.capacity_Bps;
	r->counters.spare_Bps = r->estimate.spare_Bps;
}

/* Runs the timers that are due, in order of their number; gives the time of the next one. */
ALWAYS_INLINE u64 router_run_timers(struct router *r, const struct queue_view *view, u32 random)
{
	u64 next_us = LAW_TIMER_OFF;

	for (u32 timer = 0; timer < LAW_TIMERS_MAX; timer++) {
		struct law_queue queue;

		if (timer >= LAW_IS.timers || !LAW_IS.on_timer)
			break;
		if (r->due_us[timer] <= r->now_us) {
			if (timer == LAW_IS.control_timer)
				router_close_interval(r, view, r->ran[timer].queue_bytes_min);
			law_look(r, view, random, &queue);
			law_look_back(r, timer, view, &queue);
			/* A law that asks for the past is run again at the next microsecond, not for ever at this one. */
			r->due_us[timer] = fixed_max(LAW_IS.on_timer(r->state, law_params, timer, &queue), r->now_us + 1);
		}
		next_us = fixed_min(next_us, r->due_us[timer]);
	}
#ifdef LOAD_Q32
	{
		const void *s = r->state;

		r->counters.load_q32 = LOAD_Q32(s);
		r->counters.code = CODE(s);
	}
#endif
	return next_us;
}

static int router_tick(void *map, u32 *key, struct router *unused)
{
	struct queue_view view = {};
	struct router *r = router_get();
	u64 now_us = bpf_ktime_get_ns() / 1000, next_us;
	u32 random = bpf_get_prandom_u32();

	if (!r)
		return 0;
	queue_look(r->device, &view);
	bpf_spin_lock(&r->lock);
	router_now(r, now_us);
	now_us = r->now_us;
	router_note_queue(r, &view);
	next_us = router_run_timers(r, &view, random);
	r->counters.ticks++;
	bpf_spin_unlock(&r->lock);
	if (next_us != LAW_TIMER_OFF)
		bpf_timer_start(&r->timer, (next_us - now_us) * 1000, 0);
	return 0;
}

/* ------------------------------------------------------------------------------------------------------ packets */

#define OPTION_WORDS (OPTION_BYTES_MAX / 4)

/* A packet as the law is shown it, and the option as it stands in the packet. */
struct seen {
	struct packet packet;
	struct law_packet law;
	u32 segments;  /* packets that the device makes of it */
	u32 option_at; /* 0: the packet is not of the law's wire */
	u32 full;      /* 1: the queue has no room for it */
	u32 option[OPTION_WORDS];
};

/* A super-packet has one header, which the device copies to each of its segments. The law is shown their sum. */
ALWAYS_INLINE void seen_feedback(struct seen *seen)
{
	u8 *feedback = seen->law.feedback;

	if (!DATA_BYTES || !CODEC.get_data || !CODEC.get_data((const u8 *)seen->option, &format, feedback))
		return;
	seen->law.feedback_len = DATA_BYTES;
	if (CODEC.join && seen->segments > 1)
		CODEC.join(feedback, seen->segments);
}

/* Looks at a packet; needs no lock. */
ALWAYS_INLINE void seen_take(struct __sk_buff *skb, const struct router_config *config, struct seen *seen)
{
	u32 segments = skb->gso_segs > 1 ? skb->gso_segs : 1;
	u32 bytes = skb->wire_len > skb->len ? skb->wire_len : skb->len;

	packet_parse(skb, config->link_bytes, &seen->packet);
	seen->segments = segments;
	seen->law.size = sizeof(seen->law);
	seen->law.ip_bytes = bytes - config->link_bytes * segments;
	seen->law.air_bytes = seen->law.ip_bytes + config->air_bytes * segments;
	seen->law.flags = seen->packet.has_data ? LAW_PACKET_DATA : 0;
	seen->law.ip_id = seen->packet.ip_id;
	seen->law.role = seen->packet.ip_id & 1;
	seen->law.ecn = seen->law.outer_ecn = seen->packet.ecn;
	if (!WIRE || seen->packet.tcp_end < seen->packet.tcp_at + PACKET_TCP_BYTES + OPTION_BYTES)
		return;
	if (packet_load(skb, seen->packet.tcp_end - OPTION_BYTES, seen->option, OPTION_BYTES) ||
	    !option_is((const u8 *)seen->option, WIRE, OPTION_BYTES))
		return;
	seen->option_at = seen->packet.tcp_end - OPTION_BYTES;
	seen->law.wire = WIRE;
	seen_feedback(seen);
}

/* The law at work on one packet, under the lock: enum law_verdict. */
ALWAYS_INLINE u32 router_pass(struct router *r, struct seen *seen, const struct queue_view *view, u32 random)
{
	struct law_queue queue;
	u32 verdict = LAW_PASS;

	router_note_queue(r, view);
	r->counters.packets += seen->segments;
	r->counters.air_bytes += seen->law.air_bytes;
	law_look(r, view, random, &queue);
	queue.full = seen->full;
	if (LAW_IS.on_enqueue)
		verdict = LAW_IS.on_enqueue(r->state, law_params, &seen->law, &queue);
	queue.full = 0;
	/* What finds no room does not depart. */
	if (LAW_IS.on_dequeue && verdict == LAW_PASS && !seen->full)
		verdict = LAW_IS.on_dequeue(r->state, law_params, &seen->law, &queue);
	if (verdict == LAW_PASS && !seen->full) {
		r->last_start_us = r->now_us;
		r->last_bytes = seen->law.air_bytes;
	}
	return verdict;
}

/* Counts what the law decided, under the lock. Only packets of the law's wire are ever written to. */
ALWAYS_INLINE void router_count(struct router *r, const struct seen *seen, u32 verdict, u32 rewritten)
{
	u32 ecn = seen->law.ecn & 3, segments = seen->segments;

	if (verdict != LAW_PASS) {
		r->counters.dropped += segments;
		return;
	}
	r->counters.own_packets += seen->option_at ? segments : 0;
	r->counters.left[ecn] += seen->option_at ? segments : 0;
	r->counters.marked[ecn] += ecn != seen->packet.ecn ? segments : 0;
	r->counters.rewritten += rewritten ? segments : 0;
}

/* Writes the feedback that the law changed, and with it the checksum of TCP. */
ALWAYS_INLINE void seen_write_feedback(struct __sk_buff *skb, struct seen *seen)
{
	u32 before[OPTION_WORDS];

	__builtin_memcpy(before, seen->option, OPTION_BYTES);
	CODEC.put_share((u8 *)seen->option, &format, seen->law.feedback, seen->segments);
	for (u32 word = 0; word < OPTION_BYTES / 4; word++)
		if (before[word] != seen->option[word])
			bpf_l4_csum_replace(skb, seen->packet.tcp_at + 16, before[word], seen->option[word], 4);
	bpf_skb_store_bytes(skb, seen->option_at, seen->option, OPTION_BYTES, 0);
}

SEC("tc") int router_egress(struct __sk_buff *skb)
{
	struct router *r = router_get();
	u64 now_us = bpf_ktime_get_ns() / 1000, before[3], after[3];
	struct queue_view view = {};
	struct seen seen = {};
	u32 random, verdict, rewritten = 0;

	if (!r)
		return TC_ACT_UNSPEC;
	r->device = queue_device(skb);
	queue_look(r->device, &view);
	seen_take(skb, &r->config, &seen);
	seen.full = r->config.limit_bytes && view.bytes + skb->wire_len > r->config.limit_bytes;
	random = LAW_IS.flags & (LAW_ROUTER_RANDOM | LAW_ROUTER_RANDOM_AT_DEQUEUE) ? bpf_get_prandom_u32() : 0;
	__builtin_memcpy(before, seen.law.feedback, LAW_FEEDBACK_BYTES_MAX);
	bpf_spin_lock(&r->lock);
	router_now(r, now_us);
	verdict = router_pass(r, &seen, &view, random);
	if (WIRE && !seen.option_at)
		seen.law.ecn = seen.packet.ecn;
	__builtin_memcpy(after, seen.law.feedback, LAW_FEEDBACK_BYTES_MAX);
	if (DATA_BYTES && seen.law.feedback_len)
		rewritten = before[0] != after[0] || before[1] != after[1] || (u32)before[2] != (u32)after[2];
	router_count(r, &seen, verdict, rewritten);
	bpf_spin_unlock(&r->lock);
	if (verdict != LAW_PASS)
		return TC_ACT_SHOT;
	if (seen.packet.version && (seen.law.ecn & 3) != seen.packet.ecn)
		packet_set_ecn(skb, &seen.packet, seen.law.ecn & 3);
	if (rewritten && CODEC.put_share)
		seen_write_feedback(skb, &seen);
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
	u64 next_us = LAW_TIMER_OFF;

	if (!r || !config || r->started || bpf_timer_init(&r->timer, &router_map, CLOCK_MONOTONIC))
		return 1;
	r->started = 1;
	r->config = *config;
	link.random = bpf_get_prandom_u32();
	link.now_us = bpf_ktime_get_ns() / 1000;
	link.capacity_Bps = config->capacity_Bps;
	link.limit_bytes = config->limit_bytes;
	link.packet_bytes = config->packet_bytes;
	r->now_us = r->closed_us = link.now_us;
	r->estimate.size = sizeof(r->estimate);
	r->estimate.capacity_Bps = r->counters.capacity_Bps = config->capacity_Bps;
	if (PART_IS.init)
		PART_IS.init(r->capacity_state, capacity_params, &link);
	if (LAW_IS.init)
		LAW_IS.init(r->state, law_params, &link, r->due_us);
	for (u32 timer = 0; timer < LAW_TIMERS_MAX && timer < LAW_IS.timers; timer++)
		next_us = fixed_min(next_us, r->due_us[timer]);
	if (bpf_timer_set_callback(&r->timer, router_tick))
		return 2;
	if (next_us != LAW_TIMER_OFF && bpf_timer_start(&r->timer, fixed_sub(next_us, link.now_us) * 1000, 0))
		return 3;
	return 0;
}
