/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How feedback stands in a packet: the interface of laws/wire/NAME.h, each for the wire that it names; `plain` serves
 * all that have none. Like laws codecs call nothing and keep to plain C, so that the kernel's programs, packet logs and
 * the simulator share them.
 *
 * A codec writes one option of the TCP header. It has room for both directions, because with traffic both ways one
 * segment is data and ACK. It begins with kind, length and identifier (laws/part/option.h), stands at the end of the
 * header and is a multiple of 4 long. Feedback has LAW_FEEDBACK_BYTES_MAX bytes.
 */
#ifndef FADELAB_CODEC_H
#define FADELAB_CODEC_H

#include "law.h"

/* What packets of a flow have to carry. */
struct law_format {
	u32 size;
	u32 wire;       /* enum law_wire */
	u32 data_bytes; /* feedback on data packets, as the law sees it; 0: none */
	u32 echo_bytes; /* feedback on ACKs; 0: none */
};

/* What is found in an option, of the direction that is asked for. */
enum law_codec_found {
	LAW_CODEC_PRESENT = 1u << 0,   /* feedback */
	LAW_CODEC_CONFIRMED = 1u << 1, /* the word that a router of this format saw the data: see law_feedback */
};

struct law_codec {
	u32 abi;
	u32 size;
	const char *name;
	const char *summary;
	u32 wire; /* enum law_wire; LAW_WIRE_NONE: all that have no codec of their own */
	u32 (*option_bytes)(const struct law_format *format);
	/* An option without any feedback. */
	void (*begin)(u8 *option, const struct law_format *format);
	/* Feedback on data packets, which no router has seen; NULL where they carry none. */
	void (*put_data)(u8 *option, const struct law_format *format, const u8 *feedback);
	/* Returns enum law_codec_found. Any bytes, forged ones too, give feedback that a law may be shown. */
	u32 (*get_data)(const u8 *option, const struct law_format *format, u8 *feedback);
	/* A router's word that it saw the data. It stays when the feedback is written again by put_share. */
	void (*confirm)(u8 *option, const struct law_format *format);
	/* Feedback on ACKs; `confirmed` as in law_feedback. */
	void (*put_echo)(u8 *option, const struct law_format *format, const u8 *feedback, u32 confirmed);
	/* Returns enum law_codec_found. */
	u32 (*get_echo)(const u8 *option, const struct law_format *format, u8 *feedback);
	/* Turns the feedback of one segment into that of `segments` equal ones that offload joined, as a router is shown
	 * it; at least 1. NULL: it stays as it is. */
	void (*join)(u8 *feedback, u32 segments);
	/* Writes what a router made of such feedback, split among the segments; there is one where there is put_data. */
	void (*put_share)(u8 *option, const struct law_format *format, const u8 *feedback, u32 segments);
};

#endif /* FADELAB_CODEC_H */
