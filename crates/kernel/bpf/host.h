/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the programs need to know of the kernel: helpers by number, the contexts of its stable interface, and of its
 * internal structs just the fields that are read. The loader relocates those to where the running kernel has them, so
 * that one object serves all versions and nobody needs the headers of a kernel.
 *
 * Sources: include/uapi/linux/bpf.h (numbers and contexts), include/net/tcp.h, include/linux/tcp.h (fields).
 */
#ifndef FADELAB_HOST_H
#define FADELAB_HOST_H

#include "law.h"

#define SEC(name) __attribute__((section(name), used))
#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))
#define KERNEL_STRUCT __attribute__((preserve_access_index))
#define KSYM __attribute__((section(".ksyms")))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define host_be16(x) __builtin_bswap16(x)
#define host_be32(x) __builtin_bswap32(x)
#else
#define host_be16(x) (x)
#define host_be32(x) (x)
#endif

/* ------------------------------------------------------------------------------------------------------- maps */

#define MAP_TYPE_HASH 1
#define MAP_TYPE_ARRAY 2
#define MAP_TYPE_PERCPU_ARRAY 6
#define MAP_TYPE_LRU_HASH 9
#define MAP_TYPE_SK_STORAGE 24
#define MAP_TYPE_RINGBUF 27

#define MAP_F_NO_PREALLOC 1
#define MAP_UPDATE_NEW 1 /* BPF_NOEXIST */
#define SK_STORAGE_GET_F_CREATE 1

/* Of a super-packet each segment. */
#define MTU_CHECK_SEGMENTS 1

/* How libbpf reads the definition of a map: numbers are array bounds. */
#define MAP_NUMBER(name, value) int(*name)[value]

/* ---------------------------------------------------------------------------------------------------- helpers */

struct sock;
struct tcp_sock;
struct bpf_sock;
struct bpf_sock_ops;
struct bpf_spin_lock;
struct __sk_buff;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static u64 (*const bpf_get_current_uid_gid)(void) = (void *)15;
static u64 (*const bpf_get_current_ancestor_cgroup_id)(int level) = (void *)123;
static long (*const bpf_skb_store_bytes)(struct __sk_buff *skb, u32 offset, const void *from, u32 len,
                                         u64 flags) = (void *)9;
