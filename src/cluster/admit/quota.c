/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/quota.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/admit/rewrite.h"
#include "cluster/admit/tally.h"
#include "cluster/kinds/kind.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/status.h"

#define STATUS_MS 100        /* between two rounds of writing status */
#define STATUS_RETRY_MS 5000 /* after the store refused one */

/* The quotas of one namespace, by name. */
struct space {
	struct map_node node;
	char *name;
	struct tally *first;
};

/* What a write that is not on disk yet will use. */
struct reservation {
	uint64_t rv;
	uint64_t number; /* counts up; a revision may come again */
	struct share *shares;
	struct reservation *next;
};

struct share {
	struct tally *tally;
	struct quantity *amounts; /* one for each limit */
	struct share *next;
};

/*
 * One that waits for the disk. The store cannot be told to forget it, so it
 * lives until it is called and quota_free() only cuts it off.
 */
struct wait {
	struct quota *quota; /* NULL once that is gone */
	uint64_t number;     /* of the last reservation it stands for; 0: it
			      * stands for what was counted */
	struct wait *prev, *next;
};

struct quota {
	struct store *store;
	const struct registry *registry;
	struct collection *collection;
	struct subscription *subscription;
	struct map spaces;
	size_t count;
	struct reservation *first; /* by revision */
	struct reservation **last;
	uint64_t number;
	struct wait *waits;
	bool waiting;                  /* one stands for reservations */
	struct loop_timer *wait_timer; /* starts that, after the write */
	struct loop_timer *status_timer;
	uint64_t status_not_before_ms;
};

static struct space *
find_space(const struct quota *quota, const char *ns)
{
	struct map_node *node = map_get(&quota->spaces, ns);

	return node != NULL ? MAP_ENTRY(node, struct space, node) : NULL;
}

static struct space *
make_space(struct quota *quota, const char *ns)
{
	struct space *space = find_space(quota, ns);

	if (space == NULL) {
		space = xmalloc0(sizeof(*space));
		space->name = xstrdup(ns);
		map_put(&quota->spaces, &space->node, space->name);
	}
	return space;
}

static void
drop_space_if_empty(struct quota *quota, struct space *space)
{
	if (space->first != NULL)
		return;
	map_remove(&quota->spaces, &space->node);
	free(space->name);
	free(space);
}

/* Where the quota of this name is, or belongs. */
static struct tally **
find_place(struct space *space, const char *name)
{
	struct tally **place = &space->first;

	while (*place != NULL && strcmp((*place)->name, name) < 0)
		place = &(*place)->next;
	return place;
}

static bool
is_at(struct tally *const *place, const char *name)
{
	return *place != NULL && str_equal((*place)->name, name);
}

static void
share_free(struct share *share)
{
	free(share->amounts);
	free(share);
}

/* Gives back, where the tally still is as it was when this was reserved. */
static void
reservation_end(struct reservation *reservation)
{
	struct share *share;

	while ((share = reservation->shares) != NULL) {
		struct tally *tally = share->tally;

		for (size_t i = 0; i < tally->count; i++)
			tally->limits[i].reserved = quantity_sub(
				tally->limits[i].reserved, share->amounts[i]);
		reservation->shares = share->next;
		share_free(share);
	}
	free(reservation);
}

static void
remove_reservation(struct quota *quota, struct reservation **place)
{
	struct reservation *reservation = *place;

	*place = reservation->next;
	if (quota->last == &reservation->next)
		quota->last = place;
	reservation_end(reservation);
}

/* The tally is about to go, or to be counted with all that was reserved. */
static void
forget_shares(struct quota *quota, const struct tally *tally)
{
	for (struct reservation *r = quota->first; r != NULL; r = r->next) {
		struct share **place = &r->shares;

		while (*place != NULL) {
			struct share *share = *place;

			if (share->tally != tally) {
				place = &share->next;
				continue;
			}
			*place = share->next;
			share_free(share);
		}
	}
}

static void
mark_dirty(struct quota *quota, struct tally *tally)
{
	uint64_t now = loop_now_ms();
	uint64_t at = quota->status_not_before_ms;

	tally->dirty = true;
	if (!loop_timer_running(quota->status_timer))
		loop_timer_start(quota->status_timer,
				 at > now ? (at - now) * 1000 : 0);
}

static void
start_wait(struct quota *quota)
{
	if (!quota->waiting && !loop_timer_running(quota->wait_timer))
		loop_timer_start(quota->wait_timer, 0);
}

static void on_durable(const struct err *err, void *arg);

/* For all that was written before; may call back from inside. */
static void
wait_for_disk(struct quota *quota, uint64_t number)
{
	struct wait *wait = xmalloc0(sizeof(*wait));

	wait->quota = quota;
	wait->number = number;
	wait->next = quota->waits;
	if (wait->next != NULL)
		wait->next->prev = wait;
	quota->waits = wait;
	store_when_durable(quota->store, on_durable, wait);
}

