/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host of routers' laws (host/router.h) with a law and a capacity part that do whatever law.h allows, and more: a
 * law here may ask for the past. What they are shown is proven where they are called.
 */
#include "host/router.h"
#include "proof.h"

static struct law_host host;
static struct law_host_meter meter;
static u64 now_us;
static u32 full, arrivals, departures, runs;

/* -------------------------------------------------------------------------------------------- any law, any part */

static u32 any_verdict(struct law_packet *packet)
{
	packet->ecn = (u8)any(0, LAW_ECN_CE);
	return (u32)any(LAW_PASS, LAW_DROP);
}

static void law_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	(void)state;
	(void)params;
	for (u32 timer = 0; timer < LAW_TIMERS_MAX; timer++)
		due_us[timer] = any(link->now_us, LAW_TIMER_OFF);
}

static u32 law_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	(void)state;
	(void)params;
	holds(queue == &host.queue && departures == 0);
	arrivals++;
	return any_verdict(packet);
}

static u32 law_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	(void)state;
	(void)params;
	holds(queue == &host.queue && !full);
	departures++;
	return any_verdict(packet);
}

static u64 law_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	(void)state;
	(void)params;
	holds(host.due_us[timer] <= now_us && queue->now_us == now_us);
	holds(queue->arrived_pkts <= LAW_INTERVAL_PKTS_MAX && queue->arrived_bytes <= LAW_INTERVAL_BYTES_MAX);
	holds(queue->queue_bytes_min <= queue->queue_bytes);
	holds(!queue->full && !queue->wait_us);
	runs++;
	return any(0, LAW_TIMER_OFF);
}

static void part_init(void *state, const void *params, const struct law_link *link)
{
	(void)state;
	(void)params;
	(void)link;
}

static void part_estimate(void *state, const void *params, const struct law_interval *interval,
                          struct law_estimate *out)
{
	(void)state;
	(void)params;
	holds(interval->now_us == now_us && interval->interval_us <= now_us);
	holds(interval->arrived_bytes <= meter.arrived_bytes && interval->sent_bytes <= meter.sent_bytes);
	holds(interval->offered_bytes <= meter.offered_bytes && interval->received_bytes <= meter.received_bytes);
	holds(interval->queue_bytes_min <= interval->queue_bytes);
	out->capacity_Bps = any(0, LAW_CAPACITY_BPS_MAX);
}

static struct law_router law = {
	.init = law_init,
	.on_enqueue = law_on_enqueue,
	.on_dequeue = law_on_dequeue,
	.on_timer = law_on_timer,
};

static struct law_capacity part = {.init = part_init, .estimate = part_estimate};

static const struct law_host_law of = {.law = &law, .part = &part};

/* ----------------------------------------------------------------------------------------------------- any moment */

/* Counters only grow, by what law.h allows between two calls of a timer. */
static u32 is_sound(void)
{
	u32 sound = host.closed_us <= now_us && host.closed.arrived_bytes <= meter.arrived_bytes &&
	            host.queue_bytes_min <= LAW_QUEUE_BYTES_MAX;

	for (u32 timer = 0; timer < LAW_TIMERS_MAX; timer++) {
		const struct law_host_run *ran = &host.ran[timer];

		sound = sound && ran->arrived_pkts <= meter.arrived_pkts && ran->arrived_bytes <= meter.arrived_bytes &&
		        meter.arrived_pkts - ran->arrived_pkts <= LAW_INTERVAL_PKTS_MAX &&
		        meter.arrived_bytes - ran->arrived_bytes <= LAW_INTERVAL_BYTES_MAX;
	}
	return sound;
}

struct law_host nondet_host(void);
struct law_host_meter nondet_meter(void);

static void any_law(void)
{
	law.flags = any_u32();
	law.wire = (u32)any(0, LAW_WIRE_DPCP);
	law.timers = (u32)any(0, LAW_TIMERS_MAX);
	law.control_timer = (u32)any(0, LAW_TIMERS_MAX - 1);
	part.flags = (u32)any(0, LAW_CAPACITY_KNOWN);
}

