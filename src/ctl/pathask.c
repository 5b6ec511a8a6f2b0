/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/pathask.h"

#include <stdbool.h>
#include <time.h>

#include "api/kinds.h"
#include "api/pathprobe.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "ctl/kubesync.h"
#include "kube/obj.h"

#define REQUEST_MS 10000U
#define LOOK_NS (200L * 1000 * 1000)

/* Makes the objects; names has those that were made, whatever the result. */
static int
ask(struct kubesync *kube, const char *ns,
    const struct pathprobe_question *questions, size_t count, json_t *names,
    struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		AUTO(js_unref) json_t *body = pathprobe_new(&questions[i]);
		AUTO(js_unref) json_t *made = NULL;
		const struct kube_request request = {
			.verb = KUBE_CREATE,
			.resource = &api_path_probes,
			.ns = ns,
			.body = body,
			.timeout_ms = REQUEST_MS,
		};

		if (kubesync_send(kube, &request, &made, err) == -1)
			return -1;
		json_array_append_new(names, json_string(obj_name(made)));
	}
	return 0;
}

/* Looks at those that are not answered yet; whether there are any left. */
static int
look(struct kubesync *kube, const char *ns, const json_t *names,
     json_t *statuses, bool *ret_left, struct err *err)
{
	const json_t *name;
	size_t i;

	*ret_left = false;
	json_array_foreach(names, i, name)
	{
		AUTO(js_unref) json_t *probe = NULL;
		const struct kube_request request = {
			.verb = KUBE_GET,
			.resource = &api_path_probes,
			.ns = ns,
			.name = json_string_value(name),
			.timeout_ms = REQUEST_MS,
		};
		json_t *status;

		if (js_at(json_array_get(statuses, i), "source") != NULL)
			continue;
		if (kubesync_send(kube, &request, &probe, err) == -1)
			return -1;
		status = js_obj_at(probe, "status");
		if (status != NULL)
			json_array_set(statuses, i, status);
		if (js_obj_at(status, "source") == NULL)
			*ret_left = true;
	}
	return 0;
}

static int
wait_for_answers(struct kubesync *kube, const char *ns, const json_t *names,
		 json_t *statuses, struct err *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t until = loop_now_ms() + PATHASK_WAIT_MS;
	bool left;

	for (;;) {
		if (look(kube, ns, names, statuses, &left, err) == -1)
			return -1;
		if (!left || loop_now_ms() > until)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
}

/* The nodes do so too, later. */
static void
forget(struct kubesync *kube, const char *ns, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		const struct kube_request request = {
			.verb = KUBE_DELETE,
			.resource = &api_path_probes,
			.ns = ns,
			.name = json_string_value(name),
			.timeout_ms = REQUEST_MS,
		};
		struct err ignored;

		(void)kubesync_send(kube, &request, NULL, &ignored);
	}
}

int
pathask_all(struct kubesync *kube, const char *ns,
	    const struct pathprobe_question *questions, size_t count,
	    json_t **ret_statuses, struct err *err)
{
	AUTO(js_unref) json_t *names = json_array();
	AUTO(js_unref) json_t *statuses = json_array();
	int result;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(statuses, json_object());
	result = ask(kube, ns, questions, count, names, err);
	if (result == 0)
		result = wait_for_answers(kube, ns, names, statuses, err);
	forget(kube, ns, names);
	if (result == 0)
		*ret_statuses = TAKE_PTR(statuses);
	return result;
}

int
pathask(struct kubesync *kube, const char *ns,
	const struct pathprobe_question *question, json_t **ret_status,
	struct err *err)
{
	AUTO(js_unref) json_t *statuses = NULL;

	if (pathask_all(kube, ns, question, 1, &statuses, err) == -1)
		return -1;
	*ret_status = json_incref(json_array_get(statuses, 0));
	return 0;
}
