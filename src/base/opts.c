/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opts.h"

#include <assert.h>
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"

#define TABLE_MAX 64
#define HELP_COLUMN 34

/* What getopt_long() returns; above all characters, which are short options. */
#define ROW_CODE 256
#define HELP_CODE (ROW_CODE + TABLE_MAX)

static const struct {
	char letter;
	const char *name;
} letters[] = {
	{ 'A', "all-namespaces" },
	{ 'h', "help" },
	{ 'n', "namespace" },
	{ 'o', "output" },
};

#define SHORTS_SIZE (2 * ARRAY_LEN(letters) + 2)

char
opts_letter(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
		if (str_equal(letters[i].name, name))
			return letters[i].letter;
	}
	return '\0';
}

static const struct opt *
find_name(const struct opt *table, size_t count, const char *name, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(table[i].name) == len &&
		    memcmp(table[i].name, name, len) == 0)
			return &table[i];
	}
	return NULL;
}

static const struct opt *
find_letter(const struct opt *table, size_t count, int letter)
{
	for (size_t i = 0; i < count; i++) {
		if (letter != '\0' && opts_letter(table[i].name) == letter)
			return &table[i];
	}
	return NULL;
}

const struct opt *
opts_find(const struct opt *table, size_t count, const char *word,
	  const char **ret_value)
{
	const struct opt *row;
	size_t len;

	*ret_value = NULL;
	if (word[0] != '-' || word[1] == '\0')
		return NULL;
	if (word[1] == '-') {
		len = strcspn(word + 2, "=");
		if (word[2 + len] == '=')
			*ret_value = word + 2 + len + 1;
		return find_name(table, count, word + 2, len);
	}
	row = find_letter(table, count, word[1]);
	if (row != NULL && row->kind != OPT_FLAG && word[2] != '\0')
		*ret_value = word + 2 + (word[2] == '=');
	return row;
}

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

/* text NULL: the option was given, and that is all. */
static int
set_flag(const struct opt *opt, const char *what, const char *text,
	 struct err *err)
{
	if (text != NULL && !str_equal(text, "true") &&
	    !str_equal(text, "false"))
		return err_set(err, ERR_INVALID,
			       "%s is '%s': must be true or false", what, text);
	*(bool *)opt->value = text == NULL || str_equal(text, "true");
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
		return set_flag(opt, what, text, err);
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
					   ? optional_argument
					   : required_argument,
			.val = ROW_CODE + (int)i,
		};
	}
	longopts[opts->count] =
		(struct option){ .name = "help", .val = HELP_CODE };
}

/* The letters, as getopt_long() wants them; shorts has SHORTS_SIZE bytes. */
static void
fill_shorts(const struct opts *opts, char *shorts)
{
	size_t n = 0;

	shorts[n++] = ':';
	shorts[n++] = opts_letter("help");
	for (size_t i = 0; i < opts->count; i++) {
		char letter = opts_letter(opts->table[i].name);

		if (letter == '\0')
			continue;
		shorts[n++] = letter;
		if (opts->table[i].kind != OPT_FLAG)
			shorts[n++] = ':';
	}
	shorts[n] = '\0';
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
	char shorts[SHORTS_SIZE];
	const struct opt *row;
	int c;

	fill_longopts(opts, longopts);
	fill_shorts(opts, shorts);
	optind = 0; /* makes glibc start afresh */
	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longopts, NULL)) != -1) {
		if (c == HELP_CODE || c == opts_letter("help"))
			return 1;
		if (c == ':' || c == '?')
			return complain(opts, c, argv, err);
		row = c >= ROW_CODE ? &opts->table[c - ROW_CODE]
				    : find_letter(opts->table, opts->count, c);
		/* -n=value is kubectl's, too. */
		if (c < ROW_CODE && optarg != NULL && *optarg == '=')
			optarg++;
		if (set_value(row, optarg, err) == -1)
			return -1;
	}
	*ret_first = optind;
	return check_args(opts, argc, argv, optind, err);
}

static void
help_row(const char *name, const char *arg, const char *help, FILE *to)
{
	char letter = opts_letter(name);
	char left[80];

	(void)snprintf(left, sizeof(left), "  %c%c%c --%s%s%s",
		       letter ? '-' : ' ', letter ? letter : ' ',
		       letter ? ',' : ' ', name, arg ? " " : "",
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
