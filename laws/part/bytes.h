/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 32-bit fields of feedback in network byte order, so that what a law wrote reads the same on every machine.
 */
#ifndef FADELAB_PART_BYTES_H
#define FADELAB_PART_BYTES_H

#include "law.h"

/* The order of bytes is turned by one instruction; where memory has the network's order, by none. */
LAW u32 bytes_turned(u32 value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(value);
#else
	return value;
#endif
}

LAW u32 bytes_get_u32(const u8 *bytes)
{
	u32 value;

	__builtin_memcpy(&value, bytes, sizeof(value));
	return bytes_turned(value);
}

LAW void bytes_put_u32(u8 *bytes, u32 value)
{
	u32 turned = bytes_turned(value);

	__builtin_memcpy(bytes, &turned, sizeof(turned));
}

/* Two's complement, widened. */
LAW s64 bytes_get_s32(const u8 *bytes)
{
	return (s64)(s32)bytes_get_u32(bytes);
}

LAW void bytes_put_s32(u8 *bytes, s64 value)
{
	bytes_put_u32(bytes, (u32)(u64)value);
}

#endif /* FADELAB_PART_BYTES_H */
