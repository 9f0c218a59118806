/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The codec of feedback on the wire: a TCP option for experiments (RFC 6994: kind 254 and a 16-bit identifier) that
 * stands at the very end of the TCP header and whose length is a multiple of 4, so that hosts and routers find it
 * without walking through the other options.
 *
 *   byte 0   kind, 254
 *   byte 1   length of the option
 *   byte 2   identifier, big endian: 0xfad0 | enum law_wire
 *
 *   XCP, 12 bytes: four floats of 16 bits, big endian
 *   byte 4   RTT    as it stands in the law's field, unsigned
 *   byte 6   X      the same
 *   byte 8   delta  the same, signed
 *   byte 10  echo   the reverse feedback, signed
 *
 *   all others
 *   byte 4   flags: OPTION_DATA, OPTION_ECHO
 *   byte 5   code: the ECN field as it is echoed
 *   byte 6   what the receiver echoes beside the code, then what the data carry, then zeros
 *
 * VCP has neither of the two and 8 bytes: its feedback forward is the ECN field and its echo the code.
 *
 * A float has an exponent of 5 bits and a mantissa of 11 (unsigned), or a sign, an exponent of 5 and a mantissa of 10.
 * Exponent 0 stands for the mantissa itself, exponent e for the mantissa with a leading 1, shifted left by e - 1. The
 * relative error of a rounded value is at most 2^-12 and 2^-11; that of small values is 0.
 */
#ifndef FADELAB_OPTION_H
#define FADELAB_OPTION_H

#include "fixed.h"
#include "law.h"
#include "part/bytes.h"

#define OPTION_KIND 254u
#define OPTION_ID 0xfad0u
/* Of the identifier, what does not name the wire. */
#define OPTION_ID_MASK 0xfff0u
#define OPTION_HEAD_BYTES 4u
/* A TCP header has no room for more (RFC 9293 section 3.1). */
#define OPTION_BYTES_MAX 40u

#define OPTION_AT_FLAGS 4
#define OPTION_AT_CODE 5
#define OPTION_AT_BYTES 6
#define OPTION_DATA 1u /* flag: feedback of data is present */
#define OPTION_ECHO 2u /* flag: an echo is present */

#define OPTION_XCP_BYTES 12u
#define OPTION_AT_XCP_RTT 4
#define OPTION_AT_XCP_X 6
#define OPTION_AT_XCP_DELTA 8
#define OPTION_AT_XCP_ECHO 10
#define OPTION_ABSENT_UNSIGNED 0xffffu
#define OPTION_ABSENT_SIGNED 0x7fffu

#define OPTION_MANTISSA_UNSIGNED 11u
#define OPTION_MANTISSA_SIGNED 10u

/* What the option of one law looks like. Hosts have one constant of it, which the compiler sees through. */
struct option_shape {
	u32 wire;       /* enum law_wire */
	u32 echo_bytes; /* what the receiver echoes beside the code; 0 for VCP and XCP */
	u32 data_bytes; /* what the data carry; 0 for VCP, 12 for XCP */
};

/* ----------------------------------------------------------------------------------------------------- floats */

/*
 * A magnitude below 2^41, rounded to the nearest float, halves away from zero. Below 2^(bits + 1) the code is the
 * value; above, the leading 1 of the rounded mantissa adds the 1 to the exponent, as does a carry out of it.
 */
LAW u32 option_float_encode(u64 value, u32 bits)
{
	u32 shift;

	if (!(value >> (bits + 1)))
		return (u32)value;
	shift = (63 - bits - fixed_leading_zeros(value)) & 31;
	return (shift << bits) + (u32)((value + (1ull << (shift - 1))) >> shift);
}

LAW u64 option_float_decode(u32 code, u32 bits)
{
	u32 exponent = (code >> bits) & 31;
	u64 mantissa = code & ((1u << bits) - 1);

	return exponent ? (mantissa | (1ull << bits)) << (exponent - 1) : mantissa;
}

LAW u32 option_unsigned_encode(u32 value)
{
	return option_float_encode(value, OPTION_MANTISSA_UNSIGNED);
}

/* At most what the law's field holds: a forged code stands for more. */
LAW u32 option_unsigned_decode(u32 code)
{
	return (u32)fixed_min(option_float_decode(code, OPTION_MANTISSA_UNSIGNED), 0xffffffff);
}

/* A field of 32 bits, two's complement, widened. */
LAW u32 option_signed_encode(s64 value)
{
	return option_float_encode(fixed_abs(value), OPTION_MANTISSA_SIGNED) | (value < 0 ? 0x8000u : 0);
}

LAW s64 option_signed_decode(u32 code)
{
	u64 magnitude = option_float_decode(code, OPTION_MANTISSA_SIGNED);

	if (code & 0x8000u)
		return -(s64)fixed_min(magnitude, 0x80000000);
	return (s64)fixed_min(magnitude, 0x7fffffff);
}

/* ----------------------------------------------------------------------------------------------------- fields */

LAW u32 option_get_u16(const u8 *bytes)
{
	return (u32)bytes[0] << 8 | bytes[1];
}

LAW void option_put_u16(u8 *bytes, u32 value)
{
	bytes[0] = (u8)(value >> 8);
	bytes[1] = (u8)value;
}

