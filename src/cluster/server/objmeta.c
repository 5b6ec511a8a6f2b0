/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/objmeta.h"
#include "meta/causes.h"
#include "meta/gofmt.h"
#include "meta/names.h"
#include "meta/status.h"
#include "meta/time.h"

/* What only the server sets; removed from what a client creates. */
static const char *const servers_own[] = {
	"creationTimestamp",
	"deletionGracePeriodSeconds",
	"deletionTimestamp",
	"generation",
	"managedFields",
	"selfLink",
	"uid",
};

json_t *
objmeta_get(json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");

	if (!json_is_object(meta)) {
		meta = json_object();
		json_object_set_new(object, "metadata", meta);
	}
	return meta;
}

const char *
objmeta_str(const json_t *object, const char *member)
{
	const char *value = json_string_value(
		json_object_get(json_object_get(object, "metadata"), member));

	return value == NULL ? "" : value;
}

bool
objmeta_deleting(const json_t *object)
{
	return *objmeta_str(object, "deletionTimestamp") != '\0';
}

static const json_t *
get_member(const json_t *object, const char *member)
{
	return json_object_get(json_object_get(object, "metadata"), member);
}

size_t
objmeta_finalizers(const json_t *object)
{
	return json_array_size(get_member(object, "finalizers"));
}

enum member_type {
	MEMBER_STRING,
	MEMBER_INTEGER,
	MEMBER_STRING_MAP,
	MEMBER_STRING_LIST,
	MEMBER_OBJECT_LIST,
	MEMBER_ANY,
};

static const struct member {
	const char *name;
	enum member_type type;
} members[] = {
	{ "annotations", MEMBER_STRING_MAP },
	{ "clusterName", MEMBER_STRING },
	{ "creationTimestamp", MEMBER_STRING },
	{ "deletionGracePeriodSeconds", MEMBER_INTEGER },
	{ "deletionTimestamp", MEMBER_STRING },
	{ "finalizers", MEMBER_STRING_LIST },
	{ "generateName", MEMBER_STRING },
	{ "generation", MEMBER_INTEGER },
	{ "labels", MEMBER_STRING_MAP },
	{ "managedFields", MEMBER_ANY },
	{ "name", MEMBER_STRING },
	{ "namespace", MEMBER_STRING },
	{ "ownerReferences", MEMBER_OBJECT_LIST },
	{ "resourceVersion", MEMBER_STRING },
	{ "selfLink", MEMBER_STRING },
	{ "uid", MEMBER_STRING },
};

static bool
all_strings(const json_t *value, const json_t **ret_wrong)
{
	const json_t *item;
	const char *key;
	size_t i;

	if (json_is_array(value)) {
		json_array_foreach(value, i, item) if (!json_is_string(item))
		{
			*ret_wrong = item;
			return false;
		}
		return true;
	}
	json_object_foreach((json_t *)value, key,
			    item) if (!json_is_string(item))
	{
		*ret_wrong = item;
		return false;
	}
	return true;
}

static bool
fits(const struct member *member, const json_t *value, const json_t **ret_wrong)
{
	*ret_wrong = value;
	if (json_is_null(value))
		return true;
	switch (member->type) {
	case MEMBER_STRING:
		return json_is_string(value);
	case MEMBER_INTEGER:
		return json_is_integer(value);
	case MEMBER_STRING_MAP:
		return json_is_object(value) && all_strings(value, ret_wrong);
	case MEMBER_STRING_LIST:
		return json_is_array(value) && all_strings(value, ret_wrong);
	case MEMBER_OBJECT_LIST:
		return json_is_array(value);
	case MEMBER_ANY:
		break;
	}
	return true;
}

static const char *
go_type(enum member_type type)
{
	static const char *const names[] = {
		[MEMBER_STRING] = "string",
		[MEMBER_INTEGER] = "int64",
		[MEMBER_STRING_MAP] = "string",
		[MEMBER_STRING_LIST] = "string",
		[MEMBER_OBJECT_LIST] = "[]v1.OwnerReference",
		[MEMBER_ANY] = "",
	};

	return names[type];
}

