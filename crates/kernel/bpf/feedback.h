/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How feedback comes back. Each segment of a flow under the law carries an option (laws/wire); a socket that gets such
 * a segment answers with the same option. ECN is not negotiated, so the stack never reacts to the two bits.
 *
 * The option is read where the stack has found the segment valid (its numbers lie in the window), and in the order in
 * which the socket takes segments. The ECN field is seen only before that, in the IP header: it is noted by sequence
 * number, and believed when a valid segment with that number comes. A segment without the option changes nothing: the
 * last feedback holds, and an ACK on which it found no room is no sign of an idle path.
 */
#ifndef FADELAB_FEEDBACK_H
#define FADELAB_FEEDBACK_H

#include "exchange.h"
#include "flow.h"
#include "host/packet.h"
#include "invoke.h"
#include "record.h"

/* Notes to look at and segments to tell of one packet: more than is ever joined into one. */
#define STEPS_MAX 1024
#define TCP_LISTEN 10
#define TCP_HEADER_BYTES_MAX 60u

/* Whether a segment carries the law's option: it is among the last of a header (reserve_option). */
ALWAYS_INLINE u32 has_option(struct __sk_buff *skb, u32 tcp_at, u32 tcp_end)
{
	struct packet packet = {.tcp_at = tcp_at, .tcp_end = tcp_end};

	return !!packet_option(skb, &packet, WIRE, OPTION_BYTES);
}

/* As on ACKs (control.h): TCP itself has looked at the clock for the segment at hand, which takes longer than all that
 * is done with it. */
ALWAYS_INLINE u64 now_us(struct bpf_sock_ops *ops)
{
	void *sk = ops->sk;
	const struct tcp_sock *tp = sk ? bpf_skc_to_tcp_sock(sk) : (void *)0;

	return tp ? tp->tcp_mstamp : 0;
}

ALWAYS_INLINE u32 ip_header_bytes(const struct bpf_sock_ops *ops)
{
	return ops->family == FAMILY_IPV6 ? 40 : 20;
}

#ifdef LAW_RECEIVER

/* A packet on its way to the law. */
struct taking {
	struct echo *e;
	struct law_data data;
	u32 seq; /* of its payload, and how long that is */
	u32 payload_bytes;
	u32 at; /* the note to look at next, and the one to stop before */
	u32 until;
	u32 id;       /* of the note at hand, counted on */
	u32 segments; /* of that note that the law is to be told yet */
	u32 told;
	u32 reserved;
};

ALWAYS_INLINE void tell_segment(struct taking *t, u32 is_first)
{
	struct law_data *data = &t->data;

	data->ip_id = t->id & NOTE_HAS_ID ? t->id & 0xffff : 0;
	data->role = data->ip_id & 1;
	data->roles = data->role;
	data->roles_known = t->id & NOTE_HAS_ID && (is_first || t->id & NOTE_COUNTS);
	if (LAW_RECEIVER.on_data) {
		RECEIVED(t->e, RECEIPT_ON_DATA, CALL_EVENT(&t->e->receipt, data), LAW_RECEIVER.on_data(t->e->state, data),
		         NOTHING_WRITTEN);
	}
	t->id = (t->id & ~0xffffu) | ((t->id + 1) & 0xffff);
	t->told = 1;
}

/* Tells a segment, or looks at a note. What the socket did not want is passed over: it takes packets in their order. */
static long take_step(u32 step, struct taking *t)
{
	const struct note *note;

	(void)step;
	if (t->segments) {
		t->segments--;
		tell_segment(t, 0);
		return 0;
	}
	if (t->at == t->until)
		return 1;
	note = &t->e->notes[t->at++ % NOTES];
	if (note->seq - t->seq >= t->payload_bytes)
		return 0;
	t->e->taken_n = t->at;
	t->id = note->id;
	t->data.ecn = note->code_and_segments & 3;
	t->data.packet_bytes = note->packet_bytes;
	t->segments = note->code_and_segments >> 8;
	if (t->segments) {
		t->segments--;
		tell_segment(t, 1);
	}
	return 0;
}

