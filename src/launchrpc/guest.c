/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/guest.h"

json_t *
launch_guest_encode(const struct launch_guest *guest)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "memoryBytes",
			 (json_int_t)guest->memory_bytes, "residentBytes",
			 (json_int_t)guest->resident_bytes,
			 "dirtyRateBytesPerSecond",
			 (json_int_t)guest->dirty_rate_bytes_per_second,
			 "timeUs", (json_int_t)guest->time_us);
}

int
launch_guest_decode(const json_t *obj, struct launch_guest *ret,
		    struct err *err)
{
	struct launch_guest guest = { 0 };
	uint64_t time_us = 0;

	if (js_opt_u64(obj, "memoryBytes", 0, INT64_MAX, &guest.memory_bytes,
		       err) == -1 ||
	    js_opt_u64(obj, "residentBytes", 0, INT64_MAX,
		       &guest.resident_bytes, err) == -1 ||
	    js_opt_u64(obj, "dirtyRateBytesPerSecond", 0, INT64_MAX,
		       &guest.dirty_rate_bytes_per_second, err) == -1 ||
	    js_opt_u64(obj, "timeUs", 0, INT64_MAX, &time_us, err) == -1)
		return -1;
	guest.time_us = (int64_t)time_us;
	*ret = guest;
	return 0;
}
