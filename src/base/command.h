/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

/*
 * command - a program made of sub-commands: one table, from which the right
 * one is run and the help is printed.
 *
 * A sub-command parses its own arguments (argv[0] is the command's name) and
 * returns the exit status: 0, COMMAND_FAILED or COMMAND_USAGE.
 */

#include <stddef.h>

struct err;
struct opts;

#define COMMAND_FAILED 1
#define COMMAND_USAGE 2

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* a few words */
};

struct program {
	const char *name;    /* "ferry-proxy" */
	const char *summary; /* one sentence */
	const char *manual;  /* "ferry-proxy(8)" */
	const char *version; /* what --version prints behind the name */
	const struct command *commands;
	size_t count;
};

/* All of main(); program must be static. */
int command_main(const struct program *program, int argc, char **argv);

/* Prints the error as one line and returns the status. */
int command_error(const struct err *err, int status);

/*
 * opts_parse(), with help printed and errors reported. Returns whether to go
 * on; if not, *ret_status is what to exit with.
 */
int command_parse(const struct opts *opts, int argc, char **argv,
		  int *ret_first, int *ret_status);

#endif
