/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/jsonpath.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

#define INT_DIGITS_MAX 9

enum step_kind {
	STEP_NAMES,  /* members, one after the other */
	STEP_WILD,   /* all members or items */
	STEP_SLICE,  /* items; a single one too */
	STEP_FILTER, /* items for which a comparison holds */
};

enum filter_op {
	FILTER_EXISTS,
	FILTER_EQUAL,
	FILTER_NOT_EQUAL,
	FILTER_LESS,
	FILTER_LESS_EQUAL,
	FILTER_GREATER,
	FILTER_GREATER_EQUAL,
};

struct step {
	enum step_kind kind;
	json_t *names; /* STEP_NAMES: strings */
	/* STEP_SLICE: from first up to before end, both from the end when
	 * negative */
	long first, end, stride;
	bool open_end; /* there is no end */
	bool single;   /* first alone */
	/* STEP_FILTER */
	struct jsonpath *left;
	enum filter_op op;
	json_t *right;
};

struct jsonpath {
	struct step steps[JSONPATH_MAX_STEPS];
	size_t count;
};

struct parser {
	const char *text;
	const char *at;
	struct err *err;
};

void
jsonpath_free(struct jsonpath *path)
{
	if (path == NULL)
		return;
	for (size_t i = 0; i < path->count; i++) {
		struct step *step = &path->steps[i];

		json_decref(step->names);
		json_decref(step->right);
		/* The path in a filter has no filters: see parse_filter(). */
		if (step->left != NULL) {
			for (size_t j = 0; j < step->left->count; j++)
				json_decref(step->left->steps[j].names);
			free(step->left);
		}
	}
	free(path);
}

void
jsonpath_unref(struct jsonpath **pointer)
{
	jsonpath_free(*pointer);
	*pointer = NULL;
}

static int
fail(const struct parser *p, const char *what)
{
	return err_set(p->err, ERR_INVALID,
		       "JSONPath '%s': %s at character %zu", p->text, what,
		       (size_t)(p->at - p->text) + 1);
}

static void
skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t");
}

/* 'x' or "x", with escapes by a backslash; a new reference or NULL. */
static json_t *
parse_quoted(struct parser *p)
{
	AUTO(buf_done) struct buf text = BUF_INIT(JSONPATH_MAX_BYTES);
	char quote = *p->at++;
	json_t *value;

	(void)buf_append_str(&text, "");
	while (*p->at != '\0' && *p->at != quote) {
		if (*p->at == '\\' && p->at[1] != '\0')
			p->at++;
		(void)buf_append(&text, p->at++, 1);
	}
	if (*p->at != quote) {
		(void)fail(p, "unterminated string");
		return NULL;
	}
	p->at++;
	value = json_stringn((const char *)text.data, text.len);
	if (value == NULL)
		(void)fail(p, "string is not UTF-8");
	return value;
}

/* What may stand in a name without quotes. */
static bool
ends_name(char c)
{
	return c == '\0' || strchr(".[](){}<>=!?@*,'\"| \t", c) != NULL;
}

static int
parse_name(struct parser *p, struct step *step)
{
	AUTO(buf_done) struct buf name = BUF_INIT(JSONPATH_MAX_BYTES);
	json_t *value;

	while (!ends_name(*p->at)) {
		if (*p->at == '\\' && p->at[1] != '\0')
			p->at++;
		(void)buf_append(&name, p->at++, 1);
	}
	if (name.len == 0)
		return fail(p, "a name is missing");
	value = json_stringn((const char *)name.data, name.len);
	if (value == NULL)
		return fail(p, "name is not UTF-8");
	step->kind = STEP_NAMES;
	step->names = json_array();
	(void)json_array_append_new(step->names, value);
	return 0;
}

static int
parse_names(struct parser *p, struct step *step)
{
	step->kind = STEP_NAMES;
	step->names = json_array();
	for (;;) {
		json_t *name;

		skip_blanks(p);
		if (*p->at != '\'' && *p->at != '"')
			return fail(p, "a name in quotes is missing");
		name = parse_quoted(p);
		if (name == NULL)
			return -1;
		(void)json_array_append_new(step->names, name);
		skip_blanks(p);
		if (*p->at != ',')
			return 0;
		p->at++;
	}
}

