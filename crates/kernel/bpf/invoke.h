/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a sender's functions are called: in place, so that the compiler sees through them; but not for old kernels. Their
 * verifiers follow each way through a law with all that was known before it and what is done behind it, and give up.
 * There each function is one of its own, which is verified once, for whatever it may be given.
 */
#ifndef FADELAB_INVOKE_H
#define FADELAB_INVOKE_H

#include "flow.h"

#if KERNEL_VERSION < 612

/* What a function that stands alone is given has a size by its type. */
struct law_memory {
	u64 words[WORDS_OF(STATE_BYTES)];
};

/* One that another file could call, and so verified alone; by its type what is given may be nothing. */
#define APART __attribute__((noinline)) int
#define APART_STATE ((struct law_memory *)f->state)
/* A number that the law does not look at: the compiler would pass none, and the verifier demands one. */
#define APART_NUMBER(x) __asm__ volatile("" : : "r"(x))
#define APART_FUNCTION(hook, event, ...)                                                                               \
	if (!m || !event || !control || !LAW_SENDER.hook)                                                                  \
		return 0;                                                                                                      \
	LAW_SENDER.hook(m->words, SET(law_params), __VA_ARGS__, control);                                                  \
	return 0

APART apart_init(struct law_memory *m, const struct law_start *start, struct law_control *control)
{
	APART_FUNCTION(init, start, start);
}

APART apart_on_send(struct law_memory *m, struct law_send *send, struct law_control *control)
{
	APART_FUNCTION(on_send, send, send);
}

APART apart_on_ack(struct law_memory *m, const struct law_ack *ack, struct law_control *control)
{
	APART_FUNCTION(on_ack, ack, ack);
}

APART apart_on_loss(struct law_memory *m, const struct law_ack *ack, u32 cause, struct law_control *control)
{
	APART_NUMBER(cause);
	APART_FUNCTION(on_loss, ack, ack, cause);
}

APART apart_on_rto(struct law_memory *m, const struct law_ack *ack, struct law_control *control)
{
	APART_FUNCTION(on_rto, ack, ack);
}

APART apart_on_restart(struct law_memory *m, u64 now_us, u64 idle_us, struct law_control *control)
{
	APART_NUMBER(now_us);
	APART_NUMBER(idle_us);
	APART_FUNCTION(on_restart, m, now_us, idle_us);
}

APART apart_on_undo(struct law_memory *m, const struct law_ack *ack, u32 cause, struct law_control *control)
{
	APART_NUMBER(cause);
	APART_FUNCTION(on_undo, ack, ack, cause);
}

#define INVOKE(hook, ...) apart_##hook(APART_STATE, __VA_ARGS__)

#else

#define INVOKE(hook, ...) LAW_SENDER.hook(f->state, SET(law_params), __VA_ARGS__)

#endif

#endif /* FADELAB_INVOKE_H */
