/* SPDX-License-Identifier: Apache-2.0 */

/* ferry-controller - turns machines and migrations into pods. */

#include "base/array.h"
#include "base/command.h"
#include "base/js.h"
#include "controller/command.h"
#include "tls/init.h"
#include "version.h"

static const struct command commands[] = {
	{ "serve", command_serve, "run the controllers" },
};

static const struct program program = {
	.name = "ferry-controller",
	.summary = "Turns virtual machines and migrations into pods.",
	.manual = "ferry-controller(8)",
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
