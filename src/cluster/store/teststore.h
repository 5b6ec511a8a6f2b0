/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_STORE_TESTSTORE_H
#define CLUSTER_STORE_TESTSTORE_H

/*
 * teststore - a store in a directory of its own, for the tests of the store.
 *
 * Objects have a value in their spec, which is how tests tell states apart.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

struct world {
	char dir[64];
	struct loop *loop;
	struct store_config config;
	struct store *store;
	struct collection *pods;
	struct collection *nodes;
	int result; /* of world_settle() */
	struct err err;
};

/* For cmocka: a world with an open, empty store. */
int world_set_up(void **state);
int world_tear_down(void **state);

/* Fails the test when it cannot be opened. */
void world_open(struct world *w);
void world_close(struct world *w);
void world_reopen(struct world *w);

/* "DIR/name"; valid until the next call. */
const char *world_path(const struct world *w, const char *name);

/* The uid is "uid-NS-NAME", the label "name" its name, the label "end" the last
 * character of the value. */
struct object *world_object(const struct world *w, struct collection *c,
			    const char *ns, const char *name,
			    const char *value);
void world_put(struct world *w, struct collection *c, const char *ns,
	       const char *name, const char *value);
void world_remove(struct world *w, struct collection *c, const char *ns,
		  const char *name);

/* Runs the loop until everything is durable, or taken back: -1, w->err. */
int world_settle(struct world *w);

/* That the object has this value; NULL: that there is none. */
void assert_value(const struct object *object, const char *value);

/* "ns/name=value ns/name=value ..." of a list, which is released. */
void assert_list(struct object **objects, size_t count, const char *text);

/* Events as text: "ADDED a/x=1@1 MODIFIED a/x=2@2(1) ", in () the old value. */
struct tape {
	struct buf buf;
};
#define TAPE_INIT ((struct tape){ .buf = BUF_INIT(1 << 20) })

/* For subscribe(), with a tape. */
void tape_event(const struct event *event, void *arg);
/* What is on the tape; it is empty afterwards and may be used again. */
void assert_tape(struct tape *tape, const char *text);

/* Subscribes and must succeed. */
struct subscription *world_subscribe(struct world *w, struct collection *c,
				     uint64_t after_rv, struct tape *tape);

/* A number from the one before: the same ones in each run. */
uint32_t world_random(uint32_t *seed, uint32_t limit);

#endif
