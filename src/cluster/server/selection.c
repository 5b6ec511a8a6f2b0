/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/selection.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/selector.h"
#include "meta/status.h"

/* A value that a field selector can ask for is no longer than this. */
#define VALUE_MAX 1024
/* A label is rare when no more than one of so many has it: to gather and sort
 * those costs more for each than to go through all in order. */
#define RARE_SHARE 8

struct selection {
	const struct kind *kind;
	struct selector *labels; /* NULL: all */
	struct fieldsel *fields;
};

/* The fields there are besides metadata.name and metadata.namespace. */
static const struct {
	const char *group;
	const char *plural;
	const char *field;
	const char *path;    /* where it stands; NULL: as it is called */
	const char *missing; /* what counts when it is not there; NULL: "" */
} fields[] = {
	{ "", "pods", "spec.nodeName", NULL, NULL },
	{ "", "pods", "spec.restartPolicy", NULL, NULL },
	{ "", "pods", "spec.schedulerName", NULL, NULL },
	{ "", "pods", "spec.serviceAccountName", NULL, NULL },
	{ "", "pods", "spec.hostNetwork", NULL, "false" },
	{ "", "pods", "status.phase", NULL, NULL },
	{ "", "pods", "status.podIP", NULL, NULL },
	{ "", "pods", "status.nominatedNodeName", NULL, NULL },
	{ "", "nodes", "spec.unschedulable", NULL, "false" },
	{ "", "namespaces", "status.phase", NULL, NULL },
	{ "", "secrets", "type", NULL, NULL },
	{ "", "services", "spec.clusterIP", NULL, NULL },
	{ "", "services", "spec.type", NULL, NULL },
	{ "", "events", "involvedObject.kind", NULL, NULL },
	{ "", "events", "involvedObject.namespace", NULL, NULL },
	{ "", "events", "involvedObject.name", NULL, NULL },
	{ "", "events", "involvedObject.uid", NULL, NULL },
	{ "", "events", "involvedObject.apiVersion", NULL, NULL },
	{ "", "events", "involvedObject.resourceVersion", NULL, NULL },
	{ "", "events", "involvedObject.fieldPath", NULL, NULL },
	{ "", "events", "reason", NULL, NULL },
	{ "", "events", "reportingComponent", NULL, NULL },
	{ "", "events", "source", "source.component", NULL },
	{ "", "events", "type", NULL, NULL },
	/* Stored in the form of the core group, whoever asks. */
	{ "events.k8s.io", "events", "regarding.kind", "involvedObject.kind",
	  NULL },
	{ "events.k8s.io", "events", "regarding.namespace",
	  "involvedObject.namespace", NULL },
	{ "events.k8s.io", "events", "regarding.name", "involvedObject.name",
	  NULL },
	{ "events.k8s.io", "events", "regarding.uid", "involvedObject.uid",
	  NULL },
	{ "events.k8s.io", "events", "reason", NULL, NULL },
	{ "events.k8s.io", "events", "type", NULL, NULL },
	{ "events.k8s.io", "events", "reportingController",
	  "reportingComponent", NULL },
};

/* Kinds whose complaint names the fields that all kinds have. */
static bool
names_known_fields(const struct kind *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (str_equal(kind->group, fields[i].group) &&
		    str_equal(kind->plural, fields[i].plural))
			return false;
	return kind->builtin;
}

static size_t
find_field(const struct kind *kind, const char *path)
{
	size_t i = 0;

	while (i < ARRAY_LEN(fields) &&
	       !(str_equal(kind->group, fields[i].group) &&
		 str_equal(kind->plural, fields[i].plural) &&
		 str_equal(path, fields[i].field)))
		i++;
	return i;
}

static int
check_fields(struct selection *selection, struct status *st)
{
	for (size_t i = 0; i < selection->fields->len; i++) {
		const char *path = selection->fields->terms[i].path;

		if (str_equal(path, "metadata.name") ||
		    str_equal(path, "metadata.namespace"))
			continue;
		if (find_field(selection->kind, path) < ARRAY_LEN(fields))
			continue;
		if (names_known_fields(selection->kind)) {
			return status_bad_request(
				st,
				"\"%s\" is not a known field selector: only "
				"\"metadata.name\", \"metadata.namespace\"",
				path);
		}
		return status_bad_request(st, "field label not supported: %s",
					  path);
	}
	return 0;
}

struct selection *
selection_new(const struct kind *kind, const char *label_selector,
	      const char *field_selector, struct status *st)
{
	struct selection *selection = xmalloc0(sizeof(*selection));

	selection->kind = kind;
	selection->labels = selector_parse(label_selector, st);
	if (selection->labels != NULL)
		selection->fields = fieldsel_parse(field_selector, st);
	if (selection->fields != NULL && check_fields(selection, st) == 0)
		return selection;
	selection_free(selection);
	return NULL;
}

void
selection_free(struct selection *selection)
{
	if (selection == NULL)
		return;
	selector_free(selection->labels);
	fieldsel_free(selection->fields);
	free(selection);
}

bool
selection_is_all(const struct selection *selection)
{
	return selector_is_empty(selection->labels) &&
	       selection->fields->len == 0;
}

struct field_reader {
	const struct kind *kind;
	const struct object *object;
	char value[VALUE_MAX];
};

/* Goes down the path in the text; the value as it would be compared. */
static const char *
read_text(struct field_reader *reader, const char *path, const char *missing)
{
	struct span at = { reader->object->text, reader->object->len };

	while (*path != '\0') {
		char name[VALUE_MAX];
		size_t len = strcspn(path, ".");

		(void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
		if (!scan_member(at, name, &at))
			return missing;
		path += len + (path[len] == '.');
	}
	if (at.len >= sizeof(reader->value))
		return missing;
	if (scan_string(at, reader->value) == -1)
		(void)snprintf(reader->value, sizeof(reader->value), "%.*s",
			       (int)at.len, at.text);
	return reader->value;
}

static const char *
read_field(void *arg, const char *path)
{
	struct field_reader *reader = arg;
	size_t i;

	if (str_equal(path, "metadata.name"))
		return reader->object->name;
	if (str_equal(path, "metadata.namespace"))
		return reader->object->namespace_;
	i = find_field(reader->kind, path);
	if (i == ARRAY_LEN(fields))
		return "";
	return read_text(reader, fields[i].path == NULL ? path : fields[i].path,
			 fields[i].missing == NULL ? "" : fields[i].missing);
}

bool
selection_matches(const struct selection *selection,
		  const struct object *object)
{
	struct field_reader reader;

	if (!selector_matches_labels(selection->labels, object->labels,
				     object->label_count))
		return false;
	if (selection->fields->len == 0)
		return true;
	reader.kind = selection->kind;
	reader.object = object;
	return fieldsel_matches(selection->fields, read_field, &reader);
}

bool
selection_rare_label(const struct selection *selection,
		     const struct collection *collection,
		     struct label *ret_label)
{
	size_t least = store_count(collection, NULL) / RARE_SHARE, at = 0;
	struct label label;
	bool found = false;

	while (selector_next_exact(selection->labels, &at, &label)) {
		size_t count = store_count_labelled(collection, &label);

		if (count > least)
			continue;
		least = count;
		*ret_label = label;
		found = true;
	}
	return found;
}

const char *
selection_name(const struct selection *selection)
{
	return fieldsel_exact_value(selection->fields, "metadata.name");
}