/* Length of the option, a multiple of 4. */
LAW u32 option_bytes(const struct option_shape *shape)
{
	if (shape->wire == LAW_WIRE_XCP)
		return OPTION_XCP_BYTES;
	return (OPTION_AT_BYTES + shape->echo_bytes + shape->data_bytes + 3) & ~3u;
}

/* An option without any feedback: kind, length, identifier, and nothing present. */
LAW void option_new(u8 *option, const struct option_shape *shape)
{
	__builtin_memset(option, 0, option_bytes(shape));
	option[0] = OPTION_KIND;
	option[1] = (u8)option_bytes(shape);
	option_put_u16(option + 2, OPTION_ID | shape->wire);
	if (shape->wire == LAW_WIRE_XCP) {
		option_put_u16(option + OPTION_AT_XCP_RTT, OPTION_ABSENT_UNSIGNED);
		option_put_u16(option + OPTION_AT_XCP_X, OPTION_ABSENT_UNSIGNED);
		option_put_u16(option + OPTION_AT_XCP_DELTA, OPTION_ABSENT_SIGNED);
		option_put_u16(option + OPTION_AT_XCP_ECHO, OPTION_ABSENT_SIGNED);
	}
}

/* Whether these bytes begin an option of this law. */
LAW u32 option_is(const u8 *option, const struct option_shape *shape)
{
	return option[0] == OPTION_KIND && option[1] == option_bytes(shape) &&
	       option_get_u16(option + 2) == (OPTION_ID | shape->wire);
}

/* --------------------------------------------------------------------------------------- feedback of data packets */

/* Writes the feedback that a law gave for a data packet. */
LAW void option_put_data(u8 *option, const struct option_shape *shape, const u8 *feedback)
{
	if (shape->wire == LAW_WIRE_XCP) {
		option_put_u16(option + OPTION_AT_XCP_RTT, option_unsigned_encode(bytes_get_u32(feedback)));
		option_put_u16(option + OPTION_AT_XCP_X, option_unsigned_encode(bytes_get_u32(feedback + 4)));
		option_put_u16(option + OPTION_AT_XCP_DELTA, option_signed_encode(bytes_get_s32(feedback + 8)));
		return;
	}
	option[OPTION_AT_FLAGS] |= OPTION_DATA;
	__builtin_memcpy(option + OPTION_AT_BYTES + shape->echo_bytes, feedback, shape->data_bytes);
}

/* Reads it into `feedback`, which has LAW_FEEDBACK_BYTES_MAX bytes. Returns 0 where the packet carries none. */
LAW u32 option_get_data(const u8 *option, const struct option_shape *shape, u8 *feedback)
{
	if (shape->wire == LAW_WIRE_XCP) {
		u32 rtt = option_get_u16(option + OPTION_AT_XCP_RTT), x = option_get_u16(option + OPTION_AT_XCP_X);
		u32 delta = option_get_u16(option + OPTION_AT_XCP_DELTA);

		bytes_put_u32(feedback, option_unsigned_decode(rtt));
		bytes_put_u32(feedback + 4, option_unsigned_decode(x));
		bytes_put_s32(feedback + 8, option_signed_decode(delta));
		return rtt != OPTION_ABSENT_UNSIGNED && x != OPTION_ABSENT_UNSIGNED && delta != OPTION_ABSENT_SIGNED;
	}
	__builtin_memcpy(feedback, option + OPTION_AT_BYTES + shape->echo_bytes, shape->data_bytes);
	return option[OPTION_AT_FLAGS] & OPTION_DATA;
}

/* ------------------------------------------------------------------------------------------------ feedback of ACKs */

/*
 * Writes what the receiver's half of the law gave for an ACK, `code` where the option has room for one. VCP's feedback
 * is its code; XCP has no room for another.
 */
LAW void option_put_echo(u8 *option, const struct option_shape *shape, u32 code, const u8 *feedback)
{
	if (shape->wire == LAW_WIRE_XCP) {
		option_put_u16(option + OPTION_AT_XCP_ECHO, option_signed_encode(bytes_get_s32(feedback)));
		return;
	}
	option[OPTION_AT_FLAGS] |= OPTION_ECHO;
	option[OPTION_AT_CODE] = (u8)code;
	__builtin_memcpy(option + OPTION_AT_BYTES, feedback, shape->echo_bytes);
}

/* Reads it, `feedback` as above. Returns 0 where the packet carries none. */
LAW u32 option_get_echo(const u8 *option, const struct option_shape *shape, u32 *code, u8 *feedback)
{
	if (shape->wire == LAW_WIRE_XCP) {
		u32 echo = option_get_u16(option + OPTION_AT_XCP_ECHO);

		*code = 0;
		bytes_put_s32(feedback, option_signed_decode(echo));
		return echo != OPTION_ABSENT_SIGNED;
	}
	*code = option[OPTION_AT_CODE] & 3;
	__builtin_memcpy(feedback, option + OPTION_AT_BYTES, shape->echo_bytes);
	return option[OPTION_AT_FLAGS] & OPTION_ECHO;
}

#endif /* FADELAB_OPTION_H */
