/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The codepoint of data packets. It is set where packets leave through an interface that the operator named, and
 * nowhere else: VCP's codes are today's ECT(1), ECT(0) and CE, so no other network may see them.
 */
#ifndef FADELAB_MARK_H
#define FADELAB_MARK_H

#include "feedback.h"
#include "tunnel.h"

/*
 * A packet that should carry the law's option and found no room for it stays unmarked: neither the routers nor the edge
 * of the domain would know whose it is.
 */
ALWAYS_INLINE u32 mark_is_known(struct __sk_buff *skb, const struct packet *packet)
{
	return !CARRIES_FEEDBACK || has_option(skb, packet->tcp_at, packet->tcp_end);
}

/*
 * A fragment shows no TCP header, and one that comes to an edge alone is known by nobody: only what nobody may cut is
 * marked, neither on its way (RFC 791 section 3.1, RFC 8200 section 4.5) nor here, where it would be too large.
 */
ALWAYS_INLINE u32 mark_stays_whole(struct __sk_buff *skb, const struct packet *packet, u32 link_bytes)
{
	u32 mtu_bytes = 0;

	if (packet->may_fragment)
		return 0;
	/* What counts of a super-packet are its segments; the helper then takes no difference of lengths. */
	if (skb->gso_segs > 1)
		return !bpf_check_mtu(skb, 0, &mtu_bytes, 0, MTU_CHECK_SEGMENTS);
	return !bpf_check_mtu(skb, 0, &mtu_bytes, (s32)(link_bytes - packet->ip_at), 0);
}

/*
 * IPsec's transport mode leaves the IP header as it is and has encrypted the rest by now (RFC 4303 section 3.1.1). What
 * is in it the socket said when it wrote the segment, on the way to here. Where the operator named the two hosts, the
 * domain knows such packets by their addresses. No router can say in them that it saw them: whoever named the hosts
 * vouches for the routers (write_option).
 */
ALWAYS_INLINE void mark_look_for_seal(struct __sk_buff *skb, u32 link_bytes, struct flow *f)
{
	u32 ip_at, protocol = packet_protocol(skb, link_bytes, &ip_at);
	struct outer outer = {};
	struct packet packet;
	u8 next = 0;

	f->is_sealed = 0;
	if (packet_load(skb, ip_at + (protocol == ETHER_IPV4 ? 9 : 6), &next, sizeof(next)) || next == IP_TCP)
		return;
	packet_parse(skb, link_bytes, &packet);
	outer_take(skb, &packet, &outer);
	f->is_sealed = !!outer.number;
}

ALWAYS_INLINE int mark(struct __sk_buff *skb, u32 at)
{
	struct bpf_sock *sk = skb->sk;
	struct flow *f = sk ? flow_of(sk) : (void *)0;
	struct packet packet;
	u32 is_data;

#if EXCHANGES_NUMBERS
	packet_parse(skb, at, &packet);
	exchange(skb, &packet, f);
	if (!f || !f->ecn)
		return TC_ACT_UNSPEC;
#else
	if (!f)
		return TC_ACT_UNSPEC;
	mark_look_for_seal(skb, at, f);
	if (!f->ecn)
		return TC_ACT_UNSPEC;
	packet_parse(skb, at, &packet);
#endif
	is_data = packet.tcp_at ? packet.has_data && mark_is_known(skb, &packet) : f->is_sealed && f->wrote_data;
	/* ACKs alone stay unmarked. */
	if (is_data && packet.ecn != (f->ecn & 3) && mark_stays_whole(skb, &packet, at))
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
