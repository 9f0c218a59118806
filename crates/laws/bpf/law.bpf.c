/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Puts one law through the kernel's verifier. The test compiles it with
 *     -DLAW_HEADER="sender/vcp.h" -DTABLE=vcp_sender -DLAW_ROLE_SENDER
 * (or _RECEIVER, _ROUTER, _CAPACITY, _GATEWAY, _WIRE).
 * There is one program per function of the table, so that each has its own count of instructions. State, parameters
 * and inputs live in a map: the verifier must assume that they hold any value.
 */
#include LAW_HEADER

#define SEC(name) __attribute__((section(name), used))

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

/* Room for the largest law; those of tests exceed what a TCP socket holds. */
#define WORDS 128

struct memory {
	u64 state[WORDS];
	u64 params[WORDS];
	u64 due_us[LAW_TIMERS_MAX];
	u64 time_us;
	u64 idle_us;
	u64 result;
	u64 word;
	struct law_start start;
	struct law_control control;
	struct law_send send;
	struct law_ack ack;
	struct law_data data;
	struct law_fill fill;
	struct law_packet packet;
	struct law_packet other; /* of a gateway: the one that it only reads */
	struct law_tunnel tunnel;
	struct law_queue queue;
	struct law_link link;
	struct law_interval interval;
	struct law_estimate estimate;
	u8 option[40];
	u8 feedback[LAW_FEEDBACK_BYTES_MAX];
};

struct {
	int (*type)[2]; /* BPF_MAP_TYPE_ARRAY */
	int (*max_entries)[1];
	u32 *key;
	struct memory *value;
} memory_map SEC(".maps");

char law_license[] SEC("license") = "Dual BSD/GPL";

_Static_assert(sizeof(((struct memory *)0)->state) >= 1024, "tests check state_bytes against this");

/* A program that makes one call, if the law has the function; m is the memory. */
#define PROGRAM(function, call)                                                                                        \
	SEC("tc") int check_##function(void *context)                                                                      \
	{                                                                                                                  \
		u32 key = 0;                                                                                                   \
		struct memory *m = bpf_map_lookup_elem(&memory_map, &key);                                                     \
                                                                                                                       \
		(void)context;                                                                                                 \
		if (m && TABLE.function)                                                                                       \
			call;                                                                                                      \
		return 0;                                                                                                      \
	}

#if defined(LAW_ROLE_SENDER)
PROGRAM(init, TABLE.init(m->state, m->params, &m->start, &m->control))
PROGRAM(on_send, TABLE.on_send(m->state, m->params, &m->send, &m->control))
PROGRAM(on_ack, TABLE.on_ack(m->state, m->params, &m->ack, &m->control))
PROGRAM(on_loss, TABLE.on_loss(m->state, m->params, &m->ack, (u32)m->word, &m->control))
PROGRAM(on_rto, TABLE.on_rto(m->state, m->params, &m->ack, &m->control))
PROGRAM(on_restart, TABLE.on_restart(m->state, m->params, m->time_us, m->idle_us, &m->control))
PROGRAM(on_undo, TABLE.on_undo(m->state, m->params, &m->ack, (u32)m->word, &m->control))
#elif defined(LAW_ROLE_RECEIVER)
PROGRAM(init, TABLE.init(m->state, m->time_us))
PROGRAM(on_data, TABLE.on_data(m->state, &m->data))
PROGRAM(fill_ack, TABLE.fill_ack(m->state, &m->fill))
PROGRAM(ack_written, TABLE.ack_written(m->state, (u32)m->word))
#elif defined(LAW_ROLE_ROUTER)
PROGRAM(init, TABLE.init(m->state, m->params, &m->link, m->due_us))
PROGRAM(on_enqueue, m->result = TABLE.on_enqueue(m->state, m->params, &m->packet, &m->queue))
PROGRAM(on_dequeue, m->result = TABLE.on_dequeue(m->state, m->params, &m->packet, &m->queue))
PROGRAM(classify, m->result = TABLE.classify(m->state, m->params, &m->packet, &m->queue))
PROGRAM(pick, m->result = TABLE.pick(m->state, m->params, &m->queue))
PROGRAM(on_timer, m->result = TABLE.on_timer(m->state, m->params, (u32)m->word, &m->queue))
#elif defined(LAW_ROLE_CAPACITY)
PROGRAM(init, TABLE.init(m->state, m->params, &m->link))
PROGRAM(estimate, TABLE.estimate(m->state, m->params, &m->interval, &m->estimate))
#elif defined(LAW_ROLE_GATEWAY)
PROGRAM(init, TABLE.init(m->state, m->params, &m->tunnel))
PROGRAM(encapsulate, TABLE.encapsulate(m->state, m->params, m->time_us, &m->other, &m->packet))
PROGRAM(decapsulate, TABLE.decapsulate(m->state, m->params, m->time_us, &m->other, &m->packet))
#elif defined(LAW_ROLE_WIRE)
/* What packets carry is a constant of each program that has a codec, here that of the largest option. */
static const struct law_format format = {
	.size = sizeof(format),
	.wire = LAW_WIRE_RCP,
	.data_bytes = 20,
	.echo_bytes = 14,
};

/* No device joins more segments into a packet. */
#define SEGMENTS ((u32)m->word & 0xffff)

PROGRAM(option_bytes, m->result = TABLE.option_bytes(&format))
PROGRAM(begin, TABLE.begin(m->option, &format))
PROGRAM(put_data, TABLE.put_data(m->option, &format, m->feedback))
PROGRAM(get_data, m->result = TABLE.get_data(m->option, &format, m->feedback))
PROGRAM(confirm, TABLE.confirm(m->option, &format))
PROGRAM(put_echo, TABLE.put_echo(m->option, &format, m->feedback, (u32)m->word & 1))
PROGRAM(get_echo, m->result = TABLE.get_echo(m->option, &format, m->feedback))
PROGRAM(join, TABLE.join(m->feedback, SEGMENTS))
PROGRAM(put_share, TABLE.put_share(m->option, &format, m->feedback, SEGMENTS))
#else
#error "name the role of the law"
#endif
