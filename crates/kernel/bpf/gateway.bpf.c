/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A gateway's law at the ends of IPsec tunnels that the operator made, by traffic control. No program sees both headers
 * of a packet at once, so what the law needs of the one stands in eight bits of skb->mark until the other is there:
 *
 *   entering   plain device, ingress: what the inner header says goes into the mark (gateway_plain)
 *              cipher device, egress: the packet is ESP, the law writes its outer ECN field (gateway_out)
 *   leaving    cipher device, ingress: the packet is ESP, what the outer header says goes into the mark, and its ECN
 *              field is cleared, so that the kernel's rule changes nothing inside (gateway_in)
 *              the same device, ingress, once more: the packet is decrypted, the law writes its ECN field (gateway_in)
 *
 * Behind these, at the cipher device's ingress, stands a guard that outlives the process (gateway_guard): routers go on
 * marking outer headers when a gateway was killed, and Linux would take a half 11 for a congestion mark of somebody
 * else's packet.
 *
 * The unit is compiled with
 *   LAW_HEADER, LAW_TABLE_NAME, LAW_STATE_BYTES, LAW_PARAMS   the law and the defaults of its parameters
 *   WIRE, WIRE_HEADER, WIRE_TABLE_NAME, ECHO_BYTES, DATA_BYTES, OPTION_BYTES   as in router.bpf.c, of the packets
 *   inside
 *   RECORD                       1: each call of the law goes into a ring (transit.h)
 *   FLOWS                        1: each flow inside has a memory of its own (inside.h)
 */
#include LAW_HEADER
#include WIRE_HEADER

#include "host.h"
#include "seen.h"
#include "set.h"
#include "tunnel.h"

/* Tunnels of a gateway: their numbers have four bits of the mark. */
#define TUNNELS_MAX 15
#define INSTANCES_MAX TUNNELS_MAX

struct bpf_spin_lock {
	u32 value;
};

/* Bits of skb->mark that are the gateway's; the operator's others stay as they are. */
#define MARK_BITS 0xff000000u
#define MARK_SHIFT 24

/* Of a packet that enters. Bits 0 and 1 are its ECN field. */
#define ENTERS_ROLE (1u << 2)
#define ENTERS_HAS_ROLE (1u << 3)
#define ENTERS_DATA (1u << 4)
#define ENTERS_WIRE (1u << 5)
#define ENTERS_IS_SEEN (1u << 6)
/* The law has had its say: bits 0 to 2 are what the outer header gets. */
#define ENTERS_DECIDED (1u << 7)

/* Of one that leaves. Bits 0 and 1 are the outer ECN field, bits 4 to 7 the tunnel's number. */
#define LEAVES_ROLE (1u << 2)
#define LEAVES_HAS_ROLE (1u << 3)
#define LEAVES_NUMBER_SHIFT 4

#define LAW_IS LAW_TABLE_NAME

TO_BE_SET u64 law_params[] = {LAW_PARAMS};

#include "inside.h"
#include "transit.h"

/* What happened since the start. The loader reads it under the lock. */
struct gateway_counters {
	u64 entered;     /* packets that were encapsulated */
	u64 entered_own; /* of them, data with the option of the law's wire */
	u64 unseen;      /* of them, those that came through no plain device: the gateway's own, mostly */
	u64 outer[4];    /* by the ECN field with which they went into the tunnel */
	u64 written;     /* IDs that were written */
	u64 left;        /* packets that were decapsulated */
	u64 left_own;
	u64 came[4];    /* by the outer ECN field with which they came out of the tunnel */
	u64 changed[4]; /* by the ECN field that they left with, where the law changed it */
	u64 joined;     /* super-packets with the law's option, both ways: they are for no half */
	u64 fragments;  /* of ESP that came, which are for none, too */
	u64 shared;     /* where flows have memories: data of the law that went by the tunnel's */
};

