/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/podstart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/process.h"
#include "base/str.h"
#include "kube/obj.h"
#include "kubelet/dirs.h"
#include "kubelet/env.h"
#include "kubelet/image.h"
#include "kubelet/oci.h"
#include "kubelet/pod.h"
#include "kubelet/pods.h"

#define RESOLV_MAX 65536
#define ETC_MAX 262144
#define REMOVE_TIMEOUT_MS (10U * 60 * 1000)

static void
put_hosts(const struct pod *pod, const char *ip, struct buf *text)
{
	const char *hostname = js_str_at(pod->object, "spec.hostname");
	const json_t *alias, *name;
	size_t i, k;

	(void)buf_append_str(text, "127.0.0.1\tlocalhost\n"
				   "::1\tlocalhost ip6-localhost "
				   "ip6-loopback\n");
	if (*ip != '\0')
		(void)buf_printf(text, "%s\t%s\n", ip,
				 *hostname == '\0' ? pod->name : hostname);
	json_array_foreach(js_arr_at(pod->object, "spec.hostAliases"), i, alias)
	{
		(void)buf_append_str(text, js_str_at(alias, "ip"));
		json_array_foreach(js_arr_at(alias, "hostnames"), k, name)
		{
			(void)buf_printf(text, "\t%s", json_string_value(name));
		}
		(void)buf_append_str(text, "\n");
	}
}

static void
put_words(const json_t *list, const char *key, bool lines, struct buf *text)
{
	const json_t *one;
	size_t i;

	if (json_array_size(list) > 0 && !lines)
		(void)buf_append_str(text, key);
	json_array_foreach(list, i, one)
	{
		(void)buf_printf(text, lines ? "%s %s\n" : "%.0s %s", key,
				 json_string_value(one));
	}
	if (json_array_size(list) > 0 && !lines)
		(void)buf_append_str(text, "\n");
}

/* The node's, unless the pod says all of it; there is no DNS of the cluster. */
static void
put_resolv(const struct pod *pod, struct buf *text)
{
	const json_t *config = js_obj_at(pod->object, "spec.dnsConfig");
	AUTO(free_ptr) char *node = NULL;
	struct err ignored;
	size_t len;

	put_words(js_arr_at(config, "nameservers"), "nameserver", true, text);
	put_words(js_arr_at(config, "searches"), "search", false, text);
	if (!str_equal(js_str_at(pod->object, "spec.dnsPolicy"), "None") &&
	    path_read_file("/etc/resolv.conf", RESOLV_MAX, &node, &len,
			   &ignored) == 0)
		(void)buf_append(text, node, len);
}

static int
write_etc(const struct pod *pod, const char *dir, const char *ip,
	  struct err *err)
{
	AUTO(close_fd) int dir_fd = -1;
	AUTO(buf_done) struct buf hosts = BUF_INIT(ETC_MAX);
	AUTO(buf_done) struct buf resolv = BUF_INIT(ETC_MAX);
	const char *hostname = js_str_at(pod->object, "spec.hostname");
	AUTO(free_ptr)
	char *name =
		xasprintf("%s\n", *hostname == '\0' ? pod->name : hostname);

	if (dirs_make(dir, 0755, err) == -1)
		return -1;
	put_hosts(pod, ip, &hosts);
	put_resolv(pod, &resolv);
	if (path_open_dir(dir, &dir_fd, err) == -1 ||
	    path_write_file_at(dir_fd, "hostname", name, strlen(name), 0644,
			       err) == -1 ||
	    path_write_file_at(dir_fd, "hosts", hosts.data, hosts.len, 0644,
			       err) == -1)
		return -1;
	return path_write_file_at(dir_fd, "resolv.conf",
				  resolv.data == NULL ? (const uint8_t *)""
						      : resolv.data,
				  resolv.len, 0644, err);
}

/* Which images the volumes were, to be told as long as it runs. */
static json_t *
image_volumes(const struct pod *pod)
{
	json_t *refs = json_object();
	const json_t *volume;
	const char *name;

	json_object_foreach(pod->volumes, name, volume)
	{
		const char *ref = js_str_at(volume, "imageRef");

		if (*ref != '\0')
			(void)json_object_set_new(refs, name, json_string(ref));
	}
	return refs;
}

