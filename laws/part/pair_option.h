/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the halves of DPCP and DCP-EW travel: forward in the two ECN bits of data packets, back in an option of 8 bytes,
 * as long as VCP's. Data have the same option with nothing in it: by it routers know whose halves these are.
 *
 * Layout, behind kind, length and identifier:
 *   byte 4   flags: 2 where an echo is present, 4 where a router saw the data, 8 where one saw what is echoed; of DPCP
 *            in a kernel 16 where the numbers of this header are exchanged, 32 from a host that puts them back, 64
 *            where it did
 *   byte 5   echo: halves and what is known of them, as part/pair_echo.h has them
 *   byte 6   time between the arrivals of the two halves in ms, big endian
 */
#ifndef FADELAB_PART_PAIR_OPTION_H
#define FADELAB_PART_PAIR_OPTION_H

#include "codec.h"
#include "part/option.h"

#define PAIR_OPTION_BYTES 8u
#define PAIR_OPTION_AT_FLAGS 4
#define PAIR_OPTION_AT_ECHO 5
#define PAIR_OPTION_ECHO 2u
#define PAIR_OPTION_CONFIRMED 4u
#define PAIR_OPTION_ECHO_CONFIRMED 8u
#define PAIR_OPTION_EXCHANGED 16u
#define PAIR_OPTION_RESTORES 32u
#define PAIR_OPTION_RESTORED 64u

LAW u32 pair_option_bytes(const struct law_format *format)
{
	(void)format;
	return PAIR_OPTION_BYTES;
}

LAW void pair_option_begin(u8 *option, const struct law_format *format)
{
	option_begin(option, format->wire, PAIR_OPTION_BYTES);
}

/* The half itself is the ECN field. */
LAW u32 pair_option_get_data(const u8 *option, const struct law_format *format, u8 *feedback)
{
	(void)format;
	(void)feedback;
	return option[PAIR_OPTION_AT_FLAGS] & PAIR_OPTION_CONFIRMED ? LAW_CODEC_CONFIRMED : 0;
}

LAW void pair_option_confirm(u8 *option, const struct law_format *format)
{
	(void)format;
	option[PAIR_OPTION_AT_FLAGS] |= PAIR_OPTION_CONFIRMED;
}

LAW void pair_option_put_echo(u8 *option, const struct law_format *format, const u8 *feedback, u32 confirmed)
{
	(void)format;
	option[PAIR_OPTION_AT_FLAGS] |= confirmed ? PAIR_OPTION_ECHO | PAIR_OPTION_ECHO_CONFIRMED : PAIR_OPTION_ECHO;
	option[PAIR_OPTION_AT_ECHO] = feedback[0];
	option[PAIR_OPTION_AT_ECHO + 1] = feedback[1];
	option[PAIR_OPTION_AT_ECHO + 2] = feedback[2];
}

LAW u32 pair_option_get_echo(const u8 *option, const struct law_format *format, u8 *feedback)
{
	u32 flags = option[PAIR_OPTION_AT_FLAGS];

	(void)format;
	feedback[0] = option[PAIR_OPTION_AT_ECHO];
	feedback[1] = option[PAIR_OPTION_AT_ECHO + 1];
	feedback[2] = option[PAIR_OPTION_AT_ECHO + 2];
	if (!(flags & PAIR_OPTION_ECHO))
		return 0;
	return flags & PAIR_OPTION_ECHO_CONFIRMED ? LAW_CODEC_PRESENT | LAW_CODEC_CONFIRMED : LAW_CODEC_PRESENT;
}

#endif /* FADELAB_PART_PAIR_OPTION_H */
