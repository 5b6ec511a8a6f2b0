/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/rule.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/auth/attributes.h"

/* FNV-1a: it only saves comparisons, so nobody gains by colliding. */
uint32_t
word_number(const char *text)
{
	uint32_t number = 2166136261U;

	for (; *text; text++)
		number = (number ^ (uint8_t)*text) * 16777619U;
	return number;
}

bool
words_have(const struct words *words, const char *text, uint32_t number)
{
	for (size_t i = 0; i < words->count; i++) {
		if (words->number[i] == number &&
		    strcmp(words->text[i], text) == 0)
			return true;
	}
	return false;
}

static void
words_from_json(struct words *ret, const json_t *list)
{
	size_t size = json_array_size(list);

	*ret = (struct words){ 0 };
	if (!size)
		return;
	ret->text = xcalloc(size, sizeof(*ret->text));
	ret->number = xcalloc(size, sizeof(*ret->number));
	for (size_t i = 0; i < size; i++) {
		const char *word = json_string_value(json_array_get(list, i));

		if (!word)
			continue;
		ret->text[ret->count] = xstrdup(word);
		ret->number[ret->count++] = word_number(word);
		ret->all |= strcmp(word, "*") == 0;
	}
}

static void
words_done(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->text[i]);
	free((void *)words->text);
	free(words->number);
}

void
rules_from_json(struct rules *ret, const json_t *list)
{
	size_t size = json_array_size(list);

	*ret = (struct rules){ .count = size };
	if (!size)
		return;
	ret->list = xcalloc(size, sizeof(*ret->list));
	for (size_t i = 0; i < size; i++) {
		const json_t *obj = json_array_get(list, i);
		struct rule *rule = &ret->list[i];

		words_from_json(&rule->verbs, json_object_get(obj, "verbs"));
		words_from_json(&rule->groups,
				json_object_get(obj, "apiGroups"));
		words_from_json(&rule->resources,
				json_object_get(obj, "resources"));
		words_from_json(&rule->names,
				json_object_get(obj, "resourceNames"));
		words_from_json(&rule->urls,
				json_object_get(obj, "nonResourceURLs"));
	}
}

void
rules_done(struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		struct rule *rule = &rules->list[i];

		words_done(&rule->verbs);
		words_done(&rule->groups);
		words_done(&rule->resources);
		words_done(&rule->names);
		words_done(&rule->urls);
	}
	free(rules->list);
	*rules = (struct rules){ 0 };
}

static void
put_words(json_t *obj, const char *name, const struct words *words)
{
	json_t *list;

	if (!words->count)
		return;
	list = json_array();
	for (size_t i = 0; i < words->count; i++)
		(void)json_array_append_new(list, json_string(words->text[i]));
	(void)json_object_set_new(obj, name, list);
}

json_t *
rule_json(const struct rule *rule)
{
	json_t *obj = json_object();

	put_words(obj, "verbs", &rule->verbs);
	put_words(obj, "apiGroups", &rule->groups);
	put_words(obj, "resources", &rule->resources);
	put_words(obj, "resourceNames", &rule->names);
	put_words(obj, "nonResourceURLs", &rule->urls);
	return obj;
}

static const char *
text(const char *s)
{
	return s ? s : "";
}

void
rule_query_init(struct rule_query *ret, const struct attributes *attr,
		const char *name)
{
	const char *sub = text(attr->subresource);

	*ret = (struct rule_query){
		.is_resource = attr->is_resource,
		.verb = text(attr->verb),
		.group = text(attr->group),
		.resource = text(attr->resource),
		.name = text(name),
		.path = text(attr->path),
	};
	if (*sub) {
		/* One text for both: "pods/log", and behind it its slash. */
		ret->storage =
			xasprintf("%s/%s%c*/%s", ret->resource, sub, 0, sub);
		ret->resource = ret->storage;
		ret->any = ret->storage + strlen(ret->storage) + 1;
		ret->any_number = word_number(ret->any);
	}
	ret->verb_number = word_number(ret->verb);
	ret->group_number = word_number(ret->group);
	ret->resource_number = word_number(ret->resource);
	ret->name_number = word_number(ret->name);
}

void
rule_query_done(struct rule_query *query)
{
	free(query->storage);
	query->storage = NULL;
}

bool
rule_url_covers(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (strcmp(pattern, path) == 0)
		return true;
	if (!len || pattern[len - 1] != '*')
		return false;
	while (len && pattern[len - 1] == '*')
		len--;
	return strncmp(path, pattern, len) == 0;
}

static bool
urls_have(const struct words *urls, const char *path)
{
	for (size_t i = 0; i < urls->count; i++) {
		if (rule_url_covers(urls->text[i], path))
			return true;
	}
	return false;
}

static bool
resources_have(const struct words *res, const struct rule_query *q)
{
	return res->all || words_have(res, q->resource, q->resource_number) ||
	       (q->any && words_have(res, q->any, q->any_number));
}

bool
rule_allows(const struct rule *rule, const struct rule_query *q)
{
	if (!rule->verbs.all &&
	    !words_have(&rule->verbs, q->verb, q->verb_number))
		return false;
	if (!q->is_resource)
		return urls_have(&rule->urls, q->path);
	if (!rule->groups.all &&
	    !words_have(&rule->groups, q->group, q->group_number))
		return false;
	if (!resources_have(&rule->resources, q))
		return false;
	return !rule->names.count ||
	       words_have(&rule->names, q->name, q->name_number);
}

bool
rules_allow(const struct rules *rules, const struct rule_query *query)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (rule_allows(&rules->list[i], query))
			return true;
	}
	return false;
}
