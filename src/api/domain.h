/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_DOMAIN_H
#define API_DOMAIN_H

/*
 * domain - the part of a machine's spec that Ferry can run.
 *
 * One table lists each member by its path, what its values may be, and whether
 * it is used or means nothing here. Whatever is not in it is refused with its
 * path: a machine that would silently run without a device it asked for is
 * worse than one that does not start. docs/api.md shows the table.
 *
 * Threading: any thread.
 */

#include <stddef.h>

#include "base/js.h"

struct status;

#define DOMAIN_PATH_MAX 256

/* Adds a denial for each member outside of the subset, at most CAUSES_MAX of
 * them. prefix is put before the paths: "spec". Returns -1 if there was one. */
int domain_check_subset(const json_t *spec, const char *prefix,
			struct status *st);

/* The rows of the table, in order, for documentation and its test: the path
 * ("domain.devices.disks[].name") and its allowed values ("" for any). */
const char *domain_subset_path(size_t row); /* NULL behind the last */
const char *domain_subset_values(size_t row);

#endif
