/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the simulator and the host of a router's law hand each other. Times are in nanoseconds, packets stay where the
 * simulator has them.
 */
#ifndef FADELAB_HOST_INSTANCE_H
#define FADELAB_HOST_INSTANCE_H

#include "host/router.h"

/* What is known of a law at work, in one place. `random` has the words of the next call, for packets its first two. */
struct law_host_instance {
	struct law_host host;
	u32 random[LAW_TIMERS_MAX];
	void *state;
	const void *params;
	const struct law_capacity *part;
	void *part_state;
	const void *part_params;
};

/* What travels with a packet, in the order in which struct law_packet has it. */
struct law_host_header {
	u32 flags;
	u32 ip_bytes;
	u16 ip_id;
	u8 ecn;
	u8 outer_ecn;
	u8 role;
	u8 wire;
	u8 feedback_len;
	u8 confirmed;
};

_Static_assert(sizeof(struct law_host_header) == 16, "two words, as in Rust");

/*
 * What the simulator calls, and, with a packet as a kernel's program showed it, a replay (`meet`). `feedback` is a
 * packet's LAW_FEEDBACK_BYTES_MAX bytes or NULL. Calls for packets give enum law_host_fate, `due` the timers that want
 * a random word each, `start` and `run_timers` when the next timer is due, in nanoseconds, or LAW_TIMER_OFF, `classify`
 * and `pick` a queue of the law's own, which the caller judges.
 */
struct law_host_calls {
	u64 (*start)(struct law_host_instance *at, const struct law_link *link);
	u32 (*arrive)(struct law_host_instance *at, struct law_host_header *header, u8 *feedback, u32 air_bytes, u64 now_ns,
	              u32 full);
	u32 (*leave)(struct law_host_instance *at, struct law_host_header *header, u8 *feedback, u32 air_bytes, u64 now_ns,
	             u64 wait_ns);
	u32 (*pass)(struct law_host_instance *at, struct law_host_header *header, u8 *feedback, u32 air_bytes, u64 now_ns);
	u32 (*meet)(struct law_host_instance *at, struct law_packet *packet, u64 now_us, u32 full);
	u32 (*due)(const struct law_host_instance *at, u64 now_ns);
	u64 (*run_timers)(struct law_host_instance *at, u64 now_ns, const struct law_host_meter *meter);
	u32 (*classify)(struct law_host_instance *at, struct law_host_header *header, u8 *feedback, u32 air_bytes,
	                u64 now_ns, u32 full);
	u32 (*pick)(struct law_host_instance *at, u64 now_ns);
};

#endif /* FADELAB_HOST_INSTANCE_H */
