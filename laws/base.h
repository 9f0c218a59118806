/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the interface between a law and its host stands on: types, how functions are declared, the version, and the
 * ranges of what hosts hand over. law.h includes it.
 */
#ifndef FADELAB_BASE_H
#define FADELAB_BASE_H

#ifndef __VMLINUX_H__
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __INT32_TYPE__ s32;
typedef unsigned long long u64;
typedef long long s64;
#endif

#ifndef NULL
#define NULL ((void *)0)
#endif

/* Laws are header-only: each function is part of the program that includes it. */
#define LAW static inline __attribute__((always_inline, unused))
#define LAW_TABLE static const __attribute__((unused))

/* A function that few calls need: out of line, so that the others do not make room for it. BPF gets it inlined. */
#ifdef __bpf__
#define LAW_SELDOM LAW
#else
#define LAW_SELDOM static __attribute__((noinline, unused))
#endif

#define LAW_ABI 2u

/*
 * Stands behind what a stock kernel cannot tell. A law that uses it is refused by the compiler where it is built for a
 * kernel, at the line that uses it and with the reason; a law for both leaves that line out under __bpf__.
 */
#ifdef __bpf__
#define LAW_NOT_IN_KERNEL(reason) __attribute__((unavailable(reason)))
#else
#define LAW_NOT_IN_KERNEL(reason)
#endif

/*
 * Names the step that a law takes, with its equation, so that `fadelab explain` can tell why a window moved. Only the
 * build that explains gives it a meaning; everywhere else it is nothing.
 */
#ifndef LAW_STEP
#define LAW_STEP(text) ((void)0)
#endif

/* What the kernel gives a TCP congestion control inside its socket (ICSK_CA_PRIV_SIZE). */
#define LAW_STATE_BYTES_MAX 104

/* ---------------------------------------------------------------------------------------------------- ranges */

/*
 * What hosts keep to. Within these ranges, and with each parameter within its own, laws/proofs shows for every law that
 * nothing overflows, no division is by zero and each result is what law.h says. Fields that are not named here may
 * hold any value of their type.
 */
#define LAW_TIME_US_MAX (1ull << 62)      /* now_us and every duration in u64 */
#define LAW_CAPACITY_BPS_MAX (1ull << 40) /* capacity, and what is spare of it: 8.8 Tbit/s */
#define LAW_QUEUE_BYTES_MAX (1ull << 40)  /* queues and their limits */
#define LAW_PACKET_BYTES_MAX (1u << 20)   /* any packet or segment, parity included; at least 1 */
/* What arrives at a link between two calls of the same timer. */
#define LAW_INTERVAL_PKTS_MAX (1ull << 32)
#define LAW_INTERVAL_BYTES_MAX (1ull << 46)

#endif /* FADELAB_BASE_H */
