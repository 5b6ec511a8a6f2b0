/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/selector.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "meta/causes.h"
#include "meta/names.h"
#include "meta/selector_internal.h"
#include "meta/status.h"

#define BLANKS " \t\r\n"
#define SYMBOLS "=!(),><"

enum token_kind {
	TOKEN_END,
	TOKEN_IDENTIFIER,
	TOKEN_IN,
	TOKEN_NOT_IN,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_NOT,
	TOKEN_EQUAL,
	TOKEN_DOUBLE_EQUAL,
	TOKEN_NOT_EQUAL,
	TOKEN_GREATER,
	TOKEN_LESS,
};

struct token {
	enum token_kind kind;
	const char *text;
	int len;
};

/* "in" and "notin" are operators in one place and values in the others. */
enum context {
	CONTEXT_OPERATOR,
	CONTEXT_VALUES,
};

struct parser {
	const char *at;
	struct token next;
	struct status *st;
};

static const struct {
	const char *text;
	enum token_kind kind;
} words[] = {
	/* Longer ones first: "==" is not "=" twice. */
	{ "notin", TOKEN_NOT_IN },    { "in", TOKEN_IN },
	{ "==", TOKEN_DOUBLE_EQUAL }, { "!=", TOKEN_NOT_EQUAL },
	{ "=", TOKEN_EQUAL },         { "!", TOKEN_NOT },
	{ "(", TOKEN_OPEN },          { ")", TOKEN_CLOSE },
	{ ",", TOKEN_COMMA },         { ">", TOKEN_GREATER },
	{ "<", TOKEN_LESS },
};

static struct token
read_symbol(const char *at)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i].text);

		if (strncmp(at, words[i].text, len) == 0)
			return (struct token){ words[i].kind, at, (int)len };
	}
	return (struct token){ TOKEN_END, "", 0 };
}

static struct token
read_word(const char *at)
{
	size_t len = strcspn(at, BLANKS SYMBOLS);
	enum token_kind kind = TOKEN_IDENTIFIER;

	if (len == 2 && memcmp(at, "in", 2) == 0)
		kind = TOKEN_IN;
	else if (len == 5 && memcmp(at, "notin", 5) == 0)
		kind = TOKEN_NOT_IN;
	return (struct token){ kind, at, (int)len };
}

/* Reads the token behind the next one. */
static void
scan(struct parser *p)
{
	p->at += strspn(p->at, BLANKS);
	if (*p->at == '\0')
		p->next = (struct token){ TOKEN_END, "", 0 };
	else if (strchr(SYMBOLS, *p->at) != NULL)
		p->next = read_symbol(p->at);
	else
		p->next = read_word(p->at);
	p->at += p->next.len;
}

static struct token
peek(const struct parser *p, enum context context)
{
	struct token token = p->next;

	if (context == CONTEXT_VALUES &&
	    (token.kind == TOKEN_IN || token.kind == TOKEN_NOT_IN))
		token.kind = TOKEN_IDENTIFIER;
	return token;
}

static struct token
consume(struct parser *p, enum context context)
{
	struct token token = peek(p, context);

	scan(p);
	return token;
}

static int
expected(struct parser *p, struct token found, const char *what)
{
	return status_bad_request(p->st,
				  "unable to parse requirement: found '%.*s'%s",
				  found.len, found.text, what);
}

static int
refuse(struct parser *p, const struct causes *causes)
{
	AUTO(free_ptr) char *text = causes_text(causes);

	return status_bad_request(p->st, "unable to parse requirement: %s",
				  text);
}

static int
parse_key(struct parser *p, struct requirement *r, bool *ret_unary)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	struct token token = consume(p, CONTEXT_VALUES);
	bool negated = token.kind == TOKEN_NOT;
	struct name_faults faults;
	enum token_kind after;

	if (negated)
		token = consume(p, CONTEXT_VALUES);
	if (token.kind != TOKEN_IDENTIFIER)
		return expected(p, token, ", expected: identifier");
	r->key = xstrndup(token.text, (size_t)token.len);
	name_check(NAME_QUALIFIED, r->key, &faults);
	if (faults.count > 0) {
		AUTO(buf_done) struct buf text = BUF_INIT(BUF_UNLIMITED);

		for (size_t i = 0; i < faults.count; i++)
			(void)buf_printf(&text, "%s%s", i > 0 ? "; " : "",
					 faults.text[i]);
		causes_invalid_str(&causes, "<nil>", r->key,
				   (const char *)text.data);
		return refuse(p, &causes);
	}
	after = peek(p, CONTEXT_VALUES).kind;
	r->op = negated ? SELECTOR_NOT_EXISTS : SELECTOR_EXISTS;
	*ret_unary = negated || after == TOKEN_END || after == TOKEN_COMMA;
	return 0;
}