/* Where the note is gone already, the most congested of those that are there counts. */
ALWAYS_INLINE u32 most_congested(const struct echo *e)
{
	u32 most = 0;

	for (u32 i = 0; i < NOTES; i++)
		most = fixed_max(most, e->notes[i].code_and_segments & 3);
	return most;
}

/*
 * What offload joined arrived one by one, with the same option. So did packets that waited for the socket, of which TCP
 * joins neighbours with the same options: such a packet has several notes.
 */
ALWAYS_INLINE void take_data(struct bpf_sock_ops *ops, struct echo *e, const u8 *option, const struct tcp_header *tcp,
                             u32 header_bytes)
{
	struct taking taking = {};
	struct law_data *data = &taking.data;
	u32 found;

	taking.e = e;
	taking.seq = host_be32(tcp->seq);
	taking.payload_bytes = ops->skb_len - header_bytes;
	taking.until = e->notes_n;
	taking.at = taking.until - e->taken_n > NOTES ? taking.until - NOTES : e->taken_n;
	data->size = sizeof(*data);
	data->now_us = now_us(ops);
	data->in_order = taking.seq == ops->rcv_nxt;
	data->segments = 1;
	found = CODEC.get_data ? CODEC.get_data(option, &law_format, data->feedback.bytes) : 0;
	data->feedback.confirmed = !!(found & LAW_CODEC_CONFIRMED);
	if (found & LAW_CODEC_PRESENT) {
		data->feedback.len = law_format.data_bytes;
		data->feedback.present = 1;
	}
	if (!e->has_begun && LAW_RECEIVER.init) {
		RECEIVED(e, RECEIPT_INIT, CALL_ARGUMENT(&e->receipt, 0, data->now_us),
		         LAW_RECEIVER.init(e->state, data->now_us), NOTHING_WRITTEN);
	}
	e->has_begun = 1;
	/* Mostly there is one note, of one segment. */
	take_step(0, &taking);
	if (taking.segments || taking.at != taking.until)
		bpf_loop(STEPS_MAX, take_step, &taking, 0);
	if (taking.told)
		return;
	taking.id = 0;
	data->ecn = most_congested(e);
	data->packet_bytes = ops->skb_len + ip_header_bytes(ops);
	tell_segment(&taking, 0);
}

ALWAYS_INLINE void put_echo(struct bpf_sock_ops *ops, struct echo *e, u8 *option, struct law_fill *fill)
{
	fill->size = sizeof(*fill);
	fill->now_us = now_us(ops);
	if (LAW_RECEIVER.fill_ack) {
		RECEIVED(e, RECEIPT_FILL_ACK, CALL_EVENT(&e->receipt, fill), LAW_RECEIVER.fill_ack(e->state, fill),
		         CALL_WRITTEN(&e->receipt, fill));
	}
	if (fill->feedback.present)
		CODEC.put_echo(option, &law_format, fill->feedback.bytes, fill->feedback.confirmed);
}

#endif

/*
 * Programs of all loaded laws are called one after the other for a segment, with the same context: in its reply, which
 * the kernel does not look at here, each finds which wires were dealt with, in the lower half.
 */
#define DEALT_WITH 0xfade0000u

/* By name of the register: the compiler would add the offset to the pointer first, which the verifier does not take. */
ALWAYS_INLINE u32 reply_get(struct bpf_sock_ops *ops)
{
	u32 reply;

	__asm__ volatile("%[reply] = *(u32 *)(%[ops] + %[at])"
	                 : [reply] "=r"(reply)
	                 : [ops] "r"(ops), [at] "i"(__builtin_offsetof(struct bpf_sock_ops, args)));
	return reply;
}

ALWAYS_INLINE void reply_set(struct bpf_sock_ops *ops, u32 reply)
{
	__asm__ volatile("*(u32 *)(%[ops] + %[at]) = %[reply]"
	                 :
	                 : [ops] "r"(ops), [at] "i"(__builtin_offsetof(struct bpf_sock_ops, args)), [reply] "r"(reply)
	                 : "memory");
}

/*
 * Whether the option of this wire is this law's to read or to write: where the socket sends under a law of this wire
 * it is that law's for both directions, since they share one option. Else it is the first one's that is asked.
 */
