/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_REWRITE_H
#define CLUSTER_ADMIT_REWRITE_H

/*
 * rewrite - puts a changed object back into the store, as the server itself.
 *
 * For the status that admission and aggregation keep. It goes past admission:
 * a webhook must not be asked about what only tells of webhooks.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"

struct collection;

/*
 * obj is the stored form of an object that was read from the collection in
 * this turn of the loop and changed; it gets the next resource version. The
 * reference stays the caller's.
 */
void rewrite(struct collection *collection, json_t *obj);

#endif
