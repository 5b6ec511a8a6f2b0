/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/complete.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"

#define TOKENS_MAX 4

struct completing {
	const struct complete_request *request;
	const char *last;
	json_t *found; /* of [word, description] */
	int bits;
};

static void
add(json_t *found, const char *word, const char *help)
{
	json_array_append_new(found, json_pack("[s, s]", word, help));
}

/* "vm|vmi": each of them. */
static void
add_choice(json_t *found, const char *words)
{
	AUTO(free_ptr) char *copy = xstrdup(words);
	char *rest = copy, *word;

	while ((word = strsep(&rest, "|")) != NULL)
		add(found, word, "");
}

static bool
is_choice(const char *what)
{
	return islower((unsigned char)what[0]) != 0;
}

static bool
has_choice(const char *words, const char *word)
{
	AUTO(free_ptr) char *copy = xstrdup(words);
	char *rest = copy, *one;

	while ((one = strsep(&rest, "|")) != NULL) {
		if (str_equal(one, word))
			return true;
	}
	return false;
}

/* What the flags of a client are in a line that is not complete. */
static void
set_flag(struct kube_flags *flags, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **to;
	} known[] = {
		{ "kubeconfig", &flags->kubeconfig },
		{ "context", &flags->context },
		{ "namespace", &flags->ns },
		{ "server", &flags->server },
		{ "token", &flags->token },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(known[i].name, name))
			*known[i].to = value;
	}
}

/* A line up to the word that is to be completed, as far as it is understood. */
struct line {
	struct kube_flags flags;
	const char *positional[TOKENS_MAX]; /* the first ones */
	size_t count;                       /* of all of them */
	const struct opt *pending; /* an option that lacks its value; NULL */
	bool plain;                /* "--" was there: no more options */
};

static void
read_line(const struct opt *table, size_t count, int argc, char **argv,
	  struct line *line)
{
	const char *value;

	*line = (struct line){ .count = 0 };
	for (int i = 1; i < argc; i++) {
		const struct opt *row =
			line->plain ? NULL
				    : opts_find(table, count, argv[i], &value);

		if (line->pending != NULL) {
			set_flag(&line->flags, line->pending->name, argv[i]);
			line->pending = NULL;
		} else if (!line->plain && str_equal(argv[i], "--")) {
			line->plain = true;
		} else if (row != NULL && value != NULL) {
			set_flag(&line->flags, row->name, value);
		} else if (row != NULL) {
			line->pending = row->kind == OPT_FLAG ? NULL : row;
		} else if (line->plain || argv[i][0] != '-') {
			if (line->count < TOKENS_MAX)
				line->positional[line->count] = argv[i];
			line->count++;
		}
	}
}

static void
complete_what(struct completing *c, const char *what, const struct line *line,
	      json_t *found)
{
	c->bits = COMPLETE_NO_FILES;
	if (is_choice(what))
		add_choice(found, what);
	else if (str_equal(what, "FILE"))
		c->bits = COMPLETE_FILES;
	else if (str_equal(what, "DIR"))
		c->bits = COMPLETE_DIRECTORIES;
	else
		c->request->names(what, &line->flags, found, c->request->arg);
}

static void
complete_options(struct completing *c, const struct opt *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO(free_ptr) char *word = xasprintf("--%s", table[i].name);

		add(c->found, word, table[i].help);
	}
	add(c->found, "--help", "show the options");
}

/* "--name=va": the value, with what is before it. */
static void
complete_assigned(struct completing *c, const struct opt *row,
		  const char *value, const struct line *line)
{
	AUTO(js_unref) json_t *found = json_array();
	const json_t *one;
	size_t i;

	complete_what(c, row->arg, line, found);
	json_array_foreach(found, i, one)
	{
		AUTO(free_ptr)
		char *word =
			xasprintf("%.*s%s", (int)(value - c->last), c->last,
				  json_string_value(json_array_get(one, 0)));

		add(c->found, word, json_string_value(json_array_get(one, 1)));
	}
}

