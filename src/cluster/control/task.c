/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/task.h"

#include <stdlib.h>

#include "base/jsat.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/control/api.h"
#include "kube/worker.h"

struct task *
task_new(struct worker *worker, struct api *api, const char *key)
{
	struct task *task = xmalloc0(sizeof(*task));

	task->worker = worker;
	task->api = api;
	task->key = xstrdup(key);
	task->pending = 1;
	return task;
}

void
task_close(struct task *task)
{
	if (--task->pending > 0)
		return;
	if (task->again && !task->failed)
		worker_add(task->worker, task->key);
	worker_end(task->worker, task->key, task->failed);
	free(task->key);
	free(task);
}

static void
on_done(int code, const json_t *answer, void *arg)
{
	struct task *task = arg;

	if (!api_ok(code) && code != 0 && code != 404) {
		task->failed = true;
		/* It changed underneath, as things do. */
		if (code != 409)
			log_warning(NULL,
				    "a request about '%s' failed, trying "
				    "again: %s",
				    task->key, js_str_at(answer, "message"));
	}
	task_close(task);
}

void
task_send(struct task *task, const struct api_call *call)
{
	struct api_call mine = *call;

	task->pending++;
	mine.done = on_done;
	mine.arg = task;
	api_send(task->api, &mine);
}
