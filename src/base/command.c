/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/err.h"
#include "base/opts.h"
#include "base/str.h"

#define NAME_SIZE 128

/* A process is one program; errors carry its name. */
static const struct program *running;
/* By another name; NULL: by its own. */
static const struct program *renamed;
static const char *renamed_to;
/* Is told instead of running anything; NULL: commands are run. */
static const struct command_visitor *visiting;

void
command_rename(const struct program *program, const char *called)
{
	renamed = program;
	renamed_to = called;
}

/* The name of a program or a command, as it was called. */
static const char *
called(const char *name, char text[NAME_SIZE])
{
	if (renamed != NULL && str_has_prefix(name, renamed->name))
		(void)snprintf(text, NAME_SIZE, "%s%s", renamed_to,
			       name + strlen(renamed->name));
	else
		(void)snprintf(text, NAME_SIZE, "%s", name);
	return text;
}

int
command_error(const struct err *err, int status)
{
	char name[NAME_SIZE];

	(void)fprintf(stderr, "%s: %s\n", called(running->name, name),
		      err->text);
	return status;
}

int
command_parse(const struct opts *opts, int argc, char **argv, int *ret_first,
	      int *ret_status)
{
	struct opts as_called = *opts;
	char name[NAME_SIZE];
	struct err err;

	as_called.program = called(opts->program, name);
	if (visiting != NULL) {
		visiting->options(&as_called, argc, argv, visiting->arg);
		*ret_status = 0;
		return 0;
	}
	switch (opts_parse(&as_called, argc, argv, ret_first, &err)) {
	case 0:
		return 1;
	case 1:
		opts_help(&as_called, stdout);
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
	char name[NAME_SIZE];
	int width = 0;

	(void)called(program->name, name);
	for (size_t i = 0; i < program->count; i++)
		if (program->commands[i].help != NULL &&
		    (int)strlen(program->commands[i].name) > width)
			width = (int)strlen(program->commands[i].name);
	(void)printf("usage: %s COMMAND [options]\n\n%s\n\ncommands:\n", name,
		     program->summary);
	for (size_t i = 0; i < program->count; i++)
		if (program->commands[i].help != NULL)
			(void)printf("  %-*s  %s\n", width,
				     program->commands[i].name,
				     program->commands[i].help);
	(void)printf("\n'%s COMMAND --help' says more; the manual is %s.\n",
		     name, program->manual);
	return 0;
}

/* How many words from argv[1] on are options that may stand there. */
static int
count_leading(const struct program *program, int argc, char **argv)
{
	const struct opt *row;
	const char *value;
	int i = 1;

	while (i < argc) {
		row = opts_find(program->leading, program->leading_count,
				argv[i], &value);
		if (row == NULL)
			break;
		i += row->kind != OPT_FLAG && value == NULL ? 2 : 1;
	}
	return i < argc ? i - 1 : 0;
}

/* Moves the options before the command behind it. */
static void
move_leading(const struct program *program, int argc, char **argv)
{
	int count = count_leading(program, argc, argv);
	char *name;

	if (count == 0)
		return;
	name = argv[1 + count];
	memmove(&argv[2], &argv[1], (size_t)count * sizeof(*argv));
	argv[1] = name;
}

static int
complain(const struct program *program, const char *word)
{
	const char *kind =
		word != NULL && word[0] == '-' ? "option" : "command";
	char name[NAME_SIZE];
	const char *value;

	(void)called(program->name, name);
	if (word == NULL || opts_find(program->leading, program->leading_count,
				      word, &value) != NULL)
		(void)fprintf(stderr,
			      "%s: no command was given; see %s --help\n", name,
			      name);
	else
		(void)fprintf(stderr, "%s: unknown %s '%s'; see %s --help\n",
			      name, kind, word, name);
	return COMMAND_USAGE;
}

int
command_main(const struct program *program, int argc, char **argv)
{
	char name[NAME_SIZE];

	running = program;
	move_leading(program, argc, argv);
	for (size_t i = 0; argc > 1 && i < program->count; i++)
		if (strcmp(argv[1], program->commands[i].name) == 0)
			return program->commands[i].run(argc - 1, argv + 1);
	if (visiting != NULL) {
		if (argc < 2 || argv[1][0] == '-')
			visiting->program(program, argc, argv, visiting->arg);
		return 0;
	}
	if (argc < 2)
		return complain(program, NULL);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(program);
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("%s %s\n", called(program->name, name),
			     program->version);
		return 0;
	}
	return complain(program, argv[1]);
}

void
command_describe(const struct program *program, int argc, char **argv,
		 const struct command_visitor *visitor)
{
	const struct program *before = running;

	visiting = visitor;
	(void)command_main(program, argc, argv);
	visiting = NULL;
	running = before;
}
