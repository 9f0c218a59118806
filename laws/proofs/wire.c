/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A codec, named by -DHEADER and -DTABLE, of packets that carry whatever fits an option; see sender.c. */
#include "proof.h"
#include HEADER
#include "part/option.h"

static u8 option[OPTION_BYTES_MAX];
static u8 feedback[LAW_FEEDBACK_BYTES_MAX];

static void any_bytes(u8 *bytes, u32 count)
{
	for (u32 i = 0; i < count; i++)
		bytes[i] = (u8)any(0, 255);
}

int main(void)
{
	struct law_format format = {.size = sizeof(format)};
	u32 bytes, segments = (u32)any(1, 0xffff);

	format.wire = TABLE.wire ? TABLE.wire : (u32)any(0, LAW_WIRE_DPCP);
	format.data_bytes = (u32)any(0, LAW_FEEDBACK_BYTES_MAX);
	format.echo_bytes = (u32)any(0, LAW_FEEDBACK_BYTES_MAX);
	bytes = TABLE.option_bytes(&format);
	__CPROVER_assume(bytes <= OPTION_BYTES_MAX);
	holds(bytes > OPTION_HEAD_BYTES && bytes % 4 == 0);
	any_bytes(option, OPTION_BYTES_MAX);
	any_bytes(feedback, LAW_FEEDBACK_BYTES_MAX);
	CALL(get_data, TABLE.get_data(option, &format, feedback));
	any_bytes(feedback, LAW_FEEDBACK_BYTES_MAX);
	CALL(confirm, TABLE.confirm(option, &format));
	CALL(get_echo, TABLE.get_echo(option, &format, feedback));
	CALL(begin, TABLE.begin(option, &format));
	holds(option_is(option, format.wire, bytes));
	holds(!TABLE.get_data || !TABLE.get_data(option, &format, feedback));
	holds(!TABLE.get_echo(option, &format, feedback));
	any_bytes(feedback, LAW_FEEDBACK_BYTES_MAX);
	CALL(put_data, TABLE.put_data(option, &format, feedback));
	CALL(confirm, TABLE.confirm(option, &format));
	CALL(put_echo, TABLE.put_echo(option, &format, feedback, (u32)any(0, 1)));
	CALL(join, TABLE.join(feedback, segments));
	CALL(put_share, TABLE.put_share(option, &format, feedback, segments));
	holds(!TABLE.get_data || TABLE.get_data(option, &format, feedback) & LAW_CODEC_CONFIRMED);
	holds(option_is(option, format.wire, bytes));
	RETURNED(main);
	return 0;
}