struct gateway {
	struct bpf_spin_lock lock;
	u32 last_id;
	struct gateway_counters counters;
	u64 now_us; /* CPUs may come to the lock in another order than to the clock */
	u64 state[WORDS_OF(LAW_STATE_BYTES)];
	struct call_chain chain;
};

/* By the numbers of the tunnels. */
struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, TUNNELS_MAX + 1);
	u32 *key;
	struct gateway *value;
} gateway_map SEC(".maps");

/* What the loader says of each tunnel. */
struct gateway_config {
	u32 copies_ce;   /* 1: the SAs' rule takes CE of the outer header for the inner one */
	u32 number;      /* among the tunnels of this gateway, from 0 on */
	u32 outer_bytes; /* in front of the inner packet */
	u32 reserved;
};

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, TUNNELS_MAX + 1);
	u32 *key;
	struct gateway_config *value;
} config_map SEC(".maps");

/* Outer headers that the guard cleared. */
struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	u64 *value;
} guard_map SEC(".maps");

char gateway_license[] SEC("license") = "Dual BSD/GPL";

/* The verifier takes whole words of the context only: the compiler must not read or write a byte of it. */
#define SKB_MARK(skb) (*(volatile u32 *)&(skb)->mark)

ALWAYS_INLINE u32 mark_get_bits(struct __sk_buff *skb)
{
	return (SKB_MARK(skb) & MARK_BITS) >> MARK_SHIFT;
}

ALWAYS_INLINE void mark_set_bits(struct __sk_buff *skb, u32 bits)
{
	SKB_MARK(skb) = (SKB_MARK(skb) & ~MARK_BITS) | bits << MARK_SHIFT;
}

/* A super-packet has one ECN field for several roles. */
ALWAYS_INLINE u32 is_joined(const struct seen *seen)
{
	return seen->option_at && seen->segments > 1;
}

ALWAYS_INLINE void gateway_look(struct __sk_buff *skb, u32 link_bytes, struct seen *seen)
{
	seen_take(skb, link_bytes, 0, seen);
	if (is_joined(seen))
		seen->law.roles_known = 0;
}

/* ----------------------------------------------------------------------------------------------------- entering */

ALWAYS_INLINE int plain(struct __sk_buff *skb, u32 link_bytes)
{
	struct seen seen = {};
	u32 bits = 0;

	gateway_look(skb, link_bytes, &seen);
	if (!seen.packet.version)
		return TC_ACT_UNSPEC;
	if (FLOWS)
		bits = inside_enter(skb, &seen);
	if (!bits)
		bits = seen.law.ecn | (seen.law.role ? ENTERS_ROLE : 0);
	bits |= ENTERS_IS_SEEN;
	bits |= seen.law.roles_known ? ENTERS_HAS_ROLE : 0;
	bits |= seen.law.flags & LAW_PACKET_DATA ? ENTERS_DATA : 0;
	bits |= seen.option_at ? ENTERS_WIRE : 0;
	mark_set_bits(skb, bits);
	return TC_ACT_UNSPEC;
}

/* The inner packet as far as the mark knows it. Its size and its feedback are encrypted by now. */
ALWAYS_INLINE void entering(u32 bits, const struct seen *outer, struct law_packet *inner)
{
	inner->size = sizeof(*inner);
	inner->ip_bytes = inner->air_bytes = outer->law.ip_bytes;
	inner->segments = 1;
	if (!(bits & ENTERS_IS_SEEN)) {
		inner->ecn = inner->outer_ecn = outer->packet.ecn;
		return;
	}
	inner->ecn = inner->outer_ecn = bits & 3;
	inner->role = !!(bits & ENTERS_ROLE);
	inner->roles = inner->role;
	inner->roles_known = !!(bits & ENTERS_HAS_ROLE);
	inner->flags = bits & ENTERS_DATA ? LAW_PACKET_DATA : 0;
	/* What a packet says of the load that it met is in the flow's memory only, if that was asked. */
	inner->wire = bits & ENTERS_WIRE && !(FLOWS && bits & ENTERS_DECIDED) ? WIRE : 0;
}

