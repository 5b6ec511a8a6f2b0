/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/orphan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/migration/gc.h"
#include "controller/migration/internal.h"
#include "controller/migration/order.h"
#include "controller/migration/rank.h"
#include "kube/obj.h"

struct orphan {
	TAILQ_ENTRY(orphan) entry;
	struct migrations *all;
	const char *key; /* the worker's */
	char *migration_uid;
	struct kube_call *call;
};

void
orphan_queue(struct migrations *m, const struct pod *pod)
{
	char key[KUBE_KEY_MAX], pod_key[KUBE_KEY_MAX + 1];
	const struct queue_add add = { .key = pod_key, .priority = RANK_OTHER };

	if (m->worker == NULL || objmeta_is_deleting(&pod->meta))
		return;
	(void)snprintf(pod_key, sizeof(pod_key), "%c%s", MIGRATIONS_POD_KEY,
		       kube_key(pod->meta.ns, pod->meta.name, key));
	worker_put(m->worker, &add);
}

void
orphan_free(struct orphan *o)
{
	TAILQ_REMOVE(&o->all->orphans, o, entry);
	kube_cancel(o->call);
	free(o->migration_uid);
	free(o);
}

static void
finish(struct orphan *o, bool failed)
{
	worker_end(o->all->worker, o->key, failed);
	orphan_free(o);
}

/* NULL when it is gone, or is no orphan any more. */
static const struct pod *
pod_of(const struct orphan *o)
{
	const struct pod *pod =
		world_get_key(o->all->world, WORLD_PODS, o->key + 1);

	if (pod == NULL || strcmp(pod->migration_uid, o->migration_uid) != 0 ||
	    world_find(o->all->world, WORLD_VMIMS, VMIMS_BY_UID,
		       o->migration_uid) != NULL)
		return NULL;
	return pod;
}

static void
on_deleted(const struct kube_result *result, void *arg)
{
	struct orphan *o = arg;
	bool ok = result->status->code == 0 || kube_is_not_found(result) ||
		  kube_is_conflict(result);

	o->call = NULL;
	if (!ok)
		log_warning(NULL,
			    "pod '%s' of a migration that is gone cannot be "
			    "deleted, trying again: %s",
			    o->key + 1, result->status->message);
	finish(o, !ok);
}

static void
on_machine(const struct kube_result *result, void *arg)
{
	struct orphan *o = arg;
	const struct pod *pod = pod_of(o);
	AUTO(vmi_unref) struct vmi *vmi = NULL;
	AUTO(order_done) struct order order = { .body = NULL };
	struct err err;

	o->call = NULL;
	if (result->status->code == 0)
		vmi = vmi_decode(result->answer, &err);
	if (result->status->code == 0 ? vmi == NULL
				      : !kube_is_not_found(result)) {
		finish(o, true);
		return;
	}
	if (pod == NULL || !gc_pod_is_left(pod, vmi)) {
		finish(o, false);
		return;
	}
	log_info(NULL, "deleting pod '%s', whose migration is gone",
		 o->key + 1);
	order_delete_pod(pod, &order);
	o->all->tally.writes++;
	o->call = kube_send(world_client(o->all->world), &order.request,
			    on_deleted, o);
}

static void
on_migration(const struct kube_result *result, void *arg)
{
	struct orphan *o = arg;
	const struct pod *pod = pod_of(o);
	bool there = result->status->code == 0 &&
		     strcmp(obj_uid(result->answer), o->migration_uid) == 0;

	o->call = NULL;
	if (result->status->code != 0 && !kube_is_not_found(result)) {
		finish(o, true);
		return;
	}
	/* One without a name of its machine belongs to none. */
	if (there || pod == NULL || pod->vmi_name[0] == '\0') {
		finish(o, false);
		return;
	}
	o->call = kube_send(world_client(o->all->world),
			    &(struct kube_request){ .verb = KUBE_GET,
						    .resource = &api_vmis,
						    .ns = pod->meta.ns,
						    .name = pod->vmi_name },
			    on_machine, o);
}

void
orphan_start(struct migrations *m, const char *key)
{
	const struct pod *pod = world_get_key(m->world, WORLD_PODS, key + 1);
	struct orphan *o;

	if (pod == NULL || pod->migration_uid[0] == '\0' ||
	    pod->migration_name[0] == '\0') {
		worker_end(m->worker, key, false);
		return;
	}
	o = xmalloc0(sizeof(*o));
	o->all = m;
	o->key = key;
	o->migration_uid = xstrdup(pod->migration_uid);
	TAILQ_INSERT_TAIL(&m->orphans, o, entry);
	o->call =
		kube_send(world_client(m->world),
			  &(struct kube_request){ .verb = KUBE_GET,
						  .resource = &api_vmims,
						  .ns = pod->meta.ns,
						  .name = pod->migration_name },
			  on_migration, o);
}
