/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct vcp_receiver_state

static int invariant(const struct vcp_receiver_state *s, const void *p)
{
	(void)p;
	return s->code <= LAW_ECN_CE;
}
