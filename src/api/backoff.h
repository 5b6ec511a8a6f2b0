/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_BACKOFF_H
#define API_BACKOFF_H

/*
 * backoff - migrations that nobody asked for wait longer after each failure.
 *
 * Those made for an evacuation or an update: BACKOFF_FIRST_S after one failure
 * of such a migration of the same machine, twice that after two in a row, and
 * so on, from the end of the last one. A success ends the row.
 *
 * Threading: as objmeta.h.
 */

#include <stddef.h>
#include <stdint.h>

struct vmim;

#define BACKOFF_FIRST_S 20
#define BACKOFF_DOUBLINGS_MAX 12 /* not reached: few ended ones are kept */

/* Whether one is held back, and why. */
struct backoff {
	int64_t until_us;  /* it may begin then; 0: now, as far as this goes */
	unsigned failures; /* in a row, of those that are kept */
	const struct vmim *last; /* the newest of these; NULL: none */
};

/* Of a migration, among the others of its machine. NULL: of one that the system
 * would make now. */
struct backoff backoff_of(const struct vmim *vmim,
			  const struct vmim *const *others, size_t count);

#endif
