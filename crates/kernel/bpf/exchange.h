/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Both ends of DPCP's order of numbers (numbers.h), at the devices that the operator named.
 */
#ifndef FADELAB_EXCHANGE_H
#define FADELAB_EXCHANGE_H

#if EXCHANGES_NUMBERS

#include "flow.h"
#include "numbers.h"

/* Of a flow (flow.h): whether the other end puts numbers back, and the role of the packet to come. */
enum exchange {
	EXCHANGE_ROLE = 1 << 0,
	EXCHANGE_ALLOWED = 1 << 1,
};

/* What a packet of the other end says of its host. */
ALWAYS_INLINE void exchange_heard(struct flow *f, const u8 *option)
{
	u32 allowed = option[PAIR_OPTION_AT_FLAGS] & PAIR_OPTION_RESTORES ? EXCHANGE_ALLOWED : 0;

	f->exchange = (f->exchange & EXCHANGE_ROLE) | allowed;
}

/* The order of what leaves: by turns. A super-packet has one header for all of its segments, and keeps its order. */
ALWAYS_INLINE u32 exchange_turn(struct __sk_buff *skb, const struct packet *packet, struct flow *f)
{
	struct numbers numbers = {};
	u32 role;

	if (!f || !packet->has_data || skb->gso_segs > 1 || !(f->exchange & EXCHANGE_ALLOWED))
		return 0;
	if (packet_load(skb, packet->tcp_at + NUMBERS_AT, &numbers, sizeof(numbers)))
		return 0;
	role = f->exchange & EXCHANGE_ROLE;
	f->exchange ^= EXCHANGE_ROLE;
	if (numbers_role(&numbers) == role)
		return 0;
	numbers_exchange(skb, packet, &numbers);
	return PAIR_OPTION_EXCHANGED;
}

/* A packet leaves: of a flow, or an answer to one. */
ALWAYS_INLINE void exchange(struct __sk_buff *skb, const struct packet *packet, struct flow *f)
{
	u32 option_at = packet->tcp_at ? packet_option(skb, packet, WIRE, OPTION_BYTES) : 0;

	if (option_at)
		numbers_say(skb, packet, option_at, 0, PAIR_OPTION_RESTORES | exchange_turn(skb, packet, f));
}

/*
 * A packet arrives: TCP sees its numbers where they were. That they had been exchanged stays in the option, otherwise
 * than before, since several laws may stand at a device.
 */
ALWAYS_INLINE int restore(struct __sk_buff *skb, u32 at)
{
	struct numbers numbers = {};
	struct packet packet;
	u32 option_at;

	packet_parse(skb, at, &packet);
	option_at = packet.tcp_at ? packet_option(skb, &packet, WIRE, OPTION_BYTES) : 0;
	if (!option_at || !(numbers_flags(skb, option_at) & PAIR_OPTION_EXCHANGED))
		return TC_ACT_UNSPEC;
	if (packet_load(skb, packet.tcp_at + NUMBERS_AT, &numbers, sizeof(numbers)))
		return TC_ACT_UNSPEC;
	numbers_exchange(skb, &packet, &numbers);
	numbers_say(skb, &packet, option_at, PAIR_OPTION_EXCHANGED, PAIR_OPTION_RESTORED);
	return TC_ACT_UNSPEC;
}

/* The role with which data came whose numbers were put back; the header begins at `tcp_at`. */
ALWAYS_INLINE u32 exchange_role(struct __sk_buff *skb, u32 tcp_at, u32 tcp_end, u32 seq, u32 ack)
{
	struct packet packet = {.tcp_at = tcp_at, .tcp_end = tcp_end};
	struct numbers numbers = {.seq = seq, .ack = ack};
	u32 option_at = packet_option(skb, &packet, WIRE, OPTION_BYTES), role = numbers_role(&numbers);

	return option_at && numbers_flags(skb, option_at) & PAIR_OPTION_RESTORED ? !role : role;
}

SEC("tc") int restore_ether(struct __sk_buff *skb)
{
	return restore(skb, ETHER_BYTES);
}

SEC("tc") int restore_ip(struct __sk_buff *skb)
{
	return restore(skb, 0);
}

#endif

#endif /* FADELAB_EXCHANGE_H */
