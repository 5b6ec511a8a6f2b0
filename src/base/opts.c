/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opts.h"

#include <assert.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define TABLE_MAX 64
#define HELP_COLUMN 30

/* What getopt_long() returns; above all characters, which are short options. */
#define ROW_CODE 256
#define HELP_CODE (ROW_CODE + TABLE_MAX)

static int
set_u64(const struct opt *opt, const char *what, const char *text,
	struct err *err)
{
	uint64_t max = opt->max ? opt->max : UINT64_MAX;
	uint64_t value;

	if (opt->kind == OPT_U64)
		return str_to_u64(text, what, opt->min, max, opt->value, err);
	if (opt->kind == OPT_BYTES)
		return str_to_bytes(text, what, opt->value, err);
	if (str_to_ms(text, what, &value, err) == -1)
		return -1;
	if (value < opt->min || value > max)
		return err_set(err, ERR_INVALID,
			       "%s is '%s': must be %llu to %llu ms", what,
			       text, (unsigned long long)opt->min,
			       (unsigned long long)max);
	*(uint64_t *)opt->value = value;
	return 0;
}

static int
set_value(const struct opt *opt, const char *text, struct err *err)
{
	struct opts_list *list = opt->value;
	char what[64];

	(void)snprintf(what, sizeof(what), "--%s", opt->name);
	switch (opt->kind) {
	case OPT_FLAG:
		*(bool *)opt->value = true;
		return 0;
	case OPT_STR:
		*(const char **)opt->value = text;
		return 0;
	case OPT_LIST:
		if (list->count == OPTS_LIST_MAX)
			return err_set(err, ERR_INVALID,
				       "%s was given more than %d times", what,
				       OPTS_LIST_MAX);
		list->value[list->count++] = text;
		return 0;
	case OPT_U64:
	case OPT_MS:
	case OPT_BYTES:
		return set_u64(opt, what, text, err);
	}
	return 0;
}

static int
check_args(const struct opts *opts, int argc, char **argv, int first,
	   struct err *err)
{
	size_t count = (size_t)(argc - first);

	if (count < opts->args_min)
		return err_set(err, ERR_INVALID, "%s is missing; see %s --help",
			       opts->args, opts->program);
	if (count > opts->args_max)
		return err_set(err, ERR_INVALID,
			       "unexpected argument '%s'; see %s --help",
			       argv[first + (int)opts->args_max],
			       opts->program);
	return 0;
}

static void
fill_longopts(const struct opts *opts, struct option longopts[TABLE_MAX + 2])
{
	assert(opts->count <= TABLE_MAX);
	for (size_t i = 0; i < opts->count; i++) {
		longopts[i] = (struct option){
			.name = opts->table[i].name,
			.has_arg = opts->table[i].kind == OPT_FLAG
					   ? no_argument
					   : required_argument,
			.val = ROW_CODE + (int)i,
		};
	}
	longopts[opts->count] =
		(struct option){ .name = "help", .val = HELP_CODE };
}

/* What getopt_long() did not like about the argument before optind. */
static int
complain(const struct opts *opts, int c, char **argv, struct err *err)
{
	const char *arg = argv[optind - 1];

	if (c == ':')
		return err_set(err, ERR_INVALID,
			       "option '%s' needs a value; see %s --help", arg,
			       opts->program);
	if (optopt > 0 && optopt < ROW_CODE)
		return err_set(err, ERR_INVALID,
			       "unknown option '-%c'; see %s --help", optopt,
			       opts->program);
	if (optopt > 0)
		return err_set(err, ERR_INVALID,
			       "option '%s' takes no value; see %s --help", arg,
			       opts->program);
	return err_set(err, ERR_INVALID, "unknown option '%s'; see %s --help",
		       arg, opts->program);
}

int
opts_parse(const struct opts *opts, int argc, char **argv, int *ret_first,
	   struct err *err)
{
	struct option longopts[TABLE_MAX + 2] = { 0 };
	int c;

	fill_longopts(opts, longopts);
	optind = 0; /* makes glibc start afresh */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", longopts, NULL)) != -1) {
		if (c == HELP_CODE)
			return 1;
		if (c == ':' || c == '?')
			return complain(opts, c, argv, err);
		if (set_value(&opts->table[c - ROW_CODE], optarg, err) == -1)
			return -1;
	}
	*ret_first = optind;
	return check_args(opts, argc, argv, optind, err);
}

static void
help_row(const char *name, const char *arg, const char *help, FILE *to)
{
	char left[80];

	(void)snprintf(left, sizeof(left), "  --%s%s%s", name, arg ? " " : "",
		       arg ? arg : "");
	if (strlen(left) >= HELP_COLUMN)
		(void)fprintf(to, "%s\n%*s%s\n", left, HELP_COLUMN, "", help);
	else
		(void)fprintf(to, "%-*s%s\n", HELP_COLUMN, left, help);
}

void
opts_help(const struct opts *opts, FILE *to)
{
	(void)fprintf(to, "usage: %s%s%s%s\n\n%s\n\noptions:\n", opts->program,
		      opts->count > 0 ? " [options]" : "",
		      opts->args ? " " : "", opts->args ? opts->args : "",
		      opts->summary);
	for (size_t i = 0; i < opts->count; i++)
		help_row(opts->table[i].name, opts->table[i].arg,
			 opts->table[i].help, to);
	help_row("help", NULL, "show this text", to);
}
