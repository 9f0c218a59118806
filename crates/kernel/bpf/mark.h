/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The codepoint of data packets. It is set where packets leave through an interface that the operator named, and
 * nowhere else: VCP's codes are today's ECT(1), ECT(0) and CE, so no other network may see them.
 */
#ifndef FADELAB_MARK_H
#define FADELAB_MARK_H

#include "flow.h"

/* Places in an IPv4 header. */
#define IPV4_AT_CHECK 10

ALWAYS_INLINE void set_ecn_ipv4(struct __sk_buff *skb, u32 at, u32 code)
{
	u8 word[2], old[2];

	if (bpf_skb_load_bytes(skb, at, old, sizeof(old)))
		return;
	word[0] = old[0];
	word[1] = (u8)((old[1] & ~3u) | code);
	if (word[1] == old[1])
		return;
	bpf_l3_csum_replace(skb, at + IPV4_AT_CHECK, *(u16 *)old, *(u16 *)word, 2);
	bpf_skb_store_bytes(skb, at, word, sizeof(word), 0);
}

ALWAYS_INLINE void set_ecn_ipv6(struct __sk_buff *skb, u32 at, u32 code)
{
	u8 old, byte;

	if (bpf_skb_load_bytes(skb, at + 1, &old, 1))
		return;
	byte = (u8)((old & 0xcf) | code << 4);
	if (byte != old)
		bpf_skb_store_bytes(skb, at + 1, &byte, 1, 0);
}

/* Whether there is anything behind the headers: ACKs alone stay unmarked. */
ALWAYS_INLINE u32 has_payload(struct __sk_buff *skb, u32 at, u32 ip_bytes)
{
	u8 words;

	if (bpf_skb_load_bytes(skb, at + ip_bytes + 12, &words, 1))
		return 0;
	return skb->len > at + ip_bytes + (words >> 4) * 4;
}

ALWAYS_INLINE int mark(struct __sk_buff *skb, u32 at)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : (void *)0;
	struct flow *f = sk ? flow_of(sk) : (void *)0;
	u8 first;

	if (!f || !f->ecn || bpf_skb_load_bytes(skb, at, &first, 1))
		return TC_ACT_OK;
	if (skb->protocol == host_be16(ETHER_IPV4) && has_payload(skb, at, (first & 15) * 4))
		set_ecn_ipv4(skb, at, f->ecn & 3);
	else if (skb->protocol == host_be16(ETHER_IPV6) && has_payload(skb, at, 40))
		set_ecn_ipv6(skb, at, f->ecn & 3);
	return TC_ACT_OK;
}

/* Devices with an Ethernet header, and those that begin with the IP header (TUN). */
SEC("tc") int mark_ether(struct __sk_buff *skb)
{
	return mark(skb, ETHER_BYTES);
}

SEC("tc") int mark_ip(struct __sk_buff *skb)
{
	return mark(skb, 0);
}

#endif /* FADELAB_MARK_H */
