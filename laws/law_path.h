/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of law.h for what stands on a path: routers, their capacity parts, and gateways. Laws include law.h.
 */
#ifndef FADELAB_LAW_PATH_H
#define FADELAB_LAW_PATH_H

#include "law.h"

/* ---------------------------------------------------------------------------------------------------- router */

#define LAW_TIMERS_MAX 4
#define LAW_TIMER_OFF (~0ull)
#define LAW_QUEUES_MAX 4
#define LAW_ROLES_MAX 64u

/* Roles of consecutive segments whose IDs count up from one of this role. */
LAW u64 law_roles(u32 role, u32 segments)
{
	u64 roles = role & 1 ? 0x5555555555555555ull : 0xaaaaaaaaaaaaaaaaull;

	return segments < LAW_ROLES_MAX ? roles & ((1ull << segments) - 1) : roles;
}

enum law_packet_flags {
	LAW_PACKET_DATA = 1u << 0,           /* carries payload; otherwise a pure ACK */
	LAW_PACKET_RETRANSMISSION = 1u << 1, /* for statistics; no router on a real path knows it */
	/* It has an outer header, which is all that routers see: they mark outer_ecn only, there is no feedback, and
	 * neither DATA nor a wire but where they are told of the tunnel. */
	LAW_PACKET_TUNNELLED = 1u << 2,
};

struct law_packet {
	u32 size;
	u32 flags;
	u32 ip_bytes;
	u32 air_bytes; /* with parity: what the packet costs of the link's capacity */
	u16 ip_id;
	u8 ecn;       /* in and out */
	u8 outer_ecn; /* of an outer header, in and out; equals ecn where there is none */
	u8 role;
	u8 wire; /* enum law_wire */
	u8 feedback_len;
	u8 confirmed; /* in and out: see law_feedback; a router that reads or writes the feedback sets it */
	u8 feedback[LAW_FEEDBACK_BYTES_MAX]; /* in and out */
	/*
	 * What offload joined is one packet of several segments. Bit i of `roles` is the role of segment i, of the first
	 * LAW_ROLES_MAX. Of the first `roles_known` it is certain; those behind have the role that they have where a
	 * sender's IDs count up. 0: the packet has no IP ID, as those of IPv6.
	 */
	u32 segments; /* at least 1 */
	u32 roles_known;
	u64 roles;
};

/* What a router's law sees of its queue. */
struct law_queue {
	u32 size;
	u32 random; /* uniform in [0, 2^32): in timers, and with packets where LAW_ROUTER_RANDOM* asks for it */
	u64 now_us;
	u64 queue_bytes; /* on-air bytes waiting: without the packet in transmission, and in on_enqueue without this one */
	u32 queue_pkts;
	u32 full;    /* on_enqueue: the packet does not fit and will be dropped whatever the law says */
	u64 wait_us; /* on_dequeue: how long the packet waited */
	/* From the capacity part, since its last interval. */
	s64 spare_Bps;
	u64 capacity_Bps;        /* 0: not known */
	s64 queue_control_bytes; /* the queue to drain, where the part replaces the law's own; see has_queue_control */
	u32 has_queue_control;
	u32 last_bytes;    /* on_enqueue: on-air bytes of the last transmission, */
	u64 last_start_us; /* and when it began */
	/* on_timer, otherwise 0: of the time since this timer ran last. */
	u64 arrived_pkts;  /* later dropped ones included */
	u64 arrived_bytes; /* on-air */
	u64 queue_bytes_min;
	/* From the capacity part, since its last interval: F, by how much all flows together may grow (negative: shrink),
	 * in place of what the law computes from spare_Bps and the queue. A law that does not know it goes on without. */
	s64 aggregate_Bps;
	u32 has_aggregate; /* 1: the part gives it */
	/* Of a law with queues of its own (law_router.queues), in every call; otherwise 0. The fields above see all of them
	 * as one. */
	u32 index; /* on_enqueue, on_dequeue: the packet's queue */
	u32 each_pkts[LAW_QUEUES_MAX];
	u64 each_bytes[LAW_QUEUES_MAX];
	u64 each_wait_us[LAW_QUEUES_MAX]; /* how long its head has waited; 0: it is empty */
};

/* The link as configured, for init and for laws that scale with it. */
struct law_link {
	u32 size;
	u32 random;
	u64 now_us;
	u64 capacity_Bps; /* on-air bytes; 0: not known */
	u64 delay_us;
	/* On-air bytes, never 0: a limit in packets counts packet_bytes for each. A kernel that was told no limit takes
	 * the device's transmit queue for it, in packets. */
	u64 limit_bytes;
	u32 limit_pkts;   /* 0: limited in bytes only */
	u32 packet_bytes; /* on-air bytes of a full data packet */
};

enum law_verdict {
	LAW_PASS = 0,
	LAW_DROP = 1,
};

enum law_router_flags {
	LAW_ROUTER_NEEDS_CAPACITY = 1u << 0, /* refused with a part that knows none */
	LAW_ROUTER_RANDOM = 1u << 1,         /* wants law_queue.random in on_enqueue */
	LAW_ROUTER_FEEDBACK = 1u << 2,       /* reads or writes law_packet.feedback */
	/* on_dequeue may say LAW_DROP. A host that plans departures ahead must know: it plans anew at each such drop. */
	LAW_ROUTER_DROPS_AT_DEQUEUE = 1u << 3,
	LAW_ROUTER_RANDOM_AT_DEQUEUE = 1u << 4, /* wants law_queue.random in on_dequeue */
	/* With packets the law reads nothing of law_queue but random: a host need not look at its queue for it. */
	LAW_ROUTER_BLIND = 1u << 5,
};