static void
wait_remove(struct wait *wait)
{
	if (wait->prev != NULL)
		wait->prev->next = wait->next;
	else
		wait->quota->waits = wait->next;
	if (wait->next != NULL)
		wait->next->prev = wait->prev;
}

/* What is not on disk yet is counted too; if it is lost, this is repeated. */
static void
count(struct quota *quota, struct tally *tally)
{
	forget_shares(quota, tally);
	tally_count(tally, quota->store, quota->registry);
	mark_dirty(quota, tally);
	if (store_rv(quota->store) > store_durable_rv(quota->store))
		wait_for_disk(quota, 0);
}

static void
drop_tally(struct quota *quota, struct tally **place)
{
	struct tally *tally = *place;

	*place = tally->next;
	forget_shares(quota, tally);
	tally_free(tally);
	quota->count--;
}

static void
follow_quota(struct quota *quota, const struct object *object, bool gone)
{
	struct space *space = make_space(quota, object->namespace_);
	struct tally **place = find_place(space, object->name);
	AUTO(js_unref) json_t *obj = NULL;
	struct tally *tally;

	if (gone) {
		if (is_at(place, object->name))
			drop_tally(quota, place);
		drop_space_if_empty(quota, space);
		return;
	}
	obj = object_json(object);
	if (is_at(place, object->name)) {
		if (json_equal((*place)->spec, js_obj_at(obj, "spec")))
			return;
		drop_tally(quota, place);
	}
	tally = tally_new(object->namespace_, object->name, obj);
	tally->next = *place;
	*place = tally;
	quota->count++;
	count(quota, tally);
}

static void
on_event(const struct event *event, void *arg)
{
	const struct object *object = event->object;
	const struct object *now =
		event->type == EVENT_DELETED ? NULL : event->object;
	struct quota *quota = arg;
	struct space *space;

	while (quota->first != NULL && quota->first->rv <= event->rv)
		remove_reservation(quota, &quota->first);
	if (object->collection == quota->collection)
		follow_quota(quota, object, now == NULL);
	space = find_space(quota, object->namespace_);
	if (space == NULL)
		return;
	for (struct tally *t = space->first; t != NULL; t = t->next) {
		if (event->rv > t->since && tally_follow(t, event->old, now))
			mark_dirty(quota, t);
	}
}

static void
count_all(struct quota *quota)
{
	struct map_node *node = NULL;

	while ((node = map_next(&quota->spaces, node)) != NULL) {
		struct space *space = MAP_ENTRY(node, struct space, node);

		for (struct tally *t = space->first; t != NULL; t = t->next)
			count(quota, t);
	}
}

/*
 * The events of what is on disk came before this. What is left is of writes
 * that were taken back, or that were never made.
 */
static void
on_durable(const struct err *err, void *arg)
{
	struct wait *wait = arg;
	struct quota *quota = wait->quota;
	uint64_t number = wait->number;

	if (quota != NULL)
		wait_remove(wait);
	free(wait);
	if (quota == NULL)
		return;
	if (number != 0)
		quota->waiting = false;
	while (quota->first != NULL && quota->first->number <= number)
		remove_reservation(quota, &quota->first);
	if (err != NULL) {
		quota->status_not_before_ms = loop_now_ms() + STATUS_RETRY_MS;
		count_all(quota);
	}
	if (quota->first != NULL)
		start_wait(quota);
}

static void
on_wait_timer(void *arg)
{
	struct quota *quota = arg;

	quota->waiting = true;
	wait_for_disk(quota, quota->number);
}

static void
write_status(struct quota *quota, struct tally *tally)
{
	struct object *object =
		store_get(quota->collection, tally->namespace_, tally->name);
	AUTO(js_unref) json_t *obj = NULL;
	AUTO(js_unref) json_t *status = tally_status(tally);

	tally->dirty = false;
	if (object == NULL)
		return;
	obj = object_json(object);
	if (json_equal(json_object_get(obj, "status"), status))
		return;
	(void)json_object_set(obj, "status", status);
	rewrite(object->collection, obj);
}

void
quota_flush(struct quota *quota)
{
	struct map_node *node = NULL;

	uint64_t before = store_rv(quota->store);

	loop_timer_stop(quota->status_timer);
	quota->status_not_before_ms = loop_now_ms() + STATUS_MS;
	while ((node = map_next(&quota->spaces, node)) != NULL) {
		struct space *space = MAP_ENTRY(node, struct space, node);

		for (struct tally *t = space->first; t != NULL; t = t->next) {
			if (t->dirty)
				write_status(quota, t);
		}
	}
	/* What the disk refuses is written again, after a while. */
	if (store_rv(quota->store) > before)
		wait_for_disk(quota, 0);
}

