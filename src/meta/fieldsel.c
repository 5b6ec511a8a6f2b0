/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "meta/selector.h"
#include "meta/status.h"

void
fieldsel_free(struct fieldsel *sel)
{
	if (sel == NULL)
		return;
	for (size_t i = 0; i < sel->len; i++) {
		free(sel->terms[i].path);
		free(sel->terms[i].value);
	}
	free(sel->terms);
	free(sel);
}

void
fieldsel_unref(struct fieldsel **pointer)
{
	fieldsel_free(*pointer);
	*pointer = NULL;
}

/* The length of the term at s: up to a comma without a backslash. */
static size_t
term_len(const char *s)
{
	size_t len = 0;

	while (s[len] != '\0' && s[len] != ',') {
		if (s[len] == '\\' && s[len + 1] != '\0')
			len++;
		len++;
	}
	return len;
}

/* The value without its backslashes, to be freed; NULL when it has others than
 * before a backslash, a comma or an equals sign. */
static char *
unescape(const char *value, struct status *st)
{
	AUTO(free_ptr) char *plain = xstrdup(value);
	size_t len = 0;

	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '=') {
			(void)status_bad_request(
				st,
				"invalid field selector: unescaped character "
				"in value: %d",
				*p);
			return NULL;
		}
		if (*p == '\\') {
			p++;
			if (*p == '\0' || strchr("\\,=", *p) == NULL) {
				(void)status_bad_request(
					st,
					"invalid field selector: invalid "
					"escape sequence: \\%.1s",
					p);
				return NULL;
			}
		}
		plain[len++] = *p;
	}
	plain[len] = '\0';
	return TAKE_PTR(plain);
}

static int
parse_term(struct fieldsel_term *ret_term, const char *text, const char *term,
	   struct status *st)
{
	size_t path = 0;
	const char *op;
	size_t op_len;

	/* The first of !=, == and = divides. */
	while (term[path] != '\0' && term[path] != '=' &&
	       !(term[path] == '!' && term[path + 1] == '='))
		path++;
	if (term[path] == '\0')
		return status_bad_request(
			st, "invalid selector: '%s'; can't understand '%s'",
			text, term);
	op = term + path;
	op_len = op[0] == '!' || op[1] == '=' ? 2 : 1;
	ret_term->value = unescape(op + op_len, st);
	if (ret_term->value == NULL)
		return -1;
	ret_term->path = xstrndup(term, path);
	ret_term->equal = op[0] == '=';
	return 0;
}

static int
compare_texts(const void *a, const void *b)
{
	const char *const *left = a;
	const char *const *right = b;

	return strcmp(*left, *right);
}

/* The terms that are not empty, in order; an array and texts to be freed. */
static char **
split(const char *text, size_t *ret_count)
{
	size_t count = 0;
	char **terms;

	for (const char *p = text; *p != '\0'; p++)
		count += *p == ',';
	terms = xcalloc(count + 1, sizeof(*terms));
	count = 0;
	for (;;) {
		size_t len = term_len(text);

		if (len > 0)
			terms[count++] = xstrndup(text, len);
		if (text[len] == '\0')
			break;
		text += len + 1;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
	qsort(terms, count, sizeof(terms[0]), compare_texts);
	*ret_count = count;
	return terms;
}

struct fieldsel *
fieldsel_parse(const char *text, struct status *st)
{
	AUTO(fieldsel_unref) struct fieldsel *sel = xmalloc0(sizeof(*sel));
	char **terms;
	size_t count;
	int result = 0;

	if (strlen(text) > SELECTOR_MAX_BYTES) {
		(void)status_bad_request(st,
					 "field selector is longer than %d "
					 "bytes",
					 SELECTOR_MAX_BYTES);
		return NULL;
	}
	terms = split(text, &count);
	sel->terms = xcalloc(count, sizeof(sel->terms[0]));
	for (size_t i = 0; i < count; i++) {
		if (result == 0)
			result = parse_term(&sel->terms[i], text, terms[i], st);
		if (result == 0)
			sel->len++;
		free(terms[i]);
	}
	free(terms);
	return result == 0 ? TAKE_PTR(sel) : NULL;
}

const char *
fieldsel_exact_value(const struct fieldsel *sel, const char *path)
{
	for (size_t i = 0; sel != NULL && i < sel->len; i++) {
		if (sel->terms[i].equal &&
		    strcmp(sel->terms[i].path, path) == 0)
			return sel->terms[i].value;
	}
	return NULL;
}

bool
fieldsel_matches(const struct fieldsel *sel,
		 const char *(*get)(void *arg, const char *path), void *arg)
{
	for (size_t i = 0; sel != NULL && i < sel->len; i++) {
		const struct fieldsel_term *term = &sel->terms[i];
		const char *value = get(arg, term->path);

		if ((strcmp(value == NULL ? "" : value, term->value) == 0) !=
		    term->equal)
			return false;
	}
	return true;
}
