/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The codepoint of data packets. It is set where packets leave through an interface that the operator named, and
 * nowhere else: VCP's codes are today's ECT(1), ECT(0) and CE, so no other network may see them.
 */
#ifndef FADELAB_MARK_H
#define FADELAB_MARK_H

#include "flow.h"
#include "packet.h"

/* ACKs alone stay unmarked. */
ALWAYS_INLINE int mark(struct __sk_buff *skb, u32 link_bytes)
{
	struct bpf_sock *sk = skb->sk ? bpf_sk_fullsock(skb->sk) : (void *)0;
	struct flow *f = sk ? flow_of(sk) : (void *)0;
	struct packet packet;

	if (!f || !f->ecn)
		return TC_ACT_UNSPEC;
	packet_parse(skb, link_bytes, &packet);
	/* A router at the same device may have marked it already. */
	if (packet.has_data && packet.ecn == LAW_ECN_NOT_ECT)
		packet_set_ecn(skb, &packet, f->ecn & 3);
	return TC_ACT_UNSPEC;
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
