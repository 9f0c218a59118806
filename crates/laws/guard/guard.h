/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stands between a law and its host, compiled after the law in the same translation unit: each function of the law's
 * tables gets a wrapper of the same type that shows the call to the host before and after, so that the host can record
 * it, judge what it returned, and end it when it traps or does not come back. Laws that are built in are compiled
 * without it and pay nothing.
 *
 * Before it is included GUARD_NAME is the law's name, GUARD_EXPORT the name of the function that hands out the tables,
 * and GUARD_WATCHED says whether the host shall end a call that traps or loops.
 */
#ifndef FADELAB_GUARD_H
#define FADELAB_GUARD_H

/* What a compiler may find odd in the wrappers is no matter of the law's author. */
#pragma GCC system_header

#include <setjmp.h>

#include "host/instance.h"
#include "law.h"

#define GUARD_JOIN_(a, b) a##_##b
#define GUARD_JOIN(a, b) GUARD_JOIN_(a, b)
#define GUARD_TABLE(role) GUARD_JOIN(GUARD_NAME, role)

/* A law has some of the roles. These are its own tables declared again or, where it defines none, tables of zeros. */
static const struct law_sender GUARD_TABLE(sender);
static const struct law_receiver GUARD_TABLE(receiver);
static const struct law_router GUARD_TABLE(router);
static const struct law_capacity GUARD_TABLE(capacity);
static const struct law_gateway GUARD_TABLE(gateway);

/* Position of each function in the host's list of them. */
enum guard_function {
	GUARD_SENDER_INIT,
	GUARD_SENDER_ON_SEND,
	GUARD_SENDER_ON_ACK,
	GUARD_SENDER_ON_LOSS,
	GUARD_SENDER_ON_RTO,
	GUARD_SENDER_ON_RESTART,
	GUARD_SENDER_ON_LOST,
	GUARD_SENDER_ON_UNDO,
	GUARD_RECEIVER_INIT,
	GUARD_RECEIVER_ON_DATA,
	GUARD_RECEIVER_FILL_ACK,
	GUARD_RECEIVER_ACK_WRITTEN,
	GUARD_ROUTER_INIT,
	GUARD_ROUTER_ON_ENQUEUE,
	GUARD_ROUTER_ON_DEQUEUE,
	GUARD_ROUTER_ON_TIMER,
	GUARD_ROUTER_CLASSIFY,
	GUARD_ROUTER_PICK,
	GUARD_CAPACITY_INIT,
	GUARD_CAPACITY_ESTIMATE,
	GUARD_GATEWAY_INIT,
	GUARD_GATEWAY_ENCAPSULATE,
	GUARD_GATEWAY_DECAPSULATE,
};

/* One call. The host knows all but `escape`. */
struct guard_call {
	u32 function;
	u32 watched;
	const char *law;
	const struct law_param *rows;
	u32 rows_n;
	u32 state_bytes;
	u32 flags;
	u32 feedback_bytes;
	u32 timers;
	u32 queues;
	u32 line; /* of undefined behaviour, with `file` and `column` */
	void *state;
	const void *params;
	void *event;         /* start, send, ack, data, fill, link, packet, interval or tunnel */
	const void *context; /* the queue of a router's call, the packet that a gateway only reads */
	void *decision;      /* control, estimate, or the times at which timers are due */
	u64 words[2];        /* arguments that are plain numbers, in their order */
	u64 result;
	const char *undefined; /* what the compiler's check found, or NULL */
	const char *file;
	u32 column;
	s32 signal; /* that ended the call, or 0 */
	u64 address;
	void (*jump)(struct guard_call *call);
	sigjmp_buf escape;
};

struct guard_host {
	void (*enter)(struct guard_call *call);
	/* The two below do not return when the call is at fault: they unwind. */
	void (*leave)(struct guard_call *call);
	void (*fault)(struct guard_call *call);
	void (*step)(const char *text);
};

/* What the host reads. */
struct guard_law {
	const struct law_sender *sender;
	const struct law_receiver *receiver;
	const struct law_router *router;
	const struct law_capacity *capacity;
	const struct law_gateway *gateway;
	const struct law_host_calls *host; /* of the router */
};

