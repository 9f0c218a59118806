/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether routers of a law's format are at work on its path. Where they are not, what comes back is the sender's own
 * request or first code, and a law that believes it grows without end.
 */
#ifndef FADELAB_PART_CONFIRMED_H
#define FADELAB_PART_CONFIRMED_H

#include "fixed.h"
#include "law.h"

/* So old feedback may be, or four round trips where these are longer: an ACK may find no room, but not for ever. */
#define CONFIRMED_AGE_US_MAX 1000000u

/* Whether a router saw what was echoed last, not long ago. */
LAW u32 confirmed_by_router(const struct law_ack *ack)
{
	const struct law_feedback *feedback = &ack->feedback;

	return feedback->confirmed &&
	       (feedback->present || feedback->age_us <= CONFIRMED_AGE_US_MAX || feedback->age_us <= 4 * (u64)ack->srtt_us);
}

#endif /* FADELAB_PART_CONFIRMED_H */
