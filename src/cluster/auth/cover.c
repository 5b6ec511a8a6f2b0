/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/cover.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "meta/gofmt.h"

/* Lines of missing permissions that are told; the answer stays readable. */
#define LINES_MAX 50
#define LINE_MAX_BYTES 1024

/* What it takes to put one into words, in comparisons. */
#define TELL_COST 500

/* A single permission. The words are those of the rule it is part of. */
struct single {
	const struct words *groups; /* NULL for a URL */
	const struct words *resources;
	const struct words *names; /* NULL for all names */
	const struct words *urls;  /* NULL for a resource */
	const struct words *verbs;
	size_t group, resource, name, url, verb;
};

/* What is missing of one group and resource, or of one URL or name. */
struct line {
	struct map_node node;
	char *head;
	struct buf verbs;
};

struct cover {
	const struct rules *const *owned;
	size_t count;
	size_t steps; /* that are left */
	bool told;    /* whether lines are wanted */
	struct map lines;
	size_t n_lines;
};

static bool
has(const struct words *words, const struct words *other, size_t i)
{
	return words->all ||
	       words_have(words, other->text[i], other->number[i]);
}

/* "pods/log" is held by itself, by "*" and by any resource's log. */
static bool
has_resource(const struct words *words, const struct words *other, size_t i)
{
	const char *slash;
	AUTO(free_ptr) char *any = NULL;

	if (has(words, other, i))
		return true;
	slash = strchr(other->text[i], '/');
	if (!slash)
		return false;
	any = xasprintf("*%s", slash);
	return words_have(words, any, word_number(any));
}

static bool
has_url(const struct words *words, const char *url)
{
	for (size_t i = 0; i < words->count; i++) {
		if (rule_url_covers(words->text[i], url))
			return true;
	}
	return false;
}

static bool
rule_holds(const struct rule *rule, const struct single *s)
{
	if (!has(&rule->verbs, s->verbs, s->verb))
		return false;
	if (s->urls)
		return has_url(&rule->urls, s->urls->text[s->url]);
	if (!has(&rule->groups, s->groups, s->group) ||
	    !has_resource(&rule->resources, s->resources, s->resource))
		return false;
	if (!rule->names.count)
		return true;
	return s->names && words_have(&rule->names, s->names->text[s->name],
				      s->names->number[s->name]);
}

static void
append_word(struct buf *buf, const char *name, const struct words *words,
	    size_t i)
{
	if (!words)
		return;
	(void)buf_printf(buf, "%s%s:[", buf->len ? ", " : "", name);
	gofmt_append_quoted(buf, words->text[i]);
	(void)buf_append_str(buf, "]");
}

/* Verbs of one resource share a line; with a name or a URL they do not. */
static void
tell(struct cover *cover, const struct single *s)
{
	struct buf head = BUF_INIT(LINE_MAX_BYTES);
	bool apart = s->urls || s->names;
	struct map_node *node;
	struct line *line;

	append_word(&head, "APIGroups", s->groups, s->group);
	append_word(&head, "Resources", s->resources, s->resource);
	append_word(&head, "NonResourceURLs", s->urls, s->url);
	append_word(&head, "ResourceNames", s->names, s->name);
	if (apart)
		append_word(&head, "Verbs", s->verbs, s->verb);
	node = map_get(&cover->lines, (const char *)head.data);
	if (node) {
		line = MAP_ENTRY(node, struct line, node);
		buf_done(&head);
	} else {
		line = xmalloc0(sizeof(*line));
		line->head = (char *)head.data;
		line->verbs = BUF_INIT(LINE_MAX_BYTES);
		map_put(&cover->lines, &line->node, line->head);
		cover->n_lines++;
	}
	if (apart)
		return;
	if (line->verbs.len)
		(void)buf_append_str(&line->verbs, " ");
	gofmt_append_quoted(&line->verbs, s->verbs->text[s->verb]);
}

/* Counts work; false when there was too much. */
static bool
spend(struct cover *cover, size_t cost)
{
	cover->steps = cover->steps > cost ? cover->steps - cost : 0;
	return cover->steps > 0;
}

/* The words a look at a rule may have to compare. */
static size_t
cost_of(const struct rule *rule)
{
	return 1 + rule->verbs.count + rule->groups.count +
	       rule->resources.count + rule->names.count + rule->urls.count;
}

