/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A law at the two ends of a connection. The sender's half is a congestion control of the kernel (control.h); where
 * packets carry something of the law, feedback.h brings it back and mark.h marks what leaves; choose.h says who may
 * choose it. flow.h names the macros that make this one unit the unit of a law.
 */
#include "flow.h"

#include "choose.h"
#include "control.h"
#include "record.h"

char law_license[] SEC("license") = "Dual BSD/GPL";

#if CARRIES_FEEDBACK
#include "feedback.h"
#include "mark.h"
#endif
