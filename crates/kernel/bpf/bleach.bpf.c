/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The edge of the closed domain: packets of our wires leave a device that nobody named with their ECN field cleared,
 * since outside of the domain the codes of VCP are ECT(1), ECT(0) and CE (RFC 3168 section 5). A packet is ours by its
 * option, of whatever law; those of others go by untouched. ESP of a tunnel that the router is told of has the router's
 * marks, whatever is in it, and leaves without them, too.
 *
 * The option mostly stands at the end of the TCP header right behind IP's, where it is found at once. What is found
 * nowhere there is searched for only where there is a mark to clear, or a fragment that others follow.
 */
#include "chain.h"
#include "host.h"
#include "host/packet.h"
#include "tunnel.h"

struct bleach_counters {
	u64 own_packets; /* known to be ours */
	u64 cleared;     /* of them, those that were marked */
	u64 unknown;     /* marked, TCP's for all that can be seen, and nobody can tell whose */
};

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct bleach_counters *value;
} bleach_map SEC(".maps");

/*
 * Stacked devices: what leaves a named bridge, bond or VLAN leaves the devices below it next, and may be marked there,
 * other than what leaves these directly. The kernel keeps tc_index with a packet on its way down, and hardly anybody
 * else uses it. Userspace sets the sign, one for each namespace: in the next one it means nothing.
 */
struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	u32 *value;
} bleach_sign SEC(".maps");

enum whose { OTHERS, OURS, UNKNOWN };

/*
 * A packet that was fragmented, which the first fragment alone tells whose it is. The ID is one of both addresses and,
 * in IPv4, of the protocol (RFC 791 section 3.2, RFC 8200 section 4.5).
 */
struct fragmented {
	u8 addresses[32];
	u32 id;
	u32 version;
	u32 protocol;
};

/* Fragments of a packet follow each other closely; as many packets may be on their way at the same time. */
struct {
	MAP_NUMBER(type, MAP_TYPE_LRU_HASH);
	MAP_NUMBER(max_entries, 4096);
	struct fragmented *key;
	u32 *value; /* enum whose */
} bleach_fragments SEC(".maps");

char bleach_license[] SEC("license") = "Dual BSD/GPL";

/* 0: its addresses are not there. */
ALWAYS_INLINE u32 bleach_key(struct __sk_buff *skb, const struct packet *packet, const struct chain *chain,
                             struct fragmented *key)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->id = chain->id;
	key->version = packet->version;
	if (packet->version != 4)
		return !packet_load(skb, packet->ip_at + 8, key->addresses, 32);
	key->protocol = chain->fragment;
	return !packet_load(skb, packet->ip_at + 12, key->addresses, 8);
}

/* Of a whole packet or a first fragment, whose headers were gone through. */
ALWAYS_INLINE u32 bleach_whose(struct __sk_buff *skb, const struct chain *chain)
{
	u32 end = chain->end < skb->len ? chain->end : skb->len, tcp_end;
	u8 offset = 0;

	if (chain->next != IP_TCP)
		return chain_is_extension(chain->version, chain->next) ? UNKNOWN : OTHERS;
	/* A fragment may end within the TCP header (RFC 1858); a packet that does is nobody's. */
	if (chain->at + PACKET_TCP_BYTES > end || packet_load(skb, chain->at + 12, &offset, sizeof(offset)))
		return chain->part == CHAIN_FIRST ? UNKNOWN : OTHERS;
	tcp_end = chain->at + (offset >> 4) * 4;
	if (chain->part != CHAIN_FIRST && (chain->end > skb->len || tcp_end > end))
		return OTHERS;
	if (options_ours(skb, chain->at, tcp_end, tcp_end < end ? tcp_end : end))
		return OURS;
	return tcp_end > end ? UNKNOWN : OTHERS;
}

/*
 * Whose a packet is that has no option of ours at the end of a TCP header right behind IP's. Not static: the verifier
 * goes through it once, whatever is known where it is called, instead of for each of the many ways to get there.
 */
