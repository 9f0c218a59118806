/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arithmetic that the simulator's C compiler and the kernel's BPF verifier both accept: unsigned 64 bits, no 128-bit
 * type that BPF would have to know, no signed division, loops with constant bounds only.
 *
 * A name ends in the fixed-point format of its result: q32 has 32 fractional bits. Each function states its error; the
 * tests compare it with 128-bit and floating-point arithmetic over the whole range. A divisor of 0 gives 0 everywhere,
 * as BPF defines it.
 */
#ifndef FADELAB_FIXED_H
#define FADELAB_FIXED_H

#include "law.h"

#define FIXED_MAX (~0ull)
#define FIXED_ONE_Q32 (1ull << 32)
#define FIXED_SIGNED_MAX 0x7fffffffffffffffll

LAW u64 fixed_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

LAW u64 fixed_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* a + b, at most FIXED_MAX. */
LAW u64 fixed_add(u64 a, u64 b)
{
	u64 sum = a + b;

	return sum < a ? FIXED_MAX : sum;
}

/* a - b, at least 0. */
LAW u64 fixed_sub(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* a / b rounded down, exact; 0 when b is 0. */
LAW u64 fixed_div(u64 a, u64 b)
{
	return b ? a / b : 0;
}

/*
 * Upper 64 bits of a * b, exact. Schoolbook on 32-bit halves: the middle column sums three numbers below 2^32 * 2^32,
 * and a_high * b_low + (2^32 - 1) still fits because (2^32 - 1)^2 + 2 * (2^32 - 1) = 2^64 - 1.
 */
LAW u64 fixed_mul_high_by_halves(u64 a, u64 b)
{
	u64 a_low = (u32)a, a_high = a >> 32, b_low = (u32)b, b_high = b >> 32;
	u64 middle = a_high * b_low + ((a_low * b_low) >> 32);
	u64 other = a_low * b_high + (u32)middle;

	return a_high * b_high + (middle >> 32) + (other >> 32);
}

/*
 * Upper 64 bits of a * b. Most processors have an instruction for it; BPF has none, and gets the schoolbook. Both are
 * exact, and a test compares them.
 */
LAW u64 fixed_mul_high(u64 a, u64 b)
{
#if defined(__SIZEOF_INT128__) && !defined(__bpf__) && !defined(FIXED_BY_HALVES)
	__extension__ typedef unsigned __int128 u128;

	return (u64)(((u128)a * b) >> 64);
#else
	return fixed_mul_high_by_halves(a, b);
#endif
}

/* a * b, at most FIXED_MAX. */
LAW u64 fixed_mul(u64 a, u64 b)
{
	return fixed_mul_high(a, b) ? FIXED_MAX : a * b;
}

/* Number of leading zero bits, 64 for 0. BPF has no instruction for it. */
LAW u32 fixed_leading_zeros(u64 a)
{
	u32 zeros = 0;

	if (a == 0)
		return 64;
	if (!(a >> 32)) {
		zeros += 32;
		a <<= 32;
	}
	if (!(a >> 48)) {
		zeros += 16;
		a <<= 16;
	}
	if (!(a >> 56)) {
		zeros += 8;
		a <<= 8;
	}
	if (!(a >> 60)) {
		zeros += 4;
		a <<= 4;
	}
	if (!(a >> 62)) {
		zeros += 2;
		a <<= 2;
	}
	return zeros + !(a >> 63);
}

/*
 * One digit of a long division in base 2^32: (*rest * 2^32 + digit) / c, with the remainder left in *rest.
 * Needs c >= 2^63 and *rest < c. The estimate from the upper half of c is at most 2 too large (Knuth, The Art of
 * Computer Programming, volume 2, section 4.3.1, theorem B).
 */
LAW u64 fixed_divide_digit(u64 *rest, u64 digit, u64 c)
{
	u64 c_high = c >> 32, c_low = (u32)c;
	u64 q = *rest / c_high, r = *rest - q * c_high;

	if ((q >> 32) || q * c_low > ((r << 32) | digit)) {
		q--;
		r += c_high;
		if (!(r >> 32) && ((q >> 32) || q * c_low > ((r << 32) | digit)))
			q--;
	}
	/* Modulo 2^64, which is exact because the remainder is below c. */
	*rest = ((*rest << 32) | digit) - q * c;
	return q;
}

/* a * b / c rounded down with the product in full, exact; at most FIXED_MAX; 0 when c is 0. */
LAW u64 fixed_mul_div(u64 a, u64 b, u64 c)
{
	u64 low = a * b, high = fixed_mul_high(a, b), q;
	u32 shift;

	if (c == 0)
		return 0;
	if (high == 0)
		return low / c;
	if (high >= c)
		return FIXED_MAX;
	shift = fixed_leading_zeros(c) & 63;
	c <<= shift;
	high = (high << shift) | ((low >> 1) >> (63 - shift));
	low <<= shift;
	q = fixed_divide_digit(&high, low >> 32, c);
	return (q << 32) | fixed_divide_digit(&high, (u32)low, c);
}

/* ------------------------------------------------------------------------------------------------- signed values */

/* |a|, also of the smallest s64. */
LAW u64 fixed_abs(s64 a)
{
	return a < 0 ? 0 - (u64)a : (u64)a;
}

/* magnitude with the sign of `like`, clipped to what s64 holds. */
LAW s64 fixed_with_sign(u64 magnitude, s64 like)
{
	s64 clipped = magnitude > (u64)FIXED_SIGNED_MAX ? FIXED_SIGNED_MAX : (s64)magnitude;

	return like < 0 ? -clipped : clipped;
}

/* a - b, clipped to what s64 holds. */
LAW s64 fixed_signed_difference(u64 a, u64 b)
{
	return a >= b ? fixed_with_sign(a - b, 1) : fixed_with_sign(b - a, -1);
}

/* a + b, clipped to what s64 holds. */
LAW s64 fixed_signed_add(s64 a, s64 b)
{
	if ((a < 0) != (b < 0))
		return a + b;
	return fixed_with_sign(fixed_add(fixed_abs(a), fixed_abs(b)), a);
}

/* a * b / c rounded towards zero, clipped to what s64 holds; 0 when c is 0. */
LAW s64 fixed_signed_mul_div(s64 a, u64 b, u64 c)
{
	return fixed_with_sign(fixed_mul_div(fixed_abs(a), b, c), a);
}

/* ----------------------------------------------------------------------------------------------- roots and powers */

/*
 * 1 when a < b, else 0, without a branch: in the loops below the verifier would otherwise follow every combination of
 * outcomes, 2^32 of them. The borrow of a - b stands in the top bit of the majority of ~a, b and a - b.
 */
LAW u64 fixed_less(u64 a, u64 b)
{
	return ((~a & b) | ((~a | b) & (a - b))) >> 63;
}

/* Square root rounded down, exact: one bit of the result per step, from the top. */
LAW u32 fixed_sqrt(u64 a)
{
	u64 root = 0;

	for (int bit = 31; bit >= 0; bit--) {
		u64 trial = root | (1ull << bit);

		root |= (1 - fixed_less(a, trial * trial)) << bit;
	}
	return (u32)root;
}

/* Cube root rounded down, exact: 22 bits hold the root of 2^64, and the cube of anything above 2642245 would wrap. */
LAW u32 fixed_cbrt(u64 a)
{
	u64 root = 0;

	for (int bit = 21; bit >= 0; bit--) {
		u64 trial = root | (1ull << bit);
		u64 exceeds = fixed_less(2642245, trial) | fixed_less(a, trial * trial * trial);

		root |= (1 - exceeds) << bit;
	}
	return (u32)root;
}

/* ln(2) * 2^32, rounded. */
#define FIXED_LN2_Q32 2977044472ull

/*
 * 2^x - 1 for a fraction x in [0, 1), 32 fractional bits in and out; error below 2^-29.
 * Horner's scheme of e^t = 1 + t(1 + t/2(1 + t/3(...))) with t = x ln 2 < 0.6932: the first term left out is
 * t^11/11! < 2^-31, and each of the ten steps truncates less than 2^-31 before it is multiplied by t/k.
 * t has 32 fractional bits and the sum, which stays below 2, has 31, so that products fit in 64 bits.
 */
LAW u64 fixed_exp2_fraction_m1_q32(u64 x_q32)
{
	u64 t = ((x_q32 & 0xffffffff) * FIXED_LN2_Q32) >> 32;
	u64 sum = 1ull << 31;

	sum = (1ull << 31) + ((t * sum) >> 32) / 10;
	sum = (1ull << 31) + ((t * sum) >> 32) / 9;
	sum = (1ull << 31) + ((t * sum) >> 32) / 8;
	sum = (1ull << 31) + ((t * sum) >> 32) / 7;
	sum = (1ull << 31) + ((t * sum) >> 32) / 6;
	sum = (1ull << 31) + ((t * sum) >> 32) / 5;
	sum = (1ull << 31) + ((t * sum) >> 32) / 4;
	sum = (1ull << 31) + ((t * sum) >> 32) / 3;
	sum = (1ull << 31) + ((t * sum) >> 32) / 2;
	/* The last step keeps all bits, so that small powers have small errors. */
	return (t * sum) >> 31;
}

/* 2^x - 1 for x >= 0, 32 fractional bits in and out; relative error below 2^-27 (of 2^x), at most FIXED_MAX. */
LAW u64 fixed_exp2_m1_q32(u64 x_q32)
{
	u64 whole = x_q32 >> 32, power = FIXED_ONE_Q32 + fixed_exp2_fraction_m1_q32(x_q32);

	if (whole >= 31)
		return FIXED_MAX;
	return (power << whole) - FIXED_ONE_Q32;
}

/* 1 - 2^-x for x >= 0, 32 fractional bits in and out; error below 2^-28. */
LAW u64 fixed_one_minus_exp2_neg_q32(u64 x_q32)
{
	/* 2^-x = 2^(1 - fraction) / 2^(whole + 1). */
	u64 whole = x_q32 >> 32, fraction = x_q32 & 0xffffffff, power;

	if (whole >= 32)
		return FIXED_ONE_Q32;
	power = fraction ? FIXED_ONE_Q32 + fixed_exp2_fraction_m1_q32(FIXED_ONE_Q32 - fraction) : 2 * FIXED_ONE_Q32;
	return FIXED_ONE_Q32 - (power >> (whole + 1));
}

/*
 * The 32 fractional bits of log2(m / 2^63), m from 2^63 on. Each squaring of the mantissa doubles the logarithm and
 * shows one more bit of it; the mantissa has 63 fractional bits, so that the 32 squarings leave an error below
 * 2^-63 * 2^32 = 2^-31 in the last one.
 */
LAW u64 fixed_log2_mantissa_q32(u64 mantissa)
{
	u64 log = 0;

	for (int bit = 0; bit < 32; bit++) {
		u64 square = fixed_mul_high(mantissa, mantissa);
		u64 carry = square >> 63;

		log = (log << 1) | carry;
		mantissa = square << (1 - carry);
	}
	return log;
}

/* log2(x) for x >= 1, 32 fractional bits in and out; 0 below 1. Error below 2^-31. */
LAW u64 fixed_log2_q32(u64 x_q32)
{
	u32 zeros = fixed_leading_zeros(x_q32);

	if (x_q32 < FIXED_ONE_Q32)
		return 0;
	return (u64)(31 - zeros) << 32 | fixed_log2_mantissa_q32(x_q32 << (zeros & 63));
}

#endif /* FADELAB_FIXED_H */
