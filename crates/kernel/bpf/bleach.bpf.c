/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The edge of the closed domain: packets of our wires leave a device that nobody named with their ECN field cleared,
 * since outside of the domain the codes of VCP are ECT(1), ECT(0) and CE (RFC 3168 section 5). A packet is ours by its
 * option, of whatever law; those of others go by untouched.
 */
#include "host.h"
#include "packet.h"

struct bleach_counters {
	u64 own_packets; /* with an option of ours */
	u64 cleared;     /* of them, those that were marked */
};

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct bleach_counters *value;
} bleach_map SEC(".maps");

char bleach_license[] SEC("license") = "Dual BSD/GPL";

ALWAYS_INLINE int bleach(struct __sk_buff *skb, u32 link_bytes)
{
	u32 key = 0, segments = skb->gso_segs > 1 ? skb->gso_segs : 1;
	struct bleach_counters *counters = bpf_map_lookup_elem(&bleach_map, &key);
	struct packet packet;

	packet_parse(skb, link_bytes, &packet);
	if (!counters || !packet.tcp_at || !packet_ours(skb, &packet, packet.tcp_end, OPTION_BYTES_MAX))
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&counters->own_packets, segments);
	if (packet.ecn == LAW_ECN_NOT_ECT)
		return TC_ACT_UNSPEC;
	packet_set_ecn(skb, &packet, LAW_ECN_NOT_ECT);
	__sync_fetch_and_add(&counters->cleared, segments);
	return TC_ACT_UNSPEC;
}

SEC("tc") int bleach_ethernet(struct __sk_buff *skb)
{
	return bleach(skb, ETHER_BYTES);
}

SEC("tc") int bleach_ip(struct __sk_buff *skb)
{
	return bleach(skb, 0);
}
