/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/host.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define LABEL_NAME_MAX 63 /* of Kubernetes */

struct host {
	json_t *facts;
};

struct host *
host_load(const char *dir, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/host.json", dir);
	AUTO(free_ptr) char *text = NULL;
	struct host *host;
	json_t *facts;
	size_t len;

	if (path_read_file(path, HOST_FILE_MAX, &text, &len, err) == -1)
		return NULL;
	facts = js_parse(text, len, err);
	if (facts == NULL || !json_is_object(facts)) {
		if (facts != NULL)
			(void)err_set(err, ERR_INVALID, "not an object");
		json_decref(facts);
		(void)err_prefix(err, "'%s'", path);
		return NULL;
	}
	host = xmalloc0(sizeof(*host));
	host->facts = facts;
	return host;
}

void
host_free(struct host *host)
{
	if (host == NULL)
		return;
	json_decref(host->facts);
	free(host);
}

const char *
host_model(const struct host *host)
{
	return js_str_at(host->facts, "hostModel");
}

/* Names of CPUs are libvirt's; one that is no label is left out. */
static void
add(json_t *labels, const char *prefix, const char *name)
{
	AUTO(free_ptr) char *label = xasprintf("%s%s", prefix, name);

	if (str_is_name(name, LABEL_NAME_MAX))
		json_object_set_new(labels, label, json_string("true"));
}

static void
add_all(json_t *labels, const char *prefix, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
		add(labels, prefix,
		    json_is_string(name) ? json_string_value(name) : "");
}

json_t *
host_labels(const struct host *host)
{
	json_t *labels = json_object();
	const json_t *f = host->facts;
	static const struct {
		const char *prefix, *member;
	} lists[] = {
		{ LABEL_CPU_MODEL_PREFIX, "cpuModels" },
		{ LABEL_CPU_MIGRATION_PREFIX, "cpuModels" },
		{ LABEL_CPU_FEATURE_PREFIX, "cpuFeatures" },
		{ LABEL_HOST_FEATURES_PREFIX, "hostModelFeatures" },
	};

	json_object_set_new(labels, LABEL_SCHEDULABLE, json_string("true"));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		add_all(labels, lists[i].prefix, js_arr_at(f, lists[i].member));
	add(labels, LABEL_HOST_MODEL_PREFIX, host_model(host));
	add(labels, LABEL_CPU_MIGRATION_PREFIX, host_model(host));
	add(labels, LABEL_CPU_VENDOR_PREFIX, js_str_at(f, "cpuVendor"));
	return labels;
}

const char *
host_selinux_context(void)
{
	/* Pods of nodes with SELinux have labels of their own; which ones is
	 * for the container runtime to say, and none of Ferry's sets any. */
	return "none";
}
