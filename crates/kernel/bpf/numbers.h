/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * DPCP's order of two numbers in the TCP header (dcp-ew-2010 section II): data whose sequence number is above their
 * acknowledgement number carry the most significant half of a load, others the least.
 *
 * Hosts take turns. Where the order is the other one, the sender's host exchanges the two numbers as a packet leaves
 * and says so in the law's option, and the receiver's host puts them back before TCP sees them. Both stand in words of
 * their own, so that no checksum changes with their places. A host exchanges nothing until packets of the other one
 * said that numbers are put back there: TCP would take exchanged ones for damage.
 */
#ifndef FADELAB_NUMBERS_H
#define FADELAB_NUMBERS_H

#include "host.h"
#include "host/packet.h"
#include "part/pair_option.h"

/* Behind the ports. */
#define NUMBERS_AT 4u

/* As they stand in the header. */
struct numbers {
	u32 seq;
	u32 ack;
};

ALWAYS_INLINE u32 numbers_role(const struct numbers *numbers)
{
	return host_be32(numbers->seq) <= host_be32(numbers->ack);
}

ALWAYS_INLINE void numbers_exchange(struct __sk_buff *skb, const struct packet *packet, const struct numbers *numbers)
{
	struct numbers exchanged = {.seq = numbers->ack, .ack = numbers->seq};

	bpf_skb_store_bytes(skb, packet->tcp_at + NUMBERS_AT, &exchanged, sizeof(exchanged), 0);
}

/* The flags of the option at an offset. */
ALWAYS_INLINE u32 numbers_flags(struct __sk_buff *skb, u32 option_at)
{
	u8 flags = 0;

	return packet_load(skb, option_at + PAIR_OPTION_AT_FLAGS, &flags, sizeof(flags)) ? 0 : flags;
}

/* Clears and sets flags of an option, and with them the checksum of TCP. */
ALWAYS_INLINE void numbers_say(struct __sk_buff *skb, const struct packet *packet, u32 option_at, u32 clear, u32 flags)
{
	u8 word[4] = {};
	u32 before, after;

	if (packet_load(skb, option_at + PAIR_OPTION_AT_FLAGS, word, sizeof(word)))
		return;
	__builtin_memcpy(&before, word, sizeof(before));
	word[0] = (u8)((word[0] & ~clear) | flags);
	__builtin_memcpy(&after, word, sizeof(after));
	if (before == after)
		return;
	/* The option stands at a multiple of four bytes, as TCP's header does (RFC 1624, equation 3). */
	bpf_l4_csum_replace(skb, packet->tcp_at + 16, before, after, sizeof(after));
	bpf_skb_store_bytes(skb, option_at + PAIR_OPTION_AT_FLAGS, word, sizeof(word), 0);
}

#endif /* FADELAB_NUMBERS_H */
