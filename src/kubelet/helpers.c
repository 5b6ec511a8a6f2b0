/* SPDX-License-Identifier: Apache-2.0 */

/* Commands that the kubelet runs itself as, for what must not be done by it. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/command.h"
#include "base/err.h"
#include "base/opts.h"
#include "kubelet/command.h"
#include "kubelet/monitor.h"
#include "kubelet/removal.h"
#include "kubelet/runspace.h"
#include "kubelet/sandbox.h"

#define REMOVE_MAX 256

int
command_monitor(int argc, char **argv)
{
	const struct opts opts = {
		.program = "ferry-kubelet monitor",
		.args = "DIR",
		.summary = "Runs the container of a directory, once.",
		.args_min = 1,
		.args_max = 1,
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (monitor_run(argv[first], &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}

int
command_sandbox(int argc, char **argv)
{
	const struct opts opts = {
		.program = "ferry-kubelet sandbox",
		.args = "DIR HOSTNAME",
		.summary = "Makes the namespaces of a pod.",
		.args_min = 2,
		.args_max = 2,
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (sandbox_make(argv[first], argv[first + 1], &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}

int
command_remove(int argc, char **argv)
{
	const struct opts opts = {
		.program = "ferry-kubelet remove",
		.args = "DIR...",
		.summary = "Unmounts and removes all below directories.",
		.args_min = 1,
		.args_max = REMOVE_MAX,
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	status = 0;
	for (; first < argc; first++) {
		if (removal_run(argv[first], &err) == -1)
			status = command_error(&err, COMMAND_FAILED);
	}
	return status;
}

int
command_crun(int argc, char **argv)
{
	struct err err;

	if (argc < 2) {
		(void)err_set(&err, ERR_INVALID, "PROGRAM is missing");
		return command_error(&err, COMMAND_USAGE);
	}
	if (runspace_enter(&err) == -1)
		return command_error(&err, COMMAND_FAILED);
	(void)execvp(argv[1], argv + 1);
	(void)err_errno(&err, "cannot run '%s'", argv[1]);
	return command_error(&err, COMMAND_FAILED);
}
