/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct codel_state

static int invariant(const struct codel_state *s, const struct codel_params *p)
{
	(void)p;
	return s->count_last <= s->count && s->count <= 0xffffffff;
}
