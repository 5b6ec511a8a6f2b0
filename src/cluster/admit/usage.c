/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/amount.h"

#define CLASS_SUFFIX ".storageclass.storage.k8s.io/"
#define NANO INT64_C(1000000000)

/* Names with one meaning each. */
static const struct {
	const char *name;
	enum usage_what what;
	const char *resource;
	const char *detail;
} known[] = {
	{ "pods", USAGE_PODS, "pods", "" },
	{ "services", USAGE_OBJECTS, "services", "" },
	{ "secrets", USAGE_OBJECTS, "secrets", "" },
	{ "configmaps", USAGE_OBJECTS, "configmaps", "" },
	{ "resourcequotas", USAGE_OBJECTS, "resourcequotas", "" },
	{ "replicationcontrollers", USAGE_OBJECTS, "replicationcontrollers",
	  "" },
	{ "persistentvolumeclaims", USAGE_OBJECTS, "persistentvolumeclaims",
	  "" },
	{ "services.nodeports", USAGE_NODE_PORTS, "services", "" },
	{ "services.loadbalancers", USAGE_LOAD_BALANCERS, "services", "" },
	{ "requests.storage", USAGE_STORAGE, "persistentvolumeclaims", "" },
	{ "cpu", USAGE_REQUESTS, "pods", "cpu" },
	{ "memory", USAGE_REQUESTS, "pods", "memory" },
	{ "ephemeral-storage", USAGE_REQUESTS, "pods", "ephemeral-storage" },
	{ "limits.cpu", USAGE_LIMITS, "pods", "cpu" },
	{ "limits.memory", USAGE_LIMITS, "pods", "memory" },
	{ "limits.ephemeral-storage", USAGE_LIMITS, "pods",
	  "ephemeral-storage" },
};

static void
set(struct usage_meter *meter, enum usage_what what, const char *resource,
    char *detail)
{
	meter->what = what;
	meter->resource = xstrdup(resource);
	meter->group = xstrdup("");
	meter->detail = detail;
}

/* "count/RESOURCE.GROUP": a resource has no dot in it. */
static void
set_count(struct usage_meter *meter, const char *what)
{
	size_t len = strcspn(what, ".");

	meter->what = USAGE_OBJECTS;
	meter->resource = xstrndup(what, len);
	meter->group = xstrdup(what[len] == '.' ? what + len + 1 : "");
	meter->detail = xstrdup("");
}

static bool
set_by_class(struct usage_meter *meter, const char *name)
{
	const char *suffix = strstr(name, CLASS_SUFFIX);
	const char *what;

	if (suffix == NULL)
		return false;
	what = suffix + strlen(CLASS_SUFFIX);
	if (str_equal(what, "requests.storage"))
		set(meter, USAGE_STORAGE, "persistentvolumeclaims",
		    xstrndup(name, (size_t)(suffix - name)));
	else if (str_equal(what, "persistentvolumeclaims"))
		set(meter, USAGE_CLAIMS, "persistentvolumeclaims",
		    xstrndup(name, (size_t)(suffix - name)));
	else
		return false;
	return true;
}

void
usage_meter_init(struct usage_meter *meter, const char *name)
{
	static const char requests[] = "requests.";
	static const char count[] = "count/";

	memset(meter, 0, sizeof(*meter));
	meter->name = xstrdup(name);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (!str_equal(known[i].name, name))
			continue;
		set(meter, known[i].what, known[i].resource,
		    xstrdup(known[i].detail));
		return;
	}
	if (str_has_prefix(name, count))
		set_count(meter, name + strlen(count));
	else if (str_has_prefix(name, requests))
		set(meter, USAGE_REQUESTS, "pods",
		    xstrdup(name + strlen(requests)));
	else if (str_has_prefix(name, "hugepages-"))
		set(meter, USAGE_REQUESTS, "pods", xstrdup(name));
	else if (!set_by_class(meter, name))
		set(meter, USAGE_NOTHING, "", xstrdup(""));
}

void
usage_meter_done(struct usage_meter *meter)
{
	free(meter->name);
	free(meter->resource);
	free(meter->group);
	free(meter->detail);
	memset(meter, 0, sizeof(*meter));
}

bool
usage_is_about(const struct usage_meter *meter, const char *group,
	       const char *resource)
{
	return meter->what != USAGE_NOTHING &&
	       str_equal(meter->resource, resource) &&
	       str_equal(meter->group, group);
}

bool
usage_looks(const struct usage_meter *meter)
{
	return meter->what != USAGE_OBJECTS && meter->what != USAGE_NOTHING;
}

bool
usage_can_grow(const struct usage_meter *meter)
{
	return str_equal(meter->resource, "persistentvolumeclaims") ||
	       str_equal(meter->resource, "services");
}

static struct quantity
number(int64_t n)
{
	return quantity_from_int(n, QUANTITY_DECIMAL_SI);
}