struct law_router {
	u32 abi;
	u32 size;
	const char *name;
	const char *summary;
	u32 state_bytes;
	u32 params_bytes;
	u32 flags;
	u32 wire;          /* its packets: data of this format, a host need not show it others; LAW_WIRE_NONE: all */
	u32 timers;        /* how many of due_us init fills */
	u32 control_timer; /* the timer before which the host closes the capacity part's interval */
	const struct law_param *params;
	u32 params_n;
	void (*init)(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX]);
	/* Each arrival, before the limit is checked: enum law_verdict. */
	u32 (*on_enqueue)(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue);
	/* Each departure from the queue into transmission: enum law_verdict. */
	u32 (*on_dequeue)(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue);
	/* Timer `timer` is due; returns when it is due next, or LAW_TIMER_OFF. */
	u64 (*on_timer)(void *state, const void *params, u32 timer, const struct law_queue *queue);
	/* Queues of its own, at most LAW_QUEUES_MAX, each first in, first out; 0: the host's one, and neither function
	 * below. They share the link's limit. A law with queues cannot stand in one of several queues of a host. */
	u32 queues;
	u32 reserved;
	/* Each arrival, before on_enqueue: the queue that it joins unless it is dropped. A packet that the law is not
	 * shown (wire) joins queue 0. */
	u32 (*classify)(void *state, const void *params, const struct law_packet *packet, const struct law_queue *queue);
	/* Each departure, before on_dequeue, and again where that dropped the packet: the queue whose head leaves. It is
	 * one of those that are not empty. */
	u32 (*pick)(void *state, const void *params, const struct law_queue *queue);
	const struct law_watch *watch; /* NULL: nothing */
	u32 watch_n;
};

/* ------------------------------------------------------------------------------------------------- capacity */

/* What a link did since the part was last asked. */
struct law_interval {
	u32 size;
	u32 reserved;
	u64 now_us;
	u64 interval_us;
	u64 offered_bytes; /* capacity that went by, used or not; 0 where the host cannot see it */
	u64 sent_bytes;
	u64 arrived_bytes; /* on-air bytes, later dropped ones included */
	u64 busy_us;
	u64 idle_us;
	u64 queue_bytes; /* now */
	u64 queue_bytes_min;
	u64 limit_bytes;    /* as in law_link */
	u64 configured_Bps; /* 0: nothing was configured */
	/* Of what was sent, what the far end gets: without what is lost on the air. Where the link repeats packets, each
	 * counts at the try that comes through. */
	u64 received_bytes LAW_NOT_IN_KERNEL("a device does not hear what the far end received");
};

struct law_estimate {
	u32 size;
	u32 has_queue_control;
	s64 spare_Bps;
	u64 capacity_Bps; /* 0: not known */
	s64 queue_control_bytes;
	/* F itself, see law_queue; a part that gives it gives spare_Bps for laws that know nothing of it. */
	s64 aggregate_Bps;
	u32 has_aggregate;
	u32 reserved;
};

enum law_capacity_flags {
	LAW_CAPACITY_KNOWN = 1u << 0, /* it gives a capacity, not only what is spare */
};

struct law_capacity {
	u32 abi;
	u32 size;
	const char *name;
	const char *summary;
	u32 state_bytes;
	u32 params_bytes;
	u32 flags;
	const struct law_param *params;
	u32 params_n;
	void (*init)(void *state, const void *params, const struct law_link *link);
	void (*estimate)(void *state, const void *params, const struct law_interval *interval, struct law_estimate *out);
	const struct law_watch *watch; /* NULL: nothing */
	u32 watch_n;
};

/* --------------------------------------------------------------------------------------------------- gateway */

/* A tunnel at one of its gateways. */
struct law_tunnel {
	u32 size;
	u32 random;
	u64 now_us;
	u32 number;      /* among the tunnels of this gateway */
	u32 outer_bytes; /* of the outer headers, in front of the inner one */
};

enum law_gateway_flags {
	/* The two directions of a tunnel have only the struct of the state in common: what encapsulate reads of it
	 * decapsulate does not write, nor the other way round, and there is no init. Then a host need not call them in one
	 * order. */
	LAW_GATEWAY_DIRECTIONS_APART = 1u << 0,
};

/*
 * What a gateway carries between the inner and the outer header of a tunnel, such as DCP-EW's Security Module does.
 * Each tunnel of a gateway has a state of its own, for both directions; or each flow in it has, as whoever sets it up
 * chooses.
 *
 * Of a packet in a tunnel `outer` says what the outer header says: its ip_id and role are those of the outer header,
 * and outer_ecn is its ECN field, which routers in the tunnel see and mark; ecn is that of the inner header as it
 * entered. There is no feedback. `inner` is the packet as it is without.
 * The host has made an outer header by the tunnel's rule for the ECN field before encapsulate, and written back what
 * that rule says before decapsulate. Of the second packet the law may then write, entering, outer_ecn, and leaving,
 * ecn, the feedback and confirmed.
 */
struct law_gateway {
	u32 abi;
	u32 size;
	const char *name;
	const char *summary;
	u32 state_bytes; /* for each tunnel */
	u32 params_bytes;
	u32 flags;
	u32 params_n;
	const struct law_param *params;
	/* A new tunnel. */
	void (*init)(void *state, const void *params, const struct law_tunnel *tunnel);
	/* Each packet that enters the tunnel here. */
	void (*encapsulate)(void *state, const void *params, u64 now_us, const struct law_packet *inner,
	                    struct law_packet *outer);
	/* Each packet that leaves it here. */
	void (*decapsulate)(void *state, const void *params, u64 now_us, const struct law_packet *outer,
	                    struct law_packet *inner);
	const struct law_watch *watch; /* NULL: nothing */
	u32 watch_n;
};

#endif /* FADELAB_LAW_PATH_H */
