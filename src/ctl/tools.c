/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/tools.h"

#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/process.h"

/* The name, and the directory of the source tree that it is built in. */
static const struct {
	const char *name, *source;
} tools[TOOL_COUNT] = {
	[TOOL_CLUSTER] = { "ferry-cluster", "cluster" },
	[TOOL_API] = { "ferry-api", "webhook" },
	[TOOL_CONTROLLER] = { "ferry-controller", "controller" },
	[TOOL_KUBELET] = { "ferry-kubelet", "kubelet" },
	[TOOL_HANDLER] = { "ferry-handler", "handler" },
	[TOOL_PROXY] = { "ferry-proxy", "proxy" },
	[TOOL_LAUNCHER] = { "ferry-launcher", "launcher" },
};

const char *
tool_name(enum tool tool)
{
	return tools[tool].name;
}

/* Takes path. */
static bool
is_program(char **ret_path, char *path)
{
	if (access(path, X_OK) == 0) {
		*ret_path = path;
		return true;
	}
	free(path);
	return false;
}

int
tool_find(enum tool tool, const char *bin_dir, char **ret_path, struct err *err)
{
	const char *name = tools[tool].name;
	char self[PATH_MAX] = "";
	const char *here;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (bin_dir != NULL) {
		if (is_program(ret_path, xasprintf("%s/%s", bin_dir, name)))
			return 0;
		return err_set(err, ERR_NOT_FOUND, "there is no %s in '%s'",
			       name, bin_dir);
	}
	self[len > 0 ? len : 0] = '\0';
	here = dirname(self);
	if (is_program(ret_path, xasprintf("%s/%s", here, name)) ||
	    is_program(ret_path, xasprintf("%s/../sbin/%s", here, name)) ||
	    is_program(ret_path, xasprintf("%s/../%s/%s", here,
					   tools[tool].source, name)))
		return 0;
	return err_set(err, ERR_NOT_FOUND,
		       "cannot find %s beside ferryctl; say where with "
		       "--bin-dir",
		       name);
}

struct run {
	struct loop *loop;
	char **ret_out;
	struct err *err;
	int result;
};

static void
ended(const struct process_result *result, void *arg)
{
	struct run *run = arg;

	if (result->err != NULL)
		*run->err = *result->err;
	else if (run->ret_out != NULL)
		*run->ret_out = xstrdup(result->out);
	run->result = result->err != NULL ? -1 : 0;
	loop_stop(run->loop);
}

int
tool_run(const char *const *argv, char **ret_out, struct err *err)
{
	struct run run = { .ret_out = ret_out, .err = err };
	struct process_spec spec = { .argv = argv, .timeout_ms = TOOL_RUN_MS };

	run.loop = loop_new();
	(void)process_start(run.loop, &spec, ended, &run);
	loop_run(run.loop);
	loop_free(run.loop);
	return run.result;
}
