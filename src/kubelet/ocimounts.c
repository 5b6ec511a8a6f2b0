/* SPDX-License-Identifier: Apache-2.0 */

/* The mounts of a container. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubelet/env.h"
#include "kubelet/image.h"
#include "kubelet/oci.h"
#include "kubelet/settings.h"

#define MOUNTS_MAX 512

static const struct {
	const char *destination, *type, *source;
	const char *options[8];
} base_mounts[] = {
	{ "/proc", "proc", "proc", { "nosuid", "noexec", "nodev" } },
	{ "/dev",
	  "tmpfs",
	  "tmpfs",
	  { "nosuid", "strictatime", "mode=755", "size=65536k" } },
	{ "/dev/pts",
	  "devpts",
	  "devpts",
	  { "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620" } },
	{ "/dev/shm",
	  "tmpfs",
	  "shm",
	  { "nosuid", "noexec", "nodev", "mode=1777", "size=65536k" } },
	{ "/dev/mqueue", "mqueue", "mqueue", { "nosuid", "noexec", "nodev" } },
	{ "/sys", "sysfs", "sysfs", { "nosuid", "noexec", "nodev", "ro" } },
	{ "/sys/fs/cgroup",
	  "cgroup",
	  "cgroup",
	  { "nosuid", "noexec", "nodev", "relatime", "ro" } },
};

static void
add_base(const struct oci_request *r, json_t *mounts)
{
	bool privileged = oci_is_privileged(r->container);

	for (size_t i = 0; i < ARRAY_LEN(base_mounts); i++) {
		json_t *options = json_array();

		for (size_t k = 0; base_mounts[i].options[k] != NULL; k++) {
			const char *option = base_mounts[i].options[k];

			if (privileged && str_equal(option, "ro"))
				option = "rw";
			(void)json_array_append_new(options,
						    json_string(option));
		}
		(void)json_array_append_new(
			mounts,
			json_pack("{s:s, s:s, s:s, s:o}", "destination",
				  base_mounts[i].destination, "type",
				  base_mounts[i].type, "source",
				  base_mounts[i].source, "options", options));
	}
}

static void
add_bind(json_t *mounts, const char *source, const char *target,
	 const char *how, bool read_only)
{
	(void)json_array_append_new(
		mounts,
		json_pack("{s:s, s:s, s:s, s:[s, s, s]}", "destination", target,
			  "type", "bind", "source", source, "options", how,
			  "rprivate", read_only ? "ro" : "rw"));
}

static void
add_tmpfs(json_t *mounts, const char *target)
{
	(void)json_array_append_new(
		mounts, json_pack("{s:s, s:s, s:s, s:[s, s, s]}", "destination",
				  target, "type", "tmpfs", "source", "tmpfs",
				  "options", "nosuid", "nodev",
				  str_has_suffix(target, "/tmp") ||
						  str_equal(target, "/tmp")
					  ? "mode=1777"
					  : "mode=755"));
}

/* What the image itself asks for; the operator wrote it. */
static void
add_image(const struct oci_request *r, json_t *mounts)
{
	const json_t *tmpfs = js_arr_at(r->image->config, "tmpfs"), *one;
	size_t i;

	if (tmpfs == NULL && r->image->host) {
		add_tmpfs(mounts, "/run");
		add_tmpfs(mounts, "/tmp");
	}
	json_array_foreach(tmpfs, i, one)
	{
		if (json_is_string(one))
			add_tmpfs(mounts, json_string_value(one));
	}
	json_array_foreach(js_arr_at(r->image->config, "binds"), i, one)
		add_bind(mounts, js_str_at(one, "source"),
			 js_str_at(one, "target"), "rbind",
			 js_bool_at(one, "readOnly", true));
}

