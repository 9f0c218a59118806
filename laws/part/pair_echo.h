/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receiver of DPCP and DCP-EW, and what it returns: the newest most significant half, the least significant half
 * that belongs to it, and how far apart they came.
 *
 * A half belongs to another if no change of the most significant half lies between them. Routers change both at once,
 * so a change says that a least significant half from before it is of another level. (One that comes just behind a
 * change, before the next most significant half tells of it, cannot be known; that one is at most one packet old.)
 * Before the first most significant half nothing is known to have changed.
 *
 * An ACK for several packets carries the most congested region among them, so that an overload never hides behind a
 * later packet, and of the least significant halves only those that came with that region.
 *
 * Feedback on ACKs, 3 bytes: byte 0 has the halves and what is known; bytes 1 and 2 the time between the arrivals of
 * the two halves in milliseconds, big endian, 65535 for that and more.
 */
#ifndef FADELAB_PART_PAIR_ECHO_H
#define FADELAB_PART_PAIR_ECHO_H

#include "fixed.h"
#include "law.h"
#include "part/option.h"
#include "part/pair_code.h"

#define PAIR_ECHO_BYTES 3u
/* Byte 0: bits 0 and 1 the most significant half, 2 and 3 the least. */
#define PAIR_ECHO_LEAST_SHIFT 2
#define PAIR_ECHO_HAS_MOST 16u
#define PAIR_ECHO_HAS_LEAST 32u
/* The newest packet had the role of the least significant half. */
#define PAIR_ECHO_LEAST_LAST 64u
#define PAIR_ECHO_MS_MAX 65535u

struct pair_receiver_state {
	u64 most_us; /* when the half came */
	u64 least_us;
	u8 most; /* the most congested one since the last ACK */
	u8 least;
	u8 newest;  /* most significant half, which may be less congested */
	u8 known;   /* PAIR_ECHO_HAS_*, PAIR_ECHO_LEAST_LAST */
	u8 pending; /* whether a most significant half came since the last ACK */
	u8 confirmed;
	u8 reserved[2];
};

/* It belongs to another most significant half. */
LAW void pair_forget_least(struct pair_receiver_state *s)
{
	s->known = s->known & (PAIR_ECHO_HAS_MOST | PAIR_ECHO_LEAST_LAST);
}

LAW void pair_note_most(struct pair_receiver_state *s, u32 half, u64 now_us)
{
	s->newest = (u8)half;
	s->known = s->known & (PAIR_ECHO_HAS_MOST | PAIR_ECHO_HAS_LEAST);
	if (s->pending && half < s->most)
		return;
	if ((s->known & PAIR_ECHO_HAS_MOST) && half != s->most)
		pair_forget_least(s);
	s->most = (u8)half;
	s->most_us = now_us;
	s->known |= PAIR_ECHO_HAS_MOST;
	s->pending = 1;
}

/* One that came with a less congested region than the ACK will report says nothing of that. */
LAW void pair_note_least(struct pair_receiver_state *s, u32 half, u64 now_us)
{
	s->known |= PAIR_ECHO_LEAST_LAST;
	if (s->newest != s->most)
		return;
	s->least = (u8)half;
	s->least_us = now_us;
	s->known |= PAIR_ECHO_HAS_LEAST;
}

LAW void pair_receiver_on_data(void *state, const struct law_data *data)
{
	struct pair_receiver_state *s = state;

	s->confirmed = data->feedback.confirmed & 1;
	/* Without an ID nobody knows which half it is. */
	if (!data->roles_known)
		return;
	if ((data->role & 1) == PAIR_ROLE_MOST)
		pair_note_most(s, data->ecn & 3, data->now_us);
	else
		pair_note_least(s, data->ecn & 3, data->now_us);
}

LAW void pair_receiver_fill_ack(void *state, struct law_fill *fill)
{
	struct pair_receiver_state *s = state;
	u64 apart_us = fixed_max(fixed_sub(s->most_us, s->least_us), fixed_sub(s->least_us, s->most_us));

	fill->feedback.bytes[0] = (u8)(s->known | s->most | s->least << PAIR_ECHO_LEAST_SHIFT);
	option_put_u16(fill->feedback.bytes + 1, (u32)fixed_min(apart_us / 1000, PAIR_ECHO_MS_MAX));
	fill->feedback.len = PAIR_ECHO_BYTES;
	fill->feedback.present = 1;
	fill->feedback.confirmed = s->confirmed;
}

/* An ACK without room for the halves must not lose an overload. */
LAW void pair_receiver_ack_written(void *state, u32 written)
{
	struct pair_receiver_state *s = state;

	if (!written)
		return;
	s->pending = 0;
	if (s->newest == s->most)
		return;
	s->most = s->newest;
	pair_forget_least(s);
}

#endif /* FADELAB_PART_PAIR_ECHO_H */
