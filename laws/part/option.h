/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The TCP option in which all formats of laws/wire travel: one for experiments (RFC 6994: kind 254 and a 16-bit
 * identifier) that stands at the very end of the TCP header and whose length is a multiple of 4, so that hosts and
 * routers find it without walking through the other options.
 *
 *   byte 0   kind, 254
 *   byte 1   length of the option
 *   byte 2   identifier, big endian: 0xfad0 | enum law_wire
 *   byte 4   what the format says
 */
#ifndef FADELAB_PART_OPTION_H
#define FADELAB_PART_OPTION_H

#include "law.h"

#define OPTION_KIND 254u
#define OPTION_ID 0xfad0u
/* Of the identifier, what does not name the wire. */
#define OPTION_ID_MASK 0xfff0u
#define OPTION_HEAD_BYTES 4u
/* A TCP header has no room for more (RFC 9293 section 3.1). */
#define OPTION_BYTES_MAX 40u

LAW u32 option_get_u16(const u8 *bytes)
{
	return (u32)bytes[0] << 8 | bytes[1];
}

LAW void option_put_u16(u8 *bytes, u32 value)
{
	bytes[0] = (u8)(value >> 8 & 0xff);
	bytes[1] = (u8)(value & 0xff);
}

/* Kind, length and identifier, and zeros for the rest. */
LAW void option_begin(u8 *option, u32 wire, u32 bytes)
{
	__builtin_memset(option, 0, bytes);
	option[0] = OPTION_KIND;
	option[1] = (u8)(bytes & 0xff);
	option_put_u16(option + 2, OPTION_ID | wire);
}

/* Whether an option of this wire begins here that is so long. */
LAW u32 option_is(const u8 *option, u32 wire, u32 bytes)
{
	return option[0] == OPTION_KIND && option[1] == bytes && option_get_u16(option + 2) == (OPTION_ID | wire);
}

#endif /* FADELAB_PART_OPTION_H */
