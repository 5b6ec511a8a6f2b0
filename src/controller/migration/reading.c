/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "kube/client.h"
#include "kube/obj.h"
#include "meta/time.h"

enum part {
	PART_VMI,
	PART_PODS,
	PART_VMIMS, /* all of the machine, or only the one */
	PART_COUNT,
};

struct state;

struct call {
	struct state *state;
	enum part part;
	struct kube_call *call; /* NULL: answered */
};

/* The reading, and how it comes about. */
struct state {
	struct reading reading; /* first, see state_of() */
	struct call calls[PART_COUNT];
	unsigned open;
	char *uid;     /* of the migration */
	char *vmi_uid; /* "" if it is not known */
	void (*done)(struct reading *reading, void *arg);
	void *arg;
};

static struct state *
state_of(struct reading *reading)
{
	return (struct state *)(void *)reading;
}

/* One that makes no sense is a fact like others: to ask again would not help.
 */
static void
take_vmi(struct reading *r, json_t *answer)
{
	r->vmi_json = json_incref(answer);
	r->vmi = vmi_decode(answer, &r->vmi_err);
	r->vmi_bad = r->vmi == NULL;
}

static int
take_vmim(struct state *s, json_t *object)
{
	struct reading *r = &s->reading;
	struct vmim *vmim;

	if (strcmp(obj_uid(object), s->uid) != 0 && r->others_unknown)
		return 0;
	vmim = vmim_decode(object, &r->err);
	/* One that makes no sense takes no part, as in the cache. */
	if (vmim == NULL)
		return strcmp(obj_uid(object), s->uid) == 0 ? -1 : 0;
	if (strcmp(vmim->meta.uid, s->uid) == 0) {
		r->vmim = vmim;
		r->vmim_json = json_incref(object);
		return 0;
	}
	r->others[r->other_count++] = vmim;
	return 0;
}

static int
take_vmims(struct state *s, json_t *answer)
{
	struct reading *r = &s->reading;
	json_t *items = js_arr_at(answer, "items");
	size_t i;
	json_t *item;

	if (r->others_unknown)
		return take_vmim(s, answer);
	if (json_array_size(items) > READING_VMIMS_MAX)
		return err_set(&r->err, ERR_LIMIT,
			       "the machine has more than %d migrations",
			       READING_VMIMS_MAX);
	r->others = xcalloc(json_array_size(items) + 1, sizeof(struct vmim *));
	json_array_foreach(items, i, item)
	{
		if (take_vmim(s, item) == -1)
			return -1;
	}
	return 0;
}

static int
take_pods(struct reading *r, json_t *answer)
{
	json_t *items = js_arr_at(answer, "items");
	size_t i;
	json_t *item;

	if (json_array_size(items) > READING_PODS_MAX)
		return err_set(&r->err, ERR_LIMIT,
			       "the machine has more than %d pods",
			       READING_PODS_MAX);
	r->pods_json = json_incref(items);
	r->pods = xcalloc(json_array_size(items) + 1, sizeof(struct pod *));
	json_array_foreach(items, i, item)
	{
		struct err err;
		struct pod *pod = pod_decode(item, &err);

		if (pod != NULL)
			r->pods[r->pod_count++] = pod;
	}
	return 0;
}

static int
take(struct state *s, enum part part, const struct kube_result *result)
{
	if (kube_is_not_found(result) && part != PART_PODS)
		return 0;
	if (result->status->code != 0)
		return err_set(&s->reading.err, ERR_UNAVAILABLE, "%s",
			       result->status->message);
	if (result->answer == NULL)
		return err_set(&s->reading.err, ERR_UNAVAILABLE,
			       "the server's answer is no JSON");
	switch (part) {
	case PART_VMI:
		take_vmi(&s->reading, result->answer);
		return 0;
	case PART_PODS:
		return take_pods(&s->reading, result->answer);
	case PART_VMIMS:
		return take_vmims(s, result->answer);
	case PART_COUNT:
		break;
	}
	return -1;
}

