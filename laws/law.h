/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface between a law and its host.
 *
 * A law is the mathematics of a congestion control protocol and nothing else: time, randomness and measurements come
 * in, decisions go out. It keeps its memory in a plain struct that the host gives it, it calls nothing, allocates
 * nothing, reads no clock. The same header is compiled into the simulator, the emulator and the kernel's BPF programs.
 *
 * A protocol has up to four roles: sender, receiver, router and gateway. Each is a table of functions; a
 * function that a law does not need is left NULL and the host then spends nothing on it. Beside them stand capacity
 * parts: how a router learns what its link can carry, orthogonal to the law that divides it.
 *
 * Conventions
 *  - Units stand last in each name: _us microseconds, _bytes, _pkts full-sized segments, _Bps bytes per second.
 *  - Every struct that crosses the interface starts with `size`, its size as the host knows it, so that a law compiled
 *    later or earlier can see which of the trailing fields exist.
 *  - `state` is zeroed by the host before init; `params` is the law's own parameter struct, all fields u64.
 *  - Times are unsigned and never go back; now_us starts anywhere.
 */
#ifndef FADELAB_LAW_H
#define FADELAB_LAW_H

#include "base.h"
#include "declare.h"

/* -------------------------------------------------------------------------------------------------- feedback */

/* Which header a packet carries. Routers leave packets of another format alone. */
enum law_wire {
	LAW_WIRE_NONE = 0, /* plain TCP or UDP */
	LAW_WIRE_VCP = 1,  /* the load code in the two ECN bits */
	LAW_WIRE_XCP = 2,
	LAW_WIRE_RCP = 3,
	LAW_WIRE_PAIR = 4, /* DCP-EW: half a load code in the ECN bits, which half by the lowest bit of the IP ID */
	/* DPCP: the same, but which half by the order of the TCP header's numbers: 0 where seq is above ack. */
	LAW_WIRE_DPCP = 5,
};

/* ECN field of the IP header, RFC 3168. */
enum law_ecn {
	LAW_ECN_NOT_ECT = 0,
	LAW_ECN_ECT1 = 1,
	LAW_ECN_ECT0 = 2,
	LAW_ECN_CE = 3,
};

#define LAW_FEEDBACK_BYTES_MAX 20

/*
 * Feedback as a law sees it, at most 20 bytes. How it travels (a TCP option, a compact 16-bit float) is the business of
 * a codec, see laws/wire. When an ACK came without it the host repeats the last one with present = 0 and its age.
 */
struct law_feedback {
	u8 bytes[LAW_FEEDBACK_BYTES_MAX];
	u8 len;     /* bytes in use; 0: nothing was ever received */
	u8 present; /* 1: it came with this very packet */
	/* 1: a router of this format saw the packet, so that what stands here is a grant and not the own request come back
	 * from a path without one. A receiver's law copies it as it does the bytes. */
	u8 confirmed;
	u8 reserved;
	u32 age_us; /* since it came; 0 when present */
};

/* ---------------------------------------------------------------------------------------------------- sender */

/* Recovery state of the host, as Linux names it. */
enum law_ca_state {
	LAW_CA_OPEN = 0,     /* nothing unusual */
	LAW_CA_DISORDER = 1, /* duplicate ACKs or SACKs, not yet a loss */
	LAW_CA_CWR = 2,      /* reduced for an ECN echo */
	LAW_CA_RECOVERY = 3, /* fast retransmit */
	LAW_CA_LOSS = 4,     /* after a retransmission timeout */
};

/* How the receiving host treats congestion marks for this law. */
enum law_ecn_mode {
	LAW_ECN_MODE_NONE = 0,    /* the stack never reacts; the law reads the bits by itself, or there are none */
	LAW_ECN_MODE_CLASSIC = 1, /* RFC 3168: ECE until CWR, one on_loss(LAW_LOSS_ECN) a round trip; ECT is optional */
	LAW_ECN_MODE_EXACT = 2,   /* RFC 8257: each mark is echoed once, the law reacts in on_ack */
};

