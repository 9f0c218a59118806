/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A sender's law, named by -DHEADER and -DTABLE, under a host that may do whatever law.h allows: any parameters, any
 * order of calls, any content.
 */
#include "proof.h"
#include HEADER
#include "state.h"

static void any_ack(struct law_ack *ack)
{
	*ack = (struct law_ack){
		.size = sizeof(*ack),
		.flags = (u32)any(0, 127),
		.now_us = now_us,
		.rtt_us = any_u32(),
		.srtt_us = any_u32(),
		.rtt_us_min = any_u32(),
		.random = any_u32(),
		.packet_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.mss_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.acked_pkts = any_u32(),
		.sacked_pkts = any_u32(),
		.lost_pkts = any_u32(),
		.delivered_pkts = any_u32(),
		.in_flight_pkts = any_u32(),
		.ts_val = any_u32(),
		.ts_ecr = any_u32(),
		.marked_pkts = any_u32(),
		.rate_delivered_pkts = any_u32(),
		.rate_interval_us = any_u32(),
		.rate_prior_in_flight_pkts = any_u32(),
		.rate_marked_pkts = any_u32(),
		.rate_prior_delivered_pkts = any(0, FIXED_MAX),
		.delivered_total_pkts = any(0, FIXED_MAX),
		.marked_total_pkts = any(0, FIXED_MAX),
		.prior_in_flight_pkts = any_u32(),
		.rwnd_pkts = any_u32(),
	};
	any_feedback(&ack->feedback);
}

static void check_lost(struct law_control *control)
{
	struct law_lost lost = {
		.size = sizeof(lost),
		.retransmission = (u32)any(0, 1),
		.now_us = now_us,
		.sent_us = any(0, now_us),
		.in_flight_pkts = any_u32(),
		.delivered_pkts = any_u32(),
		.lost_pkts = any_u32(),
		.marked_pkts = any_u32(),
	};

	CALL(on_lost, TABLE.on_lost(state, params, &lost, control));
}

static void check_send(struct law_control *control)
{
	struct law_send send = {
		.size = sizeof(send),
		.packet_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.now_us = now_us,
		.srtt_us = any_u32(),
		.retransmission = (u32)any(0, 1),
		.in_flight_pkts = any_u32(),
		.random = any_u32(),
		.syn = (u32)any(0, !!(TABLE.flags & LAW_SENDER_FEEDBACK_ON_SYN)),
	};

	CALL(on_send, TABLE.on_send(state, params, &send, control));
	holds(send.feedback.present == 0 || send.feedback.len == TABLE.feedback_bytes);
}

/* The window before a call is the host's affair: it may have changed it since the last one. */
static void check_call(struct law_control *control)
{
	struct law_ack ack;
	u32 cwnd_pkts = control->cwnd_pkts, ca_state = control->ca_state, pacing = TABLE.flags & LAW_SENDER_PACED;

	any_ack(&ack);
	switch (any(0, 6)) {
	case 0:
		check_send(control);
		holds(control->cwnd_pkts == cwnd_pkts);
		break;
	case 1:
		CALL(on_ack, TABLE.on_ack(state, params, &ack, control));
		if (ca_state == LAW_CA_RECOVERY && !(TABLE.flags & LAW_SENDER_OWNS_RECOVERY))
			holds(control->cwnd_pkts == cwnd_pkts);
		break;
	case 2:
		CALL(on_loss, TABLE.on_loss(state, params, &ack, (u32)any(LAW_LOSS_DUPACK, LAW_LOSS_ECN), control));
		break;
	case 3:
		CALL(on_rto, TABLE.on_rto(state, params, &ack, control));
		break;
	case 4:
		check_lost(control);
		break;
	case 5:
		CALL(on_undo, TABLE.on_undo(state, params, &ack, (u32)any(LAW_LOSS_DUPACK, LAW_LOSS_RTO), control));
		break;
	default:
		CALL(on_restart, TABLE.on_restart(state, params, now_us, any_time_us(), control));
	}
	holds(control->cwnd_pkts >= 1 || (pacing && control->cwnd_fraction));
	holds(!(control->flags & ~(u32)(LAW_CONTROL_APP_LIMITED | LAW_CONTROL_PACED_BY_ACKS)));
	holds(control->cwnd_pkts <= cwnd_pkts || control->cwnd_pkts <= 1u << 30);
	holds(control->ssthresh_pkts >= 1);
	holds(control->ecn <= LAW_ECN_CE);
	holds(control->ca_state == ca_state);
	holds(pacing || control->pacing_Bps == 0);
}

int main(void)
{
	struct law_start start = {
		.size = sizeof(start),
		.packet_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.mss_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.random = any_u32(),
		.now_us = any_time_us(),
		.srtt_us = any_u32(),
		.ts_tick_us = any_u32(),
	};
	struct law_control control = {
		.size = sizeof(control),
		.cwnd_pkts = (u32)any(1, 0xffffffff),
		.ssthresh_pkts = (u32)any(1, 0xffffffff),
	};

	new_state(TABLE.state_bytes);
	any_params(TABLE.params, TABLE.params_n, TABLE.params_bytes);
	now_us = start.now_us;
	CALL(init, TABLE.init(state, params, &start, &control));
	holds(control.cwnd_pkts >= 1 && control.ssthresh_pkts >= 1 && control.ecn <= LAW_ECN_CE);
	state_holds();
	any_state(TABLE.state_bytes);
	now_us = any(now_us, LAW_TIME_US_MAX);
	control.ca_state = (u32)any(LAW_CA_OPEN, LAW_CA_LOSS);
	control.cwnd_pkts = (u32)any(1, 0xffffffff);
	control.ssthresh_pkts = (u32)any(1, 0xffffffff);
	control.cwnd_fraction = any_u32();
	control.ssthresh_fraction = any_u32();
	check_call(&control);
	state_holds();
	RETURNED(main);
	return 0;
}