/* Takes turns in the lowest bit of an ID. Only a packet that is not fragmented needs none (RFC 6864 section 4.1). */
ALWAYS_INLINE void write_id(struct __sk_buff *skb, const struct packet *packet, u32 id)
{
	u8 head[PACKET_IPV4_SUM_END];
	u16 sum;

	if (packet_load(skb, packet->ip_at, head, sizeof(head)))
		return;
	sum = packet_sum((u16)(head[10] << 8 | head[11]), packet->ip_id, (u16)id);
	head[4] = (u8)(id >> 8);
	head[5] = (u8)id;
	head[10] = (u8)(sum >> 8);
	head[11] = (u8)sum;
	bpf_skb_store_bytes(skb, packet->ip_at, head, sizeof(head), 0);
}

/* The next ID, by turns; of a packet whose role is decided the next one of that. */
ALWAYS_INLINE u32 next_id(u32 id, u32 bits)
{
	id++;
	if (FLOWS && bits & ENTERS_DECIDED)
		id += (id & 1) != !!(bits & ENTERS_ROLE);
	return id & 0xffff;
}

ALWAYS_INLINE void count_entered(struct gateway *g, u32 bits, u32 outer_ecn, u32 is_decided)
{
	u32 is_seen = bits & ENTERS_IS_SEEN, is_own = (bits & ENTERS_WIRE) && (bits & ENTERS_DATA);

	g->counters.entered++;
	g->counters.entered_own += is_seen && is_own;
	g->counters.unseen += !is_seen;
	g->counters.joined += is_seen && (bits & ENTERS_WIRE) && !(bits & ENTERS_HAS_ROLE);
	g->counters.outer[outer_ecn & 3]++;
	g->counters.shared += FLOWS && is_own && !is_decided;
}

ALWAYS_INLINE int out(struct __sk_buff *skb, u32 link_bytes)
{
	u32 bits = mark_get_bits(skb), writes, is_decided, id = 0;
	struct law_packet inner = {};
	struct outer outer = {};
	struct seen seen = {};
	struct transit *t;
	struct gateway *g;
	u64 now_us;

	if (bits)
		mark_set_bits(skb, 0);
	gateway_look(skb, link_bytes, &seen);
	outer_take(skb, &seen.packet, &outer);
	if (!outer.number)
		return TC_ACT_UNSPEC;
	g = bpf_map_lookup_elem(&gateway_map, &outer.number);
	t = transit_place();
	if (!g || (RECORD && !t))
		return TC_ACT_UNSPEC;
	entering(bits, &seen, &inner);
	show_outer(&seen.law, &outer, inner.ecn, seen.packet.ecn);
	now_us = bpf_ktime_get_ns() / 1000;
	writes = outer.role_from == TUNNEL_ROLE_WRITTEN && seen.packet.has_id && !seen.packet.may_fragment;
	is_decided = FLOWS && writes && bits & ENTERS_DECIDED;
	bpf_spin_lock(&g->lock);
	g->now_us = fixed_max(g->now_us, now_us);
	if (writes) {
		id = g->last_id = next_id(g->last_id, bits);
		g->counters.written++;
		seen.law.role = id & 1;
		seen.law.roles = id & 1;
	}
	if (is_decided)
		seen.law.outer_ecn = bits & 3;
	else
		encapsulate(t, g->state, &g->chain, outer.number, g->now_us, &inner, &seen.law);
	count_entered(g, bits, seen.law.outer_ecn, is_decided);
	bpf_spin_unlock(&g->lock);
	if (!is_decided)
		transit_hand_over(t);
	if ((seen.law.outer_ecn & 3) != seen.packet.ecn)
		packet_set_ecn(skb, &seen.packet, seen.law.outer_ecn & 3);
	if (writes)
		write_id(skb, &seen.packet, id);
	return TC_ACT_UNSPEC;
}

