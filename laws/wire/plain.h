/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: RFC 6994 for the option; what it says is common practice, a law's bytes as they are.
 *
 * In one paragraph: The format of every law that has no file here: its feedback, byte by byte, in an option that is as
 * long as the law needs. Laws under trial have it, and RCP and the pair codes until they have one of their own.
 *
 * Layout, behind kind, length and identifier:
 *   byte 4   flags: 1 where feedback of data is present, 2 where an echo is, 4 where a router saw the data, 8 where one
 *            saw what is echoed
 *   byte 5   zero
 *   byte 6   what the receiver echoes, then what the data carry, then zeros up to a multiple of 4
 *
 * Nothing is known of what the bytes mean, so routers are shown those of one segment whatever offload joined.
 */
#ifndef FADELAB_WIRE_PLAIN_H
#define FADELAB_WIRE_PLAIN_H

#include "codec.h"
#include "part/option.h"

#define PLAIN_OPTION_AT_FLAGS 4
#define PLAIN_OPTION_AT_BYTES 6
#define PLAIN_OPTION_DATA 1u
#define PLAIN_OPTION_ECHO 2u
#define PLAIN_OPTION_CONFIRMED 4u
#define PLAIN_OPTION_ECHO_CONFIRMED 8u

LAW u32 plain_option_bytes(const struct law_format *format)
{
	return (PLAIN_OPTION_AT_BYTES + format->echo_bytes + format->data_bytes + 3) & ~3u;
}

LAW void plain_option_begin(u8 *option, const struct law_format *format)
{
	option_begin(option, format->wire, plain_option_bytes(format));
}

LAW void plain_option_put_data(u8 *option, const struct law_format *format, const u8 *feedback)
{
	option[PLAIN_OPTION_AT_FLAGS] |= PLAIN_OPTION_DATA;
	__builtin_memcpy(option + PLAIN_OPTION_AT_BYTES + format->echo_bytes, feedback, format->data_bytes);
}

/* Of one direction, by its two flags. */
LAW u32 plain_option_found(const u8 *option, u32 present, u32 confirmed)
{
	u32 flags = option[PLAIN_OPTION_AT_FLAGS];

	return (flags & present ? LAW_CODEC_PRESENT : 0) | (flags & confirmed ? LAW_CODEC_CONFIRMED : 0);
}

LAW u32 plain_option_get_data(const u8 *option, const struct law_format *format, u8 *feedback)
{
	__builtin_memcpy(feedback, option + PLAIN_OPTION_AT_BYTES + format->echo_bytes, format->data_bytes);
	return plain_option_found(option, PLAIN_OPTION_DATA, PLAIN_OPTION_CONFIRMED);
}

LAW void plain_option_confirm(u8 *option, const struct law_format *format)
{
	(void)format;
	option[PLAIN_OPTION_AT_FLAGS] |= PLAIN_OPTION_CONFIRMED;
}

LAW void plain_option_put_echo(u8 *option, const struct law_format *format, const u8 *feedback, u32 confirmed)
{
	option[PLAIN_OPTION_AT_FLAGS] |= confirmed ? PLAIN_OPTION_ECHO | PLAIN_OPTION_ECHO_CONFIRMED : PLAIN_OPTION_ECHO;
	__builtin_memcpy(option + PLAIN_OPTION_AT_BYTES, feedback, format->echo_bytes);
}

LAW u32 plain_option_get_echo(const u8 *option, const struct law_format *format, u8 *feedback)
{
	__builtin_memcpy(feedback, option + PLAIN_OPTION_AT_BYTES, format->echo_bytes);
	return plain_option_found(option, PLAIN_OPTION_ECHO, PLAIN_OPTION_ECHO_CONFIRMED);
}

LAW void plain_option_put_share(u8 *option, const struct law_format *format, const u8 *feedback, u32 segments)
{
	(void)segments;
	plain_option_put_data(option, format, feedback);
}

LAW_TABLE struct law_codec plain_wire = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_codec),
	.name = "plain",
	.summary = "The bytes of any law that has no format of its own",
	.wire = LAW_WIRE_NONE,
	.option_bytes = plain_option_bytes,
	.begin = plain_option_begin,
	.put_data = plain_option_put_data,
	.get_data = plain_option_get_data,
	.confirm = plain_option_confirm,
	.put_echo = plain_option_put_echo,
	.get_echo = plain_option_get_echo,
	.put_share = plain_option_put_share,
};

#endif /* FADELAB_WIRE_PLAIN_H */
