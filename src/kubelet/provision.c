/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/provision.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/str.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/obj.h"
#include "kube/worker.h"
#include "kubelet/dirs.h"
#include "kubelet/kubelet.h"
#include "meta/status.h"

#define SELECTED_NODE "volume.kubernetes.io/selected-node"
#define PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define MADE_ON "ferry.io/node"
#define REMOVE_TIMEOUT_MS (10U * 60 * 1000)
#define PARALLEL 4
#define UID_MAX_LEN 64

static const struct kube_resource persistent_volumes = {
	.group = "",
	.version = "v1",
	.plural = "persistentvolumes",
	.kind = "PersistentVolume",
};

struct provision {
	struct kubelet *kubelet;
	struct informer *claims;
	struct informer *volumes;
	struct informer *classes;
	struct worker *worker; /* keys: claims "NS/NAME", volumes "NAME" */
	struct job *first;
};

/* One thing in work. */
struct job {
	struct provision *provision;
	struct job *prev, *next;
	char *key;
	struct kube_call *call;
	struct process *process;
};

static struct job *
job_new(struct provision *p, const char *key)
{
	struct job *job = xmalloc0(sizeof(*job));

	job->provision = p;
	job->key = xstrdup(key);
	job->next = p->first;
	if (job->next != NULL)
		job->next->prev = job;
	p->first = job;
	return job;
}

static void
job_free(struct job *job)
{
	if (job->prev != NULL)
		job->prev->next = job->next;
	else
		job->provision->first = job->next;
	if (job->next != NULL)
		job->next->prev = job->prev;
	kube_cancel(job->call);
	process_cancel(job->process);
	free(job->key);
	free(job);
}

static void
job_end(struct job *job, bool failed)
{
	struct worker *worker = job->provision->worker;
	AUTO(free_ptr) char *key = TAKE_PTR(job->key);

	job_free(job);
	worker_end(worker, key, failed);
}

/* The directory of a provisioner; NULL: it is none of ours. */
static const char *
base_of(const struct provision *p, const char *provisioner)
{
	if (str_equal(provisioner, PROVISION_LOCAL))
		return p->kubelet->settings->local_dir;
	if (str_equal(provisioner, PROVISION_SHARED))
		return p->kubelet->settings->shared_dir;
	return NULL;
}

static const json_t *
class_of(const struct provision *p, const json_t *claim)
{
	const struct cache_object *found =
		cache_get(informer_cache(p->classes), NULL,
			  js_str_at(claim, "spec.storageClassName"));

	return found == NULL ? NULL : found->view;
}

/* Whether it is this kubelet's to make a volume for the claim. */
static bool
is_wanted(const struct provision *p, const json_t *claim)
{
	const json_t *class = class_of(p, claim);
	const char *node = obj_annotation(claim, SELECTED_NODE);

	return base_of(p, js_str_at(class, "provisioner")) != NULL &&
	       *js_str_at(claim, "spec.volumeName") == '\0' &&
	       !obj_is_deleting(claim) &&
	       str_equal(node, p->kubelet->settings->node_name);
}

