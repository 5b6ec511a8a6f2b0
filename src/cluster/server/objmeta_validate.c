/* SPDX-License-Identifier: Apache-2.0 */

/* objmeta_validate - what Kubernetes demands of metadata. */

#include <stdio.h>

#include "base/array.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/objmeta.h"
#include "meta/causes.h"
#include "meta/names.h"

/* Kinds whose names follow another rule than that of a subdomain. */
static const struct {
	const char *group;
	const char *plural; /* NULL: all of the group */
	enum name_rule rule;
} name_rules[] = {
	{ "", "namespaces", NAME_DNS1123_LABEL },
	{ "", "services", NAME_DNS1035_LABEL },
	{ "rbac.authorization.k8s.io", NULL, NAME_PATH_SEGMENT },
	{ "apiregistration.k8s.io", "apiservices", NAME_PATH_SEGMENT },
};

static enum name_rule
name_rule(const struct kind *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(name_rules); i++)
		if (str_equal(kind->group, name_rules[i].group) &&
		    (name_rules[i].plural == NULL ||
		     str_equal(kind->plural, name_rules[i].plural)))
			return name_rules[i].rule;
	return NAME_DNS1123_SUBDOMAIN;
}

static void
check_name(const json_t *object, const struct kind *kind, struct causes *causes)
{
	const char *name = objmeta_str(object, "name");
	const char *base = objmeta_str(object, "generateName");

	if (*base != '\0')
		name_check_prefix(name_rule(kind), base,
				  "metadata.generateName", causes);
	if (*name == '\0')
		causes_required(causes, "metadata.name",
				"name or generateName is required");
	else
		name_check_field(name_rule(kind), name, "metadata.name",
				 causes);
}

static void
check_namespace(const json_t *object, const struct kind *kind,
		struct causes *causes)
{
	const char *name = objmeta_str(object, "namespace");

	if (!kind->namespaced)
		return;
	if (*name == '\0')
		causes_required(causes, "metadata.namespace", "");
	else
		name_check_field(NAME_DNS1123_LABEL, name, "metadata.namespace",
				 causes);
}

static void
require_owner_member(const json_t *owner, size_t i, const char *member,
		     struct causes *causes)
{
	const char *value = json_string_value(json_object_get(owner, member));
	char field[64];

	if (value != NULL && *value != '\0')
		return;
	(void)snprintf(field, sizeof(field), "metadata.ownerReferences[%zu].%s",
		       i, member);
	causes_invalid_str(causes, field, "", "must not be empty");
}

static void
check_owners(const json_t *meta, struct causes *causes)
{
	static const char *const required[] = { "apiVersion", "kind", "name",
						"uid" };
	const json_t *owners = json_object_get(meta, "ownerReferences");
	const json_t *owner;
	size_t i, controllers = 0;

	json_array_foreach(owners, i, owner)
	{
		for (size_t r = 0; r < ARRAY_LEN(required); r++)
			require_owner_member(owner, i, required[r], causes);
		if (json_is_true(json_object_get(owner, "controller")))
			controllers++;
	}
	if (controllers > 1)
		causes_add(causes, CAUSE_INVALID, "metadata.ownerReferences",
			   "Only one reference can have Controller set to "
			   "true");
}

static void
check_finalizers(const json_t *meta, struct causes *causes)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(meta, "finalizers"), i, item)
		name_check_field(NAME_QUALIFIED, json_string_value(item),
				 "metadata.finalizers", causes);
}

void
objmeta_validate(const json_t *object, const struct kind *kind,
		 struct causes *causes)
{
	const json_t *meta = json_object_get(object, "metadata");

	check_name(object, kind, causes);
	check_namespace(object, kind, causes);
	name_check_labels(json_object_get(meta, "labels"), "metadata.labels",
			  causes);
	name_check_annotations(json_object_get(meta, "annotations"),
			       "metadata.annotations", causes);
	check_owners(meta, causes);
	check_finalizers(meta, causes);
}
