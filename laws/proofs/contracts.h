/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the proofs of laws know of fixed.h. tools/prove puts contract_NAME in place of each call of NAME: any value that
 * satisfies the assumptions. Whether circuits of 64-bit products and quotients agree is what solvers of bits do not
 * decide in useful time; these bounds are enough. They follow from exactness; README.md says which of it is proven.
 */
#ifndef FADELAB_CONTRACTS_H
#define FADELAB_CONTRACTS_H

#pragma CPROVER check push
/* These compute modulo 2^64 and cut off bits on purpose; fixed.c proves that the results are what they should be. */
#pragma CPROVER check disable "unsigned-overflow"
#pragma CPROVER check disable "conversion"
#include "fixed.h"
#include "part/bytes.h"
#pragma CPROVER check pop

/* Not more than half where b is at most one half of 2^64. */
#define MUL_HIGH_HOLDS(a, b, result) ((result) <= (a) && (result) <= (b) && ((b) > 1ull << 63 || (result) <= (a) / 2))

/* Not less than either factor: it saturates. */
#define MUL_HOLDS(a, b, result) ((a) && (b) ? (result) >= (a) && (result) >= (b) : !(result))

/* At most a where b / c is at most 1, and the other way round; two factors of 24 bits make at most 48. */
#define MUL_DIV_HOLDS(a, b, c, result)                                                                                 \
	(((a) && (b) && (c) || !(result)) && ((b) > (c) || (result) <= (a)) && ((a) > (c) || (result) <= (b)) &&           \
	 ((a) >> 24 || (b) >> 24 || !((result) >> 48)))

/* The whole part is exact. */
#define LOG2_HOLDS(x, result) ((x) < FIXED_ONE_Q32 ? !(result) : (result) >> 32 == 31 - fixed_leading_zeros(x))

u64 contract_fixed_mul_high(u64 a, u64 b)
{
	u64 result = nondet_u64();

	__CPROVER_assume(MUL_HIGH_HOLDS(a, b, result));
	return result;
}

u64 contract_fixed_mul(u64 a, u64 b)
{
	u64 result = nondet_u64();

	__CPROVER_assume(MUL_HOLDS(a, b, result));
	return result;
}

u64 contract_fixed_mul_div(u64 a, u64 b, u64 c)
{
	u64 result = nondet_u64();

	__CPROVER_assume(MUL_DIV_HOLDS(a, b, c, result));
	return result;
}

u32 contract_fixed_sqrt(u64 a)
{
	(void)a;
	return (u32)any(0, 0xffffffff);
}

u32 contract_fixed_cbrt(u64 a)
{
	(void)a;
	return (u32)any(0, 2642245);
}

u64 contract_fixed_exp2_m1_q32(u64 x_q32)
{
	(void)x_q32;
	return any(0, FIXED_MAX);
}

u64 contract_fixed_one_minus_exp2_neg_q32(u64 x_q32)
{
	(void)x_q32;
	return any(0, FIXED_ONE_Q32);
}

u64 contract_fixed_log2_q32(u64 x_q32)
{
	u64 result = nondet_u64();

	__CPROVER_assume(LOG2_HOLDS(x_q32, result));
	return result;
}

#endif /* FADELAB_CONTRACTS_H */
