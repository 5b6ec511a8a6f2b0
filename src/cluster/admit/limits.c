/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/admission.h"
#include "meta/amount.h"
#include "cluster/kinds/kind.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/quantity.h"
#include "meta/status.h"

#define ANNOTATION "kubernetes.io/limit-ranger"
/* Of what is wrong and of what was set; more is cut. */
#define TEXT_MAX (16 * 1024)

/* What is held against the bounds: a container, a pod, a claim. */
struct subject {
	const char *type; /* "Container", ... */
	const json_t *requests;
	const json_t *limits;
	const json_t *pod; /* NULL, or counts instead of the two above */
};

struct faults {
	struct buf text;
	size_t count;
};

static void __attribute__((format(printf, 2, 3)))
fault(struct faults *faults, const char *fmt, ...)
{
	AUTO(free_ptr) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		abort();
	va_end(ap);
	if (faults->count++ > 0)
		(void)buf_append_str(&faults->text, ", ");
	(void)buf_append_str(&faults->text, text);
}

static void
merge_missing(json_t *item, const char *into, const char *from)
{
	json_t *source = js_obj_at(item, from), *value;
	const char *name;
	json_t *target;

	if (json_object_size(source) == 0)
		return;
	target = js_make_obj_at(item, into);
	json_object_foreach(source, name, value)
	{
		if (json_object_get(target, name) == NULL)
			(void)json_object_set_new(target, name,
						  json_deep_copy(value));
	}
}

void
limits_complete(json_t *limit_range)
{
	json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(limit_range, "spec.limits"), i, item)
	{
		if (!str_equal(js_str_at(item, "type"), "Container"))
			continue;
		merge_missing(item, "default", "max");
		merge_missing(item, "defaultRequest", "default");
		merge_missing(item, "defaultRequest", "min");
	}
}

/* Adds what is missing and notes its names, sorted: "cpu, memory". */
static size_t
add_defaults(json_t *container, const char *into, const json_t *defaults,
	     struct buf *names)
{
	const char *name;
	json_t *value, *target = NULL;
	size_t added = 0;

	/* jansson keeps members as they came; stored texts are sorted. */
	json_object_foreach((json_t *)defaults, name, value)
	{
		if (target == NULL)
			target = js_make_obj_at(container, into);
		if (json_object_get(target, name) != NULL)
			continue;
		(void)json_object_set_new(target, name, json_deep_copy(value));
		(void)buf_printf(names, "%s%s", added++ > 0 ? ", " : "", name);
	}
	return added;
}

struct annotation {
	struct buf text;
	size_t count;
};

static void
annotate(struct annotation *note, const struct buf *names, const char *what,
	 const char *container)
{
	(void)buf_printf(&note->text, "%s%s %s %s",
			 note->count++ > 0 ? "; " : "LimitRanger plugin set: ",
			 (const char *)names->data, what, container);
}

static void
default_container(json_t *container, const json_t *item, bool init,
		  struct annotation *note)
{
	const char *name = js_str_at(container, "name");
	struct buf names = BUF_INIT(TEXT_MAX);

	if (add_defaults(container, "resources.requests",
			 js_obj_at(item, "defaultRequest"), &names) > 0)
		annotate(note, &names,
			 init ? "request for init container"
			      : "request for container",
			 name);
	buf_clear(&names);
	if (add_defaults(container, "resources.limits",
			 js_obj_at(item, "default"), &names) > 0)
		annotate(note, &names,
			 init ? "limit for init container"
			      : "limit for container",
			 name);
	buf_done(&names);
}

static void
default_pod(json_t *pod, const json_t *item, struct annotation *note)
{
	json_t *container;
	size_t i;

	if (!str_equal(js_str_at(item, "type"), "Container"))
		return;
	json_array_foreach(js_arr_at(pod, "spec.containers"), i, container)
		default_container(container, item, false, note);
	json_array_foreach(js_arr_at(pod, "spec.initContainers"), i, container)
		default_container(container, item, true, note);
}