static long (*const bpf_l4_csum_replace)(struct __sk_buff *skb, u32 offset, u64 from, u64 to, u64 flags) = (void *)11;
static long (*const bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 len) = (void *)26;
static long (*const bpf_skb_pull_data)(struct __sk_buff *skb, u32 len) = (void *)39;
static long (*const bpf_getsockopt)(void *context, int level, int name, void *value, int len) = (void *)57;
static long (*const bpf_sock_ops_cb_flags_set)(struct bpf_sock_ops *context, int flags) = (void *)59;
static void (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static void (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*const bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
static long (*const bpf_ringbuf_output)(void *ringbuf, void *data, u64 size, u64 flags) = (void *)130;
static struct tcp_sock *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;
static long (*const bpf_load_hdr_opt)(struct bpf_sock_ops *context, void *to, u32 len, u64 flags) = (void *)142;
static long (*const bpf_store_hdr_opt)(struct bpf_sock_ops *context, const void *from, u32 len,
                                       u64 flags) = (void *)143;
static long (*const bpf_reserve_hdr_opt)(struct bpf_sock_ops *context, u32 len, u64 flags) = (void *)144;
static long (*const bpf_check_mtu)(struct __sk_buff *skb, u32 ifindex, u32 *mtu_bytes, s32 difference,
                                   u64 flags) = (void *)163;
static long (*const bpf_timer_init)(void *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(void *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(void *timer, u64 ns, u64 flags) = (void *)171;
static long (*const bpf_loop)(u32 steps_max, void *step, void *context, u64 flags) = (void *)181;

/* --------------------------------------------------------------------------------------------------- contexts */

/* The first fields of the packet's context; the interface only ever grows at its end. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
	u32 napi_id;
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 data_meta;
	u64 flow_keys __attribute__((aligned(8)));
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
	struct bpf_sock *sk __attribute__((aligned(8)));
	u32 gso_size;
};

/* As it is on the wire, in network order. */
struct tcp_header {
	u16 source;
	u16 dest;
	u32 seq;
	u32 ack_seq;
	u8 words_and_bits; /* length of the header in words, in the upper half */
	u8 flags;
	u16 window;
	u16 check;
	u16 urgent;
};

/* Of a socket that a packet belongs to, up to what is read. */
struct bpf_sock {
	u32 unused[18];
	u32 state;
};

/* An option that a process sets at a socket. */
#define IPPROTO_TCP_LEVEL 6
#define TCP_CONGESTION 13

struct bpf_sockopt {
	struct bpf_sock *sk __attribute__((aligned(8)));
	void *optval __attribute__((aligned(8)));
	void *optval_end __attribute__((aligned(8)));
	s32 level;
	s32 optname;
	s32 optlen;
	s32 retval;
};

struct bpf_sock_ops {
	u32 op;
	u32 args[4];
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 is_fullsock;
	u32 snd_cwnd;
	u32 srtt_us; /* eight times the smoothed round trip */
	u32 bpf_sock_ops_cb_flags;
	u32 state;
	u32 rtt_min;
	u32 snd_ssthresh;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 mss_cache;
	u32 ecn_flags;
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 packets_out;
	u32 retrans_out;
	u32 total_retrans;
	u32 segs_in;
	u32 data_segs_in;
	u32 segs_out;
	u32 data_segs_out;
	u32 lost_out;
	u32 sacked_out;
	u32 sk_txhash;
	u64 bytes_received __attribute__((aligned(8)));
	u64 bytes_acked;
	struct bpf_sock *sk;
	void *skb_data;
	void *skb_data_end;
	u32 skb_len;
	u32 skb_tcp_flags;
};

enum host_sock_op {
	SOCK_OPS_ACTIVE_ESTABLISHED = 4,
	SOCK_OPS_PASSIVE_ESTABLISHED = 5,
	SOCK_OPS_RTT = 12,
	SOCK_OPS_PARSE_HDR_OPT = 13,
	SOCK_OPS_HDR_OPT_LEN = 14,
	SOCK_OPS_WRITE_HDR_OPT = 15,
};

enum host_sock_op_flag {
	SOCK_OPS_RTT_FLAG = 1 << 3,
	SOCK_OPS_PARSE_UNKNOWN_FLAG = 1 << 5,
	SOCK_OPS_WRITE_FLAG = 1 << 6,
};

/* The packet goes on to whatever else is attached, and then to the queue. */
#define TC_ACT_UNSPEC (-1)
#define TC_ACT_OK 0
#define TC_ACT_SHOT 2

#define ETHER_BYTES 14
#define ETHER_IPV4 0x0800
#define ETHER_IPV6 0x86dd
#define IP_TCP 6

#define FAMILY_IPV6 10

/* ------------------------------------------------------------------------------------------ structs of the kernel */

struct in6_addr {
	u32 words[4];
};

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL_STRUCT;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
} KERNEL_STRUCT;

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
} KERNEL_STRUCT;

struct minmax_sample {
	u32 t;
	u32 v;
} KERNEL_STRUCT;

struct minmax {
	struct minmax_sample s[3];
} KERNEL_STRUCT;

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 saw_tstamp : 1;
} KERNEL_STRUCT;

struct tcp_sock {
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_wnd;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 prr_out;
	u32 undo_marker;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 mss_cache;
	u32 srtt_us; /* eight times the smoothed round trip */
	u32 delivered;
	u32 delivered_ce;
	u8 ecn_flags;
	u16 tcp_header_len;
	u8 is_cwnd_limited : 1;
	u64 tcp_mstamp;
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
} KERNEL_STRUCT;

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	_Bool is_app_limited;
	_Bool is_ack_delayed;
} KERNEL_STRUCT;

/* Of the operations those that a law is behind. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 flags;
	char name[16];
};

/* A field of one to 64 bits, wherever the running kernel has it. */
enum host_field_info {
	FIELD_BYTE_OFFSET = 0,
	FIELD_BYTE_SIZE = 1,
	FIELD_LSHIFT_U64 = 4,
	FIELD_RSHIFT_U64 = 5,
};

#define HOST_BITS(pointer, field)                                                                                      \
	({                                                                                                                 \
		const void *place =                                                                                            \
			(const void *)(pointer) + __builtin_preserve_field_info((pointer)->field, FIELD_BYTE_OFFSET);              \
		u64 word = 0;                                                                                                  \
                                                                                                                       \
		__asm__ volatile("" : "+r"(place));                                                                            \
		switch (__builtin_preserve_field_info((pointer)->field, FIELD_BYTE_SIZE)) {                                    \
		case 1:                                                                                                        \
			word = *(const u8 *)place;                                                                                 \
			break;                                                                                                     \
		case 2:                                                                                                        \
			word = *(const u16 *)place;                                                                                \
			break;                                                                                                     \
		case 4:                                                                                                        \
			word = *(const u32 *)place;                                                                                \
			break;                                                                                                     \
		case 8:                                                                                                        \
			word = *(const u64 *)place;                                                                                \
			break;                                                                                                     \
		}                                                                                                              \
		word <<= __builtin_preserve_field_info((pointer)->field, FIELD_LSHIFT_U64);                                    \
		word >> __builtin_preserve_field_info((pointer)->field, FIELD_RSHIFT_U64);                                     \
	})

#endif /* FADELAB_HOST_H */
