/* Gentle: additive increase while the queue is short, a gentle decrease once a round trip when it is not. */
#include "fixed.h"
#include "law.h"
#include "part/window.h"

#define GENTLE_PARAMS(P)                                                                                               \
	P(target_us, 20000, "us", 1, 1000, 1000000, "own", "Delay in queues above which the window shrinks")               \
	P(beta, 850, "1", 1000, 1, 999, "own", "What a decrease leaves of the window")

struct gentle_params {
	GENTLE_PARAMS(LAW_PARAM_FIELD)
};

struct gentle_state {
	struct window window;
	u64 decreased_us; /* when it last shrank */
	u64 queue_us;     /* delay in queues, as last measured */
};

#define GENTLE_WATCH(W, state)                                                                                         \
	W(queue_us, state->queue_us, "us", 1, "Delay in queues, as last measured")                                         \
	W(window, state->window.cwnd_q32, "pkt", 4294967296, "The window with its fraction")

LAW void gentle_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct gentle_state *s = state;
	const struct gentle_params *p = params;
	u64 cwnd_q32 = window_get(&s->window, control);
	/* After a timeout one ACK may cover a whole window that had arrived before: it counts as two packets (RFC 3465). */
	u64 acked_q32 = fixed_min(ack->acked_pkts, 2) << 32;

	/* Not every ACK measures a round trip: a sender without timestamps has one sample in each. */
	if (ack->rtt_us)
		s->queue_us = ack->rtt_us - ack->rtt_us_min;
	if (control->ca_state == LAW_CA_RECOVERY)
		return;
	if (s->queue_us > p->target_us) {
		if (ack->now_us - s->decreased_us < ack->srtt_us)
			return;
		LAW_STEP("queueing delay above the target: cwnd *= beta, once a round trip");
		window_set(&s->window, control, cwnd_q32 / 1000 * p->beta);
		control->ssthresh_pkts = control->cwnd_pkts;
		s->decreased_us = ack->now_us;
	} else if (control->cwnd_pkts < control->ssthresh_pkts) {
		LAW_STEP("slow start: cwnd += acked");
		window_set(&s->window, control, cwnd_q32 + acked_q32);
	} else {
		LAW_STEP("queueing delay below the target: cwnd += acked / cwnd");
		window_set(&s->window, control, cwnd_q32 + window_share_q32(acked_q32, cwnd_q32));
	}
}

LAW void gentle_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                        struct law_control *control)
{
	const struct gentle_params *p = params;

	LAW_STEP("loss: ssthresh = max(beta cwnd, 2)");
	control->ssthresh_pkts = (u32)fixed_max(control->cwnd_pkts * p->beta / 1000, 2);
}

LAW void gentle_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	gentle_on_loss(state, params, ack, LAW_LOSS_RTO, control);
}

LAW_TABLE struct law_sender gentle_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "gentle",
	.summary = "Additive increase while queues are short, a gentle decrease when they are not",
	.state_bytes = sizeof(struct gentle_state),
	.params_bytes = sizeof(struct gentle_params),
	LAW_PARAM_LIST(GENTLE_PARAMS),
	LAW_WATCH_LIST(struct gentle_state, GENTLE_WATCH),
	.on_ack = gentle_on_ack,
	.on_loss = gentle_on_loss,
	.on_rto = gentle_on_rto,
};
