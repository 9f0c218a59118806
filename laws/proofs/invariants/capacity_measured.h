/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct measured_state

static int invariant(const struct measured_state *s, const struct measured_params *p)
{
	(void)p;
	return s->capacity_q8 <= LAW_CAPACITY_BPS_MAX << 8 && s->started <= 1;
}