ALWAYS_INLINE u32 is_mine(struct bpf_sock_ops *ops, void *sk, const struct flow *f)
{
	u32 reply = reply_get(ops), dealt = (reply & 0xffff0000u) == DEALT_WITH ? reply : DEALT_WITH;

	if (!f) {
		struct owner *owner = bpf_sk_storage_get(&fade_owners, sk, (void *)0, 0);

		if ((owner && owner->wire == WIRE + 1) || dealt & 1u << WIRE)
			return 0;
	}
	reply_set(ops, dealt | 1u << WIRE);
	return 1;
}

ALWAYS_INLINE void take_echo(struct bpf_sock_ops *ops, struct flow *f, const u8 *option)
{
	struct law_feedback feedback = {};
	u32 found = CODEC.get_echo(option, &law_format, feedback.bytes);

#if EXCHANGES_NUMBERS
	exchange_heard(f, option);
#endif
	if (!(found & LAW_CODEC_PRESENT))
		return;
	feedback.confirmed = !!(found & LAW_CODEC_CONFIRMED);
	feedback.len = ECHO_BYTES;
	feedback.present = 1;
	f->feedback = feedback;
	f->feedback_us = now_us(ops);
}

/*
 * The law's option of a segment, if it has one. Mostly it is the last of the header (reserve_option), where it is read
 * as memory is; the helper finds it anywhere, in more time than all that is done with it.
 */
ALWAYS_INLINE u32 read_option(struct bpf_sock_ops *ops, const struct tcp_header *tcp, u32 header_bytes, u8 *option)
{
	const u8 *from = (const u8 *)tcp;
	u64 place = header_bytes - OPTION_BYTES;

	if (header_bytes < sizeof(*tcp) + OPTION_BYTES)
		return 0;
	/* The verifier follows one number and one pointer: what is added and read must be what was compared. */
	__asm__ volatile("" : "+r"(place));
	if (place <= TCP_HEADER_BYTES_MAX) {
		from += place;
		__asm__ volatile("" : "+r"(from));
		if ((const void *)(from + OPTION_BYTES) <= ops->skb_data_end) {
			__builtin_memcpy(option, from, OPTION_BYTES);
			if (option_is(option, WIRE, OPTION_BYTES))
				return 1;
		}
	}
	__builtin_memset(option, 0, OPTION_BYTES);
	option[0] = OPTION_KIND;
	option[1] = 4;
	option_put_u16(option + 2, OPTION_ID | WIRE);
	return bpf_load_hdr_opt(ops, option, OPTION_BYTES, 0) >= 0 && option_is(option, WIRE, OPTION_BYTES);
}

/* A valid segment came, with an option that the stack does not know. */
ALWAYS_INLINE void parse_option(struct bpf_sock_ops *ops)
{
	struct tcp_header *tcp = ops->skb_data;
	u8 option[OPTION_BYTES];
	u32 header_bytes;
	struct bpf_sock *sk = ops->sk;
	struct flow *f;

	if (!sk || (void *)(tcp + 1) > ops->skb_data_end)
		return;
	header_bytes = (tcp->words_and_bits >> 4) * 4;
	if (!read_option(ops, tcp, header_bytes, option))
		return;
	f = flow_of(sk);
	if (!is_mine(ops, sk, f))
		return;
	if (f)
		take_echo(ops, f, option);
#ifdef LAW_RECEIVER
	if (ops->skb_len > header_bytes) {
		struct echo *e = bpf_sk_storage_get(&echoes, sk, (void *)0, SK_STORAGE_GET_F_CREATE);

		if (!e)
			return;
		take_data(ops, e, option, tcp, header_bytes);
		if (!(ops->bpf_sock_ops_cb_flags & SOCK_OPS_WRITE_FLAG))
			bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | SOCK_OPS_WRITE_FLAG);
	}
#endif
}

/* Whether the socket sends, then by its flow, or receives under this law, and no other law of its wire answers. */
ALWAYS_INLINE u32 answers(struct bpf_sock_ops *ops, void *sk, struct flow *f)
{
	return (f || bpf_sk_storage_get(&echoes, sk, (void *)0, 0)) && is_mine(ops, sk, f);
}

