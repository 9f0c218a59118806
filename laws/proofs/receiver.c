/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A receiver, named by -DHEADER and -DTABLE, under a host that may do whatever law.h allows; see sender.c. */
#include "proof.h"
#include HEADER
#include "state.h"

static void check_data(void)
{
	struct law_data data = {
		.size = sizeof(data),
		.packet_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.now_us = now_us,
		.ecn = (u32)any(0, LAW_ECN_CE),
		.role = (u32)any(0, 1),
		.ip_id = (u32)any(0, 0xffff),
		.in_order = (u32)any(0, 1),
		.segments = (u32)any(1, 0xffffffff),
		.roles_known = (u32)any(0, LAW_ROLES_MAX),
		.roles = any(0, FIXED_MAX),
	};

	any_feedback(&data.feedback);
	CALL(on_data, TABLE.on_data(state, &data));
}

static void check_ack(void)
{
	struct law_fill fill = {.size = sizeof(fill), .now_us = now_us};

	CALL(fill_ack, TABLE.fill_ack(state, &fill));
	holds(fill.feedback.present == 0 || fill.feedback.len == TABLE.feedback_bytes);
	holds(fill.ecn <= LAW_ECN_CE);
	CALL(ack_written, TABLE.ack_written(state, (u32)any(0, 1)));
}

int main(void)
{
	new_state(TABLE.state_bytes);
	now_us = any_time_us();
	CALL(init, TABLE.init(state, now_us));
	state_holds();
	any_state(TABLE.state_bytes);
	now_us = any(now_us, LAW_TIME_US_MAX);
	if (any(0, 1))
		check_data();
	else
		check_ack();
	state_holds();
	RETURNED(main);
	return 0;
}
