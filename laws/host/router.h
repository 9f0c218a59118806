/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host of a router's law: what the law is shown of its queue and when, when its timers are due, what the capacity
 * part is told of an interval, and what a verdict means. The simulator and the kernel's programs include it and add
 * what is theirs: where the queue is, the lock, the clock and its timer, random words, and a record of what happened.
 *
 * These functions call nothing but the law and its capacity part. Where the tables are constants of the program that
 * includes this file, as everywhere but with laws that users bring, the compiler inlines the law into them and leaves
 * out whatever its flags say that it does not read.
 */
#ifndef FADELAB_HOST_ROUTER_H
#define FADELAB_HOST_ROUTER_H

#include "fixed.h"
#include "law.h"

/* A law and its capacity part at work: tables, memory and parameters. */
struct law_host_law {
	const struct law_router *law;
	void *state;
	const void *params;
	const struct law_capacity *part;
	void *part_state;
	const void *part_params;
};

/* What a link counted since it began; the law and its part are told differences. */
struct law_host_meter {
	u64 arrived_pkts;  /* later dropped ones included */
	u64 arrived_bytes; /* on-air, as all of these */
	u64 sent_bytes;
	u64 offered_bytes; /* capacity that went by, used or not */
	u64 busy_ns;
	u64 received_bytes; /* of what was sent, what is not lost on the air; no device of a kernel knows */
};

/* When a timer ran last, as far as it is told what came since. */
struct law_host_run {
	u64 arrived_pkts;
	u64 arrived_bytes;
	u64 queue_bytes_min; /* since then */
};

/* The memory of a host, zeroed before law_host_start. */
struct law_host {
	/* What the law is shown; kept, so that a call writes only what changed. Whoever calls a function of this file has
	 * written what waits to queue_bytes and queue_pkts. */
	struct law_queue queue;
	struct law_estimate estimate;
	u64 limit_bytes;
	u64 configured_Bps;
	u64 queue_bytes_min;          /* since any timer ran */
	u64 drawn;                    /* random words that the law was shown with packets */
	u64 intervals;                /* of the capacity part, so far */
	u64 closed_us;                /* when the last one ended, */
	struct law_host_meter closed; /* and what had been counted by then */
	u64 due_us[LAW_TIMERS_MAX];
	struct law_host_run ran[LAW_TIMERS_MAX];
};

/* What becomes of a packet that the law met. */
enum law_host_fate {
	LAW_HOST_DROPPED = 1u << 0,      /* at its arrival: it never joins the queue */
	LAW_HOST_DROPPED_LATE = 1u << 1, /* at its departure */
	LAW_HOST_MARKED = 1u << 2,       /* its ECN field, or that of its outer header, is another now */
};

/* ------------------------------------------------------------------------------------------------------ packets */

/* Whether the law is shown a packet of that format and enum law_packet_flags. */
LAW u32 law_host_concerns(const struct law_router *law, u32 wire, u32 flags)
{
	return law->wire == LAW_WIRE_NONE || (wire == law->wire && (flags & LAW_PACKET_DATA));
}

LAW void law_host_note_queue(struct law_host *h)
{
	h->queue_bytes_min = fixed_min(h->queue_bytes_min, h->queue.queue_bytes);
}

/* A packet's transmission begins. */
LAW void law_host_note_transmission(struct law_host *h, const struct law_router *law, u64 now_us, u32 air_bytes)
{
	if (law->flags & LAW_ROUTER_BLIND)
		return;
	h->queue.last_start_us = now_us;
	h->queue.last_bytes = air_bytes;
}

/* The departure of a packet that is no concern of the law's; at its arrival nothing is to be done. */
LAW void law_host_let_by(struct law_host *h, const struct law_router *law, u64 now_us, u32 air_bytes)
{
	law_host_note_queue(h);
	law_host_note_transmission(h, law, now_us, air_bytes);
}

/* The estimate of the capacity part stands in the queue since the last interval. */
LAW void law_host_look(struct law_host *h, u64 now_us, u32 full, u64 wait_us)
{
	h->queue.now_us = now_us;
	h->queue.full = full;
	h->queue.wait_us = wait_us;
}

LAW void law_host_show_random(struct law_host *h, u32 random)
{
	h->queue.random = random;
	h->drawn++;
}

/*
 * Of a law with queues of its own: the queue that an arrival joins. Whoever calls this has written what waits in each;
 * that the queue is one of the law's is for the caller to judge.
 */
LAW u32 law_host_classify(struct law_host *h, const struct law_host_law *of, u64 now_us, u32 full,
                          const struct law_packet *packet)
{
	const struct law_router *law = of->law;

	h->queue.index = 0;
	if (!law->classify || !law_host_concerns(law, packet->wire, packet->flags))
		return 0;
	law_host_look(h, now_us, full, 0);
	h->queue.index = law->classify(of->state, of->params, packet, &h->queue);
	return h->queue.index;
}

