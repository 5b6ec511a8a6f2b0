/* SPDX-License-Identifier: Apache-2.0 */
#include "api/units.h"

#include <stdint.h>

#define NANO INT64_C(1000000000)
#define GIGABYTE UINT64_C(1000000000)
#define MIB (INT64_C(1024) * 1024)

uint64_t
units_bandwidth_mib(const struct quantity *bytes_per_second)
{
	const __int128 mib = (__int128)MIB * NANO;
	__int128 rounded;

	if (quantity_sign(bytes_per_second) <= 0)
		return 0;
	if (bytes_per_second->nano < mib)
		return 1;
	rounded = (bytes_per_second->nano + mib / 2) / mib;
	return rounded > INT64_MAX ? INT64_MAX : (uint64_t)rounded;
}

int64_t
units_completion_timeout_s(int64_t timeout_per_gib, uint64_t bytes)
{
	uint64_t gigabytes = bytes / GIGABYTE + (bytes % GIGABYTE != 0);
	int64_t seconds;

	if (timeout_per_gib <= 0)
		return 0;
	if (__builtin_mul_overflow((int64_t)gigabytes, timeout_per_gib,
				   &seconds))
		return INT64_MAX;
	return seconds;
}

int64_t
units_backoff_s(unsigned failures)
{
	int64_t pause = UNITS_BACKOFF_FIRST_S;

	if (failures == 0)
		return 0;
	while (--failures > 0 && pause < UNITS_BACKOFF_MAX_S)
		pause *= 2;
	return pause;
}
