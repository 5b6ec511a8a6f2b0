/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/err.h"
#include "base/opts.h"

/* A process is one program; errors carry its name. */
static const struct program *running;

int
command_error(const struct err *err, int status)
{
	(void)fprintf(stderr, "%s: %s\n", running->name, err->text);
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
help(const struct program *program)
{
	int width = 0;

	for (size_t i = 0; i < program->count; i++)
		if ((int)strlen(program->commands[i].name) > width)
			width = (int)strlen(program->commands[i].name);
	(void)printf("usage: %s COMMAND [options]\n\n%s\n\ncommands:\n",
		     program->name, program->summary);
	for (size_t i = 0; i < program->count; i++)
		(void)printf("  %-*s  %s\n", width, program->commands[i].name,
			     program->commands[i].help);
	(void)printf("\n'%s COMMAND --help' says more; the manual is %s.\n",
		     program->name, program->manual);
	return 0;
}

int
command_main(const struct program *program, int argc, char **argv)
{
	running = program;
	if (argc < 2) {
		(void)fprintf(stderr,
			      "%s: no command was given; see %s --help\n",
			      program->name, program->name);
		return COMMAND_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
		return help(program);
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("%s %s\n", program->name, program->version);
		return 0;
	}
	for (size_t i = 0; i < program->count; i++)
		if (strcmp(argv[1], program->commands[i].name) == 0)
			return program->commands[i].run(argc - 1, argv + 1);
	(void)fprintf(stderr, "%s: unknown command '%s'; see %s --help\n",
		      program->name, argv[1], program->name);
	return COMMAND_USAGE;
}