/* Every header has room for the option or none: a constant, so that segments stay equally long. */
ALWAYS_INLINE void reserve_option(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;

	if (sk && answers(ops, sk, flow_of(sk)))
		bpf_reserve_hdr_opt(ops, OPTION_BYTES, 0);
}

ALWAYS_INLINE void fill_send(struct bpf_sock_ops *ops, struct flow *f, const struct tcp_header *tcp, u8 *option)
{
	struct law_send send = {};
	struct law_control control;

	send.size = sizeof(send);
	send.packet_bytes = ops->skb_len + ip_header_bytes(ops);
	send.now_us = now_us(ops);
	send.srtt_us = ops->srtt_us >> 3;
	send.retransmission = host_be32(tcp->seq) != ops->snd_nxt;
	send.in_flight_pkts = ops->packets_out - (ops->sacked_out + ops->lost_out) + ops->retrans_out;
	if (!(LAW_SENDER.flags & LAW_SENDER_PLAIN_ACKS))
		send.random = bpf_get_prandom_u32();
	hold_window(f, ops->snd_cwnd, ops->snd_ssthresh, ops->ecn_flags, &control);
	RECORDED(f, CALL_ON_SEND, &control, CALL_EVENT(&f->call, &send), INVOKE(on_send, &send, &control),
	         CALL_WRITTEN(&f->call, &send));
	take_ecn(f, ops->ecn_flags, &control);
	if (send.feedback.present && CODEC.put_data && law_format.data_bytes)
		CODEC.put_data(option, &law_format, send.feedback.bytes);
}

ALWAYS_INLINE void write_option(struct bpf_sock_ops *ops)
{
	struct tcp_header *tcp = ops->skb_data;
	u8 option[OPTION_BYTES];
	u32 header_bytes, written;
	struct bpf_sock *sk = ops->sk;
	struct flow *f;

	/* What another law made room for is not ours to fill. */
	if (!sk || (void *)(tcp + 1) > ops->skb_data_end)
		return;
	f = flow_of(sk);
	if (!answers(ops, sk, f))
		return;
	CODEC.begin(option, &law_format);
	header_bytes = (tcp->words_and_bits >> 4) * 4;
	if (f && LAW_SENDER.on_send && ops->skb_len > header_bytes)
		fill_send(ops, f, tcp, option);
	/* In what is encrypted no router can say that it saw the packet (mark.h). */
	if (f && f->is_sealed && CODEC.confirm)
		CODEC.confirm(option, &law_format);
#ifdef LAW_RECEIVER
	struct echo *e = bpf_sk_storage_get(&echoes, sk, (void *)0, 0);
	struct law_fill fill = {};

	/* What is noted only was not found valid yet. */
	if (e && !e->has_begun)
		e = (void *)0;
	if (e)
		put_echo(ops, e, option, &fill);
#endif
	written = bpf_store_hdr_opt(ops, option, sizeof(option), 0) == 0;
	if (f)
		f->wrote_data = written && ops->skb_len > header_bytes;
#ifdef LAW_RECEIVER
	if (e && LAW_RECEIVER.ack_written) {
		written = written && fill.feedback.present;
		RECEIVED(e, RECEIPT_ACK_WRITTEN, CALL_ARGUMENT(&e->receipt, 0, written),
		         LAW_RECEIVER.ack_written(e->state, written), NOTHING_WRITTEN);
	}
#endif
}

/* Whether the socket is set to this law already; one that turns to it later is found by the next round trip. */
ALWAYS_INLINE u32 is_ours(struct bpf_sock_ops *ops)
{
	char name[16] = {};

	if (ops->sk && flow_of(ops->sk))
		return 1;
	if (bpf_getsockopt(ops, IPPROTO_TCP_LEVEL, TCP_CONGESTION, name, sizeof(name)))
		return 0;
	for (u32 i = 0; i < LAW_NAME_BYTES && (!i || name[i - 1]); i++)
		if (name[i] != (*SET(law_name))[i])
			return 0;
	return 1;
}