static const struct guard_host *guard_host;
static __thread struct guard_call *guard_current;

/* The wrapped tables. Not static in a function, which would rename them: the host tells them from a law's variables. */
static struct law_sender guard_sender;
static struct law_receiver guard_receiver;
static struct law_router guard_router;
static struct law_capacity guard_capacity;
static struct law_gateway guard_gateway;

static __attribute__((unused)) void guard_step(const char *text)
{
	guard_host->step(text);
}

static void guard_jump(struct guard_call *call)
{
	siglongjmp(call->escape, 1);
}

/* The mask is not saved: the host's handlers block nothing, and a system call an ACK would cost more than the law. */
#define GUARDED(call, statement)                                                                                       \
	do {                                                                                                               \
		guard_current = &(call);                                                                                       \
		if (sigsetjmp((call).escape, 0)) {                                                                             \
			guard_host->fault(&(call));                                                                                \
		} else {                                                                                                       \
			guard_host->enter(&(call));                                                                                \
			statement;                                                                                                 \
			guard_host->leave(&(call));                                                                                \
		}                                                                                                              \
	} while (0)

#define GUARD_COMMON(number, table)                                                                                    \
	.function = (number), .watched = GUARD_WATCHED, .law = (table).name, .state_bytes = (table).state_bytes,           \
	.jump = guard_jump, .state = state

#define GUARD_SENDER(number)                                                                                           \
	GUARD_COMMON(number, GUARD_TABLE(sender)),                                                                         \
		.rows = GUARD_TABLE(sender).params, .rows_n = GUARD_TABLE(sender).params_n,                                    \
		.flags = GUARD_TABLE(sender).flags, .feedback_bytes = GUARD_TABLE(sender).feedback_bytes, .params = params

static void guard_sender_init(void *state, const void *params, const struct law_start *start,
                              struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_INIT), .event = (void *)start, .decision = control};

	GUARDED(call, GUARD_TABLE(sender).init(state, params, start, control));
}

static void guard_sender_on_send(void *state, const void *params, struct law_send *send, struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_ON_SEND), .event = send, .decision = control};

	GUARDED(call, GUARD_TABLE(sender).on_send(state, params, send, control));
}

static void guard_sender_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_ON_ACK), .event = (void *)ack, .decision = control};

	GUARDED(call, GUARD_TABLE(sender).on_ack(state, params, ack, control));
}

static void guard_sender_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                                 struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_ON_LOSS), .event = (void *)ack, .decision = control,
	                          .words = {cause}};

	GUARDED(call, GUARD_TABLE(sender).on_loss(state, params, ack, cause, control));
}

static void guard_sender_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_ON_RTO), .event = (void *)ack, .decision = control};

	GUARDED(call, GUARD_TABLE(sender).on_rto(state, params, ack, control));
}

static void guard_sender_on_restart(void *state, const void *params, u64 now_us, u64 idle_us,
                                    struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_ON_RESTART), .decision = control, .words = {now_us, idle_us}};

	GUARDED(call, GUARD_TABLE(sender).on_restart(state, params, now_us, idle_us, control));
}

static void guard_sender_on_lost(void *state, const void *params, const struct law_lost *lost,
                                 struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_ON_LOST), .event = (void *)lost, .decision = control};

	GUARDED(call, GUARD_TABLE(sender).on_lost(state, params, lost, control));
}

static void guard_sender_on_undo(void *state, const void *params, const struct law_ack *ack, u32 cause,
                                 struct law_control *control)
{
	struct guard_call call = {GUARD_SENDER(GUARD_SENDER_ON_UNDO), .event = (void *)ack, .decision = control,
	                          .words = {cause}};

	GUARDED(call, GUARD_TABLE(sender).on_undo(state, params, ack, cause, control));
}

#define GUARD_RECEIVER(number)                                                                                         \
	GUARD_COMMON(number, GUARD_TABLE(receiver)), .feedback_bytes = GUARD_TABLE(receiver).feedback_bytes

static void guard_receiver_init(void *state, u64 now_us)
{
	struct guard_call call = {GUARD_RECEIVER(GUARD_RECEIVER_INIT), .words = {now_us}};

	GUARDED(call, GUARD_TABLE(receiver).init(state, now_us));
}

