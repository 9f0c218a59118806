/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xia, Subramanian, Stoica, Kalyanaraman, "One more bit is enough", SIGCOMM 2005, section 4.1: the load code
 * travels in the two ECN bits, and the receiver returns it; the paper leaves open where on an ACK it stands.
 *
 * In one paragraph: The code forward is the ECN field of the IP header, which routers write. The receiver's echo is a
 * byte of a TCP option of 8 bytes, because the two bits of an ACK's own IP header belong to the way back. Data have the
 * same option with nothing in it: by it routers, and the edge of the network, know whose codes these are.
 *
 * Layout, behind kind, length and identifier:
 *   byte 4   flags: 2 where an echo is present, 4 where a router of VCP saw the data, 8 where one saw what is echoed
 *   byte 5   echo: the ECN field as it arrived
 *   byte 6   zeros
 *
 * Segments that offload joined have one IP header, whose code the device copies to each: there is nothing to sum.
 */
#ifndef FADELAB_WIRE_VCP_H
#define FADELAB_WIRE_VCP_H

#include "codec.h"
#include "part/option.h"

#define VCP_OPTION_BYTES 8u
#define VCP_OPTION_AT_FLAGS 4
#define VCP_OPTION_AT_ECHO 5
#define VCP_OPTION_ECHO 2u
#define VCP_OPTION_CONFIRMED 4u
#define VCP_OPTION_ECHO_CONFIRMED 8u

LAW u32 vcp_option_bytes(const struct law_format *format)
{
	(void)format;
	return VCP_OPTION_BYTES;
}

LAW void vcp_option_begin(u8 *option, const struct law_format *format)
{
	(void)format;
	option_begin(option, LAW_WIRE_VCP, VCP_OPTION_BYTES);
}

/* The code itself is the ECN field. */
LAW u32 vcp_option_get_data(const u8 *option, const struct law_format *format, u8 *feedback)
{
	(void)format;
	(void)feedback;
	return option[VCP_OPTION_AT_FLAGS] & VCP_OPTION_CONFIRMED ? LAW_CODEC_CONFIRMED : 0;
}

LAW void vcp_option_confirm(u8 *option, const struct law_format *format)
{
	(void)format;
	option[VCP_OPTION_AT_FLAGS] |= VCP_OPTION_CONFIRMED;
}

LAW void vcp_option_put_echo(u8 *option, const struct law_format *format, const u8 *feedback, u32 confirmed)
{
	(void)format;
	option[VCP_OPTION_AT_FLAGS] |= confirmed ? VCP_OPTION_ECHO | VCP_OPTION_ECHO_CONFIRMED : VCP_OPTION_ECHO;
	option[VCP_OPTION_AT_ECHO] = feedback[0];
}

LAW u32 vcp_option_get_echo(const u8 *option, const struct law_format *format, u8 *feedback)
{
	u32 flags = option[VCP_OPTION_AT_FLAGS];

	(void)format;
	feedback[0] = option[VCP_OPTION_AT_ECHO] & 3;
	if (!(flags & VCP_OPTION_ECHO))
		return 0;
	return flags & VCP_OPTION_ECHO_CONFIRMED ? LAW_CODEC_PRESENT | LAW_CODEC_CONFIRMED : LAW_CODEC_PRESENT;
}

LAW_TABLE struct law_codec vcp_wire = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_codec),
	.name = "vcp",
	.summary = "VCP's code: two ECN bits forward, and its echo in an option of 8 bytes",
	.wire = LAW_WIRE_VCP,
	.option_bytes = vcp_option_bytes,
	.begin = vcp_option_begin,
	.get_data = vcp_option_get_data,
	.confirm = vcp_option_confirm,
	.put_echo = vcp_option_put_echo,
	.get_echo = vcp_option_get_echo,
};

#endif /* FADELAB_WIRE_VCP_H */
