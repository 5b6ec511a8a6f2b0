/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/plugins.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/admit/classes.h"
#include "cluster/admit/limits.h"
#include "cluster/admit/podplugins.h"
#include "cluster/admit/registration.h"
#include "cluster/kinds/kind.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/status.h"

struct plugins {
	struct store *store;
	struct classes *classes;
};

struct plugins *
plugins_new(struct store *store)
{
	struct plugins *plugins = xmalloc0(sizeof(*plugins));

	plugins->store = store;
	plugins->classes = classes_new(store);
	return plugins;
}

void
plugins_free(struct plugins *plugins)
{
	if (plugins == NULL)
		return;
	classes_free(plugins->classes);
	free(plugins);
}

/* About objects of this resource themselves, not of a subresource. */
static bool
is_of(const struct admission_request *req, const char *group,
      const char *plural)
{
	return *req->subresource == '\0' && json_is_object(req->object) &&
	       str_equal(req->kind->plural, plural) &&
	       str_equal(req->kind->group, group);
}

static bool
is_new(const struct admission_request *req, const char *group,
       const char *plural)
{
	return req->op == ADMISSION_CREATE && is_of(req, group, plural);
}

static bool
is_write(const struct admission_request *req)
{
	return req->op == ADMISSION_CREATE || req->op == ADMISSION_UPDATE;
}

bool
plugins_must_wait(struct plugins *plugins, const struct admission_request *req)
{
	return is_new(req, "", "pods") &&
	       podplugin_account_missing(plugins->store, req);
}

static int
mutate_pod(struct plugins *plugins, struct admission_request *req,
	   struct status *st)
{
	podplugin_requests(req->object);
	limits_default(plugins->store, req);
	if (podplugin_account(plugins->store, req, st) == -1)
		return -1;
	podplugin_tolerations(req->object);
	return podplugin_priority(plugins->classes, req, st);
}

static void
default_storage_class(struct plugins *plugins, json_t *claim)
{
	json_t *spec = js_make_obj_at(claim, "spec");
	const char *class;

	/* "" is an answer too: none, please. */
	if (js_at(spec, "storageClassName") != NULL ||
	    json_object_get(js_obj_at(claim, "metadata.annotations"),
			    "volume.beta.kubernetes.io/storage-class") != NULL)
		return;
	class = classes_storage(plugins->classes);
	if (class != NULL)
		(void)json_object_set_new(spec, "storageClassName",
					  json_string(class));
}

int
plugins_mutate(struct plugins *plugins, struct admission_request *req,
	       struct status *st)
{
	if (is_new(req, "", "pods"))
		return mutate_pod(plugins, req, st);
	if (is_new(req, "", "persistentvolumeclaims"))
		default_storage_class(plugins, req->object);
	else if (is_write(req) && is_of(req, "", "limitranges"))
		limits_complete(req->object);
	return 0;
}

static int
check_priority_class(struct plugins *plugins,
		     const struct admission_request *req, struct status *st)
{
	const struct gr gr = { .group = req->kind->group,
			       .resource = req->kind->plural };
	struct priority_class other;
	AUTO(free_ptr) char *why = NULL;

	if (!str_has_prefix(req->name, CLASSES_SYSTEM_PREFIX) &&
	    js_int_at(req->object, "value", 0) > CLASSES_USER_PRIORITY_MAX)
		why = xasprintf("maximum allowed value of a user defined "
				"priority is %d",
				CLASSES_USER_PRIORITY_MAX);
	else if (js_bool_at(req->object, "globalDefault", false) &&
		 classes_priority(plugins->classes, "", &other) &&
		 *other.name != '\0' && !str_equal(other.name, req->name))
		why = xasprintf("PriorityClass %s is already marked as "
				"default. Only one default can exist",
				other.name);
	return why == NULL ? 0 : status_forbidden(st, &gr, req->name, why);
}

int
plugins_validate(struct plugins *plugins, const struct admission_request *req,
		 struct status *st)
{
	if (is_new(req, "", "pods") ||
	    (is_write(req) && is_of(req, "", "persistentvolumeclaims")))
		return limits_check(plugins->store, req, st);
	if (is_write(req) && is_of(req, "scheduling.k8s.io", "priorityclasses"))
		return check_priority_class(plugins, req, st);
	if (registration_concerns(req))
		return registration_check(req, st);
	return 0;
}