static json_t *
make_volume(const struct provision *p, const json_t *claim, const char *path)
{
	const json_t *class = class_of(p, claim);
	const char *provisioner = js_str_at(class, "provisioner");
	const char *node = p->kubelet->settings->node_name;
	const char *policy = js_str_at(class, "reclaimPolicy");
	json_t *volume = json_pack(
		"{s:s, s:s, s:{s:o, s:{s:s, s:s}}, s:{s:{s:s}, s:O, s:s, s:s, "
		"s:s, s:{s:s, s:s, s:s, s:s, s:s}}}",
		"apiVersion", "v1", "kind", "PersistentVolume", "metadata",
		"name", json_sprintf("pvc-%s", obj_uid(claim)), "annotations",
		PROVISIONED_BY, provisioner, MADE_ON, node, "spec", "capacity",
		"storage", js_str_at(claim, "spec.resources.requests.storage"),
		"accessModes", js_arr_at(claim, "spec.accessModes"),
		"storageClassName", js_str_at(claim, "spec.storageClassName"),
		"persistentVolumeReclaimPolicy",
		*policy == '\0' ? "Delete" : policy, "volumeMode", "Filesystem",
		"claimRef", "apiVersion", "v1", "kind", "PersistentVolumeClaim",
		"namespace", obj_ns(claim), "name", obj_name(claim), "uid",
		obj_uid(claim));
	json_t *spec = js_obj_at(volume, "spec");

	if (str_equal(provisioner, PROVISION_SHARED)) {
		(void)json_object_set_new(spec, "hostPath",
					  json_pack("{s:s, s:s}", "path", path,
						    "type",
						    "DirectoryOrCreate"));
		return volume;
	}
	(void)json_object_set_new(spec, "local",
				  json_pack("{s:s}", "path", path));
	(void)json_object_set_new(spec, "nodeAffinity",
				  json_pack("{s:{s:[{s:[{s:s, s:s, s:[s]}]}]}}",
					    "required", "nodeSelectorTerms",
					    "matchExpressions", "key",
					    "kubernetes.io/hostname",
					    "operator", "In", "values", node));
	return volume;
}

static void
on_made(const struct kube_result *result, void *arg)
{
	struct job *job = arg;
	bool failed =
		result->status->code != 0 && !kube_is_already_exists(result);

	job->call = NULL;
	if (failed)
		log_warning(NULL, "cannot make a volume for claim '%s': %s",
			    job->key, result->status->message);
	job_end(job, failed);
}

static int
make_dir(const char *base, const json_t *claim, char **ret_path,
	 struct err *err)
{
	AUTO(free_ptr)
	char *path = xasprintf("%s/pvc-%s", base, obj_uid(claim));

	if (!str_is_name(obj_uid(claim), UID_MAX_LEN))
		return err_set(err, ERR_INVALID, "a claim without a uid");
	if (dirs_make(base, 0755, err) == -1 ||
	    dirs_make(path, 0777, err) == -1)
		return -1;
	/* Whoever mounts it may be any user. */
	if (chmod(path, 0777) == -1)
		return err_errno(err, "cannot set the mode of '%s'", path);
	*ret_path = TAKE_PTR(path);
	return 0;
}

static void
work_claim(struct provision *p, struct job *job, const json_t *claim)
{
	const char *base =
		base_of(p, js_str_at(class_of(p, claim), "provisioner"));
	AUTO(free_ptr) char *path = NULL;
	AUTO(js_unref) json_t *volume = NULL;
	const struct events_ref ref = { .api_version = "v1",
					.kind = "PersistentVolumeClaim",
					.ns = obj_ns(claim),
					.name = obj_name(claim),
					.uid = obj_uid(claim) };
	struct err err;

	if (str_equal(js_str_at(claim, "spec.volumeMode"), "Block"))
		(void)err_set(&err, ERR_INVALID,
			      "volumes of mode Block are not made here");
	else if (make_dir(base, claim, &path, &err) == 0) {
		volume = make_volume(p, claim, path);
		job->call = kube_send(
			p->kubelet->client,
			&(struct kube_request){ .verb = KUBE_CREATE,
						.resource = &persistent_volumes,
						.body = volume,
						.repeatable = true },
			on_made, job);
		return;
	}
	events_emit(p->kubelet->events, &ref, "Warning", "ProvisioningFailed",
		    "%s", err.text);
	job_end(job, true);
}

/* Whether this kubelet has to remove the volume. */
static bool
is_over(const struct provision *p, const json_t *volume)
{
	const char *by = obj_annotation(volume, PROVISIONED_BY);
	const char *node = obj_annotation(volume, MADE_ON);

	return by != NULL && base_of(p, by) != NULL &&
	       str_equal(node, p->kubelet->settings->node_name) &&
	       str_equal(js_str_at(volume, "status.phase"), "Released") &&
	       str_equal(
		       js_str_at(volume, "spec.persistentVolumeReclaimPolicy"),
		       "Delete");
}

