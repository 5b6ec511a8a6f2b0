/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_HUMAN_H
#define CTL_HUMAN_H

/*
 * human - numbers as people read them. Threading: any thread.
 */

#include <stdint.h>

#define HUMAN_SIZE 24
#define HUMAN_PAUSE_SIZE 64

/* "312 B", "1.5 KiB", "27 MiB"; returns text. Less than nothing is nothing. */
const char *human_bytes(int64_t bytes, char text[HUMAN_SIZE]);

/* "78 ms, blackout 75 ms": how long a guest stood still, by both measures of
 * docs/metrics.md, of which 0 is not known; "" where neither is. */
const char *human_pause(int64_t downtime_ms, int64_t blackout_ms,
			char text[HUMAN_PAUSE_SIZE]);

#endif