/* Optional: *ret_number stays when there is none. */
static int
parse_int(struct parser *p, long *ret_number)
{
	const char *digits = p->at + (*p->at == '-');
	size_t len = strspn(digits, "0123456789");

	if (len == 0 && *p->at != '-')
		return 0;
	if (len == 0 || len > INT_DIGITS_MAX)
		return fail(p, "not a usable number");
	*ret_number = strtol(p->at, NULL, 10);
	p->at = digits + len;
	return 0;
}

static int
parse_slice(struct parser *p, struct step *step)
{
	const char *start = p->at;
	const char *before;

	step->kind = STEP_SLICE;
	step->stride = 1;
	step->open_end = true;
	if (parse_int(p, &step->first) == -1)
		return -1;
	step->single = *p->at != ':';
	if (step->single)
		return p->at == start ? fail(p, "an index is missing") : 0;
	before = ++p->at;
	if (parse_int(p, &step->end) == -1)
		return -1;
	step->open_end = p->at == before;
	if (*p->at != ':')
		return 0;
	p->at++;
	if (parse_int(p, &step->stride) == -1)
		return -1;
	return step->stride > 0 ? 0 : fail(p, "the stride is not positive");
}

static int
parse_literal(struct parser *p, json_t **ret_value)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = { { "true", true }, { "false", false } };
	char *end;
	double number;

	if (*p->at == '\'' || *p->at == '"') {
		*ret_value = parse_quoted(p);
		return *ret_value == NULL ? -1 : 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i].text);

		if (strncmp(p->at, words[i].text, len) == 0) {
			*ret_value = json_boolean(words[i].value);
			p->at += len;
			return 0;
		}
	}
	if (!isdigit((unsigned char)*p->at) && *p->at != '-')
		return fail(p, "a value is missing");
	number = strtod(p->at, &end);
	if (end == p->at)
		return fail(p, "a value is missing");
	*ret_value = json_real(number);
	if (*ret_value == NULL)
		return fail(p, "not a usable number");
	p->at = end;
	return 0;
}

static enum filter_op
parse_op(struct parser *p)
{
	static const struct {
		const char *text;
		enum filter_op op;
	} ops[] = {
		{ "==", FILTER_EQUAL },      { "!=", FILTER_NOT_EQUAL },
		{ "<=", FILTER_LESS_EQUAL }, { ">=", FILTER_GREATER_EQUAL },
		{ "<", FILTER_LESS },        { ">", FILTER_GREATER },
	};

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		size_t len = strlen(ops[i].text);

		if (strncmp(p->at, ops[i].text, len) == 0) {
			p->at += len;
			return ops[i].op;
		}
	}
	return FILTER_EXISTS;
}

/* NULL when there are too many. */
static struct step *
append_step(struct parser *p, struct jsonpath *path)
{
	if (path->count == JSONPATH_MAX_STEPS) {
		(void)fail(p, "too many steps");
		return NULL;
	}
	return &path->steps[path->count++];
}

/* The path inside a filter: names and indexes, no filters. */
static int
parse_plain_steps(struct parser *p, struct jsonpath *path)
{
	struct step *step;

	while (*p->at == '.' || *p->at == '[') {
		bool bracket = *p->at++ == '[';
		int result;

		step = append_step(p, path);
		if (step == NULL)
			return -1;
		if (!bracket)
			result = parse_name(p, step);
		else if (*p->at == '\'' || *p->at == '"')
			result = parse_names(p, step);
		else
			result = parse_slice(p, step);
		if (result == -1)
			return -1;
		if (bracket && *p->at++ != ']') {
			p->at--;
			return fail(p, "']' is missing");
		}
	}
	return 0;
}

