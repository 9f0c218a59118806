/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.1; draft-falk-xcp-spec-03, whose header of 20 bytes between
 * IP and TCP says the same.
 *
 * In one paragraph: XCP's header as a TCP option of 12 bytes: three fields that routers read and lower, and the sum
 * that the receiver returns. Each is a float of 16 bits, because the fields of 32 bits would leave no room beside
 * timestamps and SACK blocks. Every segment has all four; a field that says nothing has a code of its own.
 *
 * Layout, behind kind, length and identifier:
 *   byte 4   a bit  whether a router of XCP saw the data
 *            RTT    as it stands in the law's field, in 15 bits; absent: 0x7fff
 *   byte 6   X      the same, unsigned; absent: 0xffff
 *   byte 8   delta  the same, signed; absent: 0x7fff
 *   byte 10  echo   the reverse feedback, signed; absent: 0x7fff; minus nothing, 0x8000: no router saw the data
 *
 * Segments that offload joined have one header, which the device copies to each of them. A router is shown the X and
 * the delta of all, since its shares are linear in both, and what it made of the delta is divided among them, rounded
 * down: each segment gets what it would have got by itself.
 */
#ifndef FADELAB_WIRE_XCP_H
#define FADELAB_WIRE_XCP_H

#include "codec.h"
#include "fixed.h"
#include "part/bytes.h"
#include "part/float16.h"
#include "part/option.h"

#define XCP_OPTION_BYTES 12u
#define XCP_OPTION_AT_RTT 4
#define XCP_OPTION_AT_X 6
#define XCP_OPTION_AT_DELTA 8
#define XCP_OPTION_AT_ECHO 10
#define XCP_OPTION_ABSENT_UNSIGNED 0xffffu
#define XCP_OPTION_ABSENT_SIGNED 0x7fffu
/* The bit beside RTT, and the echo of data without it. */
#define XCP_OPTION_CONFIRMED 0x8000u
#define XCP_OPTION_UNCONFIRMED 0x8000u

/* Places of X and delta among the law's own fields, each of 32 bits. */
#define XCP_FEEDBACK_AT_X 4
#define XCP_FEEDBACK_AT_DELTA 8

LAW u32 xcp_option_bytes(const struct law_format *format)
{
	(void)format;
	return XCP_OPTION_BYTES;
}

LAW void xcp_option_begin(u8 *option, const struct law_format *format)
{
	(void)format;
	option_begin(option, LAW_WIRE_XCP, XCP_OPTION_BYTES);
	option_put_u16(option + XCP_OPTION_AT_RTT, XCP_OPTION_ABSENT_SIGNED);
	option_put_u16(option + XCP_OPTION_AT_X, XCP_OPTION_ABSENT_UNSIGNED);
	option_put_u16(option + XCP_OPTION_AT_DELTA, XCP_OPTION_ABSENT_SIGNED);
	option_put_u16(option + XCP_OPTION_AT_ECHO, XCP_OPTION_ABSENT_SIGNED);
}

LAW void xcp_option_put_data(u8 *option, const struct law_format *format, const u8 *feedback)
{
	u32 rtt = bytes_get_u32(feedback), x = bytes_get_u32(feedback + XCP_FEEDBACK_AT_X);
	s64 delta = bytes_get_s32(feedback + XCP_FEEDBACK_AT_DELTA);

	(void)format;
	option_put_u16(option + XCP_OPTION_AT_RTT, float15_encode(rtt));
	option_put_u16(option + XCP_OPTION_AT_X, float16_unsigned_encode(x));
	option_put_u16(option + XCP_OPTION_AT_DELTA, float16_signed_encode(delta));
}