/* The queue whose head leaves, where several hold packets or one does; as law_host_classify. */
LAW u32 law_host_pick(struct law_host *h, const struct law_host_law *of, u64 now_us)
{
	const struct law_router *law = of->law;

	h->queue.index = 0;
	if (!law->pick)
		return 0;
	law_host_look(h, now_us, 0, 0);
	h->queue.index = law->pick(of->state, of->params, &h->queue);
	return h->queue.index;
}

/* Whether the ECN field of either header is another than it was: routers write the outer one where there is one. */
LAW u32 law_host_is_marked(const struct law_packet *packet, u32 ecn, u32 outer_ecn)
{
	return packet->ecn != ecn || packet->outer_ecn != outer_ecn;
}

/* An arrival, before the limit of the queue is applied; `full`: that will drop it. Gives enum law_host_fate. */
LAW u32 law_host_arrive(struct law_host *h, const struct law_host_law *of, u64 now_us, u32 full,
                        struct law_packet *packet, u32 random)
{
	const struct law_router *law = of->law;
	u32 ecn = packet->ecn, outer_ecn = packet->outer_ecn;

	law_host_note_queue(h);
	if (!law->on_enqueue || !law_host_concerns(law, packet->wire, packet->flags))
		return 0;
	if (!(law->flags & LAW_ROUTER_BLIND))
		law_host_look(h, now_us, full, 0);
	if (law->flags & LAW_ROUTER_RANDOM)
		law_host_show_random(h, random);
	if (law->on_enqueue(of->state, of->params, packet, &h->queue) == LAW_DROP)
		return LAW_HOST_DROPPED;
	return law_host_is_marked(packet, ecn, outer_ecn) ? LAW_HOST_MARKED : 0;
}

/* A departure from the queue into transmission. Gives enum law_host_fate. */
LAW u32 law_host_leave(struct law_host *h, const struct law_host_law *of, u64 now_us, u64 wait_us,
                       struct law_packet *packet, u32 random)
{
	const struct law_router *law = of->law;
	u32 ecn = packet->ecn, outer_ecn = packet->outer_ecn, fate = 0;

	law_host_note_queue(h);
	if (law->on_dequeue && law_host_concerns(law, packet->wire, packet->flags)) {
		if (!(law->flags & LAW_ROUTER_BLIND))
			law_host_look(h, now_us, 0, wait_us);
		if (law->flags & LAW_ROUTER_RANDOM_AT_DEQUEUE)
			law_host_show_random(h, random);
		if (law->on_dequeue(of->state, of->params, packet, &h->queue) == LAW_DROP)
			fate = LAW_HOST_DROPPED_LATE;
		if (law_host_is_marked(packet, ecn, outer_ecn))
			fate |= LAW_HOST_MARKED;
	}
	if (!(fate & LAW_HOST_DROPPED_LATE))
		law_host_note_transmission(h, law, now_us, packet->air_bytes);
	return fate;
}

/* An arrival and, unless that is its end, the departure at the same instant: what finds no room does not depart. */
LAW u32 law_host_pass(struct law_host *h, const struct law_host_law *of, u64 now_us, u32 full,
                      struct law_packet *packet, const u32 random[2])
{
	u32 fate = law_host_arrive(h, of, now_us, full, packet, random[0]);

	if (full || (fate & LAW_HOST_DROPPED))
		return fate;
	return fate | law_host_leave(h, of, now_us, 0, packet, random[1]);
}

/* ------------------------------------------------------------------------------------------- timers and intervals */

LAW void law_host_note_estimate(struct law_host *h)
{
	h->queue.spare_Bps = h->estimate.spare_Bps;
	h->queue.capacity_Bps = h->estimate.capacity_Bps;
	h->queue.queue_control_bytes = h->estimate.queue_control_bytes;
	h->queue.has_queue_control = h->estimate.has_queue_control;
	h->queue.aggregate_Bps = h->estimate.aggregate_Bps;
	h->queue.has_aggregate = h->estimate.has_aggregate;
}

/* When the next timer is due, or LAW_TIMER_OFF. */
LAW u64 law_host_next_us(const struct law_host *h, const struct law_router *law)
{
	u64 next_us = LAW_TIMER_OFF;

	for (u32 timer = 0; timer < LAW_TIMERS_MAX && timer < law->timers; timer++)
		next_us = fixed_min(next_us, h->due_us[timer]);
	return next_us;
}

