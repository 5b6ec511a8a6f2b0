/* SPDX-License-Identifier: Apache-2.0 */

/*
 * deleteall - deletecollection: one call for each object, a portion at a time,
 * and the list of them as the answer.
 *
 * Between two portions the loop goes round, so that others are served however
 * many there are. What appears after the beginning is left alone.
 */

#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/call.h"
#include "cluster/server/read.h"
#include "cluster/server/selection.h"
#include "cluster/server/server.h"
#include "cluster/server/server_internal.h"
#include "cluster/server/write.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

#define PORTION 64

struct deletion {
	struct deletions *all;
	struct deletion *prev, *next;
	struct call *call;
	struct loop_timer *timer; /* for the next portion */
	struct object **objects;  /* those to be deleted; references */
	size_t count;
	size_t done;     /* so many were begun */
	size_t open;     /* calls of this portion that have not ended */
	json_t *failure; /* the first */
	int code;
};

struct deletions {
	struct deletion *first;
};

struct deletions *
deletions_new(void)
{
	return xmalloc0(sizeof(struct deletions));
}

static void
deletion_free(struct deletion *deletion)
{
	if (deletion->prev != NULL)
		deletion->prev->next = deletion->next;
	else
		deletion->all->first = deletion->next;
	if (deletion->next != NULL)
		deletion->next->prev = deletion->prev;
	loop_timer_free(deletion->timer);
	objects_unref(deletion->objects, deletion->count);
	json_decref(deletion->failure);
	free(deletion);
}

void
deletions_free(struct deletions *deletions)
{
	while (deletions->first != NULL) {
		struct call *call = deletions->first->call;

		deletion_free(deletions->first);
		(void)status_unavailable(&call->st, "the server is stopping");
		call_fail(call);
	}
	free(deletions);
}

static void
reply(struct deletion *deletion)
{
	struct call *call = deletion->call;
	struct object **objects = deletion->objects;
	size_t count = deletion->count;
	json_t *failure = json_incref(deletion->failure);
	int code = deletion->code;

	if (failure == NULL) {
		deletion->objects = NULL;
		deletion->count = 0;
	}
	deletion_free(deletion);
	if (failure == NULL)
		list_reply(call, objects, count);
	else
		call_reply_plain(call, code, failure);
	json_decref(failure);
}

static void
one_done(int code, const json_t *answer, void *arg)
{
	struct deletion *deletion = arg;

	/* Gone meanwhile is what was wanted. */
	if (code >= 400 && code != 404 && deletion->failure == NULL) {
		deletion->failure = json_incref((json_t *)answer);
		deletion->code = code;
	}
	if (--deletion->open > 0)
		return;
	if (deletion->failure != NULL || deletion->done == deletion->count)
		reply(deletion);
	else
		loop_timer_start(deletion->timer, 0);
}

static void
delete_one(struct deletion *deletion, const struct object *object)
{
	struct call *parent = deletion->call;
	struct call *call = call_child(parent, VERB_DELETE, one_done, deletion);

	call->info.namespace_ = object->namespace_;
	call->info.name = object->name;
	call->body = json_incref(parent->body);
	call->delete_ = parent->delete_;
	call->write = parent->write;
	delete_object(call);
}

static void
delete_portion(void *arg)
{
	struct deletion *deletion = arg;
	size_t end = deletion->done + PORTION;

	if (end > deletion->count)
		end = deletion->count;
	/* One more, so that the last of them cannot end it too early. */
	deletion->open = 1;
	while (deletion->done < end && deletion->failure == NULL) {
		deletion->open++;
		delete_one(deletion, deletion->objects[deletion->done++]);
	}
	one_done(200, NULL, deletion);
}

static void
choose(struct deletion *deletion, const struct selection *selection)
{
	const struct call *call = deletion->call;
	const char *ns = call->info.namespace_;
	struct object **objects;
	size_t n = store_list(call->kind->collection,
			      call->kind->namespaced && *ns != '\0' ? ns : NULL,
			      NULL, 0, &objects);

	for (size_t i = 0; i < n; i++) {
		if (selection_matches(selection, objects[i]))
			objects[deletion->count++] = objects[i];
		else
			object_unref(objects[i]);
	}
	deletion->objects = objects;
}

static void
start(struct call *call, const struct selection *selection)
{
	struct deletions *all = server_deletions(call->server);
	struct deletion *deletion = xmalloc0(sizeof(*deletion));

	deletion->all = all;
	deletion->next = all->first;
	if (all->first != NULL)
		all->first->prev = deletion;
	all->first = deletion;
	deletion->call = call;
	deletion->timer =
		loop_timer_new(call->parts->loop, delete_portion, deletion);
	choose(deletion, selection);
	delete_portion(deletion);
}

void
delete_collection_run(struct call *call)
{
	struct list_options options;
	struct selection *selection = NULL;

	if (delete_read_options(call) == 0 &&
	    query_list_options(&call->query, false, &options, &call->st) == 0)
		selection = selection_new(call->kind, options.label_selector,
					  options.field_selector, &call->st);
	if (selection == NULL) {
		call_fail(call);
		return;
	}
	start(call, selection);
	selection_free(selection);
}
