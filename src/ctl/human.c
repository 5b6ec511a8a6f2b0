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
