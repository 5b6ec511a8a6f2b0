/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/human.h"

#include <stdio.h>

#define STEP 1024.0
#define PRECISE 100.0 /* below this one decimal is shown */

const char *
human_bytes(int64_t bytes, char text[HUMAN_SIZE])
{
	static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	double value = bytes > 0 ? (double)bytes : 0;
	size_t unit = 0;

	while (value >= STEP && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= STEP;
		unit++;
	}
	(void)snprintf(text, HUMAN_SIZE,
		       unit > 0 && value < PRECISE ? "%.1f %s" : "%.0f %s",
		       value, units[unit]);
	return text;
}

const char *
human_pause(int64_t downtime_ms, int64_t blackout_ms,
	    char text[HUMAN_PAUSE_SIZE])
{
	if (downtime_ms > 0 && blackout_ms > 0)
		(void)snprintf(text, HUMAN_PAUSE_SIZE,
			       "%lld ms, blackout %lld ms",
			       (long long)downtime_ms, (long long)blackout_ms);
	else if (downtime_ms > 0 || blackout_ms > 0)
		(void)snprintf(text, HUMAN_PAUSE_SIZE, "%lld ms",
			       (long long)(downtime_ms > 0 ? downtime_ms
							   : blackout_ms));
	else
		text[0] = '\0';
	return text;
}
