/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multiplication and division of fixed.h in 128 bits. No solver of bits decides whether two circuits of 64-bit products
 * agree, so the products of halves become unknowns of which only laws of integers are assumed: their bounds, and
 * (q - 1) c = q c - c. What is left is additions, and that is proven. README.md has the two steps that remain by hand.
 */
#include "proof.h"

typedef unsigned __int128 u128;

#define HALF_MAX 0xffffffffull
#define PRODUCT_MAX (HALF_MAX * HALF_MAX)

/* The unknown products of the call under proof: of which factors, and how much. */
#define PRODUCTS 4

static u64 factor_a[PRODUCTS], factor_b[PRODUCTS], product[PRODUCTS];

u64 contract_fixed_product(u32 a, u32 b)
{
	for (int i = 0; i < PRODUCTS; i++)
		if (factor_a[i] == a && factor_b[i] == b)
			return product[i];
	/* A product that the lemma does not know of. */
	holds(0);
	return 0;
}

void lemma_fixed_mul_high(void)
{
	u64 a = any(0, FIXED_MAX), b = any(0, FIXED_MAX);
	u128 sum = 0;

	for (int i = 0; i < PRODUCTS; i++) {
		factor_a[i] = i & 2 ? a >> 32 : a & HALF_MAX;
		factor_b[i] = i & 1 ? b >> 32 : b & HALF_MAX;
		product[i] = any(0, PRODUCT_MAX);
		/* Halves that are equal have equal products. */
		for (int j = 0; j < i; j++)
			__CPROVER_assume(factor_a[i] != factor_a[j] || factor_b[i] != factor_b[j] || product[i] == product[j]);
		sum += (u128)product[i] << 16 * ((i & 2) + 2 * (i & 1));
	}
	holds(fixed_mul_high(a, b) == (u64)(sum >> 64));
	RETURNED(lemma);
}

/* number * value for a number of at most 2, without a product. */
static u64 few_times(u64 number, u64 value)
{
	if (number == 0)
		return 0;
	return number == 1 ? value : 2 * value;
}

/* fixed_divide_digit: q c + rest after = rest before * 2^32 + digit, rest after < c, q < 2^32. */
void lemma_fixed_divide_digit(void)
{
	u64 c = any(1ull << 63, FIXED_MAX), before = any(0, c - 1), digit = any(0, HALF_MAX), rest = before, q;
	u64 c_high = c >> 32, c_low = c & HALF_MAX, first = before / c_high, part = before % c_high;
	/* first * c_high, by the meaning of / and %, and the unknown first * c_low. */
	u128 high = before - part, low = any(0, FIXED_MAX), exact;

	__CPROVER_assume(part < c_high && part <= before);
	__CPROVER_assume(first <= HALF_MAX + 2 || high >= ((u128)c_high << 32) + 2 * c_high);
	__CPROVER_assume(low <= ((u128)first << 32) - first &&
	                 (first < 2 ? low == few_times(first, c_low) : low >= 2 * c_low));
	for (u64 less = 0; less < 3; less++) {
		factor_a[less] = first - less;
		factor_b[less] = c_low;
		product[less] = (u64)(low - few_times(first < less ? first : less, c_low));
	}
	factor_a[3] = FIXED_MAX;
	q = fixed_divide_digit(&rest, digit, c);
	exact = ((high - few_times(first - q, c_high)) << 32) + low - few_times(first - q, c_low);
	holds(q <= HALF_MAX && first - q <= 2 && rest < c);
	holds(exact + rest == (((u128)before << 32) | digit));
	RETURNED(lemma);
}

/* Of the two digits that fixed_mul_div asks for: the quotient times the divisor. */
static u128 digit_product[2];
static u64 digit_rest;
static int digits;

u64 contract_fixed_divide_digit(u64 *rest, u64 digit, u64 c)
{
	u64 q = any(0, HALF_MAX), after = any(0, FIXED_MAX);
	u128 value = ((u128)*rest << 32) | digit;

	holds(c >> 63 && *rest < c && digit <= HALF_MAX && digits < 2);
	__CPROVER_assume(after < c && after <= value);
	digit_product[digits++] = value - after;
	digit_rest = *rest = after;
	return q;
}

static u64 mul_low_result;

u64 contract_fixed_mul_low(u64 a, u64 b)
{
	(void)a;
	(void)b;
	return mul_low_result;
}

/* fixed_mul_div: (first digit * 2^32 + second digit) * c' + rest = a b * 2^shift with c' = c * 2^shift and rest < c'. */
void lemma_fixed_mul_div(void)
{
	u64 a = any(0, FIXED_MAX), b = any(0, FIXED_MAX), c = any(0, FIXED_MAX), low = any(0, FIXED_MAX), result;
	u32 shift = fixed_leading_zeros(c) & 63;

	mul_low_result = low;
	result = fixed_mul_div(a, b, c);
	if (c == 0) {
		holds(result == 0);
	} else if (mul_high_result == 0) {
		holds(result == low / c);
	} else if (mul_high_result >= c) {
		holds(result == FIXED_MAX);
	} else {
		holds(digits == 2 && digit_rest < c << shift);
		holds((digit_product[0] << 32) + digit_product[1] + digit_rest == (((u128)mul_high_result << 64) | low)
		                                                                      << shift);
	}
	RETURNED(lemma);
}
