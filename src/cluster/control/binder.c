/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Binds PersistentVolumeClaims to PersistentVolumes that exist. Nothing makes
 * volumes here; where a class names a provisioner, that is waited for.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "cluster/control/bindplan.h"
#include "cluster/control/context.h"
#include "cluster/control/feed.h"
#include "cluster/control/recorder.h"
#include "cluster/control/task.h"
#include "cluster/control/view.h"
#include "cluster/store/object.h"
#include "kube/worker.h"

#define BINDER_USER "system:serviceaccount:kube-system:persistent-volume-binder"
#define BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define COMPLETED "pv.kubernetes.io/bind-completed"
#define PARALLEL 32
/* Claims that found no volume look again together, after changes of volumes. */
#define RETRY_MS 100U
#define ALL "*" /* a key that no claim has */

struct binder {
	struct context *context;
	struct store *store;
	struct api *api;
	struct events *recorder;
	struct worker *claims;
	struct worker *volumes;
};

static json_t *
stored_volume(const struct binder *b, const char *name)
{
	const struct object *obj = store_get(
		store_collection(b->store, "", "persistentvolumes"), "", name);

	return obj == NULL ? NULL : object_json(obj);
}

static void
patch_volume(struct task *task, const struct volume *volume, const char *sub,
	     json_t *body)
{
	AUTO(free_ptr)
	char *path =
		xasprintf("/api/v1/persistentvolumes/%s%s", volume->name, sub);

	task_send(task, &(struct api_call){ .method = "PATCH",
					    .path = path,
					    .body = body,
					    .content_type = API_MERGE });
}

static void
patch_claim(struct task *task, const struct claim *claim, const char *sub,
	    json_t *body)
{
	AUTO(free_ptr)
	char *path =
		xasprintf("/api/v1/namespaces/%s/persistentvolumeclaims/%s%s",
			  claim->ns, claim->name, sub);

	task_send(task, &(struct api_call){ .method = "PATCH",
					    .path = path,
					    .body = body,
					    .content_type = API_MERGE });
}

/*
 * Only on top of the volume as it was seen: it must not be given twice. In the
 * view it is the claim's at once, so that others look for another one.
 */
static void
reserve(struct binder *b, struct task *task, const struct claim *claim,
	const struct volume *volume)
{
	AUTO(js_unref) json_t *stored = stored_volume(b, volume->name);
	AUTO(free_ptr) char *name = xstrdup(volume->name);
	json_t *metadata;

	if (stored == NULL)
		return;
	metadata = json_pack("{s:s}", "resourceVersion",
			     js_str_at(stored, "metadata.resourceVersion"));
	if (*volume->claim_key == '\0')
		(void)json_object_set_new(
			metadata, "annotations",
			json_pack("{s:s}", BY_CONTROLLER, "yes"));
	patch_volume(task, volume, "",
		     json_pack("{s:o,s:{s:{s:s,s:s,s:s,s:s,s:s}}}", "metadata",
			       metadata, "spec", "claimRef", "apiVersion", "v1",
			       "kind", "PersistentVolumeClaim", "namespace",
			       claim->ns, "name", claim->name, "uid",
			       claim->uid));
	view_reserve(view_volume(b->context->view, name), claim);
}

static void
name_volume(struct binder *b, struct task *task, const struct claim *claim,
	    const struct volume *volume)
{
	AUTO(js_unref) json_t *stored = stored_volume(b, volume->name);
	json_t *annotations;

	/* The reservation was only in the view: it was refused. */
	if (stored != NULL &&
	    strcmp(js_str_at(stored, "spec.claimRef.uid"), claim->uid) != 0) {
		(void)view_set_volume(b->context->view, stored);
		task->again = true;
		return;
	}
	annotations = json_pack("{s:s}", COMPLETED, "yes");
	if (*claim->volume == '\0')
		(void)json_object_set_new(annotations, BY_CONTROLLER,
					  json_string("yes"));
	patch_claim(task, claim, "",
		    json_pack("{s:{s:s,s:o},s:{s:s}}", "metadata", "uid",
			      claim->uid, "annotations", annotations, "spec",
			      "volumeName", volume->name));
}

