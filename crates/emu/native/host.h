/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What laws/host/packet.h needs of where packets are: here they lie in one piece in memory, as a TUN device gives them,
 * with the IP header in front.
 */
#ifndef FADELAB_EMU_HOST_H
#define FADELAB_EMU_HOST_H

#include "law.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define host_be16(x) __builtin_bswap16(x)
#else
#define host_be16(x) (x)
#endif

#define ETHER_BYTES 14
#define ETHER_IPV4 0x0800
#define ETHER_IPV6 0x86dd
#define IP_TCP 6

/* By the names that they have in the kernel. */
struct __sk_buff {
	u32 len;
	u32 gso_segs;
	u16 protocol; /* big endian */
	unsigned long data;
	unsigned long data_end;
};

ALWAYS_INLINE u32 host_has(const struct __sk_buff *skb, u32 at, u32 bytes)
{
	return at <= skb->len && bytes <= skb->len - at;
}

ALWAYS_INLINE long bpf_skb_load_bytes(const struct __sk_buff *skb, u32 at, void *to, u32 bytes)
{
	if (!host_has(skb, at, bytes))
		return -1;
	__builtin_memcpy(to, (const u8 *)skb->data + at, bytes);
	return 0;
}

ALWAYS_INLINE long bpf_skb_store_bytes(struct __sk_buff *skb, u32 at, const void *from, u32 bytes, u64 flags)
{
	(void)flags;
	if (!host_has(skb, at, bytes))
		return -1;
	__builtin_memcpy((u8 *)skb->data + at, from, bytes);
	return 0;
}

#endif /* FADELAB_EMU_HOST_H */
