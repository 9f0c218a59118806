/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * XCP's fields as its laws see them, in network byte order: on data 12 bytes, the round trip and the distance of
 * packets (unsigned seconds, 28 fractional bits) and delta (signed bytes per second), on ACKs 4 bytes, the reverse
 * feedback.
 */
#ifndef FADELAB_PART_XCP_FIELDS_H
#define FADELAB_PART_XCP_FIELDS_H

#define XCP_DATA_BYTES 12
#define XCP_ACK_BYTES 4
/* Places of the fields on data packets. */
#define XCP_AT_RTT 0
#define XCP_AT_X 4
#define XCP_AT_DELTA 8

#define XCP_DELTA_BPS_MAX 0x7fffffffll
#define XCP_DELTA_BPS_MIN (-XCP_DELTA_BPS_MAX - 1)

#endif /* FADELAB_PART_XCP_FIELDS_H */
