/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_RULE_H
#define CLUSTER_AUTH_RULE_H

/*
 * rule - the rules of Roles, in a form that is quick to match.
 *
 * Each text has a number beside it that differs for nearly all others, so that
 * the many rules that do not fit are passed over without comparing texts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct attributes;

struct words {
	char **text;
	uint32_t *number; /* word_number() of each */
	size_t count;
	bool all; /* "*" is one of them */
};

struct rule {
	struct words verbs;
	struct words groups;
	struct words resources; /* "pods", "pods/log", "*" + "/status" */
	struct words names;
	struct words urls;
};

struct rules {
	struct rule *list;
	size_t count;
};

uint32_t word_number(const char *text);
bool words_have(const struct words *words, const char *text, uint32_t number);

/* From a list of PolicyRules. What is not of the right type is left out: the
 * rule then allows less, never more. */
void rules_from_json(struct rules *ret, const json_t *list);
void rules_done(struct rules *rules);

/* A rule as the API shows it: a new reference. */
json_t *rule_json(const struct rule *rule);

/* A request, prepared to be held against many rules. */
struct rule_query {
	bool is_resource;
	const char *verb;
	const char *group;
	const char *resource; /* "pods", or "pods/log" */
	const char *any;      /* "*" + "/log", NULL without a subresource */
	const char *name;
	const char *path;
	uint32_t verb_number;
	uint32_t group_number;
	uint32_t resource_number;
	uint32_t any_number;
	uint32_t name_number;
	char *storage; /* what some of the above point into */
};

/* name is what counts as the request's name; attr must outlive the query. */
void rule_query_init(struct rule_query *ret, const struct attributes *attr,
		     const char *name);
void rule_query_done(struct rule_query *query);

bool rule_allows(const struct rule *rule, const struct rule_query *query);
bool rules_allow(const struct rules *rules, const struct rule_query *query);

/* Whether the pattern, which may end in "*", covers the path or pattern. */
bool rule_url_covers(const char *pattern, const char *path);

#endif
