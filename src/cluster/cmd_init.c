/* SPDX-License-Identifier: Apache-2.0 */

/* The commands `init` and `kubeconfig`. */

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/opts.h"
#include "cluster/command.h"
#include "cluster/home.h"

#define USER_DAYS 365
#define DAYS_MAX 36500

int
command_init(int argc, char **argv)
{
	const char *dir = NULL, *address = "127.0.0.1", *name = "ferry";
	struct opts_list sans = { .count = 0 };
	uint64_t port = HOME_PORT_DEFAULT;
	const struct opt table[] = {
		{ "dir", "DIR", "where everything is kept", OPT_STR, &dir, 0,
		  0 },
		{ "address", "ADDR",
		  "where clients find the server (default 127.0.0.1)", OPT_STR,
		  &address, 0, 0 },
		{ "port", "PORT", "its port (default 6443)", OPT_U64, &port, 0,
		  UINT16_MAX },
		{ "san", "NAME",
		  "further name or address of its certificate; may be given "
		  "several times",
		  OPT_LIST, &sans, 0, 0 },
		{ "name", "NAME",
		  "of the cluster in kubeconfigs (default "
		  "ferry)",
		  OPT_STR, &name, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-cluster init",
		.summary = "Makes keys, certificates and an admin kubeconfig "
			   "in a new directory.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	struct home_settings settings;
	const char *names[OPTS_LIST_MAX + 1] = { NULL };
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (dir == NULL) {
		(void)err_set(&err, ERR_INVALID, "--dir is missing");
		return command_error(&err, COMMAND_USAGE);
	}
	for (size_t i = 0; i < sans.count; i++)
		names[i] = sans.value[i];
	settings = (struct home_settings){
		.name = name, .address = address, .port = port, .sans = names
	};
	if (home_init(dir, &settings, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	(void)printf("The cluster is in %s. Start it with\n\n"
		     "  ferry-cluster serve --dir %s\n\n"
		     "and use it with\n\n"
		     "  export KUBECONFIG=%s/admin.kubeconfig\n",
		     dir, dir, dir);
	return 0;
}

int
command_kubeconfig(int argc, char **argv)
{
	const char *dir = NULL, *user = NULL;
	struct opts_list groups = { .count = 0 };
	uint64_t days = USER_DAYS;
	const struct opt table[] = {
		{ "dir", "DIR", "the cluster's directory", OPT_STR, &dir, 0,
		  0 },
		{ "user", "NAME", "who; system:node:N for a node", OPT_STR,
		  &user, 0, 0 },
		{ "group", "NAME", "a group of his; may be given several times",
		  OPT_LIST, &groups, 0, 0 },
		{ "days", "N", "until the certificate expires (default 365)",
		  OPT_U64, &days, 1, DAYS_MAX },
	};
	const struct opts opts = {
		.program = "ferry-cluster kubeconfig",
		.summary = "Prints a kubeconfig with a new client certificate.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	const char *names[OPTS_LIST_MAX + 1] = { NULL };
	struct home_user who;
	struct home home;
	int first, status;
	struct err err;
	char *text = NULL;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (dir == NULL || user == NULL) {
		(void)err_set(&err, ERR_INVALID, "%s is missing",
			      dir == NULL ? "--dir" : "--user");
		return command_error(&err, COMMAND_USAGE);
	}
	for (size_t i = 0; i < groups.count; i++)
		names[i] = groups.value[i];
	who = (struct home_user){ user, names, (unsigned)days };
	if (home_open(dir, &home, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	status = home_find_server(&home, &err);
	if (status == 0)
		status = home_kubeconfig(&home, &who, &text, &err);
	home_done(&home);
	if (status == -1)
		return command_error(&err, COMMAND_FAILED);
	(void)fputs(text, stdout);
	free(text);
	return 0;
}
