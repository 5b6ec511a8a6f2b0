/* SPDX-License-Identifier: Apache-2.0 */

/* ferry-kubelet - runs the pods of a node. */

#include "base/array.h"
#include "base/command.h"
#include "base/js.h"
#include "kubelet/command.h"
#include "tls/init.h"
#include "version.h"

static const struct command commands[] = {
	{ "serve", command_serve, "the daemon of a node" },
	{ "monitor", command_monitor, "run one container; internal" },
	{ "sandbox", command_sandbox, "make a pod's namespaces; internal" },
	{ "remove", command_remove, "remove a pod's directory; internal" },
	{ "crun", command_crun, "run crun where it finds cgroups; internal" },
};

static const struct program program = {
	.name = "ferry-kubelet",
	.summary = "Runs the pods that are bound to a node.",
	.manual = "ferry-kubelet(8)",
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
