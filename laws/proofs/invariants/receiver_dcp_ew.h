/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct pair_receiver_state

static int invariant(const struct pair_receiver_state *s, const void *p)
{
	(void)p;
	return s->most <= 3 && s->newest <= 3 && s->least <= 3 && s->confirmed <= 1 && s->known < 128;
}
