/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a law declares of itself: its parameters, and values that are worth watching. law.h includes it.
 */
#ifndef FADELAB_DECLARE_H
#define FADELAB_DECLARE_H

/* ------------------------------------------------------------------------------------------------ parameters */

/*
 * A law declares each parameter once, as a row of an X-macro
 *     P(name, value, unit, scale, min, max, source, meaning)
 * in which `value`, `min` and `max` are the integers the law computes with; a user writes value/scale in `unit`.
 * Units: "us" (a time; users write "200 ms"), "B", "pkt", "1" (a pure number), "bool", or names joined by '|' for a
 * choice, whose values count from 0.
 */
struct law_param {
	const char *name;
	u64 value;
	const char *unit;
	u64 scale;
	u64 min;
	u64 max;
	const char *source;
	const char *meaning;
};

#define LAW_PARAM_FIELD(name, value, unit, scale, min, max, source, meaning) u64 name;
#define LAW_PARAM_VALUE(name, value, unit, scale, min, max, source, meaning) .name = (value),
#define LAW_PARAM_ROW(name, value, unit, scale, min, max, source, meaning)                                             \
	{#name, value, unit, scale, min, max, source, meaning},

#ifdef __bpf__
/* The kernel has no use for the documentation of parameters; the loader reads it from the native table. */
#define LAW_PARAM_LIST(PARAMS) .params = NULL, .params_n = 0
#else
#define LAW_PARAM_LIST(PARAMS)                                                                                         \
	.params = (const struct law_param[]){PARAMS(LAW_PARAM_ROW)},                                                       \
	.params_n = sizeof((const struct law_param[]){PARAMS(LAW_PARAM_ROW)}) / sizeof(struct law_param)
#endif

/* For a law without parameters. */
#define LAW_NO_PARAMS .params = NULL, .params_n = 0

/* -------------------------------------------------------------------------------------------- values to watch */

/*
 * A law declares values of its state that are worth looking at, each once, as a row of an X-macro
 *     #define NAME_WATCH(W, state)
 *         W(name, state->field, unit, scale, meaning)
 * which the table takes with LAW_WATCH_LIST(struct NAME_state, NAME_WATCH). A value is an integer of the state; whoever
 * looks sees field/scale in `unit`. Units are those of parameters, and "B/s". Hosts read the state where it lies, on
 * any ground, between two calls: a law spends nothing on it and a host that records nothing does not either.
 */
struct law_watch {
	const char *name;
	const char *unit;
	u64 scale;
	const char *meaning;
	u32 offset; /* of the field in the state */
	u32 bytes;  /* of the field: 1, 2, 4 or 8 */
	u32 is_signed;
	u32 reserved;
};

/* By its type, not by what -1 becomes in it: proofs allow no conversion that changes a value. */
#define LAW_IS_SIGNED(field)                                                                                           \
	_Generic((field), signed char : 1, short : 1, int : 1, long : 1, long long : 1, default : 0)

#define LAW_WATCH_ROW(name, field, unit, scale, meaning)                                                               \
	{#name, unit, scale, meaning, (u32)(unsigned long)&(field), sizeof(field), LAW_IS_SIGNED(field), 0},
#define LAW_WATCH_ROWS(state_type, WATCH)                                                                              \
	(const struct law_watch[])                                                                                         \
	{                                                                                                                  \
		WATCH(LAW_WATCH_ROW, ((state_type *)0))                                                                        \
	}

#ifdef __bpf__
#define LAW_WATCH_LIST(state_type, WATCH) .watch = NULL, .watch_n = 0
#else
#define LAW_WATCH_LIST(state_type, WATCH)                                                                              \
	.watch = LAW_WATCH_ROWS(state_type, WATCH),                                                                        \
	.watch_n = sizeof(LAW_WATCH_ROWS(state_type, WATCH)) / sizeof(struct law_watch)
#endif

#endif /* FADELAB_DECLARE_H */