static void
bound(struct binder *b, struct task *task, const struct claim *claim,
      const struct volume *volume)
{
	AUTO(js_unref) json_t *stored = stored_volume(b, volume->name);

	patch_claim(task, claim, "/status",
		    json_pack("{s:{s:s},s:{s:s,s:O?,s:O?}}", "metadata", "uid",
			      claim->uid, "status", "phase", "Bound",
			      "accessModes", js_at(stored, "spec.accessModes"),
			      "capacity", js_at(stored, "spec.capacity")));
}

static void
lost(struct binder *b, struct task *task, const struct claim *claim,
     enum claim_step step)
{
	struct events_ref ref = { "v1", "PersistentVolumeClaim", claim->ns,
				  claim->name, claim->uid };

	if (step == CLAIM_LOST)
		events_emit(b->recorder, &ref, "Warning", "ClaimLost",
			    "Bound claim has lost its PersistentVolume. "
			    "Data on the volume is lost!");
	else
		events_emit(b->recorder, &ref, "Warning", "ClaimMisbound",
			    "Two claims are bound to the same volume, this "
			    "one is bound incorrectly");
	patch_claim(task, claim, "/status",
		    json_pack("{s:{s:s},s:{s:s}}", "metadata", "uid",
			      claim->uid, "status", "phase", "Lost"));
}

static void
explain(struct binder *b, const struct claim *claim, enum claim_step step)
{
	const struct storage_class *sc =
		view_class(b->context->view, claim->class_name);
	struct events_ref ref = { "v1", "PersistentVolumeClaim", claim->ns,
				  claim->name, claim->uid };

	if (step == CLAIM_WAITS) {
		events_emit(b->recorder, &ref, "Normal", "WaitForFirstConsumer",
			    "waiting for first consumer to be created "
			    "before binding");
	} else if (step == CLAIM_NO_CLASS) {
		events_emit(b->recorder, &ref, "Warning", "ProvisioningFailed",
			    "storageclass.storage.k8s.io \"%s\" not found",
			    claim->class_name);
	} else if (step == CLAIM_PROVISION) {
		events_emit(b->recorder, &ref, "Normal", "ExternalProvisioning",
			    "waiting for a volume to be created, either by "
			    "external provisioner \"%s\" or manually "
			    "created by system administrator",
			    sc->provisioner);
	} else if (*claim->class_name == '\0') {
		events_emit(b->recorder, &ref, "Normal", "FailedBinding",
			    "no persistent volumes available for this "
			    "claim and no storage class is set");
	}
}

/* All claims that still look for a volume. */
static void
retry_claims(struct binder *b)
{
	struct map_node *node = NULL;

	while ((node = map_next(&b->context->view->claims, node)) != NULL) {
		const struct claim *claim = MAP_ENTRY(node, struct claim, node);

		if (claim->known && strcmp(claim->phase, "Bound") != 0)
			worker_add(b->claims, claim->key);
	}
}

static void
work_claim(const char *key, void *arg)
{
	struct binder *b = arg;
	const char *slash = strchr(key, '/');
	AUTO(free_ptr) char *ns = NULL;
	const struct claim *claim;
	const struct volume *volume;
	struct task *task;
	enum claim_step step;

	if (strcmp(key, ALL) == 0)
		retry_claims(b);
	ns = slash == NULL ? NULL : xstrndup(key, (size_t)(slash - key));
	claim = ns == NULL ? NULL : view_claim(b->context->view, ns, slash + 1);
	if (claim == NULL) {
		worker_end(b->claims, key, false);
		return;
	}
	task = task_new(b->claims, b->api, key);
	step = bindplan_claim(b->context->view, claim, &volume);
	switch (step) {
	case CLAIM_NOTHING:
		break;
	case CLAIM_RESERVE:
		reserve(b, task, claim, volume);
		break;
	case CLAIM_NAME:
		name_volume(b, task, claim, volume);
		break;
	case CLAIM_BOUND:
		bound(b, task, claim, volume);
		break;
	case CLAIM_LOST:
	case CLAIM_MISBOUND:
		lost(b, task, claim, step);
		break;
	case CLAIM_WAITS:
	case CLAIM_NO_VOLUME:
	case CLAIM_NO_CLASS:
	case CLAIM_PROVISION:
		explain(b, claim, step);
		break;
	}
	task_close(task);
}