/* ------------------------------------------------------------------------------------------------------ leaving */

ALWAYS_INLINE int came(struct __sk_buff *skb, const struct packet *packet, const struct outer *outer)
{
	u32 bits = packet->ecn;

	bits |= outer->role ? LEAVES_ROLE : 0;
	bits |= outer->has_role ? LEAVES_HAS_ROLE : 0;
	bits |= (outer->number & TUNNELS_MAX) << LEAVES_NUMBER_SHIFT;
	mark_set_bits(skb, bits);
	if (packet->ecn)
		packet_set_ecn(skb, packet, 0);
	return TC_ACT_UNSPEC;
}

/*
 * A router in the tunnel cut a packet behind one that had marked it, so that each part bears the mark, and the kernel
 * would take a half 11 on any of them for a congestion mark (RFC 3168 section 5.3). The whole is for no half: which one
 * the mark was of stands in the first part alone.
 */
ALWAYS_INLINE int fragment(struct __sk_buff *skb, const struct packet *packet, u32 number)
{
	struct gateway *g = bpf_map_lookup_elem(&gateway_map, &number);

	if (!g)
		return TC_ACT_UNSPEC;
	bpf_spin_lock(&g->lock);
	g->counters.fragments++;
	bpf_spin_unlock(&g->lock);
	if (packet->ecn)
		packet_set_ecn(skb, packet, LAW_ECN_NOT_ECT);
	return TC_ACT_UNSPEC;
}

ALWAYS_INLINE void count_left(struct gateway *g, const struct seen *seen, u32 outer_ecn, u32 is_told)
{
	u32 is_own = seen->option_at && (seen->law.flags & LAW_PACKET_DATA);

	g->counters.left++;
	g->counters.left_own += is_own;
	g->counters.shared += FLOWS && is_own && !is_told;
	g->counters.joined += is_joined(seen);
	g->counters.came[outer_ecn & 3]++;
	g->counters.changed[seen->law.ecn & 3] += (seen->law.ecn & 3) != seen->packet.ecn;
}

/* A decrypted packet, whose outer header said `bits`. The law finds in it what the kernel's own rule would have made.
 * */
ALWAYS_INLINE int leave(struct __sk_buff *skb, struct seen *seen, u32 bits)
{
	u64 now_us = bpf_ktime_get_ns() / 1000;
	u32 number = bits >> LEAVES_NUMBER_SHIFT, outer_ecn = bits & 3, confirmed = seen->law.confirmed, is_told;
	struct gateway_config *config = bpf_map_lookup_elem(&config_map, &number);
	struct gateway *g = bpf_map_lookup_elem(&gateway_map, &number);
	struct law_packet shown = {.size = sizeof(shown), .segments = 1};
	struct outer outer = {.role = !!(bits & LEAVES_ROLE), .has_role = !!(bits & LEAVES_HAS_ROLE)};
	struct transit *t = transit_place();

	if (!g || !config || (RECORD && !t))
		return TC_ACT_UNSPEC;
	shown.ip_bytes = shown.air_bytes = seen->law.ip_bytes;
	show_outer(&shown, &outer, seen->packet.ecn, outer_ecn);
	if (config->copies_ce && outer_ecn == LAW_ECN_CE && seen->packet.ecn != LAW_ECN_NOT_ECT)
		seen->law.ecn = seen->law.outer_ecn = LAW_ECN_CE;
	is_told = FLOWS && inside_leave(skb, t, &shown, seen);
	bpf_spin_lock(&g->lock);
	g->now_us = fixed_max(g->now_us, now_us);
	if (!is_told)
		decapsulate(t, g->state, &g->chain, number, g->now_us, &shown, &seen->law);
	count_left(g, seen, outer_ecn, is_told);
	bpf_spin_unlock(&g->lock);
	if (!is_told)
		transit_hand_over(t);
	if (seen->packet.version && (seen->law.ecn & 3) != seen->packet.ecn)
		packet_set_ecn(skb, &seen->packet, seen->law.ecn & 3);
	if (seen->option_at && seen->law.confirmed != confirmed)
		seen_write_option(skb, seen, 0);
	return TC_ACT_UNSPEC;
}

