/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHRPC_GUEST_H
#define LAUNCHRPC_GUEST_H

/*
 * guest - what a launcher has measured of its guest's memory.
 *
 * Threading: as js.h.
 */

#include <stdint.h>

#include "base/js.h"

struct err;

struct launch_guest {
	uint64_t memory_bytes;   /* that it may use */
	uint64_t resident_bytes; /* that QEMU has in memory; 0: not known */
	uint64_t dirty_rate_bytes_per_second;
	int64_t time_us; /* when it was measured */
};

json_t *launch_guest_encode(const struct launch_guest *guest);
/* Unknown members are left alone. */
int launch_guest_decode(const json_t *obj, struct launch_guest *ret,
			struct err *err);

#endif
