/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 section III, the Security Module, for the shape; it exists to exercise gateways.
 *
 * In one paragraph: The code of a packet crosses a tunnel in the outer header, where routers write to it. At the end of
 * the tunnel the inner header gets the highest code that any packet of the tunnel brought lately, and what goes back
 * through the tunnel begins with no lower one.
 *
 * Law:
 *   decapsulate  inner code = the highest of the outer codes of the last hold_us
 *   encapsulate  outer code = the inner code, or that one where it is higher
 *
 * Parameters: the X-macro MODULE_PARAMS below.
 *
 * Divergences: none that matter to a test.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_MODULE_H
#define FADELAB_TEST_MODULE_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define MODULE_PARAMS(P)                                                                                               \
	P(hold_us, 10000, "us", 1, 0, 10000000, "arbitrary", "How long a code stands for those after it")
/* clang-format on */

struct module_params {
	MODULE_PARAMS(LAW_PARAM_FIELD)
};

struct module_state {
	u64 until_us; /* the code below stands until then */
	u32 code;
	u32 reserved;
};

/* The code that stands; 0: none. */
LAW u32 module_standing(const struct module_state *s, u64 now_us)
{
	return now_us < s->until_us ? s->code & 3 : 0;
}

LAW void module_init(void *state, const void *params, const struct law_tunnel *tunnel)
{
	struct module_state *s = state;

	(void)params;
	s->until_us = tunnel->now_us;
}

LAW void module_encapsulate(void *state, const void *params, u64 now_us, const struct law_packet *inner,
                            struct law_packet *outer)
{
	struct module_state *s = state;

	(void)params;
	outer->outer_ecn = (u8)fixed_max(inner->ecn & 3, module_standing(s, now_us));
}

LAW void module_decapsulate(void *state, const void *params, u64 now_us, const struct law_packet *outer,
                            struct law_packet *inner)
{
	struct module_state *s = state;
	const struct module_params *p = params;
	u32 code = outer->outer_ecn & 3;

	if (code >= s->code || now_us >= s->until_us) {
		s->code = code;
		s->until_us = fixed_add(now_us, p->hold_us);
	}
	inner->ecn = (u8)(s->code & 3);
}

LAW_TABLE struct law_gateway module_gateway = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_gateway),
	.name = "module",
	.summary = "Test: carries a code through a tunnel",
	.state_bytes = sizeof(struct module_state),
	.params_bytes = sizeof(struct module_params),
	LAW_PARAM_LIST(MODULE_PARAMS),
	.init = module_init,
	.encapsulate = module_encapsulate,
	.decapsulate = module_decapsulate,
};

#endif /* FADELAB_TEST_MODULE_H */