static int
write_bundle(struct pod *pod, unsigned attempt, const struct image *image,
	     struct err *err)
{
	struct kubelet *k = pod->kubelet;
	const struct container *c = &pod->containers[pod->plan.index];
	AUTO(js_unref) json_t *ips = pod_ips(pod);
	const char *ip = json_string_value(json_array_get(ips, 0));
	AUTO(free_ptr) char *etc = xasprintf("%s/etc", pod->dir);
	AUTO(free_ptr) char *id = container_id(pod->uid, c->name, attempt);
	AUTO(free_ptr)
	char *cgroup = xasprintf("%s/%s-%u", pod->cgroup, c->name, attempt);
	AUTO(js_unref) json_t *config = NULL;
	AUTO(js_unref) json_t *monitor = NULL;
	const struct env_facts facts = { .host_ip = k->node_ip,
					 .pod_ip = ip == NULL ? "" : ip,
					 .node_name = k->settings->node_name };
	const struct oci_request request = {
		.settings = k->settings,
		.pod = pod->object,
		.container = pod_container_spec(pod, pod->plan.index),
		.have = pod->have,
		.volumes = pod->volumes,
		.image = image,
		.facts = &facts,
		.id = id,
		.ns_dir = pod->ns_dir,
		.etc_dir = etc,
		.cgroup = cgroup,
		.unified = k->cgroups.unified,
	};

	if (write_etc(pod, etc, facts.pod_ip, err) == -1 ||
	    oci_make(&request, &config, &monitor, err) == -1)
		return -1;
	(void)json_object_set_new(monitor, "imageRef", json_string(image->ref));
	(void)json_object_set_new(monitor, "imageVolumes", image_volumes(pod));
	return container_write(pod->dir, c->name, attempt, config, monitor,
			       err);
}

/* The monitor has ended; what became of the container it has written. */
static void
on_monitor(const struct process_result *result, void *arg)
{
	struct pod_monitor *monitor = arg;

	monitor->process = NULL;
	pod_wake(monitor->pod);
	if (result->err != NULL)
		log_warning(NULL, "monitor: %s", result->err->text);
}

static void
on_old_removed(const struct process_result *result, void *arg)
{
	(void)arg;
	if (result->err != NULL)
		log_warning(NULL, "cannot remove, ignoring: %s",
			    result->err->text);
}

/* Of earlier starts only the last is of interest. */
static void
remove_old(struct pod *pod, const struct container *c, unsigned attempt)
{
	AUTO(free_ptr) char *dir = NULL;

	if (attempt < 2)
		return;
	dir = container_dir(pod->dir, c->name, attempt - 2);
	(void)process_start(
		pod->kubelet->loop,
		&(struct process_spec){
			.argv = (const char *const[]){ pod->kubelet->self,
						       "remove", dir, NULL },
			.timeout_ms = REMOVE_TIMEOUT_MS },
		on_old_removed, NULL);
}

static int
launch(struct pod *pod, struct err *err)
{
	size_t i = pod->plan.index;
	const struct container *c = &pod->containers[i];
	const char *name = js_str_at(pod_container_spec(pod, i), "image");
	unsigned attempt = c->phase == CONTAINER_NONE ? 0 : c->attempt + 1;
	AUTO(free_ptr)
	char *dir = container_dir(pod->dir, c->name, attempt);
	struct image image = { 0 };
	int r;

	if (image_find(pod->kubelet->settings->image_dir, name, &image, err) ==
	    -1)
		return -1;
	if (attempt == 0)
		pod_event(pod, "Normal", "Pulled",
			  "Container image \"%s\" already present on machine",
			  name);
	r = write_bundle(pod, attempt, &image, err);
	image_done(&image);
	if (r == -1)
		return -1;
	pods_watch(pod, i, dir);
	pod->monitors[i].pod = pod;
	pod->monitors[i].process = process_start(
		pod->kubelet->loop,
		&(struct process_spec){
			.argv = (const char *const[]){ pod->kubelet->self,
						       "monitor", dir, NULL },
			.detached = true },
		on_monitor, &pod->monitors[i]);
	pod->terminated[i] = false;
	pod_event(pod, "Normal", "Created", "Created container: %s", c->name);
	remove_old(pod, c, attempt);
	return 0;
}

void
podstart_begin(struct pod *pod)
{
	struct err err;

	if (launch(pod, &err) == 0)
		pod_step_done(pod, NULL, NULL, NULL);
	else if (err.kind == ERR_NOT_FOUND)
		pod_step_done(pod, &err, "Failed", "ErrImagePull");
	else
		pod_step_done(pod, &err, "Failed",
			      "CreateContainerConfigError");
}
