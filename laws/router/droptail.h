/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: common practice; RFC 7567 section 4.1 discusses what it does badly.
 *
 * In one paragraph: A first-in first-out queue that drops what does not fit. The host enforces the limit of every
 * queue by itself, so the law has no functions and costs nothing.
 *
 * Law: drop if and only if the packet exceeds the limit.
 *
 * Parameters: none; the limit belongs to the queue.
 *
 * Divergences: none.
 *
 * Figures: the baseline of vcp-ton-2010 and new-jersey-2004 wherever no router is named.
 */
#ifndef FADELAB_ROUTER_DROPTAIL_H
#define FADELAB_ROUTER_DROPTAIL_H

#include "law.h"

LAW_TABLE struct law_router droptail_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "droptail",
	.summary = "First in, first out; drops what does not fit",
	LAW_NO_PARAMS,
};

#endif /* FADELAB_ROUTER_DROPTAIL_H */
