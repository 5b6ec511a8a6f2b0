/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/pathask.h"

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

static int
wait_for_answer(struct kubesync *kube, const struct kube_request *request,
		json_t **ret_status, struct err *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t until = loop_now_ms() + PATHASK_WAIT_MS;

	for (;;) {
		AUTO(js_unref) json_t *probe = NULL;
		json_t *status;

		if (kubesync_send(kube, request, &probe, err) == -1)
			return -1;
		status = js_obj_at(probe, "status");
		if (js_obj_at(status, "source") != NULL ||
		    loop_now_ms() > until) {
			*ret_status = status == NULL ? json_object()
						     : json_incref(status);
			return 0;
		}
		(void)nanosleep(&pause, NULL);
	}
}

int
pathask(struct kubesync *kube, const char *ns,
	const struct pathprobe_question *question, json_t **ret_status,
	struct err *err)
{
	AUTO(js_unref) json_t *body = pathprobe_new(question);
	AUTO(js_unref) json_t *made = NULL;
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = &api_path_probes,
		.ns = ns,
		.body = body,
		.timeout_ms = REQUEST_MS,
	};
	AUTO(free_ptr) char *name = NULL;
	struct err ignored;
	int result;

	if (kubesync_send(kube, &request, &made, err) == -1)
		return -1;
	name = xstrdup(obj_name(made));
	request.name = name;
	request.body = NULL;
	request.verb = KUBE_GET;
	result = wait_for_answer(kube, &request, ret_status, err);
	/* The nodes do so too, later. */
	request.verb = KUBE_DELETE;
	(void)kubesync_send(kube, &request, NULL, &ignored);
	return result;
}
