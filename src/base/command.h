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
struct opt;
struct opts;

#define COMMAND_FAILED 1
#define COMMAND_USAGE 2

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* a few words; NULL: not for people, not shown */
};

struct program {
	const char *name;    /* "ferry-proxy" */
	const char *summary; /* one sentence */
	const char *manual;  /* "ferry-proxy(8)" */
	const char *version; /* what --version prints behind the name */
	const struct command *commands;
	size_t count;
	/* Options that may stand before the command as well as behind it, which
	 * has to know them; where their values go does not matter. */
	const struct opt *leading;
	size_t leading_count;
};

/* All of main(); program must be static. */
int command_main(const struct program *program, int argc, char **argv);

/*
 * The program was started under another name ("kubectl ferry"): help and errors
 * of it and of the programs within have that instead of its own. called must be
 * static. Before command_main().
 */
void command_rename(const struct program *program, const char *called);

/*
 * What a command line is about, without running it: walks down the tables to
 * the command that is named. Either program is called, when the command is
 * still missing, or options, with the words behind the command in argv[1..];
 * or nobody, when there is no such command.
 */
struct command_visitor {
	void (*program)(const struct program *program, int argc, char **argv,
			void *arg);
	void (*options)(const struct opts *opts, int argc, char **argv,
			void *arg);
	void *arg;
};
void command_describe(const struct program *program, int argc, char **argv,
		      const struct command_visitor *visitor);

/* Prints the error as one line and returns the status. */
int command_error(const struct err *err, int status);

/*
 * opts_parse(), with help printed and errors reported. Returns whether to go
 * on; if not, *ret_status is what to exit with.
 */
int command_parse(const struct opts *opts, int argc, char **argv,
		  int *ret_first, int *ret_status);

#endif
