/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The words of a harness: `any` is every value of a range at once, `holds` is what must be proven. */
#ifndef FADELAB_PROOF_H
#define FADELAB_PROOF_H

#include "law.h"

u64 nondet_u64(void);
s64 nondet_s64(void);

/* CBMC knows what they do; tools/prove gives them for the compiler's __builtin_memcpy and __builtin_memset. */
void *memcpy(void *to, const void *from, __SIZE_TYPE__ count);
void *memset(void *to, int value, __SIZE_TYPE__ count);

static u64 any(u64 min, u64 max)
{
	u64 value = nondet_u64();

	__CPROVER_assume(min <= value && value <= max);
	return value;
}

static s64 any_signed(s64 min, s64 max)
{
	s64 value = nondet_s64();

	__CPROVER_assume(min <= value && value <= max);
	return value;
}

#define holds(condition) __CPROVER_assert(condition, #condition)

/* With -DREACHED each of these must be found false: assumptions that contradict each other would prove anything. */
#ifdef REACHED
#define RETURNED(function) __CPROVER_assert(0, "reached: " #function)
#define ABSENT(function) __CPROVER_assert(0, "absent: " #function)
#else
#define RETURNED(function) ((void)0)
#define ABSENT(function) ((void)0)
#endif

/* A call of a function that a law may leave out. */
#define CALL(function, call)                                                                                           \
	do {                                                                                                               \
		if (TABLE.function) {                                                                                          \
			call;                                                                                                      \
			RETURNED(function);                                                                                        \
		} else {                                                                                                       \
			ABSENT(function);                                                                                          \
		}                                                                                                              \
	} while (0)

#include "contracts.h"

/* More parameters than any law has. */
#define PROOF_PARAMS_MAX 32

static u64 params[PROOF_PARAMS_MAX];

static u32 any_u32(void)
{
	return (u32)any(0, 0xffffffff);
}

static u64 any_time_us(void)
{
	return any(0, LAW_TIME_US_MAX);
}

/* Each parameter takes every value of its range. */
static void any_params(const struct law_param *rows, u32 rows_n, u32 params_bytes)
{
	holds(params_bytes == rows_n * sizeof(u64));
	for (u32 i = 0; i < rows_n; i++)
		params[i] = any(rows[i].min, rows[i].max);
}

static void any_feedback(struct law_feedback *feedback)
{
	for (int i = 0; i < LAW_FEEDBACK_BYTES_MAX; i++)
		feedback->bytes[i] = (u8)any(0, 255);
	feedback->len = (u8)any(0, LAW_FEEDBACK_BYTES_MAX);
	feedback->present = (u8)any(0, 1);
	feedback->confirmed = (u8)any(0, 1);
	feedback->age_us = any_u32();
}

static __attribute__((unused)) void any_packet(struct law_packet *packet)
{
	*packet = (struct law_packet){
		.size = sizeof(*packet),
		.flags = (u32)any(0, 7),
		.ip_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.air_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
		.ip_id = (u16)any(0, 0xffff),
		.ecn = (u8)any(0, LAW_ECN_CE),
		.outer_ecn = (u8)any(0, LAW_ECN_CE),
		.role = (u8)any(0, 1),
		.wire = (u8)any(0, LAW_WIRE_DPCP),
		.feedback_len = (u8)any(0, LAW_FEEDBACK_BYTES_MAX),
		.confirmed = (u8)any(0, 1),
		.segments = (u32)any(1, 0xffffffff),
		.roles_known = (u32)any(0, LAW_ROLES_MAX),
		.roles = any(0, FIXED_MAX),
	};
	for (int i = 0; i < LAW_FEEDBACK_BYTES_MAX; i++)
		packet->feedback[i] = (u8)any(0, 255);
}

static void any_link(struct law_link *link)
{
	*link = (struct law_link){
		.size = sizeof(*link),
		.random = any_u32(),
		.now_us = any_time_us(),
		.capacity_Bps = any(0, LAW_CAPACITY_BPS_MAX),
		.delay_us = any_time_us(),
		.limit_bytes = any(1, LAW_QUEUE_BYTES_MAX),
		.limit_pkts = any_u32(),
		.packet_bytes = (u32)any(1, LAW_PACKET_BYTES_MAX),
	};
}

#endif /* FADELAB_PROOF_H */
