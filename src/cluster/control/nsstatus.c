/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/nsstatus.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"

#define MESSAGE_MAX (32U * 1024)

static json_t *
condition(const char *type, bool status, const char *reason,
	  const char *message, const char *now)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:s}", "type", type, "status",
			 status ? "True" : "False", "reason", reason, "message",
			 message, "lastTransitionTime", now);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "prefix: A has 1 resource instances, B has 2 ..."; to be freed. */
static char *
message_of(const char *prefix, const char *verb, const json_t *counts)
{
	struct buf buf = BUF_INIT(MESSAGE_MAX);
	size_t n = json_object_size(counts);
	const char **names = xcalloc(n + 1, sizeof(char *));
	size_t i = 0;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)counts, name, value)
		names[i++] = name;
	qsort((void *)names, n, sizeof(char *), compare);
	(void)buf_append_str(&buf, prefix);
	for (i = 0; i < n; i++) {
		long long count =
			json_integer_value(json_object_get(counts, names[i]));

		if (buf_printf(&buf, "%s%s %s %lld resource instances",
			       i == 0 ? " " : ", ", names[i], verb,
			       count) == -1)
			break;
	}
	free((void *)names);
	return (char *)buf.data;
}

json_t *
nsstatus_conditions(const json_t *remaining, const json_t *finalizers,
		    const char *now)
{
	bool remains = json_object_size(remaining) > 0;
	bool finalized = json_object_size(finalizers) == 0;
	AUTO(free_ptr)
	char *what =
		remains ? message_of("Some resources are remaining:", "has",
				     remaining)
			: xstrdup("All content successfully removed");
	AUTO(free_ptr)
	char *who = finalized ? xstrdup("All content-preserving finalizers "
					"finished")
			      : message_of("Some content in the namespace has "
					   "finalizers remaining:",
					   "in", finalizers);

	return json_pack(
		"[o,o,o,o,o]",
		condition("NamespaceDeletionDiscoveryFailure", false,
			  "ResourcesDiscovered",
			  "All resources successfully discovered", now),
		condition("NamespaceDeletionGroupVersionParsingFailure", false,
			  "ParsedGroupVersions",
			  "All legacy kube types successfully parsed", now),
		condition("NamespaceDeletionContentFailure", false,
			  "ContentDeleted",
			  "All content successfully deleted, may be waiting on "
			  "finalization",
			  now),
		condition("NamespaceContentRemaining", remains,
			  remains ? "SomeResourcesRemain" : "ContentRemoved",
			  what, now),
		condition("NamespaceFinalizersRemaining", !finalized,
			  finalized ? "ContentHasNoFinalizers"
				    : "SomeFinalizersRemain",
			  who, now));
}

bool
nsstatus_is_current(const json_t *ns, const json_t *conditions)
{
	static const char *const members[] = { "status", "reason", "message" };
	const json_t *there = js_at(ns, "status.conditions");
	size_t i;
	json_t *each;

	json_array_foreach(conditions, i, each)
	{
		const json_t *old =
			js_find(there, "type", js_str_at(each, "type"));

		for (size_t m = 0; m < ARRAY_LEN(members); m++) {
			if (strcmp(js_str_at(old, members[m]),
				   js_str_at(each, members[m])) != 0)
				return false;
		}
	}
	return true;
}