static int
parse_operator(struct parser *p, struct requirement *r)
{
	static const struct {
		enum token_kind kind;
		enum selector_op op;
	} ops[] = {
		{ TOKEN_IN, SELECTOR_IN },
		{ TOKEN_NOT_IN, SELECTOR_NOT_IN },
		{ TOKEN_EQUAL, SELECTOR_EQUAL },
		{ TOKEN_DOUBLE_EQUAL, SELECTOR_DOUBLE_EQUAL },
		{ TOKEN_NOT_EQUAL, SELECTOR_NOT_EQUAL },
		{ TOKEN_GREATER, SELECTOR_GREATER },
		{ TOKEN_LESS, SELECTOR_LESS },
	};
	struct token token = consume(p, CONTEXT_OPERATOR);

	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (ops[i].kind == token.kind) {
			r->op = ops[i].op;
			return 0;
		}
	}
	return expected(p, token, ", expected: in, notin, =, ==, !=, gt, lt");
}

/* What stands between the parentheses; empty values are fine everywhere. */
static int
parse_list(struct parser *p, struct requirement *r)
{
	for (;;) {
		struct token token = consume(p, CONTEXT_VALUES);
		struct token after = peek(p, CONTEXT_VALUES);

		if (token.kind == TOKEN_IDENTIFIER) {
			requirement_add_value(r, token.text, (size_t)token.len);
			if (after.kind == TOKEN_CLOSE)
				return 0;
			if (after.kind != TOKEN_COMMA)
				return expected(p, after,
						", expected: ',' or ')'");
			continue;
		}
		if (token.kind != TOKEN_COMMA)
			return expected(p, token,
					", expected: ',', or identifier");
		if (r->count == 0)
			requirement_add_value(r, "", 0);
		if (after.kind == TOKEN_CLOSE) {
			requirement_add_value(r, "", 0);
			return 0;
		}
		if (after.kind == TOKEN_COMMA) {
			(void)consume(p, CONTEXT_VALUES);
			requirement_add_value(r, "", 0);
		}
	}
}

static int
parse_values(struct parser *p, struct requirement *r)
{
	struct token token = consume(p, CONTEXT_VALUES);

	if (token.kind != TOKEN_OPEN)
		return expected(p, token, " expected: '('");
	token = peek(p, CONTEXT_VALUES);
	if (token.kind == TOKEN_CLOSE) {
		requirement_add_value(r, "", 0);
	} else if (token.kind == TOKEN_IDENTIFIER ||
		   token.kind == TOKEN_COMMA) {
		if (parse_list(p, r) == -1)
			return -1;
	} else {
		return expected(p, token, ", expected: ',', ')' or identifier");
	}
	/* The lists end before a closing parenthesis only. */
	(void)consume(p, CONTEXT_VALUES);
	return 0;
}

static int
parse_exact(struct parser *p, struct requirement *r)
{
	struct token token = peek(p, CONTEXT_VALUES);

	if (token.kind == TOKEN_END || token.kind == TOKEN_COMMA) {
		requirement_add_value(r, "", 0);
		return 0;
	}
	(void)consume(p, CONTEXT_VALUES);
	if (token.kind != TOKEN_IDENTIFIER)
		return expected(p, token, ", expected: identifier");
	requirement_add_value(r, token.text, (size_t)token.len);
	return 0;
}

static int
parse_requirement(struct parser *p, struct requirement *r)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	bool unary;

	if (parse_key(p, r, &unary) == -1)
		return -1;
	if (!unary) {
		if (parse_operator(p, r) == -1)
			return -1;
		if (r->op == SELECTOR_IN || r->op == SELECTOR_NOT_IN) {
			if (parse_values(p, r) == -1)
				return -1;
		} else if (parse_exact(p, r) == -1) {
			return -1;
		}
	}
	requirement_finish(r, &causes);
	if (causes_count(&causes) > 0)
		return refuse(p, &causes);
	return 0;
}

static bool
starts_requirement(enum token_kind kind)
{
	return kind == TOKEN_IDENTIFIER || kind == TOKEN_NOT;
}

/* Outside of a requirement. */
static int
stray(struct parser *p, struct token found, const char *what)
{
	return status_bad_request(p->st, "found '%.*s', expected: %s",
				  found.len, found.text, what);
}

static int
parse(struct parser *p, struct selector *sel)
{
	struct token token;

	scan(p);
	token = peek(p, CONTEXT_VALUES);
	if (token.kind == TOKEN_END)
		return 0;
	if (!starts_requirement(token.kind))
		return stray(p, token, "!, identifier, or 'end of string'");
	for (;;) {
		if (parse_requirement(p, selector_append(sel)) == -1)
			return -1;
		token = consume(p, CONTEXT_VALUES);
		if (token.kind == TOKEN_END)
			return 0;
		if (token.kind != TOKEN_COMMA)
			return stray(p, token, "',' or 'end of string'");
		token = peek(p, CONTEXT_VALUES);
		if (!starts_requirement(token.kind))
			return stray(p, token, "identifier after ','");
	}
}

struct selector *
selector_parse(const char *text, struct status *st)
{
	AUTO(selector_unref) struct selector *sel = NULL;
	struct parser parser = { .at = text, .st = st };

	if (strlen(text) > SELECTOR_MAX_BYTES) {
		(void)status_bad_request(st,
					 "label selector is longer than %d "
					 "bytes",
					 SELECTOR_MAX_BYTES);
		return NULL;
	}
	sel = xmalloc0(sizeof(*sel));
	if (parse(&parser, sel) == -1)
		return NULL;
	selector_sort(sel);
	return TAKE_PTR(sel);
}
