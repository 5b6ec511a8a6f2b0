/* SPDX-License-Identifier: Apache-2.0 */

/* ferry-api - admission webhooks and subresources of virtual machines. */

#include "base/array.h"
#include "base/command.h"
#include "base/js.h"
#include "tls/init.h"
#include "version.h"
#include "webhook/command.h"

static const struct command commands[] = {
	{ "serve", command_serve, "admission webhooks and subresources" },
	{ "manifests", command_manifests,
	  "what makes a cluster call it, for kubectl apply -f -" },
	{ "certificate", command_certificate,
	  "a CA and a server certificate to try it out" },
};

static const struct program program = {
	.name = "ferry-api",
	.summary = "Checks and completes virtual machines and migrations, and "
		   "starts, stops and moves them.",
	.manual = "ferry-api(8)",
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
