/* SPDX-License-Identifier: Apache-2.0 */

/* ferry-cluster - a Kubernetes-shaped control plane in one small process. */

#include "base/array.h"
#include "base/command.h"
#include "base/js.h"
#include "cluster/command.h"
#include "tls/init.h"
#include "version.h"

static const struct command commands[] = {
	{ "init", command_init, "make a directory with keys and a kubeconfig" },
	{ "serve", command_serve, "the API server, store and controllers" },
	{ "kubeconfig", command_kubeconfig, "credentials for another user" },
	{ "backup", command_backup,
	  "copy the state to a file, also while it "
	  "is in use" },
	{ "restore", command_restore, "make the state from a backup" },
};

static const struct program program = {
	.name = "ferry-cluster",
	.summary = "A Kubernetes-shaped control plane in one small process.",
	.manual = "ferry-cluster(8)",
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