/* A new link. Gives when the first timer is due. */
LAW u64 law_host_start(struct law_host *h, const struct law_host_law *of, const struct law_link *link)
{
	h->queue.size = sizeof(h->queue);
	h->estimate.size = sizeof(h->estimate);
	/* Until the part speaks for the first time; one that knows no capacity never says one. */
	if (of->part->flags & LAW_CAPACITY_KNOWN)
		h->estimate.capacity_Bps = link->capacity_Bps;
	law_host_note_estimate(h);
	h->limit_bytes = link->limit_bytes;
	h->configured_Bps = link->capacity_Bps;
	h->closed_us = link->now_us;
	for (u32 timer = 0; timer < LAW_TIMERS_MAX; timer++)
		h->due_us[timer] = LAW_TIMER_OFF;
	if (of->part->init)
		of->part->init(of->part_state, of->part_params, link);
	if (of->law->init)
		of->law->init(of->state, of->params, link, h->due_us);
	return law_host_next_us(h, of->law);
}

/* The end of the capacity part's interval. Counters that somebody set back count as nothing. */
LAW void law_host_close_interval(struct law_host *h, const struct law_host_law *of, u64 now_us,
                                 const struct law_host_meter *meter, u64 queue_bytes_min)
{
	u64 interval_us = now_us - h->closed_us, interval_ns = fixed_mul(interval_us, 1000);
	u64 busy_ns = fixed_min(fixed_sub(meter->busy_ns, h->closed.busy_ns), interval_ns);
	struct law_interval interval = {
		.size = sizeof(interval),
		.now_us = now_us,
		.interval_us = interval_us,
		.offered_bytes = fixed_sub(meter->offered_bytes, h->closed.offered_bytes),
		.sent_bytes = fixed_sub(meter->sent_bytes, h->closed.sent_bytes),
		.arrived_bytes = fixed_sub(meter->arrived_bytes, h->closed.arrived_bytes),
		.busy_us = busy_ns / 1000,
		.idle_us = (interval_ns - busy_ns) / 1000,
		.queue_bytes = h->queue.queue_bytes,
		.queue_bytes_min = queue_bytes_min,
		.limit_bytes = h->limit_bytes,
		.configured_Bps = h->configured_Bps,
	};

#ifndef __bpf__
	interval.received_bytes = fixed_sub(meter->received_bytes, h->closed.received_bytes);
#endif
	if (of->part->estimate)
		of->part->estimate(of->part_state, of->part_params, &interval, &h->estimate);
	h->closed_us = now_us;
	h->closed = *meter;
	h->intervals++;
	law_host_note_estimate(h);
}

/* What happened since a timer ran last. */
LAW void law_host_look_back(struct law_host *h, u32 timer, const struct law_host_meter *meter)
{
	struct law_host_run *ran = &h->ran[timer];

	h->queue.arrived_pkts = meter->arrived_pkts - ran->arrived_pkts;
	h->queue.arrived_bytes = meter->arrived_bytes - ran->arrived_bytes;
	h->queue.queue_bytes_min = ran->queue_bytes_min;
	ran->arrived_pkts = meter->arrived_pkts;
	ran->arrived_bytes = meter->arrived_bytes;
	ran->queue_bytes_min = h->queue.queue_bytes;
}

/* Which timers want to be run, and a random word each: a bit for each. */
LAW u32 law_host_due(const struct law_host *h, const struct law_router *law, u64 now_us)
{
	u32 due = 0;

	for (u32 timer = 0; timer < LAW_TIMERS_MAX && timer < law->timers; timer++)
		due |= (u32)(law->on_timer && h->due_us[timer] <= now_us) << timer;
	return due;
}

/* Runs the timers that are due, in the order of their numbers. Gives when the next one is. */
LAW u64 law_host_run_timers(struct law_host *h, const struct law_host_law *of, u64 now_us,
                            const struct law_host_meter *meter, const u32 random[LAW_TIMERS_MAX])
{
	const struct law_router *law = of->law;
	u32 due = law_host_due(h, law, now_us);

	law_host_note_queue(h);
	h->queue.index = 0;
	for (u32 timer = 0; timer < LAW_TIMERS_MAX && timer < law->timers; timer++)
		h->ran[timer].queue_bytes_min = fixed_min(h->ran[timer].queue_bytes_min, h->queue_bytes_min);
	h->queue_bytes_min = h->queue.queue_bytes;
	for (u32 timer = 0; timer < LAW_TIMERS_MAX && timer < law->timers; timer++) {
		u64 due_us;

		if (!(due & 1u << timer))
			continue;
		if (timer == law->control_timer)
			law_host_close_interval(h, of, now_us, meter, h->ran[timer].queue_bytes_min);
		law_host_look(h, now_us, 0, 0);
		law_host_look_back(h, timer, meter);
		h->queue.random = random[timer];
		due_us = law->on_timer(of->state, of->params, timer, &h->queue);
		/* A law that asks for the past is run again at the next microsecond, not for ever at this one. */
		h->due_us[timer] = fixed_max(due_us, now_us + 1);
	}
	/* With packets the law is shown none of this, and a random word only where it asks for one. */
	h->queue.random = 0;
	h->queue.arrived_pkts = h->queue.arrived_bytes = h->queue.queue_bytes_min = 0;
	return law_host_next_us(h, law);
}

#endif /* FADELAB_HOST_ROUTER_H */