__attribute__((noinline)) u32 bleach_search(struct __sk_buff *skb, const struct packet *packet)
{
	struct chain chain = {};
	struct fragmented key = {};
	u32 whose = UNKNOWN, *known;

	if (!packet)
		return OTHERS;
	if (packet->tcp_at)
		return options_ours(skb, packet->tcp_at, packet->tcp_end, packet->tcp_end) ? OURS : OTHERS;
	if (!chain_begin(skb, packet, &chain) || !chain_may_be_tcp(chain.version, chain.next))
		return OTHERS;
	chain_follow(&chain);
	if (chain.part != CHAIN_LATER)
		whose = bleach_whose(skb, &chain);
	if (chain.part == CHAIN_WHOLE || !chain_may_be_tcp(chain.version, chain.fragment))
		return chain.part == CHAIN_LATER ? OTHERS : whose;
	if (!bleach_key(skb, packet, &chain, &key))
		return OTHERS;
	if (chain.part == CHAIN_FIRST) {
		bpf_map_update_elem(&bleach_fragments, &key, &whose, 0);
		return whose;
	}
	known = bpf_map_lookup_elem(&bleach_fragments, &key);
	return known ? *known : UNKNOWN;
}

/*
 * Whether a search may change anything. An unmarked fragment is remembered, too: where two programs are at a device,
 * since one router takes it over from another, the second may be alone when the next fragment comes.
 */
ALWAYS_INLINE u32 bleach_is_worthwhile(struct __sk_buff *skb, const struct packet *packet)
{
	u8 head[10] = {};

	if (packet->ecn != LAW_ECN_NOT_ECT || packet->tcp_at || !packet->version)
		return packet->version && packet->ecn != LAW_ECN_NOT_ECT;
	if (packet_load(skb, packet->ip_at, head, sizeof(head)))
		return 0;
	if (packet->version == 6)
		return chain_is_extension(6, head[6]);
	return chain_may_be_tcp(4, head[9]) && ((head[6] & 0x3f) || head[7]);
}

/* Whose a packet is with a mark, or a fragment of one. */
ALWAYS_INLINE u32 bleach_of(struct __sk_buff *skb, const struct packet *packet)
{
	struct outer outer = {};

	outer_take(skb, packet, &outer);
	return outer.number || outer.fragment_of ? OURS : bleach_search(skb, packet);
}

ALWAYS_INLINE int bleach(struct __sk_buff *skb, u32 link_bytes)
{
	u32 key = 0, segments = skb->gso_segs > 1 ? skb->gso_segs : 1, whose = OTHERS;
	struct bleach_counters *counters = bpf_map_lookup_elem(&bleach_map, &key);
	struct packet packet;

	/* The bytes between its fields, too: what goes to a function that is not static has to be written. */
	__builtin_memset(&packet, 0, sizeof(packet));
	packet_parse(skb, link_bytes, &packet);
	if (!counters)
		return TC_ACT_UNSPEC;
	if (packet.tcp_at && packet_ours(skb, &packet, packet.tcp_end, OPTION_BYTES_MAX))
		whose = OURS;
	else if (bleach_is_worthwhile(skb, &packet))
		whose = bleach_of(skb, &packet);
	if (whose == OTHERS)
		return TC_ACT_UNSPEC;
	if (whose == OURS)
		__sync_fetch_and_add(&counters->own_packets, segments);
	if (packet.ecn == LAW_ECN_NOT_ECT)
		return TC_ACT_UNSPEC;
	if (whose == UNKNOWN) {
		__sync_fetch_and_add(&counters->unknown, segments);
		return TC_ACT_UNSPEC;
	}
	packet_set_ecn(skb, &packet, LAW_ECN_NOT_ECT);
	__sync_fetch_and_add(&counters->cleared, segments);
	return TC_ACT_UNSPEC;
}

/* At a named device that lies on others. */
SEC("tc") int admit(struct __sk_buff *skb)
{
	u32 key = 0, *sign = bpf_map_lookup_elem(&bleach_sign, &key);

	if (sign && !skb->tc_index)
		skb->tc_index = *sign;
	return TC_ACT_UNSPEC;
}

/* At a device on which named ones lie. */
ALWAYS_INLINE int bleach_below(struct __sk_buff *skb, u32 link_bytes)
{
	u32 key = 0, *sign = bpf_map_lookup_elem(&bleach_sign, &key);

	if (sign && skb->tc_index == *sign)
		return TC_ACT_UNSPEC;
	return bleach(skb, link_bytes);
}

SEC("tc") int bleach_below_ethernet(struct __sk_buff *skb)
{
	return bleach_below(skb, ETHER_BYTES);
}

SEC("tc") int bleach_below_ip(struct __sk_buff *skb)
{
	return bleach_below(skb, 0);
}

SEC("tc") int bleach_ethernet(struct __sk_buff *skb)
{
	return bleach(skb, ETHER_BYTES);
}

SEC("tc") int bleach_ip(struct __sk_buff *skb)
{
	return bleach(skb, 0);
}