static void
work_volume(const char *name, void *arg)
{
	struct binder *b = arg;
	const struct volume *volume = view_volume(b->context->view, name);
	const char *phase;
	struct task *task;

	if (volume == NULL || volume->deleting) {
		worker_end(b->volumes, name, false);
		return;
	}
	task = task_new(b->volumes, b->api, name);
	phase = bindplan_volume_phase(b->context->view, volume);
	if (strcmp(volume->phase, phase) != 0)
		patch_volume(task, volume, "/status",
			     json_pack("{s:{s:s},s:{s:s}}", "metadata", "uid",
				       volume->uid, "status", "phase", phase));
	task_close(task);
}

static void
on_claim(struct binder *b, const struct feed_change *change)
{
	const char *volume = js_str_at(change->json, "spec.volumeName");

	worker_add(b->claims, change->key);
	if (change->type == EVENT_DELETED) {
		/* Which volume was its own is known by the volume only. */
		AUTO(js_unref) json_t *last = object_json(change->object);

		volume = js_str_at(last, "spec.volumeName");
		if (*volume != '\0')
			worker_add(b->volumes, volume);
		return;
	}
	if (*volume != '\0')
		worker_add(b->volumes, volume);
}

static void
on_volume(struct binder *b, const struct feed_change *change)
{
	const struct volume *volume =
		view_volume(b->context->view, change->key);

	worker_add(b->volumes, change->key);
	if (volume != NULL && *volume->claim_key != '\0')
		worker_add(b->claims, volume->claim_key);
	else
		worker_add_after(b->claims, ALL, RETRY_MS);
}

static void
on_change(const struct feed_change *change, void *arg)
{
	struct binder *b = arg;

	switch (change->what) {
	case FEED_CLAIM:
		on_claim(b, change);
		break;
	case FEED_VOLUME:
		on_volume(b, change);
		break;
	case FEED_CLASS:
		worker_add_after(b->claims, ALL, RETRY_MS);
		break;
	case FEED_NAMESPACE:
	case FEED_NODE:
	case FEED_POD:
	case FEED_WHAT_COUNT:
		break;
	}
}

static struct worker *
make_worker(struct binder *b, void (*work)(const char *key, void *arg))
{
	return worker_new(&(struct worker_config){
		.loop = b->context->config.loop,
		.parallel = PARALLEL,
		.work = work,
		.arg = b,
	});
}

static void *
binder_start(struct context *context)
{
	struct binder *b = xmalloc0(sizeof(*b));

	b->context = context;
	b->store = context->config.store;
	b->api = api_new(context->config.server, BINDER_USER);
	b->recorder = recorder_new(b->context->config.loop, b->api,
				   "persistentvolume-controller");
	b->claims = make_worker(b, work_claim);
	b->volumes = make_worker(b, work_volume);
	feed_listen(context->feed, on_change, b);
	return b;
}

static void
binder_stop(void *state)
{
	struct binder *b = state;

	api_close(b->api);
	worker_free(b->claims);
	worker_free(b->volumes);
	events_free(b->recorder);
	api_free(b->api);
	free(b);
}

const struct controller binder_controller = {
	.name = "persistent-volume-binder",
	.start = binder_start,
	.stop = binder_stop,
};
