/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One call of the law, as it is recorded (record.h) and as `crates/laws/src/recorded` reads it.
 */
#ifndef FADELAB_CALL_H
#define FADELAB_CALL_H

#include "host.h"

/* Of memory that is kept in whole words, at least one. */
#define WORDS_OF(bytes) (((bytes) + 7) / 8 > 0 ? ((bytes) + 7) / 8 : 1)

/* Whose call it was. */
enum call_role {
	CALL_OF_SENDER = 0,
	CALL_OF_RECEIVER = 1,
	CALL_OF_ROUTER = 2,
	CALL_OF_GATEWAY = 3,
};

/* The functions of a sender's table, in its order. */
enum call_function {
	CALL_INIT = 0,
	CALL_ON_SEND = 1,
	CALL_ON_ACK = 2,
	CALL_ON_LOSS = 3,
	CALL_ON_RTO = 4,
	CALL_ON_RESTART = 5,
	CALL_ON_UNDO = 7,
};

/* Those of a receiver's. */
enum call_receipt {
	RECEIPT_INIT = 0,
	RECEIPT_ON_DATA = 1,
	RECEIPT_FILL_ACK = 2,
	RECEIPT_ACK_WRITTEN = 3,
};

/* What the program of a router asks of the host of its law (laws/host/router.h). */
enum call_passage {
	PASSAGE_START = 0,
	PASSAGE_PACKET = 1,
	PASSAGE_TIMERS = 2,
};

/* The functions of a gateway's table, in its order. */
enum call_transit {
	TRANSIT_INIT = 0,
	TRANSIT_ENCAPSULATE = 1,
	TRANSIT_DECAPSULATE = 2,
};

/* How far the calls of one instance have come, counted under its lock. */
struct call_chain {
	u64 calls_n;
	u64 lost_n; /* of them, those that found no room in the ring */
};

struct call_head {
	u64 id;       /* of the flow, the receiving end or the tunnel, from 1; of a router 1 */
	u64 sequence; /* among the calls of that, from 1 */
	u64 lost_n;   /* of those before it, the ones that found no room */
	u64 time_ns;
	u32 role;         /* enum call_role */
	u32 function;     /* of the role's table */
	u32 event_bytes;  /* of the event in use */
	u32 reserved;     /* 0 */
	u64 arguments[2]; /* cause; now_us and idle_us; written; now_us and full; now_us */
};

/* As large as the largest of the events. What the law may write stands in the second half as it was afterwards. */
#define EVENT_BYTES 208
#define RECEIPT_EVENT_BYTES 96
_Static_assert(sizeof(struct law_ack) <= EVENT_BYTES && 2 * sizeof(struct law_send) <= EVENT_BYTES, "an event fits");
_Static_assert(sizeof(struct law_data) <= RECEIPT_EVENT_BYTES && 2 * sizeof(struct law_fill) <= RECEIPT_EVENT_BYTES,
               "an event fits");

#ifdef STATE_BYTES

struct call {
	struct call_head head;
	u8 event[EVENT_BYTES];
	struct law_control before;
	struct law_control after;
	u64 state_before[WORDS_OF(STATE_BYTES)];
	u64 state_after[WORDS_OF(STATE_BYTES)];
};

struct receipt {
	struct call_head head;
	u8 event[RECEIPT_EVENT_BYTES];
	u64 state_before[WORDS_OF(ECHO_STATE_BYTES)];
	u64 state_after[WORDS_OF(ECHO_STATE_BYTES)];
};

#endif

#endif /* FADELAB_CALL_H */
