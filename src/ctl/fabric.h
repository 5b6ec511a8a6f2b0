/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_FABRIC_H
#define CTL_FABRIC_H

/*
 * fabric - the networks of a cluster on one machine; layout.h draws them.
 *
 * A namespace of its own holds a bridge for each network, and each node has a
 * cable to each bridge. Another cable leads to the namespace of the person, for
 * the API server.
 *
 * Threading: one thread.
 */

struct err;
struct layout;

/*
 * A block is taken when an interface of this namespace has an address of it,
 * other than the cluster's own. Between looking and fabric_up() another cluster
 * could look as well: the caller holds the lock of netlock.h over both.
 */

/* Sets layout->block to one that is not taken: its own, or the next. ERR_LIMIT
 * when all are. */
int fabric_choose(struct layout *layout, struct err *err);
/* ERR_CONFLICT when layout->block is taken. */
int fabric_check(const struct layout *layout, struct err *err);
/* Makes all that is not there yet. */
int fabric_up(const struct layout *layout, struct err *err);
/* Takes all of it away, whatever is there of it. */
int fabric_down(const struct layout *layout, struct err *err);

#endif