enum law_sender_flags {
	/* The law sets cwnd in recovery too (Linux: cong_control). Otherwise the host does (cong_avoid). */
	LAW_SENDER_OWNS_RECOVERY = 1u << 0,
	/* The state exceeds LAW_STATE_BYTES_MAX and lives in socket storage; the header says why. */
	LAW_SENDER_SOCKET_STORAGE = 1u << 1,
	/* The law sends at control.pacing_Bps; the host must pace. */
	LAW_SENDER_PACED = 1u << 2,
	/* The law's on_send is asked for the feedback of a SYN too: see law_send. */
	LAW_SENDER_FEEDBACK_ON_SYN LAW_NOT_IN_KERNEL("the programs write no option on a SYN yet") = 1u << 4,
	/* Of an ACK the law reads neither rate sample (rate_*, delivered_total_pkts, LAW_ACK_APP_LIMITED) nor the flight
	 * before it (prior_in_flight_pkts) nor timestamps (ts_*, LAW_ACK_TIMESTAMPS) nor random, nor that of law_send: a
	 * host need not come up with them, and may leave 0 there. */
	LAW_SENDER_PLAIN_ACKS = 1u << 3,
};

enum law_control_flags {
	/* The law sends less than the window would let it for reasons of its own, such as to empty the queue: rate samples
	 * of what is in flight now are LAW_ACK_APP_LIMITED. Set anew by each call that means it. */
	LAW_CONTROL_APP_LIMITED = 1u << 0,
	/* ACKs clock the segments out, one each, and where the window holds more a timer lets one more go after the time
	 * that pacing_Bps gives it. As long as it stands. */
	LAW_CONTROL_PACED_BY_ACKS LAW_NOT_IN_KERNEL("a socket has one pacing timer and no gate for ACKs") = 1u << 1,
};

/*
 * Decisions, in and out: on entry what the host holds, on return what it shall hold.
 *
 * While the host repairs (RECOVERY, which the ACK that ends the repair is shown with, too), or lowers the window over a
 * round trip after an ECN echo (CWR, where it does), window and ssthresh are the host's: what on_ack writes there is
 * dropped, on every ground. A law that owns recovery is free in every state. Whatever ssthresh a loss is answered with,
 * the window does not rise by it: the host goes to the smaller of ssthresh and the window before the loss, but to two
 * packets at least where ssthresh has them (RFC 5681, equation (4)).
 */
struct law_control {
	u32 size;
	u32 cwnd_pkts;     /* whole packets; on return at least 1, or 0 with a fraction: see below */
	u32 ssthresh_pkts; /* at least 1 on return */
	u32 ca_state;      /* enum law_ca_state; read only */
	u64 pacing_Bps;    /* IP bytes; 0: as fast as the window allows */
	u32 ecn;           /* codepoint of the data packets to come, enum law_ecn */
	u32 flags;         /* enum law_control_flags */
	/*
	 * Beyond the whole packets, in 2^-32 of one. The host sends whole packets and keeps the fraction for the law; where
	 * it sets a window itself the fraction is 0. A window below one packet (cwnd_pkts 0), which needs
	 * LAW_SENDER_PACED, lets one packet at a time go, every srtt / window. A kernel paces none of a connection's first
	 * ten segments, and takes a new distance from the segment behind the next one on.
	 */
	u32 cwnd_fraction;
	u32 ssthresh_fraction;
};

struct law_start {
	u32 size;
	u32 packet_bytes; /* IP bytes of a full segment */
	u32 mss_bytes;    /* payload of a full segment */
	u32 random;
	u64 now_us;
	u32 srtt_us;    /* 0: not known; the handshake is not a sample in every host */
	u32 ts_tick_us; /* the own timestamp clock; a peer's is not signalled (RFC 7323) */
	/* What came with the answer to the SYN; len 0: nothing, or no SYNs were exchanged. */
	struct law_feedback feedback LAW_NOT_IN_KERNEL("the programs read no option of a SYN yet");
};