static bool
has_ended(const json_t *pod)
{
	const char *phase = js_str_at(pod, "status.phase");

	return str_equal(phase, "Succeeded") || str_equal(phase, "Failed");
}

static const char *
class_of(const json_t *claim)
{
	const json_t *old =
		json_object_get(js_obj_at(claim, "metadata.annotations"),
				"volume.beta.kubernetes.io/storage-class");

	if (json_is_string(old))
		return json_string_value(old);
	return js_str_at(claim, "spec.storageClassName");
}

/* In whole bytes: parts of one would not pass as a quota's status. */
static struct quantity
storage_of(const json_t *claim)
{
	struct quantity q, allocated;

	(void)amount_in(js_obj_at(claim, "spec.resources.requests"), "storage",
			&q);
	if (amount_in(js_obj_at(claim, "status.allocatedResources"), "storage",
		      &allocated) &&
	    quantity_cmp(&allocated, &q) > 0)
		q = allocated;
	if (q.nano % NANO != 0)
		q = quantity_from_int(quantity_value(&q), q.format);
	return q;
}

static int64_t
node_ports_of(const json_t *service)
{
	const json_t *ports = js_arr_at(service, "spec.ports"), *port;
	const char *type = js_str_at(service, "spec.type");
	int64_t count = 0;
	size_t i;

	if (str_equal(type, "NodePort"))
		return (int64_t)json_array_size(ports);
	if (!str_equal(type, "LoadBalancer"))
		return 0;
	if (js_bool_at(service, "spec.allocateLoadBalancerNodePorts", true))
		return (int64_t)json_array_size(ports);
	json_array_foreach(ports, i, port) count +=
		js_int_at(port, "nodePort", 0) != 0;
	return count;
}

static struct quantity
measure_pod(const struct usage_meter *meter, const json_t *pod)
{
	struct quantity q;

	if (has_ended(pod))
		return QUANTITY_ZERO;
	if (meter->what == USAGE_PODS)
		return number(1);
	(void)amount_of_pod(pod,
			    meter->what == USAGE_LIMITS ? "limits" : "requests",
			    meter->detail, &q);
	return q;
}

static struct quantity
measure_claim(const struct usage_meter *meter, const json_t *claim)
{
	if (*meter->detail != '\0' &&
	    !str_equal(meter->detail, class_of(claim)))
		return QUANTITY_ZERO;
	return meter->what == USAGE_CLAIMS ? number(1) : storage_of(claim);
}

struct quantity
usage_measure(const struct usage_meter *meter, const json_t *obj)
{
	switch (meter->what) {
	case USAGE_OBJECTS:
		return number(1);
	case USAGE_PODS:
	case USAGE_REQUESTS:
	case USAGE_LIMITS:
		return measure_pod(meter, obj);
	case USAGE_CLAIMS:
	case USAGE_STORAGE:
		return measure_claim(meter, obj);
	case USAGE_NODE_PORTS:
		return number(node_ports_of(obj));
	case USAGE_LOAD_BALANCERS:
		return number(
			str_equal(js_str_at(obj, "spec.type"), "LoadBalancer"));
	case USAGE_NOTHING:
	case USAGE_WHAT_COUNT:
		break;
	}
	return QUANTITY_ZERO;
}

static bool
is_required(const struct usage_meter *meter)
{
	return (meter->what == USAGE_REQUESTS || meter->what == USAGE_LIMITS) &&
	       (str_equal(meter->detail, "cpu") ||
		str_equal(meter->detail, "memory"));
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t
find_silent(const struct usage_meter *meter, const json_t *containers,
	    const char **names)
{
	const char *path = meter->what == USAGE_LIMITS ? "resources.limits"
						       : "resources.requests";
	const json_t *item;
	size_t i, count = 0;

	json_array_foreach(containers, i, item)
	{
		if (json_object_get(js_obj_at(item, path), meter->detail) ==
		    NULL)
			names[count++] = js_str_at(item, "name");
	}
	return count;
}

void
usage_require(const struct usage_meter *meter, const json_t *pod,
	      struct buf *text)
{
	const json_t *containers = js_arr_at(pod, "spec.containers");
	const json_t *inits = js_arr_at(pod, "spec.initContainers");
	AUTO(free_ptr) const char **names = NULL;
	size_t count;

	if (!is_required(meter))
		return;
	names = xcalloc(json_array_size(containers) + json_array_size(inits) +
				1,
			sizeof(*names));
	count = find_silent(meter, containers, names);
	count += find_silent(meter, inits, names + count);
	if (count == 0)
		return;
	qsort(names, count, sizeof(*names), by_name);
	(void)buf_printf(text, "%s%s for: ", text->len > 0 ? "; " : "",
			 meter->name);
	for (size_t i = 0; i < count; i++)
		(void)buf_printf(text, "%s%s", i > 0 ? "," : "", names[i]);
}