static void guard_receiver_on_data(void *state, const struct law_data *data)
{
	struct guard_call call = {GUARD_RECEIVER(GUARD_RECEIVER_ON_DATA), .event = (void *)data};

	GUARDED(call, GUARD_TABLE(receiver).on_data(state, data));
}

static void guard_receiver_fill_ack(void *state, struct law_fill *fill)
{
	struct guard_call call = {GUARD_RECEIVER(GUARD_RECEIVER_FILL_ACK), .event = fill};

	GUARDED(call, GUARD_TABLE(receiver).fill_ack(state, fill));
}

static void guard_receiver_ack_written(void *state, u32 written)
{
	struct guard_call call = {GUARD_RECEIVER(GUARD_RECEIVER_ACK_WRITTEN), .words = {written}};

	GUARDED(call, GUARD_TABLE(receiver).ack_written(state, written));
}

#define GUARD_ROUTER(number)                                                                                           \
	GUARD_COMMON(number, GUARD_TABLE(router)),                                                                         \
		.rows = GUARD_TABLE(router).params, .rows_n = GUARD_TABLE(router).params_n,                                    \
		.flags = GUARD_TABLE(router).flags, .timers = GUARD_TABLE(router).timers,                                      \
		.queues = GUARD_TABLE(router).queues, .params = params

static void guard_router_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct guard_call call = {GUARD_ROUTER(GUARD_ROUTER_INIT), .event = (void *)link, .decision = due_us};

	GUARDED(call, GUARD_TABLE(router).init(state, params, link, due_us));
}

static u32 guard_router_on_enqueue(void *state, const void *params, struct law_packet *packet,
                                   const struct law_queue *queue)
{
	struct guard_call call = {GUARD_ROUTER(GUARD_ROUTER_ON_ENQUEUE), .event = packet, .context = queue};

	GUARDED(call, call.result = GUARD_TABLE(router).on_enqueue(state, params, packet, queue));
	return (u32)call.result;
}

static u32 guard_router_on_dequeue(void *state, const void *params, struct law_packet *packet,
                                   const struct law_queue *queue)
{
	struct guard_call call = {GUARD_ROUTER(GUARD_ROUTER_ON_DEQUEUE), .event = packet, .context = queue};

	GUARDED(call, call.result = GUARD_TABLE(router).on_dequeue(state, params, packet, queue));
	return (u32)call.result;
}

static u64 guard_router_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct guard_call call = {GUARD_ROUTER(GUARD_ROUTER_ON_TIMER), .context = queue, .words = {timer}};

	GUARDED(call, call.result = GUARD_TABLE(router).on_timer(state, params, timer, queue));
	return call.result;
}

static u32 guard_router_classify(void *state, const void *params, const struct law_packet *packet,
                                 const struct law_queue *queue)
{
	struct guard_call call = {GUARD_ROUTER(GUARD_ROUTER_CLASSIFY), .event = (void *)packet, .context = queue};

	GUARDED(call, call.result = GUARD_TABLE(router).classify(state, params, packet, queue));
	return (u32)call.result;
}

static u32 guard_router_pick(void *state, const void *params, const struct law_queue *queue)
{
	struct guard_call call = {GUARD_ROUTER(GUARD_ROUTER_PICK), .context = queue};

	GUARDED(call, call.result = GUARD_TABLE(router).pick(state, params, queue));
	return (u32)call.result;
}

#define GUARD_CAPACITY(number)                                                                                         \
	GUARD_COMMON(number, GUARD_TABLE(capacity)), .rows = GUARD_TABLE(capacity).params,                                 \
												 .rows_n = GUARD_TABLE(capacity).params_n,                             \
												 .flags = GUARD_TABLE(capacity).flags, .params = params

static void guard_capacity_init(void *state, const void *params, const struct law_link *link)
{
	struct guard_call call = {GUARD_CAPACITY(GUARD_CAPACITY_INIT), .event = (void *)link};

	GUARDED(call, GUARD_TABLE(capacity).init(state, params, link));
}

static void guard_capacity_estimate(void *state, const void *params, const struct law_interval *interval,
                                    struct law_estimate *out)
{
	struct guard_call call = {GUARD_CAPACITY(GUARD_CAPACITY_ESTIMATE), .event = (void *)interval, .decision = out};