ALWAYS_INLINE int in(struct __sk_buff *skb, u32 link_bytes)
{
	u32 bits = mark_get_bits(skb);
	struct outer outer = {};
	struct seen seen = {};

	gateway_look(skb, link_bytes, &seen);
	if (bits) {
		mark_set_bits(skb, 0);
		return leave(skb, &seen, bits);
	}
	outer_take(skb, &seen.packet, &outer);
	if (outer.fragment_of)
		return fragment(skb, &seen.packet, outer.fragment_of);
	return outer.number ? came(skb, &seen.packet, &outer) : TC_ACT_UNSPEC;
}

/* ------------------------------------------------------------------------------------------------------- programs */

/* Devices with an Ethernet header, and those that begin with the IP header (TUN). */
SEC("tc") int gateway_plain_ether(struct __sk_buff *skb)
{
	return plain(skb, ETHER_BYTES);
}

SEC("tc") int gateway_plain_ip(struct __sk_buff *skb)
{
	return plain(skb, 0);
}

SEC("tc") int gateway_out_ether(struct __sk_buff *skb)
{
	return out(skb, ETHER_BYTES);
}

SEC("tc") int gateway_out_ip(struct __sk_buff *skb)
{
	return out(skb, 0);
}

SEC("tc") int gateway_in_ether(struct __sk_buff *skb)
{
	return in(skb, ETHER_BYTES);
}

SEC("tc") int gateway_in_ip(struct __sk_buff *skb)
{
	return in(skb, 0);
}

/* Clears what a gateway before it would have cleared: where that is at work there is nothing left to do. */
ALWAYS_INLINE int guard(struct __sk_buff *skb, u32 link_bytes)
{
	struct packet packet = {};
	struct outer outer = {};
	u32 key = 0;
	u64 *cleared;

	packet_parse(skb, link_bytes, &packet);
	if (!packet.version || !packet.ecn)
		return TC_ACT_UNSPEC;
	outer_take(skb, &packet, &outer);
	cleared = bpf_map_lookup_elem(&guard_map, &key);
	if ((!outer.number && !outer.fragment_of) || !cleared)
		return TC_ACT_UNSPEC;
	packet_set_ecn(skb, &packet, LAW_ECN_NOT_ECT);
	__sync_fetch_and_add(cleared, 1);
	return TC_ACT_UNSPEC;
}

SEC("tc") int gateway_guard_ether(struct __sk_buff *skb)
{
	return guard(skb, ETHER_BYTES);
}

SEC("tc") int gateway_guard_ip(struct __sk_buff *skb)
{
	return guard(skb, 0);
}

/* The loader runs it for each tunnel before it attaches the others; the mark is the tunnel's number. 0 when the law has
 * begun there. */
SEC("tc") int gateway_start(struct __sk_buff *skb)
{
	u32 number = SKB_MARK(skb);
	struct gateway_config *config = bpf_map_lookup_elem(&config_map, &number);
	struct gateway *g = bpf_map_lookup_elem(&gateway_map, &number);
	struct law_tunnel tunnel = {.size = sizeof(tunnel)};
	struct transit *t = transit_place();

	if (!config || !g || (RECORD && !t))
		return 1;
	tunnel.random = bpf_get_prandom_u32();
	tunnel.now_us = bpf_ktime_get_ns() / 1000;
	tunnel.number = config->number;
	tunnel.outer_bytes = config->outer_bytes;
	g->last_id = tunnel.random & 0xffff;
	begin(t, g->state, &g->chain, number, &tunnel);
	transit_hand_over(t);
	return 0;
}
