/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Floats of 16 bits, for feedback that has little room in a TCP header: an exponent of 5 bits and a mantissa of 11
 * (unsigned), or a sign, an exponent of 5 and a mantissa of 10, of which the sign may serve otherwise. Exponent 0
 * stands for the mantissa itself, exponent e for the mantissa with a leading 1, shifted left by e - 1. The relative
 * error of a rounded value is at most 2^-12 and 2^-11; that of small values is 0.
 */
#ifndef FADELAB_PART_FLOAT16_H
#define FADELAB_PART_FLOAT16_H

#include "fixed.h"
#include "law.h"

#define FLOAT16_MANTISSA_UNSIGNED 11u
#define FLOAT16_MANTISSA_SIGNED 10u

/*
 * A magnitude below 2^41, rounded to the nearest float, halves away from zero. Below 2^(bits + 1) the code is the
 * value; above, the leading 1 of the rounded mantissa adds the 1 to the exponent, as does a carry out of it.
 */
LAW u32 float16_encode(u64 value, u32 bits)
{
	u32 shift;

	if (!(value >> (bits + 1)))
		return (u32)value;
	shift = (63 - bits - fixed_leading_zeros(value)) & 31;
	return (shift << bits) + (u32)((value + (1ull << (shift - 1))) >> shift);
}

LAW u64 float16_decode(u32 code, u32 bits)
{
	u32 exponent = (code >> bits) & 31;
	u64 mantissa = code & ((1u << bits) - 1);

	return exponent ? (mantissa | (1ull << bits)) << (exponent - 1) : mantissa;
}

LAW u32 float16_unsigned_encode(u32 value)
{
	return float16_encode(value, FLOAT16_MANTISSA_UNSIGNED);
}

/* At most what a field of 32 bits holds: a forged code stands for more. */
LAW u32 float16_unsigned_decode(u32 code)
{
	return (u32)fixed_min(float16_decode(code, FLOAT16_MANTISSA_UNSIGNED), 0xffffffff);
}

/* In the lower 15 bits, as a signed one that is not negative. */
LAW u32 float15_encode(u32 value)
{
	return float16_encode(value, FLOAT16_MANTISSA_SIGNED);
}

LAW u32 float15_decode(u32 code)
{
	return (u32)fixed_min(float16_decode(code, FLOAT16_MANTISSA_SIGNED), 0xffffffff);
}

/* A field of 32 bits, two's complement, widened. */
LAW u32 float16_signed_encode(s64 value)
{
	return float16_encode(fixed_abs(value), FLOAT16_MANTISSA_SIGNED) | (value < 0 ? 0x8000u : 0);
}

LAW s64 float16_signed_decode(u32 code)
{
	u64 magnitude = float16_decode(code, FLOAT16_MANTISSA_SIGNED);

	if (code & 0x8000u)
		return -(s64)fixed_min(magnitude, 0x80000000);
	return (s64)fixed_min(magnitude, 0x7fffffff);
}

#endif /* FADELAB_PART_FLOAT16_H */
