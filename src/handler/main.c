/* SPDX-License-Identifier: Apache-2.0 */

/* ferry-handler - the agent of a node. */

#include "base/array.h"
#include "base/command.h"
#include "base/js.h"
#include "handler/command.h"
#include "tls/init.h"
#include "version.h"

static const struct command commands[] = {
	{ "serve", command_serve, "run the machines of a node" },
};

static const struct program program = {
	.name = "ferry-handler",
	.summary = "Runs the virtual machines of a node, and both ends of "
		   "their migrations.",
	.manual = "ferry-handler(8)",
	.version = FERRY_VERSION " (" FERRY_COMMIT ")",
	.commands = commands,
	.count = ARRAY_LEN(commands),
};

int
main(int argc, char **argv)
{
	js_init();
	tls_init();
	return command_main(&program, argc, argv);
}
