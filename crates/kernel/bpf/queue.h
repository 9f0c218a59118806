/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where a router is, and what the queueing discipline there says of itself: that at the root of the device, from which
 * packets are sent. Disciplines that count for each processor (pfifo_fast) or in their children alone (mq) look empty.
 */
#ifndef FADELAB_QUEUE_H
#define FADELAB_QUEUE_H

#include "host.h"

/* What the operator said, and what the loader found out. */
struct router_config {
	u64 capacity_Bps; /* on-air bytes; 0: not known */
	u64 limit_bytes;  /* 0: not known, and no packet is told that it finds no room */
	u32 packet_bytes; /* on-air bytes of a full packet */
	u32 link_bytes;   /* of the link's header, in front of IP's */
	u32 air_bytes;    /* what a packet costs on the air beside its IP bytes */
	u32 ifindex;
	u64 netns;      /* inode of the device's namespace */
	u32 queue_pkts; /* of the device's transmit queue, which laws are told where no limit is known */
	u32 reserved;
};

struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct router_config *value;
} config_map SEC(".maps");

/* What the queueing discipline says of itself. */
struct queue_view {
	u64 bytes;
	u64 pkts;
	u64 sent_bytes;
};

struct qdisc_skb_head {
	u32 qlen;
} KERNEL_STRUCT;

/* The kernel wraps the counter into structs whose names differ between versions; the number stands first. */
struct wrapped_counter {
	u64 value;
};

struct gnet_stats_basic_sync {
	struct wrapped_counter bytes;
} KERNEL_STRUCT;

struct gnet_stats_queue {
	u32 backlog;
} KERNEL_STRUCT;

struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_basic_sync bstats;
	struct gnet_stats_queue qstats;
} KERNEL_STRUCT;

struct net;

/* Matched by its field: the kernel's type has no tag. */
struct possible_net {
	struct net *net;
} KERNEL_STRUCT;

struct net_device {
	struct Qdisc *qdisc;
#if KERNEL_VERSION < 602
	int ifindex;
	struct possible_net nd_net;
#endif
} KERNEL_STRUCT;

ALWAYS_INLINE void queue_read(const struct Qdisc *qdisc, struct queue_view *view)
{
	view->bytes = qdisc->qstats.backlog;
	view->pkts = qdisc->q.qlen;
	view->sent_bytes = *(const u64 *)&qdisc->bstats.bytes;
}

#if KERNEL_VERSION >= 602
struct sk_buff {
	struct net_device *dev;
} KERNEL_STRUCT;

extern void *bpf_cast_to_kern_ctx(void *context) KSYM;
extern void *bpf_rdonly_cast(const void *object, u32 type) KSYM;

/* Reads through untrusted pointers are caught where they fault, and give 0. */
ALWAYS_INLINE void queue_look(u64 device, struct queue_view *view)
{
	struct net_device *dev = bpf_rdonly_cast((void *)device, __builtin_btf_type_id(*(struct net_device *)0, 1));

	if (device)
		queue_read(dev->qdisc, view);
}

ALWAYS_INLINE u64 queue_device(struct __sk_buff *skb)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(skb);

	return (u64)packet->dev;
}
#else
struct ns_common {
	u32 inum;
} KERNEL_STRUCT;

struct net {
	struct ns_common ns;
} KERNEL_STRUCT;

struct netdev_queue {
	struct net_device *dev;
} KERNEL_STRUCT;

/*
 * Before 6.2 a program of traffic control cannot come to the device. The queueing discipline tells by two tracepoints
 * when it has changed, those of all devices of the machine.
 */
struct {
	MAP_NUMBER(type, MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	u32 *key;
	struct queue_view *value;
} queue_map SEC(".maps");

ALWAYS_INLINE int queue_changed(struct Qdisc *qdisc, const struct netdev_queue *queue)
{
	u32 key = 0;
	struct queue_view *view = bpf_map_lookup_elem(&queue_map, &key);
	const struct router_config *config = bpf_map_lookup_elem(&config_map, &key);
	struct net_device *dev = queue->dev;

	if (view && config && dev->ifindex == (int)config->ifindex && dev->nd_net.net->ns.inum == config->netns &&
	    dev->qdisc == qdisc)
		queue_read(qdisc, view);
	return 0;
}

SEC("tp_btf/qdisc_enqueue") int queue_enqueued(u64 *context)
{
	return queue_changed((struct Qdisc *)context[0], (const struct netdev_queue *)context[1]);
}

SEC("tp_btf/qdisc_dequeue") int queue_dequeued(u64 *context)
{
	return queue_changed((struct Qdisc *)context[0], (const struct netdev_queue *)context[1]);
}

ALWAYS_INLINE void queue_look(u64 device, struct queue_view *view)
{
	u32 key = 0;
	const struct queue_view *known = bpf_map_lookup_elem(&queue_map, &key);

	if (known)
		*view = *known;
}

ALWAYS_INLINE u64 queue_device(struct __sk_buff *skb)
{
	return 0;
}
#endif

#endif /* FADELAB_QUEUE_H */