/* Behind "?(". */
static int
parse_filter(struct parser *p, struct step *step)
{
	step->kind = STEP_FILTER;
	step->left = xmalloc0(sizeof(*step->left));
	skip_blanks(p);
	if (*p->at != '@')
		return fail(p, "'@' is missing");
	p->at++;
	if (parse_plain_steps(p, step->left) == -1)
		return -1;
	skip_blanks(p);
	step->op = parse_op(p);
	skip_blanks(p);
	if (step->op != FILTER_EXISTS && parse_literal(p, &step->right) == -1)
		return -1;
	skip_blanks(p);
	if (*p->at != ')')
		return fail(p, "')' is missing");
	p->at++;
	return 0;
}

/* Behind "[". */
static int
parse_bracket(struct parser *p, struct step *step)
{
	int result;

	skip_blanks(p);
	if (*p->at == '*') {
		step->kind = STEP_WILD;
		p->at++;
		result = 0;
	} else if (p->at[0] == '?' && p->at[1] == '(') {
		p->at += 2;
		result = parse_filter(p, step);
	} else if (*p->at == '\'' || *p->at == '"') {
		result = parse_names(p, step);
	} else {
		result = parse_slice(p, step);
	}
	if (result == -1)
		return -1;
	skip_blanks(p);
	if (*p->at != ']')
		return fail(p, "']' is missing");
	p->at++;
	return 0;
}

static int
parse_steps(struct parser *p, struct jsonpath *path)
{
	struct step *step;

	while (*p->at == '.' || *p->at == '[') {
		char c = *p->at++;

		if (c == '.' && (ends_name(*p->at) && *p->at != '*')) {
			/* ".['x']", and "." alone for the whole value. */
			if (*p->at == '.')
				return fail(p, "'..' is not supported");
			continue;
		}
		step = append_step(p, path);
		if (step == NULL)
			return -1;
		if (c == '[') {
			if (parse_bracket(p, step) == -1)
				return -1;
		} else if (*p->at == '*') {
			step->kind = STEP_WILD;
			p->at++;
		} else if (parse_name(p, step) == -1) {
			return -1;
		}
	}
	return 0;
}

struct jsonpath *
jsonpath_compile(const char *text, struct err *err)
{
	AUTO(jsonpath_unref) struct jsonpath *path = NULL;
	struct parser p = { .text = text, .at = text, .err = err };
	bool braces;

	if (strlen(text) > JSONPATH_MAX_BYTES) {
		(void)err_set(err, ERR_INVALID,
			      "JSONPath is longer than %d bytes",
			      JSONPATH_MAX_BYTES);
		return NULL;
	}
	path = xmalloc0(sizeof(*path));
	skip_blanks(&p);
	braces = *p.at == '{';
	p.at += braces;
	skip_blanks(&p);
	if (*p.at == '$')
		p.at++;
	else if (*p.at != '.' && *p.at != '[') {
		(void)fail(&p, "'.' is missing");
		return NULL;
	}
	if (parse_steps(&p, path) == -1)
		return NULL;
	skip_blanks(&p);
	if (braces && *p.at++ != '}') {
		p.at--;
		(void)fail(&p, "'}' is missing");
		return NULL;
	}
	skip_blanks(&p);
	if (*p.at != '\0') {
		(void)fail(&p, "unexpected text");
		return NULL;
	}
	return TAKE_PTR(path);
}

bool
jsonpath_is_simple(const struct jsonpath *path)
{
	for (size_t i = 0; i < path->count; i++) {
		if (path->steps[i].kind != STEP_NAMES ||
		    json_array_size(path->steps[i].names) != 1)
			return false;
	}
	return path->count > 0;
}

/* Where a step is in the value it is applied to. */
struct frame {
	json_t *value;
	size_t next;
	void *iter;
};

/* The next member or item; NULL after the last. */
static json_t *
next_of_all(struct frame *frame)
{
	if (json_is_array(frame->value))
		return json_array_get(frame->value, frame->next++);
	frame->iter = frame->next++ == 0 ? json_object_iter(frame->value)
					 : json_object_iter_next(frame->value,
								 frame->iter);
	return frame->iter == NULL ? NULL : json_object_iter_value(frame->iter);
}

static json_t *
next_of_names(const struct step *step, struct frame *frame)
{
	while (frame->next < json_array_size(step->names)) {
		json_t *name = json_array_get(step->names, frame->next++);
		json_t *value =
			json_object_get(frame->value, json_string_value(name));

		if (value != NULL)
			return value;
	}
	return NULL;
}