int
objmeta_check_types(const json_t *object, const char *kind, struct status *st)
{
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *wrong;

	if (meta != NULL && !json_is_null(meta) && !json_is_object(meta)) {
		return status_bad_request(
			st,
			"%s in version \"v1\" cannot be handled as a %s: json: "
			"cannot unmarshal %s into Go struct field "
			"%s.metadata of type v1.ObjectMeta",
			kind, kind, gofmt_type(meta), kind);
	}
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(meta, members[i].name);

		if (value == NULL || fits(&members[i], value, &wrong))
			continue;
		return status_bad_request(
			st,
			"%s in version \"v1\" cannot be handled as a %s: json: "
			"cannot unmarshal %s into Go struct field "
			"ObjectMeta.metadata.%s of type %s",
			kind, kind, gofmt_type(wrong), members[i].name,
			go_type(members[i].type));
	}
	return 0;
}

static void
set_str(json_t *meta, const char *member, const char *value)
{
	json_object_set_new(meta, member, json_string(value));
}

static void
set_now(json_t *meta, const char *member, int64_t offset_s)
{
	char text[TIME_TEXT_SIZE];

	set_str(meta, member,
		time_text(time_now_us() + offset_s * TIME_US_PER_SECOND, text));
}

static void
drop_empty(json_t *meta)
{
	static const char *const names[] = { "annotations", "finalizers",
					     "labels", "ownerReferences" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const json_t *value = json_object_get(meta, names[i]);

		if (json_is_null(value) ||
		    (json_is_array(value) && json_array_size(value) == 0) ||
		    (json_is_object(value) && json_object_size(value) == 0))
			json_object_del(meta, names[i]);
	}
}

static void
choose_name(json_t *meta)
{
	const char *name = json_string_value(json_object_get(meta, "name"));
	const char *base =
		json_string_value(json_object_get(meta, "generateName"));
	char *made;

	if ((name != NULL && *name != '\0') || base == NULL || *base == '\0')
		return;
	made = name_generate(base);
	set_str(meta, "name", made);
	free(made);
}

static int
other_namespace(struct status *st)
{
	return status_bad_request(
		st, "the namespace of the provided object does not match the "
		    "namespace sent on the request");
}

int
objmeta_init(json_t *object, const struct kind *kind, const char *ns,
	     struct status *st)
{
	json_t *meta = objmeta_get(object);
	const char *given = objmeta_str(object, "namespace");
	char uid[NAME_UUID_SIZE];

	if (kind->namespaced && *given != '\0' && !str_equal(given, ns))
		return other_namespace(st);
	if (*objmeta_str(object, "resourceVersion") != '\0')
		return status_set(st, 500, NULL,
				  "resourceVersion should not be set on "
				  "objects to be created");
	for (size_t i = 0; i < ARRAY_LEN(servers_own); i++)
		json_object_del(meta, servers_own[i]);
	json_object_del(meta, "resourceVersion");
	if (kind->namespaced)
		set_str(meta, "namespace", ns);
	else
		json_object_del(meta, "namespace");
	choose_name(meta);
	set_str(meta, "uid", name_uuid(uid));
	set_now(meta, "creationTimestamp", 0);
	if (kind->has_generation)
		json_object_set_new(meta, "generation", json_integer(1));
	drop_empty(meta);
	return 0;
}

static void
keep(json_t *meta, const json_t *old_meta, const char *member)
{
	json_t *value = json_object_get(old_meta, member);

	if (value == NULL)
		json_object_del(meta, member);
	else
		json_object_set(meta, member, value);
}

