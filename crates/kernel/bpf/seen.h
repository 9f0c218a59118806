/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A packet as a law at a device is shown it, and how what the law changed gets into the packet. The unit has included
 * the codec of its law's wire (WIRE_HEADER) and says what packets of the wire carry (DATA_BYTES, ECHO_BYTES).
 */
#ifndef FADELAB_SEEN_H
#define FADELAB_SEEN_H

#include "host.h"
#include "host/packet.h"
#include "numbers.h"
#include "part/option.h"

#define CODEC WIRE_TABLE_NAME

static const struct law_format format = {
	.size = sizeof(format),
	.wire = WIRE,
	.data_bytes = DATA_BYTES,
	.echo_bytes = ECHO_BYTES,
};

#define OPTION_WORDS (OPTION_BYTES_MAX / 4)

/* A packet as the law is shown it, and the option as it stands in the packet. */
struct seen {
	struct packet packet;
	struct law_packet law;
	u32 segments;  /* packets that the device makes of it */
	u32 option_at; /* 0: the packet is not of the law's wire */
	u32 full;      /* 1: the queue has no room for it */
	u32 option[OPTION_WORDS];
};

/* A super-packet has one header, which the device copies to each of its segments. The law is shown their sum. */
ALWAYS_INLINE void seen_feedback(struct seen *seen)
{
	u8 *feedback = seen->law.feedback;
	u32 found = CODEC.get_data ? CODEC.get_data((const u8 *)seen->option, &format, feedback) : 0;

	seen->law.confirmed = !!(found & LAW_CODEC_CONFIRMED);
	if (!DATA_BYTES || !(found & LAW_CODEC_PRESENT))
		return;
	seen->law.feedback_len = DATA_BYTES;
	if (CODEC.join && seen->segments > 1)
		CODEC.join(feedback, seen->segments);
}

/*
 * The device gives the segments that it cuts IDs that count up. Only a packet that must not be fragmented may have been
 * joined from segments with one ID for all, and is cut into such then: of its first segment alone the role is certain.
 */
ALWAYS_INLINE void seen_roles(struct seen *seen)
{
	seen->law.segments = seen->segments;
	seen->law.roles = law_roles(seen->law.role, seen->segments);
	if (seen->packet.has_id)
		seen->law.roles_known = seen->packet.may_fragment ? fixed_min(seen->segments, LAW_ROLES_MAX) : 1;
}

/* Of DPCP the role is the order of two numbers in the TCP header, which segments of one packet have in common. */
ALWAYS_INLINE void seen_order(struct __sk_buff *skb, struct seen *seen)
{
	struct numbers numbers = {};

	seen->law.roles_known = !packet_load(skb, seen->packet.tcp_at + NUMBERS_AT, &numbers, sizeof(numbers));
	seen->law.role = (u8)numbers_role(&numbers);
	seen->law.roles = law_roles(seen->law.role, seen->segments);
}

/*
 * Looks at a packet whose IP header stands `link_bytes` behind its beginning, and which costs `air_bytes` beside its IP
 * bytes; needs no lock.
 */
ALWAYS_INLINE void seen_take(struct __sk_buff *skb, u32 link_bytes, u32 air_bytes, struct seen *seen)
{
	u32 segments = skb->gso_segs > 1 ? skb->gso_segs : 1;
	u32 bytes = skb->wire_len > skb->len ? skb->wire_len : skb->len, option_at;

	packet_parse(skb, link_bytes, &seen->packet);
	seen->segments = segments;
	seen->law.size = sizeof(seen->law);
	seen->law.ip_bytes = bytes - link_bytes * segments;
	seen->law.air_bytes = seen->law.ip_bytes + air_bytes * segments;
	seen->law.flags = seen->packet.has_data ? LAW_PACKET_DATA : 0;
	seen->law.ip_id = seen->packet.ip_id;
	seen->law.role = seen->packet.ip_id & 1;
	seen->law.ecn = seen->law.outer_ecn = seen->packet.ecn;
	seen_roles(seen);
	if (!WIRE)
		return;
	option_at = packet_option(skb, &seen->packet, WIRE, OPTION_BYTES);
	if (!option_at || packet_load(skb, option_at, seen->option, OPTION_BYTES))
		return;
	seen->option_at = option_at;
	seen->law.wire = WIRE;
	if (WIRE == LAW_WIRE_DPCP)
		seen_order(skb, seen);
	seen_feedback(seen);
}

/* What changed words add to the sum of the Internet checksum (RFC 1624), by which one call of the kernel moves it. */
ALWAYS_INLINE u32 words_difference(const u32 *before, const u32 *after, u32 words)
{
	u64 sum = 0;

	for (u32 word = 0; word < words; word++)
		sum += (u64)(u32)~before[word] + after[word];
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (u32)(sum + (sum >> 32));
}

/* Writes the feedback that the law changed and that it saw the packet, and with them the checksum of TCP. */
ALWAYS_INLINE void seen_write_option(struct __sk_buff *skb, struct seen *seen, u32 rewritten)
{
	u32 before[OPTION_WORDS];

	__builtin_memcpy(before, seen->option, OPTION_BYTES);
	if (rewritten && CODEC.put_share)
		CODEC.put_share((u8 *)seen->option, &format, seen->law.feedback, seen->segments);
	if (seen->law.confirmed)
		CODEC.confirm((u8 *)seen->option, &format);
	bpf_l4_csum_replace(skb, seen->packet.tcp_at + 16, 0, words_difference(before, seen->option, OPTION_BYTES / 4), 0);
	bpf_skb_store_bytes(skb, seen->option_at, seen->option, OPTION_BYTES, 0);
}

#endif /* FADELAB_SEEN_H */
