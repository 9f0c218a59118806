/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is set in an object file after it was compiled and before it is loaded (crates/kernel/src/set.rs): parameters,
 * names, users. So one object serves whatever an operator chooses, on machines without a compiler.
 *
 * The compiler must not take the values for what they will be, so nobody reads such a constant but through SET. To the
 * verifier they are constants as all others, and it leaves out what they rule out.
 */
#ifndef FADELAB_SET_H
#define FADELAB_SET_H

#include "host.h"

#define TO_BE_SET const __attribute__((used))

ALWAYS_INLINE const void *set_place(const void *value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* Where a constant stands that is set later on. */
#define SET(value) ((const __typeof__(value) *)set_place(&(value)))

#endif /* FADELAB_SET_H */
