/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring through which recorded calls (call.h) leave the kernel. Compiled in only where RECORD is 1.
 */
#ifndef FADELAB_RING_H
#define FADELAB_RING_H

#include "call.h"

#if RECORD

struct {
	MAP_NUMBER(type, MAP_TYPE_RINGBUF);
	MAP_NUMBER(max_entries, 1 << 24);
} calls SEC(".maps");

/*
 * Calls for which there was no room: a record with gaps must say so. Of routers and gateways, whose calls may reach the
 * ring in another order than they were made, each instance has its own count, by its number; others share the first.
 */
#ifndef INSTANCES_MAX
#define INSTANCES_MAX 1
#endif

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, INSTANCES_MAX + 1);
	u32 *key;
	u64 *value;
} losses SEC(".maps");

/* All but the time, which may not be asked for under a lock. */
ALWAYS_INLINE void call_begin(struct call_head *head, struct call_chain *chain, u64 id, u32 role, u32 function)
{
	chain->calls_n++;
	head->id = id;
	head->sequence = chain->calls_n;
	head->lost_n = chain->lost_n;
	head->role = role;
	head->function = function;
	head->event_bytes = 0;
	head->reserved = 0;
	head->arguments[0] = head->arguments[1] = 0;
}

/* Hands over what is whole; gives whether there was no room, which is counted for the instance. */
ALWAYS_INLINE u32 ring_output(void *record, u32 bytes, u32 instance)
{
	u64 *n;

	if (!bpf_ringbuf_output(&calls, record, bytes, 0))
		return 0;
	n = bpf_map_lookup_elem(&losses, &instance);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 1;
}

#endif

#endif /* FADELAB_RING_H */