static void any_moment(void)
{
	any_law();
	host = nondet_host();
	meter = nondet_meter();
	now_us = any_time_us();
	host.queue.queue_bytes = any(0, LAW_QUEUE_BYTES_MAX);
	__CPROVER_assume(host.drawn < FIXED_MAX - 2 && host.intervals < FIXED_MAX);
	__CPROVER_assume(is_sound());
}

/* --------------------------------------------------------------------------------------------------------- proofs */

void lemma_start(void)
{
	struct law_link link;
	u64 next_us;

	any_law();
	any_link(&link);
	now_us = link.now_us;
	next_us = law_host_start(&host, &of, &link);
	holds(next_us >= now_us);
	holds(host.queue.capacity_Bps == (part.flags & LAW_CAPACITY_KNOWN ? link.capacity_Bps : 0));
	holds(host.closed_us == now_us);
	holds(is_sound());
	RETURNED(start);
}

void lemma_pass(void)
{
	struct law_packet packet = {.air_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX), .ecn = (u8)any(0, LAW_ECN_CE)};
	u32 random[2] = {any_u32(), any_u32()}, fate;
	struct law_packet before;

	any_moment();
	packet.wire = (u8)any(0, LAW_WIRE_DPCP);
	packet.flags = (u32)any(0, 7);
	full = (u32)any(0, 1);
	before = packet;
	fate = law_host_pass(&host, &of, now_us, full, &packet, random);
	holds(arrivals <= 1 && departures <= arrivals);
	holds(!(fate & LAW_HOST_DROPPED) || departures == 0);
	holds(!(fate & LAW_HOST_DROPPED_LATE) || departures == 1);
	if (!law_host_concerns(&law, before.wire, before.flags))
		holds(arrivals == 0 && fate == 0 && packet.ecn == before.ecn);
	holds(fate || packet.ecn == before.ecn || arrivals + departures == 2);
	holds(host.queue_bytes_min <= host.queue.queue_bytes);
	if (!(law.flags & LAW_ROUTER_BLIND) && !full && !(fate & (LAW_HOST_DROPPED | LAW_HOST_DROPPED_LATE)))
		holds(host.queue.last_start_us == now_us && host.queue.last_bytes == before.air_bytes);
	holds(is_sound());
	RETURNED(pass);
}

/* The end of an interval is proven by itself: two quotients of 64 bits for each timer are more than solvers bear. */
struct law_estimate nondet_estimate(void);

void contract_law_host_close_interval(struct law_host *h, const struct law_host_law *by, u64 at_us,
                                      const struct law_host_meter *counted, u64 queue_bytes_min)
{
	(void)by;
	holds(h->closed_us <= at_us && queue_bytes_min <= h->queue.queue_bytes);
	h->estimate = nondet_estimate();
	h->closed_us = at_us;
	h->closed = *counted;
	h->intervals++;
	law_host_note_estimate(h);
}

void lemma_law_host_close_interval(void)
{
	u64 intervals;

	any_moment();
	intervals = host.intervals;
	law_host_close_interval(&host, &of, now_us, &meter, any(0, host.queue.queue_bytes));
	holds(host.closed_us == now_us && host.intervals == intervals + 1);
	holds(host.queue.capacity_Bps == host.estimate.capacity_Bps);
	holds(is_sound());
	RETURNED(close_interval);
}

void lemma_run_timers(void)
{
	u32 random[LAW_TIMERS_MAX] = {any_u32(), any_u32(), any_u32(), any_u32()}, due;
	u64 next_us;

	any_moment();
	due = law_host_due(&host, &law, now_us);
	next_us = law_host_run_timers(&host, &of, now_us, &meter, random);
	holds(next_us > now_us);
	holds(law_host_due(&host, &law, now_us) == 0);
	holds(runs == (due & 1) + (due >> 1 & 1) + (due >> 2 & 1) + (due >> 3 & 1) && due < 16);
	holds(host.queue.arrived_pkts == 0 && host.queue.random == 0);
	holds(is_sound());
	RETURNED(run_timers);
}
