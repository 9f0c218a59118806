/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What gcc and clang call when a check of -fsanitize finds undefined behaviour. Their own library prints and goes on or
 * aborts; here the call ends and the host says what was found and on which line of the law. Included after guard.h.
 */
#ifndef FADELAB_GUARD_UNDEFINED_H
#define FADELAB_GUARD_UNDEFINED_H

#pragma GCC system_header

/* With this all data of the checks below begin. */
struct guard_place {
	const char *file;
	u32 line;
	u32 column;
};

static __attribute__((noreturn)) void guard_undefined(const char *what, const struct guard_place *place)
{
	guard_current->undefined = what;
	guard_current->file = place->file;
	guard_current->line = place->line;
	guard_current->column = place->column;
	siglongjmp(guard_current->escape, 1);
}

#define GUARD_UNDEFINED(handler, what)                                                                                 \
	__attribute__((visibility("hidden"))) void __ubsan_handle_##handler(const struct guard_place *place);              \
	void __ubsan_handle_##handler(const struct guard_place *place)                                                     \
	{                                                                                                                  \
		guard_undefined(what, place);                                                                                  \
	}

GUARD_UNDEFINED(add_overflow_abort, "an addition that overflows")
GUARD_UNDEFINED(sub_overflow_abort, "a subtraction that overflows")
GUARD_UNDEFINED(mul_overflow_abort, "a multiplication that overflows")
GUARD_UNDEFINED(negate_overflow_abort, "a negation that overflows")
GUARD_UNDEFINED(divrem_overflow_abort, "a division by zero, or one that overflows")
GUARD_UNDEFINED(shift_out_of_bounds_abort, "a shift by a negative number of bits, or by too many")
GUARD_UNDEFINED(out_of_bounds_abort, "an index beyond the array")
GUARD_UNDEFINED(type_mismatch_v1_abort, "an access through a pointer that is null, misaligned or out of its object")
GUARD_UNDEFINED(pointer_overflow_abort, "pointer arithmetic that overflows")
GUARD_UNDEFINED(load_invalid_value_abort, "a value that its type does not have")
GUARD_UNDEFINED(vla_bound_not_positive_abort, "an array of no or negative length")
GUARD_UNDEFINED(builtin_unreachable, "a place declared unreachable")
GUARD_UNDEFINED(missing_return, "the end of a function that should have returned a value")

#endif /* FADELAB_GUARD_UNDEFINED_H */
