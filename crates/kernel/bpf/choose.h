/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may choose the law for a socket of theirs (setsockopt, TCP_CONGESTION). The kernel knows two kinds of congestion
 * control, those for everybody and those for CAP_NET_ADMIN, and a law of the second kind could not be chosen in a
 * namespace. So the law is for everybody, and this program, attached to the root of all cgroups, refuses others than
 * the allowed users and processes of the allowed groups. What the operator chose, by the sysctl, a route or a socket
 * that others inherit, does not come by here.
 */
#ifndef FADELAB_CHOOSE_H
#define FADELAB_CHOOSE_H

#include "flow.h"

#define CHOOSE_ALLOW 1
#define CHOOSE_REFUSE 0
/* Longer names are cut there by the kernel (TCP_CA_NAME_MAX less the zero byte). */
#define CHOOSE_NAME_BYTES_MAX 15
/* The kernel shows no more of a value; before 6.4 it has to be told that the rest is to be as it was. */
#define CHOOSE_SHOWN_BYTES 4096

/* Deeper than groups of systemd or of containers are. */
#define CHOOSE_LEVELS_MAX 32

#define CHOOSE_MAX 64

/* Who may, as the loader sets it. Groups by their numbers, which the inodes of their folders are. */
struct allowed {
	u32 everybody; /* then the program is not attached */
	u32 users_n;
	u32 users[CHOOSE_MAX];
	u64 groups_n;
	u64 groups[CHOOSE_MAX];
};

TO_BE_SET struct allowed allowed = {.everybody = 1};

/* Whether the value names this law: up to its end, or to a zero byte. */
ALWAYS_INLINE u32 choose_names_us(const struct bpf_sockopt *option)
{
	const char *name = option->optval, *ours = *SET(law_name);

	for (u32 i = 0; i < CHOOSE_NAME_BYTES_MAX; i++) {
		u32 ends = (const void *)(name + i + 1) > option->optval_end || !name[i];

		if (ends || !ours[i])
			return ends && !ours[i];
		if (name[i] != ours[i])
			return 0;
	}
	return 1;
}

/* Whether the process is in one of the groups, or in one below it. */
ALWAYS_INLINE u32 choose_is_in_group(void)
{
	for (int level = 0; level < CHOOSE_LEVELS_MAX; level++) {
		u64 group = bpf_get_current_ancestor_cgroup_id(level);

		if (!group)
			return 0;
		for (u32 i = 0; i < CHOOSE_MAX && i < SET(allowed)->groups_n; i++)
			if (SET(allowed)->groups[i] == group)
				return 1;
	}
	return 0;
}

SEC("cgroup/setsockopt") int choose_law(struct bpf_sockopt *option)
{
	u32 user = (u32)bpf_get_current_uid_gid();

	if (option->optlen > CHOOSE_SHOWN_BYTES)
		option->optlen = 0;
	if (option->level != IPPROTO_TCP_LEVEL || option->optname != TCP_CONGESTION || !choose_names_us(option))
		return CHOOSE_ALLOW;
	for (u32 i = 0; i < CHOOSE_MAX && i < SET(allowed)->users_n; i++)
		if (SET(allowed)->users[i] == user)
			return CHOOSE_ALLOW;
	return choose_is_in_group() ? CHOOSE_ALLOW : CHOOSE_REFUSE;
}

#endif /* FADELAB_CHOOSE_H */
