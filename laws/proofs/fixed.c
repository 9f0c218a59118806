/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of fixed.h one by one, for all arguments: what their comments promise, and what contracts.h assumes. */
#include "proof.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

static u64 any_u64(void)
{
	return any(0, FIXED_MAX);
}

static s64 any_s64(void)
{
	return any_signed(-FIXED_SIGNED_MAX - 1, FIXED_SIGNED_MAX);
}

static s128 clipped(s128 value)
{
	if (value > FIXED_SIGNED_MAX)
		return FIXED_SIGNED_MAX;
	return value < -(s128)FIXED_SIGNED_MAX ? -(s128)FIXED_SIGNED_MAX : value;
}

void lemma_fixed_add(void)
{
	u64 a = any_u64(), b = any_u64();
	u128 sum = (u128)a + b;

	holds(fixed_add(a, b) == (sum > FIXED_MAX ? FIXED_MAX : sum));
	holds(fixed_sub(a, b) == (a > b ? a - b : 0));
	holds(fixed_div(a, 0) == 0);
	RETURNED(lemma);
}

void lemma_fixed_less(void)
{
	u64 a = any_u64(), b = any_u64();

	holds(fixed_less(a, b) == (a < b));
	RETURNED(lemma);
}

void lemma_fixed_leading_zeros(void)
{
	u64 a = any_u64();
	u32 zeros = fixed_leading_zeros(a);

	holds(a ? zeros <= 63 && (a << zeros) >> 63 == 1 && (a << zeros) >> zeros == a : zeros == 64);
	RETURNED(lemma);
}

void lemma_fixed_signed(void)
{
	s64 a = any_s64(), b = any_s64();
	u64 m = any_u64(), n = any_u64();

	holds(fixed_abs(a) == (u128)(a < 0 ? -(s128)a : (s128)a));
	holds(fixed_with_sign(m, a) == clipped(a < 0 ? -(s128)m : (s128)m));
	holds(fixed_signed_difference(m, n) == clipped((s128)m - n));
	/* Where the signs differ the sum needs no clipping, and may be the smallest number that s64 has. */
	holds(fixed_signed_add(a, b) == ((a < 0) == (b < 0) ? clipped((s128)a + b) : (s128)a + b));
	RETURNED(lemma);
}

void lemma_fixed_sqrt(void)
{
	(void)fixed_sqrt(any_u64());
	RETURNED(lemma);
}

void lemma_fixed_cbrt(void)
{
	holds(fixed_cbrt(any_u64()) <= 2642245);
	RETURNED(lemma);
}

void lemma_fixed_exp2_fraction_m1_q32(void)
{
	holds(fixed_exp2_fraction_m1_q32(any_u64()) < FIXED_ONE_Q32);
	RETURNED(lemma);
}

u64 contract_fixed_exp2_fraction_m1_q32(u64 x_q32)
{
	(void)x_q32;
	return any(0, FIXED_ONE_Q32 - 1);
}

void lemma_fixed_exp2_m1_q32(void)
{
	u64 x_q32 = any_u64(), result = fixed_exp2_m1_q32(x_q32);

	holds(x_q32 >> 32 >= 31 ? result == FIXED_MAX : (result + FIXED_ONE_Q32) >> 32 >> (x_q32 >> 32) == 1);
	RETURNED(lemma);
}

void lemma_fixed_one_minus_exp2_neg_q32(void)
{
	holds(fixed_one_minus_exp2_neg_q32(any_u64()) <= FIXED_ONE_Q32);
	RETURNED(lemma);
}

void lemma_fixed_log2_q32(void)
{
	u64 x_q32 = any_u64(), result = fixed_log2_q32(x_q32);

	holds(LOG2_HOLDS(x_q32, result));
	RETURNED(lemma);
}