static void
check_machine(struct state *s)
{
	struct reading *r = &s->reading;

	if (!r->ok || r->vmi == NULL ||
	    strcmp(r->vmi->meta.uid, s->vmi_uid) == 0)
		return;
	(void)err_set(&r->err, ERR_CONFLICT,
		      "the machine is another than the one that was known");
	r->ok = false;
}

static void
on_answer(const struct kube_result *result, void *arg)
{
	struct call *call = arg;
	struct state *s = call->state;
	struct reading *r = &s->reading;

	call->call = NULL;
	if (r->ok && take(s, call->part, result) == -1)
		r->ok = false;
	if (--s->open > 0)
		return;
	check_machine(s);
	r->at_us = time_now_us();
	s->done(r, s->arg);
}

static void
ask(struct state *s, enum part part, const struct reading_request *request,
    const struct kube_request *what)
{
	struct kube_request copy = *what;
	struct call *call = &s->calls[part];

	copy.verb = KUBE_GET;
	copy.ns = request->vmim->meta.ns;
	copy.urgent = request->urgent;
	call->state = s;
	call->part = part;
	s->open++;
	call->call = kube_send(request->client, &copy, on_answer, call);
}

static void
ask_pods(struct state *s, const struct reading_request *request)
{
	char selector[512];

	/* Without its machine only the pod that was made for it matters. */
	if (s->vmi_uid[0] != '\0')
		(void)snprintf(selector, sizeof(selector), "%s=%s",
			       LABEL_CREATED_BY, s->vmi_uid);
	else
		(void)snprintf(selector, sizeof(selector), "%s=%s",
			       LABEL_MIGRATION_UID, s->uid);
	ask(s, PART_PODS, request,
	    &(struct kube_request){ .resource = &kube_pods,
				    .label_selector = selector });
}

static void
ask_vmims(struct state *s, const struct reading_request *request)
{
	const struct vmim *vmim = request->vmim;
	struct kube_request what = { .resource = &api_vmims };
	char selector[512];

	s->reading.others_unknown =
		vmim->vmi_label[0] == '\0' ||
		strcmp(vmim->vmi_label, vmim->vmi_name) != 0;
	if (s->reading.others_unknown) {
		what.name = vmim->meta.name;
	} else {
		(void)snprintf(selector, sizeof(selector), "%s=%s",
			       LABEL_VMI_NAME, vmim->vmi_label);
		what.label_selector = selector;
	}
	ask(s, PART_VMIMS, request, &what);
}

struct reading *
reading_start(const struct reading_request *request)
{
	struct state *s = xmalloc0(sizeof(*s));

	s->reading.ok = true;
	s->uid = xstrdup(request->vmim->meta.uid);
	s->vmi_uid = xstrdup(request->vmi_uid);
	s->done = request->done;
	s->arg = request->arg;
	ask(s, PART_VMI, request,
	    &(struct kube_request){ .resource = &api_vmis,
				    .name = request->vmim->vmi_name });
	ask_pods(s, request);
	ask_vmims(s, request);
	return &s->reading;
}

void
reading_free(struct reading *r)
{
	struct state *s;

	if (r == NULL)
		return;
	s = state_of(r);
	for (size_t i = 0; i < ARRAY_LEN(s->calls); i++)
		kube_cancel(s->calls[i].call);
	for (size_t i = 0; i < r->other_count; i++)
		vmim_free(r->others[i]);
	for (size_t i = 0; i < r->pod_count; i++)
		pod_free(r->pods[i]);
	free(r->others);
	free(r->pods);
	vmim_free(r->vmim);
	vmi_free(r->vmi);
	json_decref(r->vmim_json);
	json_decref(r->vmi_json);
	json_decref(r->pods_json);
	free(s->uid);
	free(s->vmi_uid);
	free(s);
}

const json_t *
reading_pod_json(const struct reading *r, const char *name)
{
	size_t i;
	json_t *item;

	json_array_foreach(r->pods_json, i, item)
	{
		if (strcmp(obj_name(item), name) == 0)
			return item;
	}
	return NULL;
}