static void
on_status_timer(void *arg)
{
	quota_flush(arg);
}

static void
count_stored(struct quota *quota)
{
	struct object **objects;
	size_t count = store_list(quota->collection, NULL, NULL, 0, &objects);

	for (size_t i = 0; i < count; i++)
		follow_quota(quota, objects[i], false);
	objects_unref(objects, count);
}

struct quota *
quota_new(struct loop *loop, struct store *store, struct registry *registry)
{
	struct quota *quota = xmalloc0(sizeof(*quota));
	bool too_old;

	quota->store = store;
	quota->registry = registry;
	quota->collection = store_collection(store, "", "resourcequotas");
	quota->last = &quota->first;
	quota->wait_timer = loop_timer_new(loop, on_wait_timer, quota);
	quota->status_timer = loop_timer_new(loop, on_status_timer, quota);
	count_stored(quota);
	quota->subscription = subscribe(store, NULL, store_durable_rv(store),
					on_event, quota, &too_old);
	return quota;
}

static void
free_space(struct space *space)
{
	while (space->first != NULL) {
		struct tally *tally = space->first;

		space->first = tally->next;
		tally_free(tally);
	}
	free(space->name);
	free(space);
}

void
quota_free(struct quota *quota)
{
	struct map_node *node, *next;

	if (quota == NULL)
		return;
	unsubscribe(quota->subscription);
	loop_timer_free(quota->wait_timer);
	loop_timer_free(quota->status_timer);
	for (struct wait *wait = quota->waits; wait != NULL; wait = wait->next)
		wait->quota = NULL;
	while (quota->first != NULL)
		remove_reservation(quota, &quota->first);
	for (node = map_next(&quota->spaces, NULL); node != NULL; node = next) {
		next = map_next(&quota->spaces, node);
		map_remove(&quota->spaces, node);
		free_space(MAP_ENTRY(node, struct space, node));
	}
	map_done(&quota->spaces);
	free(quota);
}

static void
add_share(struct reservation *reservation, struct tally *tally,
	  const struct quantity *amounts)
{
	struct share *share = xmalloc0(sizeof(*share));

	share->tally = tally;
	share->amounts = xcalloc(tally->count + 1, sizeof(*amounts));
	for (size_t i = 0; i < tally->count; i++) {
		struct tally_limit *limit = &tally->limits[i];

		share->amounts[i] = amounts[i];
		limit->reserved = quantity_add(limit->reserved, amounts[i]);
	}
	share->next = reservation->shares;
	reservation->shares = share;
}

static int
reserve(struct space *space, const struct tally_change *change,
	struct reservation *reservation, struct status *st)
{
	struct quantity amounts[TALLY_LIMITS_MAX];

	for (struct tally *t = space->first; t != NULL; t = t->next) {
		bool any;

		if (tally_check(t, change, amounts, &any, st) == -1)
			return -1;
		if (any)
			add_share(reservation, t, amounts);
	}
	return 0;
}

static int
check_size(const struct admission_request *req, struct status *st)
{
	const struct gr gr = { .group = "", .resource = "resourcequotas" };
	size_t size = json_object_size(js_obj_at(req->object, "spec.hard"));

	if (size <= TALLY_LIMITS_MAX)
		return 0;
	return status_forbidden(st, &gr, req->name,
				"spec.hard has too many names");
}

int
quota_charge(struct quota *quota, const struct admission_request *req,
	     uint64_t rv, struct status *st)
{
	const struct tally_change change = {
		.kind = req->kind,
		.name = req->name,
		.object = req->object,
		.old = req->op == ADMISSION_UPDATE ? req->old : NULL,
	};
	struct reservation *reservation;
	struct space *space;

	if (*req->subresource != '\0' || !req->kind->namespaced ||
	    (req->op != ADMISSION_CREATE && req->op != ADMISSION_UPDATE))
		return 0;
	if (req->kind->collection == quota->collection &&
	    check_size(req, st) == -1)
		return -1;
	space = find_space(quota, req->namespace_);
	if (space == NULL)
		return 0;
	reservation = xmalloc0(sizeof(*reservation));
	reservation->rv = rv;
	if (reserve(space, &change, reservation, st) == -1) {
		reservation_end(reservation);
		return -1;
	}
	if (req->dry_run || reservation->shares == NULL) {
		reservation_end(reservation);
		return 0;
	}
	reservation->number = ++quota->number;
	*quota->last = reservation;
	quota->last = &reservation->next;
	start_wait(quota);
	return 0;
}

void
quota_release(struct quota *quota, uint64_t rv)
{
	struct reservation **place = &quota->first;

	while (*place != NULL && (*place)->rv != rv)
		place = &(*place)->next;
	if (*place != NULL)
		remove_reservation(quota, place);
}

size_t
quota_count(const struct quota *quota)
{
	return quota->count;
}