LAW u32 xcp_option_get_data(const u8 *option, const struct law_format *format, u8 *feedback)
{
	u32 rtt = option_get_u16(option + XCP_OPTION_AT_RTT), x = option_get_u16(option + XCP_OPTION_AT_X);
	u32 delta = option_get_u16(option + XCP_OPTION_AT_DELTA);

	(void)format;
	bytes_put_u32(feedback, float15_decode(rtt));
	bytes_put_u32(feedback + XCP_FEEDBACK_AT_X, float16_unsigned_decode(x));
	bytes_put_s32(feedback + XCP_FEEDBACK_AT_DELTA, float16_signed_decode(delta));
	if ((rtt & ~XCP_OPTION_CONFIRMED) == XCP_OPTION_ABSENT_SIGNED || x == XCP_OPTION_ABSENT_UNSIGNED ||
	    delta == XCP_OPTION_ABSENT_SIGNED)
		return 0;
	return rtt & XCP_OPTION_CONFIRMED ? LAW_CODEC_PRESENT | LAW_CODEC_CONFIRMED : LAW_CODEC_PRESENT;
}

LAW void xcp_option_confirm(u8 *option, const struct law_format *format)
{
	(void)format;
	option_put_u16(option + XCP_OPTION_AT_RTT, option_get_u16(option + XCP_OPTION_AT_RTT) | XCP_OPTION_CONFIRMED);
}

LAW void xcp_option_put_echo(u8 *option, const struct law_format *format, const u8 *feedback, u32 confirmed)
{
	u32 echo = confirmed ? float16_signed_encode(bytes_get_s32(feedback)) : XCP_OPTION_UNCONFIRMED;

	(void)format;
	option_put_u16(option + XCP_OPTION_AT_ECHO, echo);
}

LAW u32 xcp_option_get_echo(const u8 *option, const struct law_format *format, u8 *feedback)
{
	u32 echo = option_get_u16(option + XCP_OPTION_AT_ECHO);

	(void)format;
	bytes_put_s32(feedback, float16_signed_decode(echo));
	if (echo == XCP_OPTION_ABSENT_SIGNED)
		return 0;
	return echo == XCP_OPTION_UNCONFIRMED ? LAW_CODEC_PRESENT : LAW_CODEC_PRESENT | LAW_CODEC_CONFIRMED;
}

LAW void xcp_option_join(u8 *feedback, u32 segments)
{
	u64 x = (u64)bytes_get_u32(feedback + XCP_FEEDBACK_AT_X) * segments;
	s64 delta = bytes_get_s32(feedback + XCP_FEEDBACK_AT_DELTA);

	bytes_put_u32(feedback + XCP_FEEDBACK_AT_X, (u32)fixed_min(x, 0xffffffff));
	delta = fixed_with_sign(fixed_min(fixed_abs(delta) * segments, 0x7fffffff), delta);
	bytes_put_s32(feedback + XCP_FEEDBACK_AT_DELTA, delta);
}

/* Routers change nothing but the delta: the codes of the others stay, those that were forged too. */
LAW void xcp_option_put_share(u8 *option, const struct law_format *format, const u8 *feedback, u32 segments)
{
	s64 delta = bytes_get_s32(feedback + XCP_FEEDBACK_AT_DELTA);
	u64 magnitude = fixed_abs(delta) + (delta < 0 ? segments - 1 : 0);

	(void)format;
	delta = fixed_with_sign(fixed_div(magnitude, segments), delta);
	option_put_u16(option + XCP_OPTION_AT_DELTA, float16_signed_encode(delta));
}

LAW_TABLE struct law_codec xcp_wire = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_codec),
	.name = "xcp",
	.summary = "XCP's header: four floats of 16 bits in an option of 12 bytes",
	.wire = LAW_WIRE_XCP,
	.option_bytes = xcp_option_bytes,
	.begin = xcp_option_begin,
	.put_data = xcp_option_put_data,
	.get_data = xcp_option_get_data,
	.confirm = xcp_option_confirm,
	.put_echo = xcp_option_put_echo,
	.get_echo = xcp_option_get_echo,
	.join = xcp_option_join,
	.put_share = xcp_option_put_share,
};

#endif /* FADELAB_WIRE_XCP_H */
