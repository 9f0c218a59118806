/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A capacity part, named by -DHEADER and -DTABLE, under a host that may do whatever law.h allows; see sender.c. */
#include "proof.h"
#include HEADER
#include "state.h"

static void any_interval(struct law_interval *interval)
{
	*interval = (struct law_interval){
		.size = sizeof(*interval),
		.now_us = now_us,
		.interval_us = any_time_us(),
		.offered_bytes = any(0, LAW_INTERVAL_BYTES_MAX),
		.sent_bytes = any(0, LAW_INTERVAL_BYTES_MAX),
		.arrived_bytes = any(0, LAW_INTERVAL_BYTES_MAX),
		.busy_us = any_time_us(),
		.idle_us = any_time_us(),
		.queue_bytes = any(0, LAW_QUEUE_BYTES_MAX),
		.queue_bytes_min = any(0, LAW_QUEUE_BYTES_MAX),
		.limit_bytes = any(1, LAW_QUEUE_BYTES_MAX),
		.configured_Bps = any(0, LAW_CAPACITY_BPS_MAX),
		.received_bytes = any(0, LAW_INTERVAL_BYTES_MAX),
	};
}

int main(void)
{
	struct law_link link;
	struct law_interval interval;
	struct law_estimate estimate = {.size = sizeof(estimate)};

	new_state(TABLE.state_bytes);
	any_params(TABLE.params, TABLE.params_n, TABLE.params_bytes);
	any_link(&link);
	now_us = link.now_us;
	CALL(init, TABLE.init(state, params, &link));
	state_holds();
	any_state(TABLE.state_bytes);
	now_us = any(now_us, LAW_TIME_US_MAX);
	any_interval(&interval);
	CALL(estimate, TABLE.estimate(state, params, &interval, &estimate));
	holds(estimate.capacity_Bps <= LAW_CAPACITY_BPS_MAX);
	holds(estimate.spare_Bps <= (s64)LAW_CAPACITY_BPS_MAX);
	holds(!estimate.has_aggregate || estimate.aggregate_Bps <= (s64)LAW_CAPACITY_BPS_MAX);
	state_holds();
	RETURNED(main);
	return 0;
}
