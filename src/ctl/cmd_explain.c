/* SPDX-License-Identifier: Apache-2.0 */

/* The command `explain`. */

#include <stdio.h>
#include <stdlib.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"
#include "ctl/command.h"
#include "ctl/page.h"
#include "ctl/verb.h"
#include "kube/obj.h"

#define REQUEST_MS 10000U

struct explain {
	struct verb verb;
	const char *output;
	json_t *vm, *vmi, *vmim;
	json_t *vmims, *pods, *events, *nodes, *unseen; /* arrays */
	bool no_events;                                 /* may be seen */
};

static int
get(struct explain *e, const struct kube_resource *resource, const char *name,
    json_t **ret, struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = resource,
		.ns = e->verb.ns,
		.name = name,
		.timeout_ms = REQUEST_MS,
	};

	return kubesync_send(e->verb.kube, &request, ret, err);
}

/* The same; what is not there is NULL and no failure. */
static int
find(struct explain *e, const struct kube_resource *resource, const char *name,
     json_t **ret, struct err *err)
{
	if (get(e, resource, name, ret, err) == 0)
		return 0;
	return err->kind == ERR_NOT_FOUND ? 0 : -1;
}

/* Appends what a list has. One that may not be read is noted. */
static int
list(struct explain *e, struct kube_request *request, json_t *to,
     struct err *err)
{
	AUTO(js_unref) json_t *answer = NULL;

	request->verb = KUBE_GET;
	request->ns = e->verb.ns;
	request->timeout_ms = REQUEST_MS;
	if (kubesync_send(e->verb.kube, request, &answer, err) == 0) {
		json_array_extend(to, js_arr_at(answer, "items"));
		return 0;
	}
	if (err->kind != ERR_DENIED)
		return -1;
	json_array_append_new(
		e->unseen,
		json_sprintf("%s: %s", request->resource->plural, err->text));
	return 0;
}

static int
list_migrations(struct explain *e, const char *vm, struct err *err)
{
	AUTO(free_ptr)
	char *selector = xasprintf(LABEL_VMI_NAME "==%s", vm);
	struct kube_request request = { .resource = &api_vmims,
					.label_selector = selector };

	return list(e, &request, e->vmims, err);
}

static int
list_pods(struct explain *e, struct err *err)
{
	AUTO(free_ptr)
	char *selector = xasprintf(LABEL_CREATED_BY "==%s", obj_uid(e->vmi));
	struct kube_request request = { .resource = &kube_pods,
					.label_selector = selector };

	return e->vmi == NULL ? 0 : list(e, &request, e->pods, err);
}

static int
list_events(struct explain *e, const char *name, struct err *err)
{
	AUTO(free_ptr)
	char *selector = xasprintf("involvedObject.name=%s", name);
	struct kube_request request = { .resource = &kube_events,
					.field_selector = selector };

	size_t unseen = json_array_size(e->unseen);

	/* Who may not see those of one object sees none, and is told once. */
	if (e->no_events)
		return 0;
	if (list(e, &request, e->events, err) == -1)
		return -1;
	e->no_events = json_array_size(e->unseen) > unseen;
	return 0;
}

/* One that is gone is {"metadata": {"name":}} alone. */
static int
look_at_node(struct explain *e, const char *name, struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &kube_nodes,
		.name = name,
		.timeout_ms = REQUEST_MS,
	};
	json_t *node = NULL;

	if (name[0] == '\0')
		return 0;
	if (kubesync_send(e->verb.kube, &request, &node, err) == 0) {
		json_array_append_new(e->nodes, node);
		return 0;
	}
	if (err->kind == ERR_NOT_FOUND) {
		json_array_append_new(
			e->nodes,
			json_pack("{s:{s:s}}", "metadata", "name", name));
		return 0;
	}
	if (err->kind != ERR_DENIED)
		return -1;
	json_array_append_new(e->unseen, json_sprintf("nodes: %s", err->text));
	return 0;
}

/* Where the machine is, and where the migration leads. */
static int
look_at_nodes(struct explain *e, struct err *err)
{
	const char *at = js_str_at(e->vmi, "status.nodeName");
	const char *to = js_str_at(e->vmim, "status.migrationState.targetNode");

	if (to[0] == '\0' &&
	    str_equal(js_str_at(e->vmi, "status.migrationState.migrationUid"),
		      obj_uid(e->vmim)))
		to = js_str_at(e->vmi, "status.migrationState.targetNode");
	if (look_at_node(e, at, err) == -1)
		return -1;
	return str_equal(at, to) ? 0 : look_at_node(e, to, err);
}

static int
find_vm(struct explain *e, const char *name, struct err *err)
{
	if (get(e, &api_vms, name, &e->vm, err) == -1)
		return -1;
	return find(e, &api_vmis, name, &e->vmi, err);
}