	GUARDED(call, GUARD_TABLE(capacity).estimate(state, params, interval, out));
}

#define GUARD_GATEWAY(number)                                                                                          \
	GUARD_COMMON(number, GUARD_TABLE(gateway)), .rows = GUARD_TABLE(gateway).params,                                   \
												.rows_n = GUARD_TABLE(gateway).params_n,                               \
												.flags = GUARD_TABLE(gateway).flags, .params = params

static void guard_gateway_init(void *state, const void *params, const struct law_tunnel *tunnel)
{
	struct guard_call call = {GUARD_GATEWAY(GUARD_GATEWAY_INIT), .event = (void *)tunnel};

	GUARDED(call, GUARD_TABLE(gateway).init(state, params, tunnel));
}

static void guard_gateway_encapsulate(void *state, const void *params, u64 now_us, const struct law_packet *inner,
                                      struct law_packet *outer)
{
	struct guard_call call = {GUARD_GATEWAY(GUARD_GATEWAY_ENCAPSULATE), .event = outer, .context = inner,
	                          .words = {now_us}};

	GUARDED(call, GUARD_TABLE(gateway).encapsulate(state, params, now_us, inner, outer));
}

static void guard_gateway_decapsulate(void *state, const void *params, u64 now_us, const struct law_packet *outer,
                                      struct law_packet *inner)
{
	struct guard_call call = {GUARD_GATEWAY(GUARD_GATEWAY_DECAPSULATE), .event = inner, .context = outer,
	                          .words = {now_us}};

	GUARDED(call, GUARD_TABLE(gateway).decapsulate(state, params, now_us, outer, inner));
}

/* The host calls the wrappers, as all do. */
#define LAW_HOST_TABLE guard_router
#include "host/calls.h"

/* Functions that a law leaves out stay out, so that the host spends nothing on them. */
#define GUARD_WRAP(role, function)                                                                                     \
	(guard_##role.function = GUARD_TABLE(role).function ? guard_##role##_##function : NULL)

/* A role that the law does not define is a table of zeros. */
#define GUARD_GIVEN(role)                                                                                              \
	(GUARD_TABLE(role).name || GUARD_TABLE(role).abi || GUARD_TABLE(role).size ? &guard_##role : NULL)

__attribute__((visibility("default"))) struct guard_law GUARD_EXPORT(const struct guard_host *host) {
	guard_host = host;
	guard_sender = GUARD_TABLE(sender);
	GUARD_WRAP(sender, init);
	GUARD_WRAP(sender, on_send);
	GUARD_WRAP(sender, on_ack);
	GUARD_WRAP(sender, on_loss);
	GUARD_WRAP(sender, on_rto);
	GUARD_WRAP(sender, on_restart);
	GUARD_WRAP(sender, on_lost);
	GUARD_WRAP(sender, on_undo);
	guard_receiver = GUARD_TABLE(receiver);
	GUARD_WRAP(receiver, init);
	GUARD_WRAP(receiver, on_data);
	GUARD_WRAP(receiver, fill_ack);
	GUARD_WRAP(receiver, ack_written);
	guard_router = GUARD_TABLE(router);
	GUARD_WRAP(router, init);
	GUARD_WRAP(router, on_enqueue);
	GUARD_WRAP(router, on_dequeue);
	GUARD_WRAP(router, on_timer);
	GUARD_WRAP(router, classify);
	GUARD_WRAP(router, pick);
	guard_capacity = GUARD_TABLE(capacity);
	GUARD_WRAP(capacity, init);
	GUARD_WRAP(capacity, estimate);
	guard_gateway = GUARD_TABLE(gateway);
	GUARD_WRAP(gateway, init);
	GUARD_WRAP(gateway, encapsulate);
	GUARD_WRAP(gateway, decapsulate);
	return (struct guard_law){GUARD_GIVEN(sender),   GUARD_GIVEN(receiver), GUARD_GIVEN(router),
	                          GUARD_GIVEN(capacity), GUARD_GIVEN(gateway),  &law_host_calls};
}

#endif /* FADELAB_GUARD_H */
