/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is kept of a connection. The two ends of a connection are two sockets: one that sends under the law has a flow,
 * one that receives from such a sender has an echo, and with traffic both ways a socket has both. All of it is touched
 * under the socket's lock, but for the codes that are noted before the socket is locked (feedback.h).
 *
 * The loader defines, per law: LAW_HEADER and LAW_SENDER (its table); LAW_RECEIVER where it has a receiver's half, and
 * RECEIVER_HEADER where that stands in another header; STATE_BYTES and ECHO_STATE_BYTES (their states); PARAMS (the
 * defaults of the parameters, PARAMS_N of them); WIRE (enum law_wire), WIRE_HEADER and WIRE_TABLE_NAME (its codec) and
 * OPTION_BYTES (of the option); FEEDBACK_BYTES (on data) and ECHO_BYTES (on ACKs); CARRIES_FEEDBACK (1: packets carry
 * something of the law); KERNEL_VERSION (major * 100 + minor); RECORD
 * (1: each call of the law is recorded).
 */
#ifndef FADELAB_FLOW_H
#define FADELAB_FLOW_H

#include "call.h"
#include "fixed.h"
#include "host.h"
#include "set.h"
#include LAW_HEADER
#ifdef RECEIVER_HEADER
#include RECEIVER_HEADER
#endif
#include WIRE_HEADER

struct law_params {
	u64 values[PARAMS_N > 0 ? PARAMS_N : 1];
};

TO_BE_SET struct law_params law_params = {{PARAMS}};

/* Most bytes of a congestion control's name, and a zero byte (TCP_CA_NAME_MAX). */
#define LAW_NAME_BYTES 16

/* Under which the kernel knows the law; the structure that it registers has it, too (control.h). */
TO_BE_SET char law_name[LAW_NAME_BYTES] = "";

#define CODEC WIRE_TABLE_NAME

static const struct law_format law_format = {
	.size = sizeof(law_format),
	.wire = WIRE,
	.data_bytes = FEEDBACK_BYTES,
	.echo_bytes = ECHO_BYTES,
};

struct flow {
	u64 state[WORDS_OF(STATE_BYTES)];
	u64 id;          /* counts from 1 per law */
	u64 feedback_us; /* when the newest echo came */
	u64 acked_us;    /* when the newest ACK came */
	u64 shown_us;    /* when it was last written into `live` */
	u32 snd_una;     /* as the last ACK left them */
	u32 delivered_ce;
	u32 sacked_out;
	u32 prr_delivered; /* since this recovery began, RFC 6937 */
	u32 ca_state;      /* enum law_ca_state */
	u32 ecn;           /* codepoint of the data to come, where the law chose one; else 0 */
	u32 cause;         /* of the last reduction, enum law_loss_cause */
	u32 ack_flags;     /* of the ACK at hand, known before the law is shown it */
	u32 cwnd_pkts;     /* window and ssthresh as the law left them, with what the kernel has no place for */
	u32 cwnd_fraction;
	u32 ssthresh_pkts;
	u32 ssthresh_fraction;
	u32 below_one;  /* 1: the kernel's window of 1 stands for the fraction alone */
	u32 is_limited; /* 1: the law said once that it sends less by choice, at the deliveries that follow */
	u32 limited_from;
	u32 limited_until;
	u32 ends_recovery; /* LAW_CA_RECOVERY: the ACK at hand does; else 0 */
	u32 exchange;      /* enum exchange */
	u32 wrote_data;    /* 1: the segment written last had data, with the option */
	u32 is_sealed;     /* 1: what it sent last was ESP between two hosts that the operator named */
	struct law_feedback feedback;
#if RECORD
	struct call_chain chain;
	struct call call; /* the one that is being made */
#endif
};

/* A power of two. */
#define NOTES 64

/* What the IP header of a packet with data said, until the socket gets to it. */
struct note {
	u32 seq;
	u32 code_and_segments; /* the ECN field in the lowest byte, segments above it */
	u32 id;                /* the IP ID, of DPCP the role alone, and NOTE_* */
	u32 packet_bytes;      /* of a segment, with its IP header */
};

#define NOTE_HAS_ID 0x10000u
#define NOTE_COUNTS 0x20000u /* the IDs of what was joined count up: packet.h */

struct echo {
	u64 state[WORDS_OF(ECHO_STATE_BYTES)];
	u32 notes_n; /* counted at the packet's arrival, without the socket's lock */
	u32 taken_n; /* of them those that the socket has got to */
	u32 has_begun;
	u32 reserved;
	struct note notes[NOTES];
#if RECORD
	u64 id; /* counts from 1 per law; 0: no call yet */
	struct call_chain chain;
	struct receipt receipt; /* the call that is being made */
#endif
};