static json_t *
next_of_slice(const struct step *step, struct frame *frame)
{
	long size = (long)json_array_size(frame->value);
	long first = step->first < 0 ? step->first + size : step->first;
	long end = step->open_end  ? size
		   : step->end < 0 ? step->end + size
				   : step->end;
	long at;

	if (step->single)
		return frame->next++ == 0 && first >= 0 && first < size
			       ? json_array_get(frame->value, (size_t)first)
			       : NULL;
	if (first < 0)
		first = 0;
	at = first + (long)frame->next++ * step->stride;
	return at < end && at < size ? json_array_get(frame->value, (size_t)at)
				     : NULL;
}

/* -1, 0, 1; 2 when they cannot be compared. */
static int
compare(const json_t *left, const json_t *right)
{
	if (json_is_string(left) && json_is_string(right)) {
		int order = strcmp(json_string_value(left),
				   json_string_value(right));

		return (order > 0) - (order < 0);
	}
	if (json_is_number(left) && json_is_number(right)) {
		double a = json_number_value(left);
		double b = json_number_value(right);

		return (a > b) - (a < b);
	}
	if (json_is_boolean(left) && json_is_boolean(right))
		return json_is_true(left) - json_is_true(right);
	return 2;
}

/* What the path of a filter names: the first at each of its plain steps. */
static const json_t *
follow(const struct jsonpath *path, json_t *item)
{
	for (size_t i = 0; i < path->count && item != NULL; i++) {
		struct frame frame = { .value = item };

		item = path->steps[i].kind == STEP_NAMES
			       ? next_of_names(&path->steps[i], &frame)
			       : next_of_slice(&path->steps[i], &frame);
	}
	return item;
}

static bool
passes(const struct step *step, json_t *item)
{
	const json_t *left = follow(step->left, item);
	int order;

	if (left == NULL)
		return false;
	if (step->op == FILTER_EXISTS)
		return true;
	order = compare(left, step->right);
	if (order == 2)
		return step->op == FILTER_NOT_EQUAL;
	switch (step->op) {
	case FILTER_EQUAL:
		return order == 0;
	case FILTER_NOT_EQUAL:
		return order != 0;
	case FILTER_LESS:
		return order < 0;
	case FILTER_LESS_EQUAL:
		return order <= 0;
	case FILTER_GREATER:
		return order > 0;
	case FILTER_GREATER_EQUAL:
		return order >= 0;
	case FILTER_EXISTS:
		break;
	}
	return true;
}

static json_t *
next_match(const struct step *step, struct frame *frame)
{
	json_t *item;

	switch (step->kind) {
	case STEP_NAMES:
		return next_of_names(step, frame);
	case STEP_SLICE:
		return next_of_slice(step, frame);
	case STEP_WILD:
		return next_of_all(frame);
	case STEP_FILTER:
		break;
	}
	do
		item = next_of_all(frame);
	while (item != NULL && !passes(step, item));
	return item;
}

void
jsonpath_each(const struct jsonpath *path, const json_t *root,
	      bool (*fn)(void *arg, json_t *value), void *arg)
{
	struct frame frames[JSONPATH_MAX_STEPS + 1];
	size_t depth = 0;

	/* What is found is for the caller to change, if root is. */
	frames[0] = (struct frame){ .value = (json_t *)(uintptr_t)root };
	for (;;) {
		json_t *found = NULL;

		if (depth == path->count) {
			if (!fn(arg, frames[depth].value))
				return;
		} else {
			found = next_match(&path->steps[depth], &frames[depth]);
		}
		if (found != NULL)
			frames[++depth] = (struct frame){ .value = found };
		else if (depth-- == 0)
			return;
	}
}

static bool
keep_first(void *arg, json_t *value)
{
	json_t **first = arg;

	*first = value;
	return false;
}

json_t *
jsonpath_first(const struct jsonpath *path, const json_t *root)
{
	json_t *first = NULL;

	jsonpath_each(path, root, keep_first, &first);
	return first;
}
