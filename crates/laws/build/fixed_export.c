/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of fixed.h under names that a linker sees, for the tests of the Rust side. */
#include "fixed.h"

#define EXPORT_1(result, name, a_type)                                                                                 \
	result fadelab_##name(a_type a);                                                                                   \
	result fadelab_##name(a_type a)                                                                                    \
	{                                                                                                                  \
		return name(a);                                                                                                \
	}

#define EXPORT_2(result, name, a_type, b_type)                                                                         \
	result fadelab_##name(a_type a, b_type b);                                                                         \
	result fadelab_##name(a_type a, b_type b)                                                                          \
	{                                                                                                                  \
		return name(a, b);                                                                                             \
	}

#define EXPORT_3(result, name, a_type, b_type, c_type)                                                                 \
	result fadelab_##name(a_type a, b_type b, c_type c);                                                               \
	result fadelab_##name(a_type a, b_type b, c_type c)                                                                \
	{                                                                                                                  \
		return name(a, b, c);                                                                                          \
	}

EXPORT_2(u64, fixed_add, u64, u64)
EXPORT_2(u64, fixed_sub, u64, u64)
EXPORT_2(u64, fixed_div, u64, u64)
EXPORT_2(u64, fixed_mul, u64, u64)
EXPORT_2(u64, fixed_mul_high, u64, u64)
EXPORT_2(u64, fixed_mul_high_by_halves, u64, u64)
EXPORT_1(u32, fixed_leading_zeros, u64)
EXPORT_3(u64, fixed_mul_div, u64, u64, u64)
EXPORT_1(u64, fixed_abs, s64)
EXPORT_2(s64, fixed_with_sign, u64, s64)
EXPORT_2(s64, fixed_signed_difference, u64, u64)
EXPORT_2(s64, fixed_signed_add, s64, s64)
EXPORT_3(s64, fixed_signed_mul_div, s64, u64, u64)
EXPORT_2(u64, fixed_less, u64, u64)
EXPORT_1(u32, fixed_sqrt, u64)
EXPORT_1(u32, fixed_cbrt, u64)
EXPORT_1(u64, fixed_exp2_m1_q32, u64)
EXPORT_1(u64, fixed_one_minus_exp2_neg_q32, u64)
EXPORT_1(u64, fixed_log2_q32, u64)
