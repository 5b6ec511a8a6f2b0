/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/array.h"
#include "base/command.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/command.h"
#include "version.h"

static const struct command commands[] = {
	{ "run", cmd_run, "run a machine (what options alone mean)" },
	{ "probe", cmd_probe, "find out what machines this node can run" },
};

static const struct program program = {
	.name = "ferry-launcher",
	.summary = "Runs one virtual machine in its pod.",
	.manual = "ferry-launcher(8)",
	.version = FERRY_VERSION " (" FERRY_COMMIT ")",
	.commands = commands,
	.count = ARRAY_LEN(commands),
};

int
main(int argc, char **argv)
{
	char run[] = "run";
	char **with_run;
	int status;

	js_init();
	/* A pod names no command. */
	if (argc < 2 || !str_has_prefix(argv[1], "--") ||
	    str_equal(argv[1], "--help") || str_equal(argv[1], "--version"))
		return command_main(&program, argc, argv);
	with_run = xcalloc((size_t)argc + 2, sizeof(*with_run));
	with_run[0] = argv[0];
	with_run[1] = run;
	memcpy(with_run + 2, argv + 1, (size_t)argc * sizeof(*argv));
	status = command_main(&program, argc + 1, with_run);
	free_ptr(&with_run);
	return status;
}
