/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What part/pair_code.h promises of a level that several routers split over two packets. */
#include "part/pair_code.h"
#include "proof.h"

/* Of one packet: the largest symbol that routers of these levels leave. */
static u32 carried(u64 code, const u32 levels[3], u32 role)
{
	u64 largest = pair_symbol(code, levels[0], role);

	largest = fixed_max(largest, pair_symbol(code, levels[1], role));
	return (u32)fixed_max(largest, pair_symbol(code, levels[2], role));
}

/* Three routers stand for any number: what is joined depends on the most loaded one and on the one with the largest
 * least significant half. */
static void any_path(u64 code, u32 levels[3], u32 *joined, u32 *largest)
{
	u32 last = code == PAIR_NINE ? 8 : 15;

	for (int i = 0; i < 3; i++)
		levels[i] = (u32)any(0, last);
	*largest = (u32)fixed_max(fixed_max(levels[0], levels[1]), levels[2]);
	*joined = pair_join(code, carried(code, levels, PAIR_ROLE_MOST), carried(code, levels, PAIR_ROLE_LEAST));
}

void lemma_pair_join(void)
{
	u64 code = any(PAIR_SIXTEEN, PAIR_NINE);
	u32 levels[3], joined, largest;

	any_path(code, levels, &joined, &largest);
	holds(joined >= largest && joined <= largest + (code == PAIR_NINE ? 2 : 3));
	holds(pair_region(code, carried(code, levels, PAIR_ROLE_MOST)) ==
	      pair_region(code, pair_symbol(code, largest, PAIR_ROLE_MOST)));
	RETURNED(lemma);
}

/* A level comes back from its own halves; with nine levels no half is 00. */
void lemma_pair_symbol(void)
{
	u64 code = any(PAIR_SIXTEEN, PAIR_NINE);
	u32 level = (u32)any(0, code == PAIR_NINE ? 8 : 15);
	u32 most = pair_symbol(code, level, PAIR_ROLE_MOST), least = pair_symbol(code, level, PAIR_ROLE_LEAST);

	holds(pair_join(code, most, least) == level);
	holds(most <= 3 && least <= 3 && (code == PAIR_SIXTEEN || (most && least)));
	RETURNED(lemma);
}

/* Levels rise with the load, and their regions are VCP's. */
void lemma_pair_level(void)
{
	u64 code = any(PAIR_SIXTEEN, PAIR_NINE), percent = any(0, FIXED_MAX - 1);
	u32 level = pair_level(code, percent), region = pair_region(code, pair_symbol(code, level, PAIR_ROLE_MOST));

	holds(level <= (code == PAIR_NINE ? 8 : 15) && pair_level(code, percent + 1) >= level);
	holds(region == (percent < 80 ? PAIR_LOW : percent < 100 ? PAIR_HIGH : PAIR_OVER));
	holds(region != PAIR_LOW || pair_low_percent(code, level) > percent);
	holds((region == PAIR_OVER) == (pair_over_place(code, level) > 0 || level == (code == PAIR_NINE ? 6 : 12)));
	RETURNED(lemma);
}
