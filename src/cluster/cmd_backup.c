/* SPDX-License-Identifier: Apache-2.0 */

/* The commands `backup` and `restore`. */

#include <stdio.h>

#include "base/array.h"
#include "base/err.h"
#include "base/opts.h"
#include "cluster/command.h"
#include "cluster/store/store.h"

/* What the two have in common: a directory and a file. */
static int
run(int argc, char **argv, const struct opts *what,
    int (*work)(const char *dir, const char *file, struct err *err))
{
	const char *dir = NULL;
	const struct opt table[] = {
		{ "dir", "DIR", "the cluster's directory", OPT_STR, &dir, 0,
		  0 },
	};
	struct opts opts = *what;
	int first, status;
	struct err err;

	opts.args = "FILE";
	opts.args_min = opts.args_max = 1;
	opts.table = table;
	opts.count = ARRAY_LEN(table);
	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (dir == NULL) {
		(void)err_set(&err, ERR_INVALID, "--dir is missing");
		return command_error(&err, COMMAND_USAGE);
	}
	if (work(dir, argv[first], &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}

int
command_backup(int argc, char **argv)
{
	const struct opts opts = {
		.program = "ferry-cluster backup",
		.summary = "Copies all objects to a file; the server may go "
			   "on meanwhile.",
	};

	return run(argc, argv, &opts, store_backup);
}

int
command_restore(int argc, char **argv)
{
	const struct opts opts = {
		.program = "ferry-cluster restore",
		.summary = "Makes the state of a directory that has none from "
			   "a backup.",
	};

	return run(argc, argv, &opts, store_restore);
}
