/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_UNITS_H
#define API_UNITS_H

/*
 * units - arithmetic of settings.
 *
 * Threading: any thread.
 */

#include <stdint.h>

#include "meta/quantity.h"

/*
 * A bandwidth in bytes per second as MiB per second: 0 for 0 (no limit), 1 for
 * what is below 1 MiB, otherwise rounded, halves up. Negative ones count as 0.
 */
uint64_t units_bandwidth_mib(const struct quantity *bytes_per_second);

/*
 * How long a transfer may take, in seconds: timeout_per_gib for each gigabyte
 * of bytes. As in KubeVirt, and unlike the name of the setting, that is 10^9
 * bytes, and what is begun counts whole: 1 GiB counts twice. 0 for a timeout of
 * 0 or less: no limit. Stops at INT64_MAX.
 */
int64_t units_completion_timeout_s(int64_t timeout_per_gib, uint64_t bytes);

/* The pause before the next automatic migration after n failures in a row:
 * 0 s, 20 s, 40 s, ..., up to UNITS_BACKOFF_MAX_S. */
#define UNITS_BACKOFF_FIRST_S 20
#define UNITS_BACKOFF_MAX_S 320
int64_t units_backoff_s(unsigned failures);

#endif
