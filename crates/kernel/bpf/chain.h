/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The chain of headers between IP's and TCP's, and the options in TCP's. Routers look where senders write (packet.h);
 * the edge of the closed domain must know a packet of ours whatever others have put into it on its way, and a fragment
 * of one.
 */
#ifndef FADELAB_CHAIN_H
#define FADELAB_CHAIN_H

#include "host/packet.h"

/* A packet has no sensible use for more: RFC 8200 section 4.1 knows seven, each of which occurs once or twice. */
#define CHAIN_HEADERS_MAX 16

#define CHAIN_FRAGMENT 44
#define CHAIN_AUTHENTICATION 51
#define CHAIN_NOTHING 59
#define CHAIN_MOBILITY 135
#define CHAIN_HOST_IDENTITY 139
#define CHAIN_SHIM6 140

/* Of an IPv4 header: more fragments follow, and the offset of this one, in the word behind the ID. */
#define CHAIN_IPV4_MORE 0x2000u
#define CHAIN_IPV4_OFFSET 0x1fffu
/* The same in the fragment header of IPv6. */
#define CHAIN_IPV6_MORE 0x0001u
#define CHAIN_IPV6_OFFSET 0xfff8u
#define CHAIN_FRAGMENT_BYTES 8u

enum chain_part {
	CHAIN_WHOLE, /* atomic fragments, which are the whole packet (RFC 6946), too */
	CHAIN_FIRST,
	CHAIN_LATER,
};

struct chain {
	struct __sk_buff *skb;
	u32 version;
	u32 at;       /* offset of what follows the headers that were gone through, and its protocol */
	u32 next;     /* CHAIN_NOTHING: the packet ends within them */
	u32 end;      /* where the IP header says that the packet ends */
	u32 part;     /* enum chain_part */
	u32 id;       /* of the packet that was fragmented */
	u32 fragment; /* protocol that the fragments say they hold */
};

/* Whether TCP may follow behind such a header; in IPv4 it is the authentication header alone (RFC 4302). */
ALWAYS_INLINE u32 chain_is_extension(u32 version, u32 protocol)
{
	if (protocol == CHAIN_AUTHENTICATION)
		return 1;
	return version == 6 && (protocol == PACKET_IP6_HOP_BY_HOP || protocol == PACKET_IP6_ROUTING ||
	                        protocol == PACKET_IP6_DESTINATION || protocol == CHAIN_FRAGMENT ||
	                        protocol == CHAIN_MOBILITY || protocol == CHAIN_HOST_IDENTITY || protocol == CHAIN_SHIM6);
}

ALWAYS_INLINE u32 chain_may_be_tcp(u32 version, u32 protocol)
{
	return protocol == IP_TCP || chain_is_extension(version, protocol);
}

ALWAYS_INLINE void chain_note_part(struct chain *chain, u32 has_more, u32 offset, u32 id)
{
	if (!has_more && !offset)
		return;
	chain->part = offset ? CHAIN_LATER : CHAIN_FIRST;
	chain->fragment = chain->next;
	chain->id = id;
}

/* The fragment header of IPv6, RFC 8200 section 4.5. */
ALWAYS_INLINE long chain_step_fragment(struct chain *chain)
{
	u8 head[CHAIN_FRAGMENT_BYTES] = {};
	u32 word;

	chain->next = CHAIN_NOTHING;
	if (packet_load(chain->skb, chain->at, head, sizeof(head)))
		return 1;
	chain->next = head[0];
	chain->at += CHAIN_FRAGMENT_BYTES;
	word = (u32)head[2] << 8 | head[3];
	chain_note_part(chain, word & CHAIN_IPV6_MORE, word & CHAIN_IPV6_OFFSET,
	                (u32)head[4] << 24 | (u32)head[5] << 16 | (u32)head[6] << 8 | head[7]);
	return chain->part == CHAIN_LATER;
}