/* One segment about to leave. The law fills the feedback that rides on it; present = 0 sends none. */
struct law_send {
	u32 size;
	u32 packet_bytes;
	u64 now_us;
	u32 srtt_us; /* 0: no sample yet */
	u32 retransmission;
	u32 in_flight_pkts;
	u32 random;
	struct law_feedback feedback;
	/* 1: a SYN, of a law with LAW_SENDER_FEEDBACK_ON_SYN. There is no connection yet: state is zeroed and forgotten
	 * behind the call, and nothing is taken from control. What the answer brought back stands in law_start. */
	u32 syn;
};

enum law_ack_flags {
	LAW_ACK_ECE = 1u << 0,          /* the ECN echo is set */
	LAW_ACK_DUPLICATE = 1u << 1,    /* it acknowledges nothing new cumulatively */
	LAW_ACK_APP_LIMITED = 1u << 2,  /* the rate sample was taken while the application had nothing to send */
	LAW_ACK_CWND_LIMITED = 1u << 3, /* the window, not the application or the peer, held the sender back */
	LAW_ACK_TIMESTAMPS = 1u << 4,   /* ts_val and ts_ecr are this ACK's; otherwise they say nothing */
	/* The receiver held it back for a second segment. A kernel guesses: an ACK of one segment that came in order. */
	LAW_ACK_DELAYED = 1u << 5,
	/* A probe of the end of the flight repaired a loss (RFC 8985, section 7.4), for which on_loss was just called. */
	LAW_ACK_PROBE_REPAIRED = 1u << 6,
};

/* What a sender sees on every ACK, in recovery too. */
struct law_ack {
	u32 size;
	u32 flags;
	u64 now_us;
	u32 rtt_us;     /* this ACK's sample; 0: none */
	u32 srtt_us;    /* RFC 6298; 0: no sample yet */
	u32 rtt_us_min; /* smallest sample of the connection; 0: no sample yet */
	u32 random;
	u32 packet_bytes;
	u32 mss_bytes;
	u32 acked_pkts;     /* newly acknowledged cumulatively */
	u32 sacked_pkts;    /* newly acknowledged selectively */
	u32 lost_pkts;      /* newly found lost */
	u32 delivered_pkts; /* newly known to have arrived: each segment counts once */
	u32 in_flight_pkts; /* after this ACK (pipe of RFC 6675) */
	u32 ts_val;         /* the ACK's TSval, in the receiver's ticks */
	u32 ts_ecr;         /* the ACK's TSecr, in our ticks */
	u32 marked_pkts;    /* congestion marks newly echoed (LAW_ECN_MODE_EXACT), else 0 */
	/* Rate sample (draft-cheng-iccrg-delivery-rate-estimation); interval 0: none. */
	u32 rate_delivered_pkts;
	u32 rate_interval_us;
	/* In flight when the newest delivered segment left, without it. A kernel does not keep it and gives what was
	 * delivered since then but for that segment: the same where nothing was lost or reordered in between. */
	u32 rate_prior_in_flight_pkts;
	u32 rate_marked_pkts;
	u64 rate_prior_delivered_pkts; /* delivered_total_pkts when that segment was sent: counts round trips */
	u64 delivered_total_pkts;
	u64 marked_total_pkts;
	struct law_feedback feedback;
	u32 prior_in_flight_pkts; /* before this ACK */
	u32 rwnd_pkts;            /* what the receiver lets be in flight, rounded up to full segments; 0: not told */
};

/* A segment that was just found lost, and the moment when it left. Totals are of this connection. */
struct law_lost {
	u32 size;
	u32 retransmission; /* 1: it had been lost before, and this is the repetition */
	u64 now_us;
	u64 sent_us;
	u32 in_flight_pkts; /* when it left, without it */
	u32 delivered_pkts; /* since it left */
	u32 lost_pkts;      /* since it left, with it */
	u32 marked_pkts;    /* since it left (LAW_ECN_MODE_EXACT), else 0 */
};

enum law_loss_cause {
	LAW_LOSS_DUPACK = 0, /* the host enters recovery */
	LAW_LOSS_ECN = 1,    /* LAW_ECN_MODE_CLASSIC only, once per round trip */
	LAW_LOSS_RTO = 2,
};