static int
find_vmi(struct explain *e, const char *name, struct err *err)
{
	if (get(e, &api_vmis, name, &e->vmi, err) == -1)
		return -1;
	return find(e, &api_vms, name, &e->vm, err);
}

static int
find_vmim(struct explain *e, const char *name, struct err *err)
{
	const char *vm;

	if (get(e, &api_vmims, name, &e->vmim, err) == -1)
		return -1;
	vm = js_str_at(e->vmim, "spec.vmiName");
	if (find(e, &api_vmis, vm, &e->vmi, err) == -1)
		return -1;
	return find(e, &api_vms, vm, &e->vm, err);
}

static const struct {
	const char *word;
	int (*find)(struct explain *e, const char *name, struct err *err);
} kinds[] = {
	{ "vm", find_vm },
	{ "vmi", find_vmi },
	{ "vmim", find_vmim },
};

/* kind NULL: whatever has that name. */
static int
find_subject(struct explain *e, const char *kind, const char *name,
	     struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (kind != NULL && !str_equal(kind, kinds[i].word))
			continue;
		if (kinds[i].find(e, name, err) == 0)
			return 0;
		if (kind != NULL || err->kind != ERR_NOT_FOUND)
			return -1;
	}
	return err_set(err, ERR_NOT_FOUND,
		       "there is no machine and no migration '%s' in "
		       "namespace '%s'",
		       name, e->verb.ns);
}

static int
gather(struct explain *e, struct err *err)
{
	const char *vm = e->vmim != NULL  ? js_str_at(e->vmim, "spec.vmiName")
			 : e->vmi != NULL ? obj_name(e->vmi)
					  : obj_name(e->vm);
	const json_t *pod;
	size_t i;

	if (list_migrations(e, vm, err) == -1 || list_pods(e, err) == -1)
		return -1;
	if (e->vmim == NULL)
		e->vmim = json_incref((json_t *)page_choose(e->vmims));
	if (list_events(e, vm, err) == -1 ||
	    (e->vmim != NULL && list_events(e, obj_name(e->vmim), err) == -1))
		return -1;
	json_array_foreach(e->pods, i, pod)
	{
		if (list_events(e, obj_name(pod), err) == -1)
			return -1;
	}
	return look_at_nodes(e, err);
}

static void
print_page(const struct explain *e)
{
	struct page_facts facts = {
		.ns = e->verb.ns,
		.vm = e->vm,
		.vmi = e->vmi,
		.vmim = e->vmim,
		.vmims = e->vmims,
		.pods = e->pods,
		.events = e->events,
		.nodes = e->nodes,
		.unseen = e->unseen,
	};
	AUTO(js_unref) json_t *page = page_json(&facts);
	AUTO(free_ptr) char *text = NULL;

	if (e->output != NULL) {
		text = json_dumps(page, JSON_INDENT(2));
		(void)printf("%s\n", text);
	} else {
		text = page_text(page);
		(void)fputs(text, stdout);
	}
}

static int
explain(struct explain *e, const char *kind, const char *name, struct err *err)
{
	if (verb_open(&e->verb, err) == -1 ||
	    find_subject(e, kind, name, err) == -1 || gather(e, err) == -1)
		return -1;
	print_page(e);
	return 0;
}

static void
explain_done(struct explain *e)
{
	json_t *const all[] = { e->vm,   e->vmi,    e->vmim,  e->vmims,
				e->pods, e->events, e->nodes, e->unseen };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		json_decref(all[i]);
	verb_done(&e->verb);
}

static bool
is_kind(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (str_equal(word, kinds[i].word))
			return true;
	}
	return false;
}

int
command_explain(int argc, char **argv)
{
	struct explain e = { .vmims = json_array(),
			     .pods = json_array(),
			     .events = json_array(),
			     .nodes = json_array(),
			     .unseen = json_array() };
	const struct opt table[] = {
		KUBE_FLAGS_OPTS(&e.verb.flags),
		{ "output", "json", "the page as a JSON object", OPT_STR,
		  &e.output, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl explain",
		.args = "[vm|vmi|vmim] NAME",
		.summary = "Says what happened to a machine or a migration, "
			   "what it waits for or why it failed, and what to "
			   "do.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 2,
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status)) {
		explain_done(&e);
		return status;
	}
	if (argc - first == 2 && !is_kind(argv[first]))
		status = err_set(&err, ERR_INVALID,
				 "'%s' is neither vm, vmi nor vmim",
				 argv[first]);
	else if (e.output != NULL && !str_equal(e.output, "json")) {
		status = err_set(&err, ERR_INVALID,
				 "--output: '%s' is not "
				 "json",
				 e.output);
	} else {
		status = explain(&e, argc - first == 2 ? argv[first] : NULL,
				 argv[argc - 1], &err);
	}
	if (status == -1)
		status = command_error(&err, err.kind == ERR_INVALID
						     ? COMMAND_USAGE
						     : COMMAND_FAILED);
	explain_done(&e);
	return status;
}
