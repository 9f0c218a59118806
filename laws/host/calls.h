/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The host of a router's law as the simulator calls it: law_host_calls. The unit that includes this file has defined
 * LAW_HOST_TABLE, the law's table, and the law is inlined into each of these functions.
 */
#ifndef FADELAB_HOST_CALLS_H
#define FADELAB_HOST_CALLS_H

#include "host/instance.h"

#define LAW_HOST_NS_PER_US 1000

LAW u64 law_host_to_ns(u64 time_us)
{
	return fixed_mul(time_us, LAW_HOST_NS_PER_US);
}

/* What the law is shown of a packet; its feedback only where the law reads it. */
LAW void law_host_show(struct law_packet *packet, const struct law_router *law, const struct law_host_header *header,
                       const u8 *feedback, u32 air_bytes)
{
	*packet = (struct law_packet){
		.size = sizeof(*packet),
		.flags = header->flags,
		.ip_bytes = header->ip_bytes,
		.air_bytes = air_bytes,
		.ip_id = header->ip_id,
		.ecn = header->ecn,
		.outer_ecn = header->outer_ecn,
		.role = header->role,
		.wire = header->wire,
		.feedback_len = header->feedback_len,
		.confirmed = header->confirmed,
		/* Nothing joins packets here. */
		.segments = 1,
		.roles_known = 1,
		.roles = header->role,
	};
	if ((law->flags & LAW_ROUTER_FEEDBACK) && feedback)
		__builtin_memcpy(packet->feedback, feedback, LAW_FEEDBACK_BYTES_MAX);
}

/* What the law changed of it. */
LAW void law_host_take_back(const struct law_packet *packet, const struct law_router *law,
                            struct law_host_header *header, u8 *feedback)
{
	header->ecn = packet->ecn;
	header->outer_ecn = packet->outer_ecn;
	if (law->wire != LAW_WIRE_NONE)
		header->confirmed = packet->confirmed;
	if ((law->flags & LAW_ROUTER_FEEDBACK) && feedback)
		__builtin_memcpy(feedback, packet->feedback, LAW_FEEDBACK_BYTES_MAX);
}

LAW struct law_host_law law_host_of(const struct law_router *law, const struct law_host_instance *at)
{
	return (struct law_host_law){law, at->state, at->params, at->part, at->part_state, at->part_params};
}

static u64 law_host_at_start(struct law_host_instance *at, const struct law_link *link)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);

	return law_host_to_ns(law_host_start(&at->host, &of, link));
}

static u32 law_host_at_arrival(struct law_host_instance *at, struct law_host_header *header, u8 *feedback,
                               u32 air_bytes, u64 now_ns, u32 full)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);
	struct law_packet packet;
	u32 fate;

	if (!law_host_concerns(&LAW_HOST_TABLE, header->wire, header->flags))
		return 0;
	law_host_show(&packet, &LAW_HOST_TABLE, header, feedback, air_bytes);
	fate = law_host_arrive(&at->host, &of, now_ns / LAW_HOST_NS_PER_US, full, &packet, at->random[0]);
	law_host_take_back(&packet, &LAW_HOST_TABLE, header, feedback);
	return fate;
}

static u32 law_host_at_departure(struct law_host_instance *at, struct law_host_header *header, u8 *feedback,
                                 u32 air_bytes, u64 now_ns, u64 wait_ns)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);
	struct law_packet packet;
	u32 fate;

	if (!law_host_concerns(&LAW_HOST_TABLE, header->wire, header->flags)) {
		law_host_let_by(&at->host, &LAW_HOST_TABLE, now_ns / LAW_HOST_NS_PER_US, air_bytes);
		return 0;
	}
	law_host_show(&packet, &LAW_HOST_TABLE, header, feedback, air_bytes);
	fate = law_host_leave(&at->host, &of, now_ns / LAW_HOST_NS_PER_US, wait_ns / LAW_HOST_NS_PER_US, &packet,
	                      at->random[0]);
	law_host_take_back(&packet, &LAW_HOST_TABLE, header, feedback);
	return fate;
}

static u32 law_host_at_passage(struct law_host_instance *at, struct law_host_header *header, u8 *feedback,
                               u32 air_bytes, u64 now_ns)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);
	struct law_packet packet;
	u32 fate;

	if (!law_host_concerns(&LAW_HOST_TABLE, header->wire, header->flags)) {
		law_host_let_by(&at->host, &LAW_HOST_TABLE, now_ns / LAW_HOST_NS_PER_US, air_bytes);
		return 0;
	}
	law_host_show(&packet, &LAW_HOST_TABLE, header, feedback, air_bytes);
	fate = law_host_pass(&at->host, &of, now_ns / LAW_HOST_NS_PER_US, 0, &packet, at->random);
	law_host_take_back(&packet, &LAW_HOST_TABLE, header, feedback);
	return fate;
}

/* A passage as a kernel's program met it: with all that it showed the law of the packet. */
static u32 law_host_at_meeting(struct law_host_instance *at, struct law_packet *packet, u64 now_us, u32 full)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);

	return law_host_pass(&at->host, &of, now_us, full, packet, at->random);
}

static u32 law_host_at_classify(struct law_host_instance *at, struct law_host_header *header, u8 *feedback,
                                u32 air_bytes, u64 now_ns, u32 full)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);
	struct law_packet packet;

	law_host_show(&packet, &LAW_HOST_TABLE, header, feedback, air_bytes);
	return law_host_classify(&at->host, &of, now_ns / LAW_HOST_NS_PER_US, full, &packet);
}

static u32 law_host_at_pick(struct law_host_instance *at, u64 now_ns)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);

	return law_host_pick(&at->host, &of, now_ns / LAW_HOST_NS_PER_US);
}

static u32 law_host_at_due(const struct law_host_instance *at, u64 now_ns)
{
	return law_host_due(&at->host, &LAW_HOST_TABLE, now_ns / LAW_HOST_NS_PER_US);
}

static u64 law_host_at_timers(struct law_host_instance *at, u64 now_ns, const struct law_host_meter *meter)
{
	struct law_host_law of = law_host_of(&LAW_HOST_TABLE, at);

	return law_host_to_ns(law_host_run_timers(&at->host, &of, now_ns / LAW_HOST_NS_PER_US, meter, at->random));
}

static const struct law_host_calls law_host_calls = {
	.start = law_host_at_start,
	.arrive = law_host_at_arrival,
	.leave = law_host_at_departure,
	.pass = law_host_at_passage,
	.meet = law_host_at_meeting,
	.due = law_host_at_due,
	.run_timers = law_host_at_timers,
	.classify = law_host_at_classify,
	.pick = law_host_at_pick,
};

#endif /* FADELAB_HOST_CALLS_H */
