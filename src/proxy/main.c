/* SPDX-License-Identifier: Apache-2.0 */

/* ferry-proxy - carries live migrations between nodes over mutual TLS. */

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/js.h"
#include "base/opts.h"
#include "proxy/command.h"
#include "tls/init.h"
#include "version.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
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

int
command_error(const struct err *err, int status)
{
	(void)fprintf(stderr, "ferry-proxy: %s\n", err->text);
	return status;
}

int
command_parse(const struct opts *opts, int argc, char **argv, int *ret_first,
	      int *ret_status)
{
	struct err err;

	switch (opts_parse(opts, argc, argv, ret_first, &err)) {
	case 0:
		return 1;
	case 1:
		opts_help(opts, stdout);
		*ret_status = 0;
		return 0;
	default:
		*ret_status = command_error(&err, COMMAND_USAGE);
		return 0;
	}
}

static int
help(void)
{
	(void)printf("usage: ferry-proxy COMMAND [options]\n\n"
		     "Carries live migrations between nodes over mutual TLS.\n"
		     "\ncommands:\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		(void)printf("  %-10s%s\n", commands[i].name, commands[i].help);
	(void)printf("\n'ferry-proxy COMMAND --help' says more; the manual is "
		     "ferry-proxy(8).\n");
	return 0;
}

int
main(int argc, char **argv)
{
	js_init();
	tls_init();
	if (argc < 2) {
		(void)fprintf(stderr, "ferry-proxy: no command was given; see "
				      "ferry-proxy --help\n");
		return COMMAND_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
		return help();
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("ferry-proxy %s (%s)\n", FERRY_VERSION,
			     FERRY_COMMIT);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	}
	(void)fprintf(stderr,
		      "ferry-proxy: unknown command '%s'; see ferry-proxy "
		      "--help\n",
		      argv[1]);
	return COMMAND_USAGE;
}
