/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_WRITE_H
#define CLUSTER_WRITE_H

/*
 * write - the steps that creating, updating and patching share.
 *
 *	prepare -> mutating admission -> write_check() -> validating admission
 *	-> write_commit() -> on disk -> reply
 *
 * Nothing is held while a webhook is asked. An update therefore finds out at
 * the end whether the object is still the one it started from, and begins
 * again or reports the conflict.
 *
 * Each of the ..._run functions takes the call and ends it.
 */

#include <stdbool.h>

#include "base/js.h"

struct call;
struct object;
struct strict_errors;

void create_run(struct call *call);
void update_run(struct call *call);
void patch_run(struct call *call);
void delete_run(struct call *call);
void delete_collection_run(struct call *call);

/* Reads the options of a deletion from the query and the body, which then is
 * in call->body: what was read points there. -1 with st. */
int delete_read_options(struct call *call);
/* Deletes what call->info names; takes the call and ends it. */
void delete_object(struct call *call);

/*
 * Runs call->object through the two admission gates, with the checks of the
 * schema and of the kind between them, then calls finish, or fails the call.
 *
 * settle is called when a webhook has replaced the object, given being the one
 * before: it puts back what is not for webhooks to change. -1 with st.
 */
void write_admit(struct call *call,
		 int (*settle)(struct call *call, const json_t *given),
		 void (*finish)(struct call *call));

/* Fits the object to the schema: removes what is unknown (adding to errors,
 * which may be NULL) and fills in defaults. */
void write_shape(struct call *call, json_t *object,
		 struct strict_errors *errors);

/* A 400 when a member of the body has a type that cannot be decoded. */
int write_check_types(struct call *call, const json_t *object);

/*
 * The text of object with resourceVersion rv, in the stored version: ready for
 * the store. object is changed to it. NULL with st when it is too large.
 */
struct object *write_seal(struct call *call, json_t *object, uint64_t rv);

/* The stored object in the version the call asked for; a new reference. */
json_t *write_load(struct call *call, const struct object *object);

/* Loads what call->info names, in its newest state, to call->old and
 * call->old_json, and drops call->object. -1: 404. */
int write_find(struct call *call);

/* Answers with call->result and call->code once it is on disk. */
void write_reply(struct call *call);
/* The same with call->object, for what was not stored, or removed. */
void write_reply_json(struct call *call, int code);

/* Takes the object from the store: its tombstone goes to watchers. No limit
 * on its size applies, or what is as large as can be could not be deleted. */
void write_remove(struct call *call, json_t *object);

#endif
