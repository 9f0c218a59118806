/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Included before a law whose steps shall be told: gives LAW_STEP of law.h its meaning. guard.h has the function. */
#ifndef FADELAB_GUARD_STEP_H
#define FADELAB_GUARD_STEP_H

static void guard_step(const char *text);

#define LAW_STEP(text) guard_step(text)

#endif /* FADELAB_GUARD_STEP_H */
