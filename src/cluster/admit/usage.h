/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_USAGE_H
#define CLUSTER_ADMIT_USAGE_H

/*
 * usage - what a name in a quota's spec.hard measures, of which objects.
 *
 * A meter looks at one object and nothing else, not even the clock: what was
 * added for an object can be taken away again exactly. (Kubernetes stops
 * counting a pod whose time to end has passed; here it counts until it has
 * ended or is gone.)
 *
 * Threading: any thread, with values of its own.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/js.h"
#include "meta/quantity.h"

enum usage_what {
	USAGE_NOTHING, /* a name that no object adds to */
	USAGE_OBJECTS, /* one each */
	USAGE_PODS,    /* those that have not ended; also for the next two */
	USAGE_REQUESTS,
	USAGE_LIMITS,
	USAGE_CLAIMS, /* of one storage class */
	USAGE_STORAGE,
	USAGE_NODE_PORTS,
	USAGE_LOAD_BALANCERS,
	USAGE_WHAT_COUNT,
};

struct usage_meter {
	enum usage_what what;
	char *name;     /* as in spec.hard */
	char *resource; /* the kind's plural name; "" for USAGE_NOTHING */
	char *group;
	char *detail; /* "cpu", or a storage class; "" if there is none */
};

/* Never fails: an unknown name measures nothing. */
void usage_meter_init(struct usage_meter *meter, const char *name);
void usage_meter_done(struct usage_meter *meter);

/* Whether objects of this kind add to it. */
bool usage_is_about(const struct usage_meter *meter, const char *group,
		    const char *resource);
/* Whether usage_measure() looks at the object; else NULL will do. */
bool usage_looks(const struct usage_meter *meter);
/* Whether an update can add to it, not only a creation. */
bool usage_can_grow(const struct usage_meter *meter);

struct quantity usage_measure(const struct usage_meter *meter,
			      const json_t *obj);

/*
 * Where the meter is about cpu or memory, every container must say how much:
 * appends "NAME for: c1,c2" to text when some do not, behind "; " if text has
 * something already.
 */
void usage_require(const struct usage_meter *meter, const json_t *pod,
		   struct buf *text);

#endif
