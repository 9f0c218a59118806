/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of the law under proof and the induction over its calls. Included after the law and what its invariant
 * speaks of.
 *
 * INVARIANT, the law's file in invariants/, gives the type of its state and what each call must leave true of it. It
 * must hold after init; then any state in which it holds takes the place of what init left, and must still hold after
 * any one call. A law without such a file must be safe in every state there is.
 */
#ifndef FADELAB_STATE_H
#define FADELAB_STATE_H

static void *state;
static u64 now_us;

#ifdef INVARIANT

#include INVARIANT

STATE nondet_state(void);

static STATE memory;

static void state_holds(void)
{
	holds(invariant(&memory, (const void *)params));
}

static void new_state(u32 bytes)
{
	holds(bytes == sizeof(memory));
	state = &memory;
}

static void any_state(u32 bytes)
{
	(void)bytes;
	memory = nondet_state();
	__CPROVER_assume(invariant(&memory, (const void *)params));
}

static STATE memory_beside;

/* A state like that one. */
static void *copy_state(u32 bytes)
{
	(void)bytes;
	memory_beside = memory;
	return &memory_beside;
}

#else

/* CBMC's own: memory of just this size, zeroed or with any content. */
void *calloc(__SIZE_TYPE__ number, __SIZE_TYPE__ bytes);
void *malloc(__SIZE_TYPE__ bytes);

static void state_holds(void)
{
}

static void new_state(u32 bytes)
{
	state = calloc(1, bytes);
}

static void any_state(u32 bytes)
{
	state = malloc(bytes);
}

static void *copy_state(u32 bytes)
{
	return memcpy(malloc(bytes), state, bytes);
}

#endif

#endif /* FADELAB_STATE_H */