struct {
	MAP_NUMBER(type, MAP_TYPE_SK_STORAGE);
	MAP_NUMBER(map_flags, MAP_F_NO_PREALLOC);
	int *key;
	struct flow *value;
} flows SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_TYPE_SK_STORAGE);
	MAP_NUMBER(map_flags, MAP_F_NO_PREALLOC);
	int *key;
	struct echo *value;
} echoes SEC(".maps");

/*
 * What all loaded laws know of a socket: the loader makes them share this map, or each would know of its own flows
 * alone. Of two laws of one format, which may be one law under two names, one answers for a socket.
 */
struct owner {
	u32 wire; /* of the law that the socket sends under, and 1; 0: it sends under none whose packets have an option */
};

struct {
	MAP_NUMBER(type, MAP_TYPE_SK_STORAGE);
	MAP_NUMBER(map_flags, MAP_F_NO_PREALLOC);
	int *key;
	struct owner *value;
} fade_owners SEC(".maps");

/* What `fadelab kernel list` shows of a flow. */
struct live_flow {
	u64 id;
	u64 time_us;
	u32 family;
	u32 local_port;
	u32 remote_port;
	u32 cwnd_pkts;
	u32 ssthresh_pkts;
	u32 srtt_us;
	u32 ca_state;
	u32 feedback_len;
	u64 feedback_us; /* when it came; 0: never */
	u8 local[16];
	u8 remote[16];
	u8 feedback[LAW_FEEDBACK_BYTES_MAX];
	u32 confirmed; /* 1: a router of the law saw what the feedback answers */
};

/* Of flows that ended without a word the oldest go first. */
struct {
	MAP_NUMBER(type, MAP_TYPE_LRU_HASH);
	MAP_NUMBER(max_entries, FLOWS_NOTED_MAX);
	u64 *key;
	struct live_flow *value;
} live SEC(".maps");

/* Distance between two looks at a flow: a person reads them. */
#define LIVE_US 100000ull

struct flow_counts {
	u64 begun;
	u64 gone;
};

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct flow_counts *value;
} flow_counts SEC(".maps");

#if RECORD
u64 echoes_n = 0;
#endif

ALWAYS_INLINE struct flow *flow_of(void *sk)
{
	return bpf_sk_storage_get(&flows, sk, (void *)0, 0);
}

/* From now on the socket sends under this law, or no longer. */
ALWAYS_INLINE void own(void *sk, u32 is_begin)
{
	struct owner *owner;

	if (!CARRIES_FEEDBACK)
		return;
	owner = bpf_sk_storage_get(&fade_owners, sk, (void *)0, SK_STORAGE_GET_F_CREATE);
	if (owner)
		owner->wire = is_begin ? WIRE + 1 : 0;
}

/* TCP_ECN_OK: both ends agreed to ECN as RFC 3168 has it. */
#define ECN_IS_AGREED 0x1

/* The codepoint that the kernel gives data by itself: where both ends agreed, to laws that let it react. */
ALWAYS_INLINE u32 ecn_of_kernel(u32 ecn_flags)
{
	return LAW_SENDER.ecn_mode == LAW_ECN_MODE_CLASSIC && ecn_flags & ECN_IS_AGREED ? LAW_ECN_ECT0 : LAW_ECN_NOT_ECT;
}

/* A codepoint that the law chose; 0 while the kernel's own is left as it is. */
ALWAYS_INLINE void take_ecn(struct flow *f, u32 ecn_flags, const struct law_control *control)
{
	if (f->ecn || control->ecn != ecn_of_kernel(ecn_flags))
		f->ecn = control->ecn;
}

/* What a law is shown of its window. Fractions are ours, for as long as the kernel leaves the whole packets alone. */
ALWAYS_INLINE void hold_window(const struct flow *f, u32 cwnd_pkts, u32 ssthresh_pkts, u32 ecn_flags,
                               struct law_control *control)
{
	__builtin_memset(control, 0, sizeof(*control));
	control->size = sizeof(*control);
	control->ca_state = f->ca_state;
	control->ecn = f->ecn ? f->ecn : ecn_of_kernel(ecn_flags);
	control->cwnd_pkts = cwnd_pkts;
	control->ssthresh_pkts = ssthresh_pkts;
	if (ssthresh_pkts == f->ssthresh_pkts)
		control->ssthresh_fraction = f->ssthresh_fraction;
	if (cwnd_pkts != f->cwnd_pkts)
		return;
	control->cwnd_fraction = f->cwnd_fraction;
	if (f->below_one)
		control->cwnd_pkts = 0;
}

#endif /* FADELAB_FLOW_H */
