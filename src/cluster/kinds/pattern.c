/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/pattern.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/err.h"
#include "base/mem.h"

/* Steps of one match: some 10 ms at worst. */
#define MATCH_LIMIT 1000000
#define DEPTH_LIMIT 1000
#define HEAP_LIMIT_KIB 4096

struct pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
	char *text;
};

/* What RE2 does not have; the offset is where it starts, NULL: nothing. */
static const char *
find_foreign(const char *text)
{
	static const char *const groups[] = { "(?=", "(?!", "(?<=", "(?<!",
					      "(?>", "(?R", "(?&",  "(?(",
					      "(?|", "(*",  "(?P=", "(?P>" };
	bool in_class = false;

	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\\') {
			p++;
			if (!in_class && *p >= '1' && *p <= '9')
				return p - 1;
			if (*p == '\0')
				break;
			continue;
		}
		if (in_class) {
			in_class = *p != ']';
			continue;
		}
		in_class = *p == '[';
		/* A bracket that comes first stands for itself. */
		if (in_class && (p[1] == ']' || (p[1] == '^' && p[2] == ']')))
			p += p[1] == '^' ? 2 : 1;
		for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
			if (strncmp(p, groups[i], strlen(groups[i])) == 0)
				return p;
		}
	}
	return NULL;
}

struct pattern *
pattern_compile(const char *text, struct err *err)
{
	const char *foreign = find_foreign(text);
	struct pattern *pattern;
	PCRE2_SIZE offset;
	PCRE2_UCHAR why[128];
	int error;

	if (strlen(text) > PATTERN_MAX_BYTES) {
		(void)err_set(err, ERR_INVALID, "longer than %d bytes",
			      PATTERN_MAX_BYTES);
		return NULL;
	}
	if (foreign != NULL) {
		(void)err_set(err, ERR_INVALID,
			      "error parsing regexp: invalid or unsupported "
			      "Perl syntax: `%.4s`",
			      foreign);
		return NULL;
	}

	pattern = xmalloc0(sizeof(*pattern));
	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
				      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY |
					      PCRE2_NEVER_BACKSLASH_C |
					      PCRE2_NO_AUTO_CAPTURE,
				      &error, &offset, NULL);
	if (pattern->code == NULL) {
		free(pattern);
		(void)pcre2_get_error_message(error, why, sizeof(why));
		(void)err_set(err, ERR_INVALID,
			      "error parsing regexp: %s at offset %zu",
			      (const char *)why, offset);
		return NULL;
	}
	pattern->match = pcre2_match_data_create(1, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	if (pattern->match == NULL || pattern->context == NULL)
		abort();
	(void)pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KIB);
	pattern->text = xstrdup(text);
	return pattern;
}

void
pattern_free(struct pattern *pattern)
{
	if (pattern == NULL)
		return;
	pcre2_code_free(pattern->code);
	pcre2_match_data_free(pattern->match);
	pcre2_match_context_free(pattern->context);
	free(pattern->text);
	free(pattern);
}

bool
pattern_matches(const struct pattern *pattern, const char *text, size_t len)
{
	return pcre2_match(pattern->code, (PCRE2_SPTR)text, len, 0, 0,
			   pattern->match, pattern->context) >= 0;
}

const char *
pattern_text(const struct pattern *pattern)
{
	return pattern->text;
}