/* Whether it is held; if not, and it is wanted, it is told. */
static bool
single_holds(struct cover *cover, const struct single *s)
{
	for (size_t i = 0; i < cover->count; i++) {
		const struct rules *rules = cover->owned[i];

		for (size_t k = 0; k < rules->count; k++) {
			if (!spend(cover, cost_of(&rules->list[k])))
				return false;
			if (rule_holds(&rules->list[k], s))
				return true;
		}
	}
	if (cover->told && cover->n_lines < LINES_MAX &&
	    spend(cover, TELL_COST))
		tell(cover, s);
	return false;
}

/* Goes on to the next place of a row of counters; false after the last. */
static bool
advance(size_t *const *place, const size_t *limit, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		if (++*place[i] < limit[i])
			return true;
		*place[i] = 0;
	}
	return false;
}

/* True while there is a reason to go on: steps, and somebody to tell. */
static bool
go_on(const struct cover *cover, bool held)
{
	return held ||
	       (cover->told && cover->steps && cover->n_lines < LINES_MAX);
}

static bool
resources_hold(struct cover *cover, const struct rule *rule)
{
	struct single s = { .groups = &rule->groups,
			    .resources = &rule->resources,
			    .names = rule->names.count ? &rule->names : NULL,
			    .verbs = &rule->verbs };
	size_t *const place[] = { &s.group, &s.resource, &s.name, &s.verb };
	const size_t limit[] = { rule->groups.count, rule->resources.count,
				 rule->names.count ? rule->names.count : 1,
				 rule->verbs.count };
	bool held = true;

	if (!limit[0] || !limit[1] || !limit[3])
		return true;
	do {
		held &= single_holds(cover, &s);
	} while (go_on(cover, held) && advance(place, limit, 4));
	return held;
}

static bool
urls_hold(struct cover *cover, const struct rule *rule)
{
	struct single s = { .urls = &rule->urls, .verbs = &rule->verbs };
	size_t *const place[] = { &s.url, &s.verb };
	const size_t limit[] = { rule->urls.count, rule->verbs.count };
	bool held = true;

	if (!limit[0] || !limit[1])
		return true;
	do {
		held &= single_holds(cover, &s);
	} while (go_on(cover, held) && advance(place, limit, 2));
	return held;
}

/* Everything at once by "*": what most who write roles have. */
static bool
all_hold(const struct cover *cover, const struct rule *wanted)
{
	for (size_t i = 0; i < cover->count; i++) {
		const struct rules *rules = cover->owned[i];

		for (size_t k = 0; k < rules->count; k++) {
			const struct rule *rule = &rules->list[k];

			if (rule->verbs.all && rule->groups.all &&
			    rule->resources.all && !rule->names.count &&
			    !wanted->urls.count)
				return true;
		}
	}
	return false;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Frees the lines; what they say, sorted, one below the other. */
static char *
take_lines(struct cover *cover)
{
	char **texts = xcalloc(cover->n_lines + 1, sizeof(*texts));
	struct buf all = BUF_INIT(BUF_UNLIMITED);
	struct map_node *next;
	size_t n = 0;

	for (struct map_node *node = map_next(&cover->lines, NULL); node;
	     node = next) {
		struct line *line = MAP_ENTRY(node, struct line, node);

		next = map_next(&cover->lines, node);
		texts[n++] = line->verbs.len
				     ? xasprintf("{%s, Verbs:[%s]}", line->head,
						 (char *)line->verbs.data)
				     : xasprintf("{%s}", line->head);
		map_remove(&cover->lines, node);
		buf_done(&line->verbs);
		free(line->head);
		free(line);
	}
	map_done(&cover->lines);
	if (!cover->steps)
		texts[n++] = xstrdup("(the rules stand for too many "
				     "permissions to be compared)");
	qsort((void *)texts, n, sizeof(*texts), compare);
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(&all, "%s%s", i ? "\n" : "", texts[i]);
		free(texts[i]);
	}
	free((void *)texts);
	return (char *)all.data;
}

bool
cover_holds(const struct rules *const *owned, size_t count,
	    const struct rules *wanted, char **ret_missing)
{
	struct cover cover = { .owned = owned,
			       .count = count,
			       .steps = COVER_STEPS_MAX,
			       .told = ret_missing != NULL };
	bool held = true;

	for (size_t i = 0; i < wanted->count && go_on(&cover, held); i++) {
		const struct rule *rule = &wanted->list[i];

		if (all_hold(&cover, rule))
			continue;
		held &= resources_hold(&cover, rule);
		if (go_on(&cover, held))
			held &= urls_hold(&cover, rule);
	}
	if (ret_missing) {
		char *lines = take_lines(&cover);

		*ret_missing = held ? NULL : lines;
		if (held)
			free(lines);
	}
	return held;
}