struct law_sender {
	u32 abi;
	u32 size;
	const char *name;
	const char *summary;
	u32 state_bytes;
	u32 params_bytes;
	u32 flags;
	u32 wire;           /* enum law_wire of the data packets */
	u32 ecn_mode;       /* enum law_ecn_mode */
	u32 feedback_bytes; /* on data packets; 0: none */
	const char *router; /* the router law it needs on its path, or NULL */
	const struct law_param *params;
	u32 params_n;
	/* A new connection. The host's initial window stands in control. */
	void (*init)(void *state, const void *params, const struct law_start *start, struct law_control *control);
	/* Before each segment leaves. */
	void (*on_send)(void *state, const void *params, struct law_send *send, struct law_control *control);
	/* Each ACK, after the host has done its own recovery. A law that does not own recovery must leave cwnd_pkts alone
	 * while ca_state is RECOVERY; in LOSS it grows the window as after a restart. */
	void (*on_ack)(void *state, const void *params, const struct law_ack *ack, struct law_control *control);
	/* Once per loss event or per ECN echo: sets ssthresh_pkts (and cwnd_pkts where it owns recovery). The host then
	 * runs its recovery towards ssthresh_pkts. `cause` is enum law_loss_cause, never RTO. */
	void (*on_loss)(void *state, const void *params, const struct law_ack *ack, u32 cause, struct law_control *control);
	/* The retransmission timer fired: sets ssthresh_pkts from the window that still stands in control. The host then
	 * sets cwnd_pkts = 1. */
	void (*on_rto)(void *state, const void *params, const struct law_ack *ack, struct law_control *control);
	/* Sending again after idle_us with nothing in flight (RFC 9293 section 3.8.6.2.1, RFC 7661). */
	void (*on_restart)(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control);
	/* Each segment that is found lost, before on_loss or on_ack of the ACK that tells it; after on_rto those that the
	 * timeout gave up. Nothing is taken from control. */
	void (*on_lost)(void *state, const void *params, const struct law_lost *lost, struct law_control *control)
		LAW_NOT_IN_KERNEL("no hook tells a congestion control which segments are lost");
	/* The reduction for `cause` (enum law_loss_cause) was spurious: what was taken for lost had been late (RFC 4015).
	 * In control stand the window and ssthresh that the host goes back to, at least those of before; the law may take
	 * others. NULL: it agrees. */
	void (*on_undo)(void *state, const void *params, const struct law_ack *ack, u32 cause, struct law_control *control);
	const struct law_watch *watch; /* NULL: nothing */
	u32 watch_n;
};

/* -------------------------------------------------------------------------------------------------- receiver */

struct law_data {
	u32 size;
	u32 packet_bytes; /* IP bytes */
	u64 now_us;
	u32 ecn;  /* as it arrived, enum law_ecn */
	u32 role; /* computed by the host: 0 most significant half, 1 least; LSB of the IP ID but for LAW_WIRE_DPCP */
	u32 ip_id;
	u32 in_order;                 /* 1: it was the next one expected */
	struct law_feedback feedback; /* as routers left it */
	u32 segments;                 /* as in law_packet, with the two below; 1: hosts show what was joined one by one */
	u32 roles_known;
	u64 roles;
};

/* The ACK about to leave. present = 0 sends no feedback; ecn is the ACK's own IP codepoint (S1's echo). */
struct law_fill {
	u32 size;
	u32 ecn;
	u64 now_us;
	struct law_feedback feedback;
};

struct law_receiver {
	u32 abi;
	u32 size;
	const char *name;
	u32 state_bytes;
	u32 feedback_bytes; /* on ACKs */
	void (*init)(void *state, u64 now_us);
	void (*on_data)(void *state, const struct law_data *data);
	void (*fill_ack)(void *state, struct law_fill *fill);
	/* After fill_ack: written = 1 when the feedback really found room in the header. XCP's receiver clears its sum
	 * only then. NULL: the law does not care. */
	void (*ack_written)(void *state, u32 written);
};

/* --------------------------------------------------------------------------------- routers, parts and gateways */

#include "law_path.h"

#endif /* FADELAB_LAW_H */