static long chain_step(u32 step, struct chain *chain)
{
	u32 protocol = chain->next;
	u8 head[2] = {};

	(void)step;
	if (!chain_is_extension(chain->version, protocol))
		return 1;
	if (protocol == CHAIN_FRAGMENT)
		return chain_step_fragment(chain);
	chain->next = CHAIN_NOTHING;
	if (packet_load(chain->skb, chain->at, head, sizeof(head)))
		return 1;
	chain->next = head[0];
	/* AH counts in words of four bytes and leaves out two of them, the others in eight and leave out one. */
	chain->at += protocol == CHAIN_AUTHENTICATION ? (head[1] + 2u) * 4 : (head[1] + 1u) * 8;
	return 0;
}

/* Reads the IP header; 0: it is none. */
ALWAYS_INLINE u32 chain_begin(struct __sk_buff *skb, const struct packet *packet, struct chain *chain)
{
	u8 head[10] = {};
	u32 word;

	if (packet_load(skb, packet->ip_at, head, sizeof(head)))
		return 0;
	chain->skb = skb;
	chain->version = packet->version;
	word = (u32)head[6] << 8 | head[7];
	if (packet->version == 4) {
		chain->at = packet->ip_at + (head[0] & 15) * 4;
		chain->next = head[9];
		chain->end = packet->ip_at + ((u32)head[2] << 8 | head[3]);
		chain_note_part(chain, word & CHAIN_IPV4_MORE, word & CHAIN_IPV4_OFFSET, packet->ip_id);
	} else {
		chain->at = packet->ip_at + PACKET_IPV6_BYTES;
		chain->next = head[6];
		chain->end = chain->at + ((u32)head[4] << 8 | head[5]);
	}
	/* The length of a super-packet that the device will cut stands in no header. */
	if (skb->gso_segs > 1)
		chain->end = skb->len;
	return 1;
}

/* Goes to the end of the chain, or to where a later fragment begins to hold what is no header. */
ALWAYS_INLINE void chain_follow(struct chain *chain)
{
	if (chain->part != CHAIN_LATER && chain->next != IP_TCP)
		bpf_loop(CHAIN_HEADERS_MAX, chain_step, chain, 0);
}

struct options {
	struct __sk_buff *skb;
	u32 at;
	u32 end;      /* of the header */
	u32 seen_end; /* of what of it is in the packet */
	u32 is_found;
};

/* One option of TCP, RFC 9293 section 3.2. */
static long options_step(u32 step, struct options *options)
{
	u8 head[OPTION_HEAD_BYTES] = {};

	(void)step;
	/* Shorter than that is none of ours. */
	if (options->at + OPTION_HEAD_BYTES > options->seen_end)
		return 1;
	if (packet_load(options->skb, options->at, head, sizeof(head)) || head[0] == 0)
		return 1;
	if (head[0] == 1) {
		options->at++;
		return 0;
	}
	if (head[1] < 2 || options->at + head[1] > options->end)
		return 1;
	if (head[0] == OPTION_KIND && head[1] >= 2 * OPTION_HEAD_BYTES &&
	    (option_get_u16(head + 2) & OPTION_ID_MASK) == OPTION_ID) {
		options->is_found = 1;
		return 1;
	}
	options->at += head[1];
	return 0;
}

/* Whether one of ours is anywhere in a TCP header of which the part before `seen_end` is in the packet. */
ALWAYS_INLINE u32 options_ours(struct __sk_buff *skb, u32 tcp_at, u32 end, u32 seen_end)
{
	struct options options = {
		.skb = skb, .at = tcp_at + PACKET_TCP_BYTES, .end = end, .seen_end = seen_end, .is_found = 0};

	if (options.at + OPTION_HEAD_BYTES <= seen_end)
		bpf_loop(OPTION_BYTES_MAX, options_step, &options, 0);
	return options.is_found;
}

#endif /* FADELAB_CHAIN_H */
