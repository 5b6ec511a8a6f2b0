/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_BACKOFF_H
#define CONTROLLER_MIGRATION_BACKOFF_H

/*
 * backoff - migrations that nobody asked for wait longer after each failure.
 *
 * Those made for an evacuation or an update: BACKOFF_FIRST_S after one failure
 * of such a migration of the same machine, twice that after two in a row, and
 * so on, from the end of the last one. A success ends the row.
 */

#include <stdint.h>

struct facts;

#define BACKOFF_FIRST_S 20
#define BACKOFF_DOUBLINGS_MAX 12 /* not reached: few ended ones are kept */

/* When it may begin; 0: now, as far as this goes. */
int64_t backoff_until_us(const struct facts *facts);

#endif
