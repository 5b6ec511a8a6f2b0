/* SPDX-License-Identifier: Apache-2.0 */

/* ferry-proxy - carries live migrations between nodes over mutual TLS. */

#include "base/array.h"
#include "base/command.h"
#include "base/js.h"
#include "proxy/command.h"
#include "tls/init.h"
#include "version.h"

static const struct command commands[] = {
	{ "serve", command_serve, "the daemon a node runs" },
	{ "target", command_target, "receive one migration, without a daemon" },
	{ "source", command_source, "send one migration, without a daemon" },
	{ "pki", command_pki, "make a CA and node certificates, for trying" },
	{ "status", command_status, "what a daemon is and how it is" },
	{ "list", command_list, "listeners and streams of a daemon" },
	{ "metrics", command_metrics, "counters as Prometheus text" },
	{ "drain", command_drain, "let a daemon finish and end" },
	{ "call", command_call, "call a method of the control socket" },
};

static const struct program program = {
	.name = "ferry-proxy",
	.summary = "Carries live migrations between nodes over mutual TLS.",
	.manual = "ferry-proxy(8)",
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