static size_t
list_ranges(struct store *store, const char *ns, struct object ***ret_objects)
{
	return store_list(store_collection(store, "", "limitranges"), ns, NULL,
			  0, ret_objects);
}

void
limits_default(struct store *store, const struct admission_request *req)
{
	struct annotation note = { .text = BUF_INIT(TEXT_MAX) };
	struct object **objects;
	size_t count = list_ranges(store, req->namespace_, &objects);

	for (size_t i = 0; i < count; i++) {
		AUTO(js_unref) json_t *range = object_json(objects[i]);
		const json_t *item;
		size_t n;

		json_array_foreach(js_arr_at(range, "spec.limits"), n, item)
			default_pod(req->object, item, &note);
	}
	objects_unref(objects, count);
	if (note.count > 0)
		(void)json_object_set_new(
			js_make_obj_at(req->object, "metadata.annotations"),
			ANNOTATION, json_string((const char *)note.text.data));
	buf_done(&note.text);
}

static bool
amount(const struct subject *subject, const char *list, const char *resource,
       struct quantity *ret_q)
{
	if (subject->pod != NULL)
		return amount_of_pod(subject->pod, list, resource, ret_q);
	return amount_in(str_equal(list, "limits") ? subject->limits
						   : subject->requests,
			 resource, ret_q);
}

/* One kind of bound: "minimum" refuses less, "maximum" refuses more. */
struct bound {
	const char *word;
	int wrong;         /* the result of a comparison that is refused */
	const char *first; /* of requests and limits: must be there */
	const char *second;
};

static const struct bound minimum = { "minimum", -1, "requests", "limits" };
static const struct bound maximum = { "maximum", 1, "limits", "requests" };
/* A claim has no limits. */
static const struct bound maximum_of_claim = { "maximum", 1, "requests", NULL };

static const char *
singular(const char *list)
{
	return str_equal(list, "limits") ? "limit" : "request";
}

static int
sign(int n)
{
	return (n > 0) - (n < 0);
}

static void
check_bound(const struct subject *subject, const struct bound *bound,
	    const char *resource, const struct quantity *enforced,
	    struct faults *faults)
{
	const char *const lists[] = { bound->first, bound->second };
	char should[QUANTITY_TEXT_SIZE], is[QUANTITY_TEXT_SIZE];
	struct quantity q;

	(void)quantity_text(enforced, should, sizeof(should));
	if (!amount(subject, bound->first, resource, &q)) {
		fault(faults, "%s %s usage per %s is %s.  No %s is specified",
		      bound->word, resource, subject->type, should,
		      singular(bound->first));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(lists) && lists[i] != NULL; i++) {
		if (!amount(subject, lists[i], resource, &q) ||
		    sign(quantity_cmp(&q, enforced)) != bound->wrong)
			continue;
		fault(faults, "%s %s usage per %s is %s, but %s is %s",
		      bound->word, resource, subject->type, should,
		      singular(lists[i]), quantity_text(&q, is, sizeof(is)));
		return;
	}
}

static void
check_bounds(const struct subject *subject, const json_t *list,
	     const struct bound *bound, struct faults *faults)
{
	const char *resource;
	json_t *value;

	json_object_foreach((json_t *)list, resource, value)
	{
		struct quantity enforced;

		if (amount_of(value, &enforced))
			check_bound(subject, bound, resource, &enforced,
				    faults);
	}
}

static void
check_ratio(const struct subject *subject, const char *resource,
	    const struct quantity *enforced, struct faults *faults)
{
	char should[QUANTITY_TEXT_SIZE];
	struct quantity request, limit;
	const char *missing = NULL;
	double ratio;

	(void)quantity_text(enforced, should, sizeof(should));
	if (!amount(subject, "requests", resource, &request) ||
	    quantity_is_zero(&request))
		missing = "request";
	else if (!amount(subject, "limits", resource, &limit) ||
		 quantity_is_zero(&limit))
		missing = "limit";
	if (missing != NULL) {
		fault(faults,
		      "%s max limit to request ratio per %s is %s, but no %s "
		      "is specified or %s is 0",
		      resource, subject->type, should, missing, missing);
		return;
	}
	ratio = (double)limit.nano / (double)request.nano;
	if (ratio * 1000 > (double)quantity_milli(enforced))
		fault(faults,
		      "%s max limit to request ratio per %s is %s, but "
		      "provided ratio is %f",
		      resource, subject->type, should, ratio);
}

