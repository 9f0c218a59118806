#include "fixed.h"
#include "law.h"

struct gauge_state {
	u8 unused;
	u8 has_acked;
	short below;
	u32 window;
	u64 seen;
	s64 down;
};

#define GAUGE_WATCH(W, state)                                                                                          \
	W(has_acked, state->has_acked, "bool", 1, "Whether an ACK has come")                                               \
	W(below, state->below, "1", 4, "Minus three quarters")                                                             \
	W(window_pkts, state->window, "no|one|more", 1, "Packets of the window, of which three are known")                 \
	W(seen_pkts, state->seen, "pkt", 1000, "Packets, in thousands")                                                    \
	W(down_Bps, state->down, "B/s", 1, "Minus the packets")

LAW void gauge_count(struct gauge_state *s, u32 window)
{
	s->has_acked = 1;
	s->below = -3;
	s->window = window > 2 ? 2 : window;
	s->seen++;
	s->down--;
}

LAW void gauge_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	(void)params;
	(void)ack;
	gauge_count(state, control->cwnd_pkts);
}

LAW void gauge_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause, struct law_control *c)
{
	(void)state;
	(void)params;
	(void)ack;
	(void)cause;
	c->ssthresh_pkts = 2;
}

LAW_TABLE struct law_sender gauge_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "gauge",
	.summary = "Counts the ACKs",
	.state_bytes = sizeof(struct gauge_state),
	LAW_NO_PARAMS,
	LAW_WATCH_LIST(struct gauge_state, GAUGE_WATCH),
	.on_ack = gauge_on_ack,
	.on_loss = gauge_on_loss,
};

LAW u32 gauge_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	(void)params;
	(void)packet;
	gauge_count(state, queue->queue_pkts);
	return LAW_PASS;
}

LAW u64 gauge_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	(void)state;
	(void)params;
	(void)timer;
	return queue->now_us + 100000;
}

LAW void gauge_start(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	(void)state;
	(void)params;
	due_us[0] = link->now_us + 100000;
}

LAW_TABLE struct law_router gauge_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "gauge",
	.summary = "Counts the arrivals",
	.state_bytes = sizeof(struct gauge_state),
	.timers = 1,
	LAW_NO_PARAMS,
	LAW_WATCH_LIST(struct gauge_state, GAUGE_WATCH),
	.init = gauge_start,
	.on_enqueue = gauge_on_enqueue,
	.on_timer = gauge_on_timer,
};

LAW void gauge_estimate(void *state, const void *params, const struct law_interval *i, struct law_estimate *out)
{
	(void)params;
	gauge_count(state, 1);
	out->capacity_Bps = i->configured_Bps;
}

LAW_TABLE struct law_capacity gauge_capacity = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_capacity),
	.name = "gauge",
	.summary = "Counts the intervals",
	.state_bytes = sizeof(struct gauge_state),
	.flags = LAW_CAPACITY_KNOWN,
	LAW_NO_PARAMS,
	LAW_WATCH_LIST(struct gauge_state, GAUGE_WATCH),
	.estimate = gauge_estimate,
};