int
objmeta_settle(json_t *object, const json_t *given, struct status *st)
{
	json_t *meta = objmeta_get(object);
	const json_t *given_meta = json_object_get(given, "metadata");

	if (!str_equal(objmeta_str(object, "namespace"),
		       objmeta_str(given, "namespace")))
		return other_namespace(st);
	for (size_t i = 0; i < ARRAY_LEN(servers_own); i++)
		keep(meta, given_meta, servers_own[i]);
	json_object_del(meta, "resourceVersion");
	drop_empty(meta);
	return 0;
}

static bool
has_finalizer(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) if (str_equal(json_string_value(item),
							name)) return true;
	return false;
}

/* An object on its way out may lose finalizers, but not get new ones. */
static void
check_finalizers(const json_t *object, const json_t *old, struct causes *causes)
{
	const json_t *now = get_member(object, "finalizers");
	const json_t *before = get_member(old, "finalizers");
	const json_t *item;
	char list[1024] = "";
	size_t i, at = 0;

	if (!objmeta_deleting(old))
		return;
	json_array_foreach(now, i, item)
	{
		const char *name = json_string_value(item);

		if (name == NULL || has_finalizer(before, name))
			continue;
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s\"%s\"",
				       at == 0 ? "" : ", ", name);
		if (at >= sizeof(list))
			at = sizeof(list) - 1;
	}
	if (at > 0) {
		causes_add(causes, CAUSE_FORBIDDEN, "metadata.finalizers",
			   "no new finalizers can be added if the "
			   "object is being deleted, found new finalizers "
			   "[]string{%s}",
			   list);
	}
}

void
objmeta_carry_over(json_t *object, const json_t *old, struct causes *causes)
{
	json_t *meta = objmeta_get(object);
	const json_t *old_meta = json_object_get(old, "metadata");
	const char *uid = objmeta_str(object, "uid");

	if (*uid != '\0' && !str_equal(uid, objmeta_str(old, "uid")))
		causes_invalid(causes, "metadata.uid",
			       json_object_get(meta, "uid"),
			       "field is immutable");
	json_object_del(meta, "managedFields");
	json_object_del(meta, "selfLink");
	keep(meta, old_meta, "uid");
	keep(meta, old_meta, "name");
	keep(meta, old_meta, "namespace");
	keep(meta, old_meta, "generateName");
	keep(meta, old_meta, "creationTimestamp");
	keep(meta, old_meta, "deletionTimestamp");
	keep(meta, old_meta, "deletionGracePeriodSeconds");
	keep(meta, old_meta, "generation");
	keep(meta, old_meta, "resourceVersion");
	drop_empty(meta);
	check_finalizers(object, old, causes);
}

void
objmeta_bump_generation(json_t *object)
{
	json_t *meta = objmeta_get(object);
	const json_t *generation = json_object_get(meta, "generation");

	if (json_is_integer(generation))
		json_object_set_new(
			meta, "generation",
			json_integer(json_integer_value(generation) + 1));
}

void
objmeta_set_rv(json_t *object, uint64_t rv)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, rv);
	set_str(objmeta_get(object), "resourceVersion", text);
}

void
objmeta_set_deleting(json_t *object, int64_t grace_s)
{
	json_t *meta = objmeta_get(object);

	set_now(meta, "deletionTimestamp", grace_s);
	json_object_set_new(meta, "deletionGracePeriodSeconds",
			    json_integer(grace_s));
}

bool
objmeta_add_finalizer(json_t *object, const char *name)
{
	json_t *meta = objmeta_get(object);
	json_t *list = json_object_get(meta, "finalizers");

	if (has_finalizer(list, name))
		return false;
	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(meta, "finalizers", list);
	}
	json_array_append_new(list, json_string(name));
	return true;
}

bool
objmeta_remove_finalizer(json_t *object, const char *name)
{
	json_t *meta = objmeta_get(object);
	json_t *list = json_object_get(meta, "finalizers");

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!str_equal(json_string_value(json_array_get(list, i)),
			       name))
			continue;
		json_array_remove(list, i);
		if (json_array_size(list) == 0)
			json_object_del(meta, "finalizers");
		return true;
	}
	return false;
}