static void
on_volume_deleted(const struct kube_result *result, void *arg)
{
	struct job *job = arg;

	job->call = NULL;
	job_end(job, result->status->code != 0 && !kube_is_not_found(result));
}

static void
on_dir_removed(const struct process_result *result, void *arg)
{
	struct job *job = arg;

	job->process = NULL;
	if (result->err != NULL) {
		log_warning(NULL, "cannot remove volume '%s': %s", job->key,
			    result->err->text);
		job_end(job, true);
		return;
	}
	job->call = kube_send(
		job->provision->kubelet->client,
		&(struct kube_request){ .verb = KUBE_DELETE,
					.resource = &persistent_volumes,
					.name = job->key,
					.repeatable = true },
		on_volume_deleted, job);
}

static void
work_volume(struct provision *p, struct job *job, const json_t *volume)
{
	const char *base = base_of(p, obj_annotation(volume, PROVISIONED_BY));
	/* Its own name, not the path that somebody may have written there. */
	AUTO(free_ptr) char *path = xasprintf("%s/%s", base, job->key);

	job->process = process_start(
		p->kubelet->loop,
		&(struct process_spec){
			.argv = (const char *const[]){ p->kubelet->self,
						       "remove", path, NULL },
			.timeout_ms = REMOVE_TIMEOUT_MS },
		on_dir_removed, job);
}

static void
work(const char *key, void *arg)
{
	struct provision *p = arg;
	bool is_claim = strchr(key, '/') != NULL;
	const struct cache_object *found = cache_get_key(
		informer_cache(is_claim ? p->claims : p->volumes), key);

	if (found == NULL || !(is_claim ? is_wanted : is_over)(p, found->view))
		worker_end(p->worker, key, false);
	else if (is_claim)
		work_claim(p, job_new(p, key), found->view);
	else
		work_volume(p, job_new(p, key), found->view);
}

static void
on_added(const struct cache_object *object, void *arg)
{
	struct provision *p = arg;

	worker_add(p->worker, object->key);
}

static void
on_updated(const struct cache_object *old, const struct cache_object *object,
	   void *arg)
{
	(void)old;
	on_added(object, arg);
}

/* Claims may have waited for their class. */
static void
on_class(const struct cache_object *object, void *arg)
{
	struct provision *p = arg;
	struct cache_walk walk = cache_all(informer_cache(p->claims));
	const struct cache_object *claim;

	(void)object;
	while ((claim = cache_walk_next(&walk)) != NULL)
		worker_add(p->worker, claim->key);
}

static struct informer *
follow(struct provision *p, const struct kube_resource *resource,
       const struct informer_handler *handler)
{
	struct informer *informer = informer_new(&(struct informer_config){
		.client = p->kubelet->client, .resource = *resource });

	informer_add_handler(informer, handler);
	informer_start(informer);
	return informer;
}

int
provision_start(struct kubelet *kubelet, struct provision **ret,
		struct err *err)
{
	struct provision *p = xmalloc0(sizeof(*p));
	const struct informer_handler things = { .added = on_added,
						 .updated = on_updated,
						 .arg = p };
	const struct informer_handler classes = { .added = on_class, .arg = p };

	(void)err;
	p->kubelet = kubelet;
	p->worker = worker_new(&(struct worker_config){ .loop = kubelet->loop,
							.parallel = PARALLEL,
							.work = work,
							.arg = p });
	p->claims = follow(p, &kube_persistentvolumeclaims, &things);
	p->volumes = follow(p, &persistent_volumes, &things);
	p->classes = follow(p, &kube_storageclasses, &classes);
	*ret = p;
	return 0;
}

void
provision_free(struct provision *p)
{
	struct job *job, *next;

	if (p == NULL)
		return;
	for (job = p->first; job != NULL; job = next) {
		next = job->next;
		job_free(job);
	}
	informer_free(p->claims);
	informer_free(p->volumes);
	informer_free(p->classes);
	worker_free(p->worker);
	free(p);
}
