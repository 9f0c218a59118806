/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A router's law, named by -DHEADER and -DTABLE, under a host that may do whatever law.h allows; see sender.c. */
#include "proof.h"
#include HEADER

/* What arrived since each timer was last called; law.h bounds it. */
static u64 arrived_pkts[LAW_TIMERS_MAX], arrived_bytes[LAW_TIMERS_MAX];

#include "state.h"

static void any_queue(struct law_queue *queue)
{
	*queue = (struct law_queue){
		.size = sizeof(*queue),
		.random = any_u32(),
		.now_us = now_us,
		.queue_bytes = any(0, LAW_QUEUE_BYTES_MAX),
		.queue_pkts = any_u32(),
		.full = (u32)any(0, 1),
		.wait_us = any_time_us(),
		.spare_Bps = any_signed(-FIXED_SIGNED_MAX, LAW_CAPACITY_BPS_MAX),
		.capacity_Bps = any(0, LAW_CAPACITY_BPS_MAX),
		.queue_control_bytes = any_signed(-(s64)LAW_QUEUE_BYTES_MAX, LAW_QUEUE_BYTES_MAX),
		.has_queue_control = (u32)any(0, 1),
		.last_bytes = (u32)any(0, LAW_PACKET_BYTES_MAX),
		.last_start_us = any_time_us(),
		.aggregate_Bps = any_signed(-FIXED_SIGNED_MAX, LAW_CAPACITY_BPS_MAX),
		.has_aggregate = (u32)any(0, 1),
		.index = TABLE.queues ? (u32)any(0, TABLE.queues - 1) : 0,
	};
}

/* What waits in each queue of the law's own. */
static void any_queues(struct law_queue *queue)
{
	for (u32 i = 0; i < LAW_QUEUES_MAX && i < TABLE.queues; i++) {
		queue->each_pkts[i] = any_u32();
		queue->each_bytes[i] = any(0, LAW_QUEUE_BYTES_MAX);
		queue->each_wait_us[i] = any_time_us();
	}
}

static void check_classify(const struct law_queue *queue)
{
	struct law_packet packet;

	any_packet(&packet);
	CALL(classify, holds(TABLE.classify(state, params, &packet, queue) < TABLE.queues));
}

/* Some queue holds a packet. */
static void check_pick(const struct law_queue *queue)
{
	u32 index = 0;

	for (u32 i = 0; i < LAW_QUEUES_MAX && i < TABLE.queues; i++)
		index += queue->each_pkts[i] > 0;
	__CPROVER_assume(index > 0 || !TABLE.queues);
	CALL(pick, index = TABLE.pick(state, params, queue); holds(index < TABLE.queues && queue->each_pkts[index] > 0));
}

static void any_arrivals(void)
{
	for (int i = 0; i < LAW_TIMERS_MAX; i++) {
		arrived_pkts[i] = any(0, LAW_INTERVAL_PKTS_MAX);
		arrived_bytes[i] = any(0, LAW_INTERVAL_BYTES_MAX);
	}
}

/* Another packet arrives, within what may arrive in an interval. */
static void count_arrival(u32 air_bytes)
{
	for (int i = 0; i < LAW_TIMERS_MAX; i++) {
		arrived_pkts[i]++;
		arrived_bytes[i] += air_bytes;
		__CPROVER_assume(arrived_pkts[i] <= LAW_INTERVAL_PKTS_MAX && arrived_bytes[i] <= LAW_INTERVAL_BYTES_MAX);
	}
}

static void check_timer(struct law_queue *queue)
{
	u32 timer = (u32)any(0, LAW_TIMERS_MAX - 1);
	u64 due_us = 0;

	if (timer >= TABLE.timers && TABLE.on_timer)
		return;
	queue->arrived_pkts = arrived_pkts[timer];
	queue->arrived_bytes = arrived_bytes[timer];
	queue->queue_bytes_min = any(0, LAW_QUEUE_BYTES_MAX);
	CALL(on_timer, due_us = TABLE.on_timer(state, params, timer, queue); holds(due_us > queue->now_us));
	arrived_pkts[timer] = 0;
	arrived_bytes[timer] = 0;
}

static void check_call(void)
{
	struct law_queue queue;
	struct law_packet packet, before;
	u32 verdict = LAW_PASS, foreign;

	any_queue(&queue);
	any_queues(&queue);
	any_packet(&packet);
	before = packet;
	switch (any(0, 4)) {
	case 0:
		count_arrival(packet.air_bytes);
		CALL(on_enqueue, verdict = TABLE.on_enqueue(state, params, &packet, &queue));
		break;
	case 1:
		CALL(on_dequeue, verdict = TABLE.on_dequeue(state, params, &packet, &queue));
		holds(verdict == LAW_PASS || (TABLE.flags & LAW_ROUTER_DROPS_AT_DEQUEUE));
		break;
	case 2:
		check_classify(&queue);
		break;
	case 3:
		check_pick(&queue);
		break;
	default:
		check_timer(&queue);
	}
	foreign = TABLE.wire != LAW_WIRE_NONE && before.wire != TABLE.wire;
	holds(verdict == LAW_PASS || verdict == LAW_DROP);
	holds(packet.ecn <= LAW_ECN_CE && packet.outer_ecn <= LAW_ECN_CE);
	if (foreign)
		holds(packet.ecn == before.ecn && packet.outer_ecn == before.outer_ecn);
	if (foreign || !(TABLE.flags & LAW_ROUTER_FEEDBACK))
		for (int i = 0; i < LAW_FEEDBACK_BYTES_MAX; i++)
			holds(packet.feedback[i] == before.feedback[i]);
}

int main(void)
{
	struct law_link link;
	u64 due_us[LAW_TIMERS_MAX] = {LAW_TIMER_OFF, LAW_TIMER_OFF, LAW_TIMER_OFF, LAW_TIMER_OFF};

	new_state(TABLE.state_bytes);
	any_params(TABLE.params, TABLE.params_n, TABLE.params_bytes);
	any_link(&link);
	now_us = link.now_us;
	CALL(init, TABLE.init(state, params, &link, due_us));
	holds(TABLE.timers <= LAW_TIMERS_MAX && TABLE.queues <= LAW_QUEUES_MAX);
	for (u32 i = 0; i < TABLE.timers; i++)
		holds(due_us[i] > link.now_us && due_us[i] != LAW_TIMER_OFF);
	state_holds();
	any_arrivals();
	any_state(TABLE.state_bytes);
	now_us = any(now_us, LAW_TIME_US_MAX);
	check_call();
	state_holds();
	RETURNED(main);
	return 0;
}