/* hosts, hostname and resolv.conf are the pod's, unless a volume is there. */
static void
add_etc(const struct oci_request *r, json_t *mounts)
{
	static const char *const files[] = { "hosts", "hostname",
					     "resolv.conf" };
	const json_t *own = js_arr_at(r->container, "volumeMounts");

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char source[4096], target[64];

		(void)snprintf(source, sizeof(source), "%s/%s", r->etc_dir,
			       files[i]);
		(void)snprintf(target, sizeof(target), "/etc/%s", files[i]);
		if (js_find(own, "mountPath", target) == NULL &&
		    access(source, F_OK) == 0)
			add_bind(mounts, source, target, "bind", false);
	}
}

/* A part of a volume is opened by the monitor, which does not follow links. */
static char *
take_part(const char *base, const char *sub, json_t *parts)
{
	char *at = xasprintf("part%zu", json_array_size(parts));

	(void)json_array_append_new(parts,
				    json_pack("{s:s, s:s, s:s}", "base", base,
					      "sub", sub, "at", at));
	return at;
}

static int
add_volume(const struct oci_request *r, const json_t *mount, json_t *mounts,
	   json_t *parts, struct err *err)
{
	const char *target = js_str_at(mount, "mountPath");
	const json_t *volume =
		json_object_get(r->volumes, js_str_at(mount, "name"));
	const char *sub = js_str_at(mount, "subPath");
	AUTO(free_ptr) char *source = NULL;
	AUTO(free_ptr) char *expanded = NULL;

	if (volume == NULL)
		return err_set(err, ERR_INVALID, "there is no volume '%s'",
			       js_str_at(mount, "name"));
	if (target[0] != '/' || strstr(target, "..") != NULL)
		return err_set(err, ERR_INVALID,
			       "mountPath '%s' must be absolute and without "
			       "'..'",
			       target);
	if (*js_str_at(mount, "subPathExpr") != '\0') {
		AUTO(js_unref)
		json_t *env = env_make(r->pod, r->container, r->image->config,
				       r->have, r->facts, err);

		if (env == NULL)
			return -1;
		expanded = env_expand(env, js_str_at(mount, "subPathExpr"));
		sub = expanded;
	}
	source = *sub == '\0'
			 ? xstrdup(js_str_at(volume, "path"))
			 : take_part(js_str_at(volume, "path"), sub, parts);
	add_bind(mounts, source, target, "rbind",
		 js_bool_at(mount, "readOnly", false) ||
			 js_bool_at(volume, "readOnly", false));
	return 0;
}

static int
by_depth(const void *a, const void *b)
{
	const json_t *one = *(const json_t *const *)a;
	const json_t *other = *(const json_t *const *)b;
	size_t x = strlen(js_str_at(one, "destination"));
	size_t y = strlen(js_str_at(other, "destination"));

	return x < y ? -1 : x > y;
}

/* What is mounted below something else must come after it. */
static json_t *
sort(const json_t *mounts)
{
	size_t n = json_array_size(mounts);
	json_t **list = xcalloc(n + 1, sizeof(json_t *));
	json_t *sorted = json_array();

	for (size_t i = 0; i < n; i++)
		list[i] = json_array_get(mounts, i);
	qsort(list, n, sizeof(json_t *), by_depth);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append(sorted, list[i]);
	free(list);
	return sorted;
}

json_t *
oci_mounts(const struct oci_request *r, json_t *parts, struct err *err)
{
	AUTO(js_unref) json_t *mounts = json_array();
	const json_t *list = js_arr_at(r->container, "volumeMounts"), *mount;
	size_t i;

	if (json_array_size(list) > MOUNTS_MAX) {
		(void)err_set(err, ERR_LIMIT, "more than %d volumeMounts",
			      MOUNTS_MAX);
		return NULL;
	}
	add_base(r, mounts);
	add_image(r, mounts);
	add_etc(r, mounts);
	json_array_foreach(list, i, mount)
	{
		if (add_volume(r, mount, mounts, parts, err) == -1)
			return NULL;
	}
	return sort(mounts);
}