static void
check_ratios(const struct subject *subject, const json_t *list,
	     struct faults *faults)
{
	const char *resource;
	json_t *value;

	json_object_foreach((json_t *)list, resource, value)
	{
		struct quantity enforced;

		if (amount_of(value, &enforced))
			check_ratio(subject, resource, &enforced, faults);
	}
}

static void
check_subject(const struct subject *subject, const json_t *item,
	      struct faults *faults)
{
	check_bounds(subject, js_obj_at(item, "min"), &minimum, faults);
	check_bounds(subject, js_obj_at(item, "max"), &maximum, faults);
	check_ratios(subject, js_obj_at(item, "maxLimitRequestRatio"), faults);
}

static void
check_containers(const json_t *containers, const json_t *item,
		 struct faults *faults)
{
	const json_t *container;
	size_t i;

	json_array_foreach(containers, i, container)
	{
		const struct subject subject = {
			.type = "Container",
			.requests = js_obj_at(container, "resources.requests"),
			.limits = js_obj_at(container, "resources.limits"),
		};

		check_subject(&subject, item, faults);
	}
}

static void
check_pod(const json_t *pod, const json_t *item, struct faults *faults)
{
	const char *type = js_str_at(item, "type");

	if (str_equal(type, "Container")) {
		check_containers(js_arr_at(pod, "spec.containers"), item,
				 faults);
		check_containers(js_arr_at(pod, "spec.initContainers"), item,
				 faults);
	} else if (str_equal(type, "Pod")) {
		const struct subject subject = { .type = "Pod", .pod = pod };

		check_subject(&subject, item, faults);
	}
}

static void
check_claim(const json_t *claim, const json_t *item, struct faults *faults)
{
	const struct subject subject = {
		.type = "PersistentVolumeClaim",
		.requests = js_obj_at(claim, "spec.resources.requests"),
	};

	if (!str_equal(js_str_at(item, "type"), subject.type))
		return;
	check_bounds(&subject, js_obj_at(item, "min"), &minimum, faults);
	check_bounds(&subject, js_obj_at(item, "max"), &maximum_of_claim,
		     faults);
}

static void
check_range(const struct admission_request *req, const json_t *range,
	    struct faults *faults)
{
	bool is_pod = str_equal(req->kind->plural, "pods");
	const json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(range, "spec.limits"), i, item)
	{
		if (is_pod)
			check_pod(req->object, item, faults);
		else
			check_claim(req->object, item, faults);
	}
}

static int
refuse(const struct admission_request *req, const struct faults *faults,
       struct status *st)
{
	const struct gr gr = { .group = "", .resource = req->kind->plural };
	const char *text = (const char *)faults->text.data;
	AUTO(free_ptr)
	char *why = faults->count > 1 ? xasprintf("[%s]", text) : xstrdup(text);

	return status_forbidden(st, &gr, req->name, why);
}

int
limits_check(struct store *store, const struct admission_request *req,
	     struct status *st)
{
	struct object **objects;
	size_t count = list_ranges(store, req->namespace_, &objects);
	int result = 0;

	/* The first LimitRange that is broken is the one that is told of. */
	for (size_t i = 0; i < count && result == 0; i++) {
		AUTO(js_unref) json_t *range = object_json(objects[i]);
		struct faults faults = { .text = BUF_INIT(TEXT_MAX) };

		check_range(req, range, &faults);
		if (faults.count > 0)
			result = refuse(req, &faults, st);
		buf_done(&faults.text);
	}
	objects_unref(objects, count);
	return result;
}