/* True when the last word is an option, or what one takes. */
static bool
complete_option(struct completing *c, const struct opt *table, size_t count,
		const struct line *line)
{
	const char *value;
	const struct opt *row;

	if (line->pending != NULL) {
		complete_what(c, line->pending->arg, line, c->found);
		return true;
	}
	if (line->plain || c->last[0] != '-')
		return false;
	row = opts_find(table, count, c->last, &value);
	if (row != NULL && value != NULL && row->arg != NULL)
		complete_assigned(c, row, value, line);
	else
		complete_options(c, table, count);
	return true;
}

/* The words of "[vm|vmi|vmim] NAME"; they point into copy. */
static size_t
split_args(char *copy, const char *tokens[TOKENS_MAX], bool *ret_optional)
{
	char *rest = copy, *token;
	size_t count = 0;

	*ret_optional = copy[0] == '[';
	while ((token = strsep(&rest, " ")) != NULL && count < TOKENS_MAX) {
		token += token[0] == '[';
		token[strcspn(token, "]")] = '\0';
		tokens[count++] = token;
	}
	return count;
}

static void
complete_positional(struct completing *c, const struct opts *opts,
		    const struct line *line)
{
	AUTO(free_ptr)
	char *copy = xstrdup(opts->args != NULL ? opts->args : "");
	const char *tokens[TOKENS_MAX];
	bool optional;
	size_t count = split_args(copy, tokens, &optional);
	size_t at = line->count;
	const char *what;

	if (at >= count || tokens[at][0] == '\0')
		return;
	what = tokens[at];
	/* A kind may be left out; then it is a machine. */
	if (optional && at == 0 && count > 1)
		complete_what(c, "VM", line, c->found);
	if (!str_equal(what, "NAME"))
		complete_what(c, what, line, c->found);
	else if (at > 0 && has_choice(tokens[at - 1], line->positional[at - 1]))
		c->request->names(line->positional[at - 1], &line->flags,
				  c->found, c->request->arg);
}

static void
on_program(const struct program *program, int argc, char **argv, void *arg)
{
	struct completing *c = arg;
	struct line line;

	read_line(program->leading, program->leading_count, argc, argv, &line);
	if (line.count > 0 ||
	    complete_option(c, program->leading, program->leading_count, &line))
		return;
	for (size_t i = 0; i < program->count; i++) {
		if (program->commands[i].help != NULL)
			add(c->found, program->commands[i].name,
			    program->commands[i].help);
	}
}

static void
on_options(const struct opts *opts, int argc, char **argv, void *arg)
{
	struct completing *c = arg;
	struct line line;

	read_line(opts->table, opts->count, argc, argv, &line);
	if (!complete_option(c, opts->table, opts->count, &line))
		complete_positional(c, opts, &line);
}

/* A word is a line: nothing in it may end one. */
static bool
is_plain(const char *word)
{
	return word[0] != '\0' && word[strcspn(word, "\t\r\n")] == '\0';
}

static void
write_found(const struct completing *c, FILE *to)
{
	const json_t *one;
	size_t i;

	json_array_foreach(c->found, i, one)
	{
		const char *word = json_string_value(json_array_get(one, 0));
		const char *help = json_string_value(json_array_get(one, 1));

		if (!is_plain(word) || !str_has_prefix(word, c->last))
			continue;
		if (is_plain(help))
			(void)fprintf(to, "%s\t%s\n", word, help);
		else
			(void)fprintf(to, "%s\n", word);
	}
	(void)fprintf(to, ":%d\n", c->bits);
}

void
complete_write(const struct complete_request *request, FILE *to)
{
	struct completing c = {
		.request = request,
		.last = request->argv[request->argc - 1],
		.found = json_array(),
		.bits = COMPLETE_NO_FILES,
	};
	const struct command_visitor visitor = { on_program, on_options, &c };

	command_describe(request->program, request->argc - 1, request->argv,
			 &visitor);
	write_found(&c, to);
	json_decref(c.found);
}
