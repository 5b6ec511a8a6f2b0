/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/pods.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "kube/informer.h"
#include "kube/obj.h"
#include "kubelet/kubelet.h"
#include "kubelet/pod.h"

#define UID_MAX_LEN 64
#define EVENTS_SIZE 16384

struct pods {
	struct kubelet *kubelet;
	struct map by_uid;
	struct informer *informer;
	int inotify;
	struct loop_io *io;
};

static struct pod *
find_uid(const struct pods *pods, const char *uid)
{
	struct map_node *node = map_get(&pods->by_uid, uid);

	return node == NULL ? NULL : MAP_ENTRY(node, struct pod, node);
}

struct pod *
pods_find(const struct pods *pods, const char *ns, const char *name)
{
	struct pod *found = NULL;

	for (struct map_node *node = map_next(&pods->by_uid, NULL);
	     node != NULL; node = map_next(&pods->by_uid, node)) {
		struct pod *pod = MAP_ENTRY(node, struct pod, node);

		/* One of the same name may still be on its way out. */
		if (str_equal(pod->ns, ns) && str_equal(pod->name, name) &&
		    (found == NULL || found->vanished))
			found = pod;
	}
	return found;
}

size_t
pods_count(const struct pods *pods)
{
	return pods->by_uid.count;
}

static void
free_later(void *arg)
{
	pod_free(arg);
}

static void
on_gone(struct pod *pod, void *arg)
{
	struct pods *pods = arg;

	map_remove(&pods->by_uid, &pod->node);
	/* It is in the middle of its own work. */
	loop_post(pods->kubelet->loop, free_later, pod);
}

static struct pod *
add(struct pods *pods, json_t *object)
{
	struct err err;
	struct pod *pod = pod_new(pods->kubelet, object, &err);

	if (pod == NULL) {
		log_error(NULL, "pod '%s/%s' cannot be run: %s", obj_ns(object),
			  obj_name(object), err.text);
		return NULL;
	}
	pod->on_gone = on_gone;
	pod->arg = pods;
	map_put(&pods->by_uid, &pod->node, pod->uid);
	for (size_t i = 0; i < pod->count; i++) {
		AUTO(free_ptr) char *dir = NULL;

		container_look(&pod->containers[i], pod->dir);
		if (pod->containers[i].phase == CONTAINER_NONE)
			continue;
		dir = container_dir(pod->dir, pod->containers[i].name,
				    pod->containers[i].attempt);
		pods_watch(pod, i, dir);
	}
	return pod;
}

static void
on_added(const struct cache_object *object, void *arg)
{
	struct pods *pods = arg;
	struct pod *pod = find_uid(pods, object->uid);

	if (pod == NULL)
		pod = add(pods, object->view);
	if (pod != NULL)
		pod_update(pod, object->view);
}

static void
on_updated(const struct cache_object *old, const struct cache_object *object,
	   void *arg)
{
	(void)old;
	on_added(object, arg);
}

static void
on_deleted(const struct cache_object *object, void *arg)
{
	struct pod *pod = find_uid(arg, object->uid);

	if (pod != NULL)
		pod_vanish(pod);
}

static void
on_synced(void *arg)
{
	const struct pods *pods = arg;

	for (struct map_node *node = map_next(&pods->by_uid, NULL);
	     node != NULL; node = map_next(&pods->by_uid, node)) {
		struct pod *pod = MAP_ENTRY(node, struct pod, node);

		if (!pod->confirmed) {
			log_info(NULL, "pod '%s/%s' is gone, taking it down",
				 pod->ns, pod->name);
			pod_vanish(pod);
		}
	}
}

/* The pod of a directory, as it was last seen; one without is of nobody, and
 * is taken down with a name that it never had. */
