/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/lifecycle.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "cluster/kinds/kind.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/status.h"

static const struct gr namespaces = { .group = "", .resource = "namespaces" };

static bool
is_kept(const char *name)
{
	static const char *const kept[] = {
		"default",
		"kube-system",
		"kube-public",
	};

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (str_equal(name, kept[i]))
			return true;
	}
	return false;
}

static int
check_namespace(const struct admission_request *req, struct status *st)
{
	if (req->op != ADMISSION_DELETE || *req->subresource != '\0' ||
	    !is_kept(req->name))
		return 0;
	return status_forbidden(st, &namespaces, req->name,
				"this namespace may not be deleted");
}

static int
refuse_content(const struct admission_request *req, struct status *st)
{
	const struct gr gr = { .group = req->kind->group,
			       .resource = req->kind->plural };
	AUTO(free_ptr)
	char *why = xasprintf(
		"unable to create new content in namespace %s because it is "
		"being terminated",
		req->namespace_);
	AUTO(free_ptr)
	char *cause =
		xasprintf("namespace %s is being terminated", req->namespace_);

	(void)status_forbidden(st, &gr, req->name, why);
	status_add_cause(st, "NamespaceTerminating", cause,
			 "metadata.namespace");
	return -1;
}

/* Asking whether one may do something must not depend on it being there. */
static bool
is_review(const struct kind *kind)
{
	return str_equal(kind->group, "authorization.k8s.io");
}

int
lifecycle_check(struct store *store, const struct admission_request *req,
		struct status *st)
{
	const struct kind *kind = req->kind;
	const struct object *ns;

	if (str_equal(kind->plural, namespaces.resource) && *kind->group == 0)
		return check_namespace(req, st);
	if (!kind->namespaced || *req->namespace_ == '\0' ||
	    req->op == ADMISSION_DELETE || is_review(kind))
		return 0;
	ns = store_get(store_collection(store, "", namespaces.resource), "",
		       req->namespace_);
	if (ns == NULL)
		return status_not_found(st, &namespaces, req->namespace_);
	if (ns->deleting && req->op == ADMISSION_CREATE)
		return refuse_content(req, st);
	return 0;
}
