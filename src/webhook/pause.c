/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/pause.h"

#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/obj.h"
#include "meta/names.h"
#include "meta/status.h"

#define US_PER_MS 1000UL
#define MS_PER_S 1000U
/* Before a watch that ended is taken up: a server may end each at once. */
#define AGAIN_MS 200UL

struct pause {
	struct kube_client *client;
	char *ns, *name;
	bool pause, dry_run;
	void (*done)(const struct status *st, void *arg);
	void *arg;
	char id[NAME_UUID_SIZE];
	struct kube_call *call;
	struct kube_watch *watch;
	struct loop_timer *deadline;
	struct loop_timer *again; /* runs between two watches */
};

enum pause_answer
pause_judge(const json_t *vmi, const char *id, const char **ret_why)
{
	const char *answered = obj_annotation(vmi, ANNOTATION_PAUSE_ANSWERED);
	const char *why = obj_annotation(vmi, ANNOTATION_PAUSE_FAILURE);

	/* Somebody else asked for something else meanwhile. */
	if (!str_equal(obj_annotation(vmi, ANNOTATION_PAUSE_ID), id)) {
		*ret_why = "another request has replaced this one";
		return PAUSE_FAILED;
	}
	if (!str_equal(answered, id))
		return PAUSE_WAITING;
	if (why != NULL && why[0] != '\0') {
		*ret_why = why;
		return PAUSE_FAILED;
	}
	return PAUSE_DONE;
}

static void
finish(struct pause *pause, const char *why)
{
	AUTO(status_done) struct status st = STATUS_INIT;

	kube_watch_cancel(pause->watch);
	pause->watch = NULL;
	loop_timer_stop(pause->deadline);
	loop_timer_stop(pause->again);
	if (why != NULL)
		(void)status_internal(&st, "%s", why);
	pause->done(&st, pause->arg);
}

/* Returns whether it is over; pause may be gone then. */
static bool
look(struct pause *pause, const json_t *vmi)
{
	const char *why = NULL;

	switch (pause_judge(vmi, pause->id, &why)) {
	case PAUSE_WAITING:
		return false;
	case PAUSE_DONE:
	case PAUSE_FAILED:
		break;
	}
	finish(pause, why);
	return true;
}

static void
on_event(const char *type, json_t *object, void *arg)
{
	struct pause *pause = arg;

	if (strcmp(type, "DELETED") == 0)
		finish(pause, "the machine is gone");
	else if (strcmp(type, "BOOKMARK") != 0)
		(void)look(pause, object);
}

static void
on_ended(const struct status *st, void *arg)
{
	struct pause *pause = arg;

	(void)st;
	pause->watch = NULL;
	loop_timer_start(pause->again, AGAIN_MS * US_PER_MS);
}

static void
watch_from(struct pause *pause, const json_t *vmi)
{
	AUTO(free_ptr)
	char *selector = xasprintf("metadata.name=%s", pause->name);
	const struct kube_watch_request request = {
		.resource = &api_vmis,
		.ns = pause->ns,
		.field_selector = selector,
		.resource_version = obj_version(vmi),
		.timeout_s = PAUSE_TIMEOUT_MS / MS_PER_S,
		.event = on_event,
		.ended = on_ended,
		.arg = pause,
	};

	pause->watch = kube_watch_start(pause->client, &request);
}

static void
was_read(const struct kube_result *result, void *arg)
{
	struct pause *pause = arg;

	pause->call = NULL;
	if (result->status->code != 0)
		finish(pause, result->status->message);
	else if (!look(pause, result->answer))
		watch_from(pause, result->answer);
}

/* A watch that ended has told nothing wrong, only not all. */
static void
read_again(void *arg)
{
	struct pause *pause = arg;
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmis,
		.ns = pause->ns,
		.name = pause->name,
	};

	pause->call = kube_send(pause->client, &request, was_read, pause);
}

static void
was_asked(const struct kube_result *result, void *arg)
{
	struct pause *pause = arg;

	pause->call = NULL;
	if (result->status->code != 0)
		finish(pause, result->status->message);
	else if (pause->dry_run)
		finish(pause, NULL);
	else if (!look(pause, result->answer))
		watch_from(pause, result->answer);
}

/* Nobody answered: what was not begun shall not be. */
static void
withdraw(struct pause *pause)
{
	AUTO(js_unref)
	json_t *patch = json_pack(
		"[{s:s, s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "op", "test",
		"path", "/metadata/annotations/ferry.io~1pause-request-id",
		"value", pause->id, "op", "remove", "path",
		"/metadata/annotations/ferry.io~1pause-request-id", "op",
		"remove", "path",
		"/metadata/annotations/ferry.io~1pause-requested");
	const struct kube_request request = {
		.verb = KUBE_PATCH_JSON,
		.resource = &api_vmis,
		.ns = pause->ns,
		.name = pause->name,
		.body = patch,
	};

	(void)kube_send(pause->client, &request, NULL, NULL);
}

static void
too_late(void *arg)
{
	struct pause *pause = arg;

	kube_cancel(pause->call);
	pause->call = NULL;
	if (!pause->dry_run)
		withdraw(pause);
	finish(pause, "the node's agent did not answer in time");
}

struct pause *
pause_start(const struct pause_config *config)
{
	struct pause *pause = xmalloc0(sizeof(*pause));
	AUTO(js_unref) json_t *patch = NULL;
	struct kube_request request = {
		.verb = KUBE_PATCH_MERGE,
		.resource = &api_vmis,
		.ns = config->ns,
		.name = config->name,
		.dry_run = config->dry_run,
		/* Whoever sees this id twice has done it already. */
		.repeatable = true,
	};

	pause->client = config->client;
	pause->ns = xstrdup(config->ns);
	pause->name = xstrdup(config->name);
	pause->pause = config->pause;
	pause->dry_run = config->dry_run;
	pause->done = config->done;
	pause->arg = config->arg;
	patch = json_pack("{s:{s:{s:s, s:s, s:n}}}", "metadata", "annotations",
			  ANNOTATION_PAUSE_REQUESTED,
			  config->pause ? "true" : "false", ANNOTATION_PAUSE_ID,
			  name_uuid(pause->id), ANNOTATION_PAUSE_FAILURE);
	request.body = patch;
	pause->deadline = loop_timer_new(kube_client_loop(config->client),
					 too_late, pause);
	pause->again = loop_timer_new(kube_client_loop(config->client),
				      read_again, pause);
	loop_timer_start(pause->deadline, PAUSE_TIMEOUT_MS * US_PER_MS);
	pause->call = kube_send(config->client, &request, was_asked, pause);
	return pause;
}

void
pause_free(struct pause *pause)
{
	if (pause == NULL)
		return;
	kube_cancel(pause->call);
	kube_watch_cancel(pause->watch);
	loop_timer_free(pause->deadline);
	loop_timer_free(pause->again);
	free(pause->ns);
	free(pause->name);
	free(pause);
}
