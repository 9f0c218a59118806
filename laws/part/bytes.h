/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 32-bit fields of feedback in network byte order, so that what a law wrote reads the same on every machine.
 */
#ifndef FADELAB_PART_BYTES_H
#define FADELAB_PART_BYTES_H

#include "law.h"

LAW u32 bytes_get_u32(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}

LAW void bytes_put_u32(u8 *bytes, u32 value)
{
	bytes[0] = (u8)(value >> 24);
	bytes[1] = (u8)(value >> 16);
	bytes[2] = (u8)(value >> 8);
	bytes[3] = (u8)value;
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
