/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A gateway's law, named by -DHEADER and -DTABLE, under a host that may do whatever law.h allows; see sender.c. */
#include "proof.h"
#include HEADER
#include "state.h"

/* What a gateway may write of a packet. */
static void packet_holds(const struct law_packet *packet, const struct law_packet *before)
{
	holds(packet->ecn <= LAW_ECN_CE && packet->outer_ecn <= LAW_ECN_CE);
	holds(packet->flags == before->flags && packet->ip_bytes == before->ip_bytes);
	holds(packet->ip_id == before->ip_id && packet->role == before->role && packet->wire == before->wire);
}

static void same_packet(const struct law_packet *one, const struct law_packet *other)
{
	holds(one->ecn == other->ecn && one->outer_ecn == other->outer_ecn && one->confirmed == other->confirmed);
	holds(one->feedback_len == other->feedback_len);
	for (int i = 0; i < LAW_FEEDBACK_BYTES_MAX; i++)
		holds(one->feedback[i] == other->feedback[i]);
}

/* One call of either direction, at its time and with its packets. */
struct transit {
	u64 now_us;
	struct law_packet given, written;
};

static void any_transit(struct transit *transit)
{
	transit->now_us = any(now_us, LAW_TIME_US_MAX);
	any_packet(&transit->given);
	any_packet(&transit->written);
}

static void carry(void *memory, u32 is_exit, struct transit *transit)
{
	if (is_exit && TABLE.decapsulate)
		TABLE.decapsulate(memory, params, transit->now_us, &transit->given, &transit->written);
	if (!is_exit && TABLE.encapsulate)
		TABLE.encapsulate(memory, params, transit->now_us, &transit->given, &transit->written);
}

/* What the flag LAW_GATEWAY_DIRECTIONS_APART promises: the next calls of both directions come to the same packets and
 * to the same state in either order. From any state, so in any number and order. */
void lemma_directions_apart(void)
{
	struct transit first[2], second[2];
	void *other;

	any_params(TABLE.params, TABLE.params_n, TABLE.params_bytes);
	now_us = any_time_us();
	new_state(TABLE.state_bytes);
	any_state(TABLE.state_bytes);
	other = copy_state(TABLE.state_bytes);
	for (u32 is_exit = 0; is_exit < 2; is_exit++) {
		any_transit(&first[is_exit]);
		second[is_exit] = first[is_exit];
	}
	carry(state, 0, &first[0]);
	carry(state, 1, &first[1]);
	carry(other, 1, &second[1]);
	carry(other, 0, &second[0]);
	if (!(TABLE.flags & LAW_GATEWAY_DIRECTIONS_APART))
		return;
	holds(!TABLE.init);
	for (u32 i = 0; i < TABLE.state_bytes; i++)
		holds(((const u8 *)state)[i] == ((const u8 *)other)[i]);
	for (u32 is_exit = 0; is_exit < 2; is_exit++)
		same_packet(&first[is_exit].written, &second[is_exit].written);
	RETURNED(directions_apart);
}

int main(void)
{
	struct law_tunnel tunnel = {.size = sizeof(tunnel), .number = any_u32(), .random = any_u32()};
	struct law_packet given, written, before;

	new_state(TABLE.state_bytes);
	any_params(TABLE.params, TABLE.params_n, TABLE.params_bytes);
	now_us = tunnel.now_us = any_time_us();
	tunnel.outer_bytes = (u32)any(0, LAW_PACKET_BYTES_MAX);
	CALL(init, TABLE.init(state, params, &tunnel));
	state_holds();
	any_state(TABLE.state_bytes);
	now_us = any(now_us, LAW_TIME_US_MAX);
	any_packet(&given);
	any_packet(&written);
	before = written;
	if (any(0, 1))
		CALL(encapsulate, TABLE.encapsulate(state, params, now_us, &given, &written));
	else
		CALL(decapsulate, TABLE.decapsulate(state, params, now_us, &given, &written));
	packet_holds(&written, &before);
	state_holds();
	RETURNED(main);
	return 0;
}
