/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A memory for each flow inside a tunnel in place of one for the tunnel (`FLOWS` is 1): one link's load, which the
 * packets of one flow bring, is not told to the others (laws/gateway/dcp_ew.h).
 *
 * Where the outer header is written, the flow is encrypted already. So the law is called at the plain device, with the
 * role that the gateway will write, and what it says goes into the mark. Only data of the law's wire says anything of
 * a load: connections without share the tunnel's memory, and so does data of the law for which there is no room here,
 * whose outer header cannot be written, or that comes through no plain device (`shared` among the counters).
 */
#ifndef FADELAB_INSIDE_H
#define FADELAB_INSIDE_H

#include "seen.h"
#include "transit.h"
#include "tunnel.h"

#if FLOWS

/* Flows that are remembered at a time. The loader forgets those that were not seen for a while. */
#define FLOWS_MAX 16384

/* One direction of a connection, IPv4 as IPv6 writes it. */
struct flow_key {
	u32 from[4];
	u32 to[4];
	u32 ports;
};

struct flow_inside {
	struct bpf_spin_lock lock;
	u32 role;   /* of the outer header that it was last given */
	u64 now_us; /* when it was last seen */
	u64 number; /* among the flows of this gateway, from 1 on; 0: the law has not begun */
	u64 state[WORDS_OF(LAW_STATE_BYTES)];
	struct call_chain chain;
};

struct {
	MAP_NUMBER(type, MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, FLOWS_MAX);
	MAP_NUMBER(map_flags, MAP_F_NO_PREALLOC);
	struct flow_key *key;
	struct flow_inside *value;
} inside_map SEC(".maps");

/* Words, since the kernel takes no lock in memory that is only read. */
static const u64 inside_new[WORDS_OF(sizeof(struct flow_inside))] = {};

/* How many flows have begun. */
u64 inside_n = 0;

ALWAYS_INLINE u32 inside_key(struct __sk_buff *skb, const struct packet *packet, struct flow_key *key)
{
	if (packet_load(skb, packet->tcp_at, &key->ports, sizeof(key->ports)))
		return 0;
	if (packet->version == 6)
		return !packet_load(skb, packet->ip_at + 8, key, sizeof(key->from) + sizeof(key->to));
	key->from[2] = key->to[2] = host_be32(0xffff);
	return !packet_load(skb, packet->ip_at + 12, &key->from[3], 4) &&
	       !packet_load(skb, packet->ip_at + 16, &key->to[3], 4);
}

/* The memory of the flow that a packet is of; 0: no data of the law has come of it yet, or there is no room. */
ALWAYS_INLINE struct flow_inside *inside_of(struct __sk_buff *skb, const struct seen *seen)
{
	u32 begins = seen->option_at && (seen->law.flags & LAW_PACKET_DATA) && seen->law.roles_known;
	struct flow_key key = {};
	struct flow_inside *f;

	if (!seen->packet.tcp_at || !inside_key(skb, &seen->packet, &key))
		return (struct flow_inside *)0;
	f = bpf_map_lookup_elem(&inside_map, &key);
	if (f || !begins)
		return f;
	bpf_map_update_elem(&inside_map, &key, inside_new, MAP_UPDATE_NEW);
	return bpf_map_lookup_elem(&inside_map, &key);
}

/* The number of a flow's memory in recordings, behind those of the tunnels. */
ALWAYS_INLINE u32 inside_number(const struct flow_inside *f)
{
	return TUNNELS_MAX + (u32)f->number;
}

/* Lets the law begin in a flow, where it has not. */
ALWAYS_INLINE void inside_begin(struct flow_inside *f, struct transit *t, u64 now_us)
{
	struct law_tunnel tunnel = {.size = sizeof(tunnel), .random = bpf_get_prandom_u32(), .now_us = now_us};
	u32 is_new;

	if (f->number)
		return;
	bpf_spin_lock(&f->lock);
	is_new = !f->number;
	if (is_new) {
		f->number = __sync_fetch_and_add(&inside_n, 1) + 1;
		begin(t, f->state, &f->chain, inside_number(f), &tunnel);
	}
	bpf_spin_unlock(&f->lock);
	if (is_new)
		transit_hand_over(t);
}

/* Bits of the mark that say what a flow's memory has for the outer header to come, by turns; 0: it has none. */
ALWAYS_INLINE u32 inside_enter(struct __sk_buff *skb, const struct seen *seen)
{
	struct law_packet outer = {.size = sizeof(outer), .segments = 1}, inner = seen->law;
	struct flow_inside *f = inside_of(skb, seen);
	u64 now_us = bpf_ktime_get_ns() / 1000;
	struct transit *t = transit_place();
	struct outer place = {.has_role = 1};

	if (!f || (RECORD && !t))
		return 0;
	inside_begin(f, t, now_us);
	outer.ip_bytes = outer.air_bytes = inner.ip_bytes;
	bpf_spin_lock(&f->lock);
	f->now_us = fixed_max(f->now_us, now_us);
	place.role = f->role = !f->role;
	/* The field that Linux gives outer headers. */
	show_outer(&outer, &place, inner.ecn, inner.ecn == LAW_ECN_CE ? LAW_ECN_ECT0 : inner.ecn);
	encapsulate(t, f->state, &f->chain, inside_number(f), f->now_us, &inner, &outer);
	bpf_spin_unlock(&f->lock);
	transit_hand_over(t);
	return ENTERS_DECIDED | (place.role ? ENTERS_ROLE : 0) | (outer.outer_ecn & 3);
}

/* Lets a flow's memory say what a packet leaves with; 0: it has none. */
ALWAYS_INLINE u32 inside_leave(struct __sk_buff *skb, struct transit *t, const struct law_packet *outer,
                               struct seen *seen)
{
	struct flow_inside *f = inside_of(skb, seen);
	u64 now_us = bpf_ktime_get_ns() / 1000;

	if (!f)
		return 0;
	inside_begin(f, t, now_us);
	bpf_spin_lock(&f->lock);
	f->now_us = fixed_max(f->now_us, now_us);
	decapsulate(t, f->state, &f->chain, inside_number(f), f->now_us, outer, &seen->law);
	bpf_spin_unlock(&f->lock);
	transit_hand_over(t);
	return 1;
}

#else

#define inside_enter(skb, seen) 0
#define inside_leave(skb, t, outer, seen) 0

#endif

#endif /* FADELAB_INSIDE_H */