static json_t *
load_object(const struct pods *pods, const char *uid)
{
	AUTO(free_ptr)
	char *path = xasprintf("%s/%s/" POD_OBJECT_FILE,
			       pods->kubelet->pods_dir, uid);
	AUTO(free_ptr) char *text = NULL;
	json_t *object = NULL;
	struct err err;
	size_t len;

	if (path_read_file(path, POD_OBJECT_MAX, &text, &len, &err) == 0)
		object = js_parse(text, len, &err);
	if (object != NULL && str_equal(obj_uid(object), uid))
		return object;
	js_unref(&object);
	return json_pack("{s:{s:s, s:s, s:s}, s:{s:[{s:s}]}}", "metadata",
			 "name", "unknown", "namespace", "unknown", "uid", uid,
			 "spec", "containers", "name", "unknown");
}

static int
adopt(struct pods *pods, struct err *err)
{
	DIR *dir = opendir(pods->kubelet->pods_dir);
	const struct dirent *entry;

	if (dir == NULL)
		return err_errno(err, "cannot read '%s'",
				 pods->kubelet->pods_dir);
	while ((entry = readdir(dir)) != NULL) {
		AUTO(js_unref) json_t *object = NULL;

		if (!str_is_name(entry->d_name, UID_MAX_LEN))
			continue;
		object = load_object(pods, entry->d_name);
		(void)add(pods, object);
	}
	(void)closedir(dir);
	return 0;
}

static void
on_inotify(unsigned ready, void *arg)
{
	struct pods *pods = arg;
	char data[EVENTS_SIZE]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(pods->inotify, data, sizeof(data));

	(void)ready;
	for (ssize_t at = 0;
	     at + (ssize_t)sizeof(struct inotify_event) <= len;) {
		const struct inotify_event *event =
			(const struct inotify_event *)(const void *)(data + at);

		at += (ssize_t)(sizeof(*event) + event->len);
		for (struct map_node *node = map_next(&pods->by_uid, NULL);
		     node != NULL; node = map_next(&pods->by_uid, node)) {
			struct pod *pod = MAP_ENTRY(node, struct pod, node);

			for (size_t i = 0; i < pod->count; i++) {
				if (pod->watches[i] == event->wd)
					pod_wake(pod);
			}
		}
	}
}

void
pods_watch(struct pod *pod, size_t index, const char *dir)
{
	const struct pods *pods = pod->arg;

	if (pod->watches[index] != -1)
		(void)inotify_rm_watch(pods->inotify, pod->watches[index]);
	pod->watches[index] =
		inotify_add_watch(pods->inotify, dir, IN_MOVED_TO | IN_ONLYDIR);
}

int
pods_start(struct kubelet *kubelet, struct pods **ret, struct err *err)
{
	struct pods *pods = xmalloc0(sizeof(*pods));
	AUTO(free_ptr)
	char *selector =
		xasprintf("spec.nodeName=%s", kubelet->settings->node_name);
	const struct informer_handler handler = {
		.added = on_added,
		.updated = on_updated,
		.deleted = on_deleted,
		.synced = on_synced,
		.arg = pods,
	};

	pods->kubelet = kubelet;
	pods->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (pods->inotify == -1) {
		free(pods);
		return err_errno(err, "cannot watch directories");
	}
	pods->io = loop_io_new(kubelet->loop, pods->inotify, on_inotify, pods);
	loop_io_want(pods->io, LOOP_READ);
	if (adopt(pods, err) == -1) {
		pods_free(pods);
		return -1;
	}
	pods->informer = informer_new(&(struct informer_config){
		.client = kubelet->client,
		.resource = kube_pods,
		.field_selector = selector,
	});
	informer_add_handler(pods->informer, &handler);
	informer_start(pods->informer);
	*ret = pods;
	return 0;
}

void
pods_free(struct pods *pods)
{
	struct map_node *node, *next;

	if (pods == NULL)
		return;
	informer_free(pods->informer);
	for (node = map_next(&pods->by_uid, NULL); node != NULL; node = next) {
		next = map_next(&pods->by_uid, node);
		map_remove(&pods->by_uid, node);
		pod_free(MAP_ENTRY(node, struct pod, node));
	}
	map_done(&pods->by_uid);
	loop_io_free(pods->io);
	close_fd(&pods->inotify);
	free(pods);
}
