/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

/*
 * opts - command-line options from one table: parsing and help.
 *
 * A row says what the option is called, what it takes, where the value goes
 * and what it is for; the help text is made of the same rows, so the two
 * cannot disagree. --help is built in.
 *
 * Options that kubectl has a letter for have it here too: -n is --namespace,
 * -o is --output, -A is --all-namespaces, -h is --help. A flag may be told
 * what it is (--force=true).
 *
 * What an option takes (arg) is a word in capitals that says what it stands
 * for, or the words that it may be, in small letters ("bash|zsh|fish");
 * completion goes by that.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

#define OPTS_LIST_MAX 64 /* values of one OPT_LIST */

enum opt_kind {
	OPT_FLAG,  /* bool * */
	OPT_STR,   /* const char ** */
	OPT_LIST,  /* struct opts_list *, may be given several times */
	OPT_U64,   /* uint64_t *, within [min, max] */
	OPT_MS,    /* uint64_t *: a duration, see str_to_ms() */
	OPT_BYTES, /* uint64_t *: a size, see str_to_bytes() */
};

struct opts_list {
	const char *value[OPTS_LIST_MAX];
	size_t count;
};

struct opt {
	const char *name; /* without the dashes */
	const char *arg;  /* what it takes, for the help; NULL for a flag */
	const char *help;
	enum opt_kind kind;
	void *value;  /* left as it is when the option is not given */
	uint64_t min; /* OPT_U64, OPT_MS */
	uint64_t max; /* 0: no upper bound */
};

struct opts {
	const char *program; /* "ferry-proxy serve" */
	const char *args;    /* positional ones, for the usage line */
	const char *summary; /* one sentence */
	const struct opt *table;
	size_t count;
	size_t args_min; /* how many positional ones must be there */
	size_t args_max;
};

/*
 * Parses argv[1..]. The positional arguments are argv[*ret_first..argc-1]
 * afterwards (argv is reordered). Returns 0, 1 when --help was asked for, or
 * -1 with the error of one line.
 */
int opts_parse(const struct opts *opts, int argc, char **argv, int *ret_first,
	       struct err *err);

/* The letter of an option; '\0' for most, which have none. */
char opts_letter(const char *name);
/* The row that a word of a command line names ("--name", "--name=value", "-n",
 * "-nvalue"); NULL for none. *ret_value is the value that the word has in it,
 * NULL when it has none. */
const struct opt *opts_find(const struct opt *table, size_t count,
			    const char *word, const char **ret_value);

void opts_help(const struct opts *opts, FILE *to);

#endif