ALWAYS_INLINE void want(struct bpf_sock_ops *ops, u32 is_sender)
{
	u32 flags = ops->bpf_sock_ops_cb_flags | SOCK_OPS_PARSE_UNKNOWN_FLAG;

	bpf_sock_ops_cb_flags_set(ops, flags | (is_sender ? SOCK_OPS_WRITE_FLAG : SOCK_OPS_RTT_FLAG));
}

SEC("sockops") int feedback_ops(struct bpf_sock_ops *ops)
{
	switch (ops->op) {
	case SOCK_OPS_ACTIVE_ESTABLISHED:
	case SOCK_OPS_PASSIVE_ESTABLISHED:
		want(ops, is_ours(ops));
		break;
	case SOCK_OPS_RTT:
		if (is_ours(ops))
			want(ops, 1);
		break;
	case SOCK_OPS_PARSE_HDR_OPT:
		parse_option(ops);
		break;
	case SOCK_OPS_HDR_OPT_LEN:
		reserve_option(ops);
		break;
	case SOCK_OPS_WRITE_HDR_OPT:
		write_option(ops);
		break;
	}
	return 1;
}

#ifdef LAW_RECEIVER

/*
 * The first data of a connection come before there is an echo to note them in: it is made for a segment with the law's
 * option, which says nothing yet of whether the stack will find it valid. A socket that listens has none.
 */
ALWAYS_INLINE struct echo *first_echo(struct __sk_buff *skb, struct bpf_sock *sk, u32 tcp_at, u32 tcp_end)
{
	if (sk->state == TCP_LISTEN || !has_option(skb, tcp_at, tcp_end))
		return (void *)0;
	return bpf_sk_storage_get(&echoes, sk, (void *)0, SK_STORAGE_GET_F_CREATE);
}

/* The socket is not locked here, so nothing but a note is left. */
ALWAYS_INLINE void take_note(struct __sk_buff *skb, u32 code, u32 id, u32 tcp_at)
{
	u32 segments = skb->gso_segs ? skb->gso_segs : 1, tcp_end;
	struct bpf_sock *sk = skb->sk;
	struct tcp_header tcp;
	struct note *note;
	struct echo *e;

	if (!sk || packet_load(skb, tcp_at, &tcp, sizeof(tcp)))
		return;
	tcp_end = tcp_at + (tcp.words_and_bits >> 4) * 4;
	/* A segment without data has the number of the one that follows it. */
	if (skb->len <= tcp_end)
		return;
	e = bpf_sk_storage_get(&echoes, sk, (void *)0, 0);
	if (!e)
		e = first_echo(skb, sk, tcp_at, tcp_end);
	if (!e)
		return;
#if EXCHANGES_NUMBERS
	id = exchange_role(skb, tcp_at, tcp_end, tcp.seq, tcp.ack_seq) | NOTE_HAS_ID;
#endif
	note = &e->notes[e->notes_n % NOTES];
	note->seq = host_be32(tcp.seq);
	note->code_and_segments = code | segments << 8;
	note->id = id;
	note->packet_bytes = (skb->len - tcp_end) / segments + tcp_end;
	e->notes_n++;
}

/* The IP ID of an IPv4 header, and how those of joined segments go on. */
ALWAYS_INLINE u32 note_id(const u8 *header)
{
	u32 counts = header[6] & PACKET_DONT_FRAGMENT ? 0 : NOTE_COUNTS;

	return (u32)header[4] << 8 | header[5] | NOTE_HAS_ID | counts;
}

SEC("cgroup_skb/ingress") int feedback_note(struct __sk_buff *skb)
{
	/* Zeros, since Linux 6.18's verifier loses count of a stack that a helper is the first to write. */
	u8 head[40] = {};

	if (skb->protocol == host_be16(ETHER_IPV4)) {
		if (!packet_load(skb, 0, head, 20) && head[9] == IP_TCP)
			take_note(skb, head[1] & 3, note_id(head), (head[0] & 15) * 4);
	} else if (skb->protocol == host_be16(ETHER_IPV6)) {
		u32 tcp_at = packet_load(skb, 0, head, 40) ? 0 : packet_behind_extensions(skb, 40, head[6]);

		if (tcp_at)
			take_note(skb, (head[1] >> 4) & 3, 0, tcp_at);
	}
	return 1;
}

#endif

#endif /* FADELAB_FEEDBACK_H */
