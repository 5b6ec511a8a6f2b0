/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/taint.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsat.h"
#include "base/mem.h"

static const char *const effect_names[TAINT_EFFECT_COUNT] = {
	[TAINT_NO_SCHEDULE] = "NoSchedule",
	[TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
	[TAINT_NO_EXECUTE] = "NoExecute",
};

const char *
taint_effect_name(enum taint_effect effect)
{
	return effect < TAINT_EFFECT_COUNT ? effect_names[effect] : "";
}

static enum taint_effect
effect_from_name(const char *name)
{
	int effect = 0;

	while (effect < TAINT_EFFECT_COUNT &&
	       strcmp(effect_names[effect], name) != 0)
		effect++;
	return (enum taint_effect)effect;
}

struct taint *
taints_from_json(const json_t *array, size_t *ret_len)
{
	size_t len = json_array_size(array);
	struct taint *taints = xcalloc(len + 1, sizeof(struct taint));

	for (size_t i = 0; i < len; i++) {
		const json_t *each = json_array_get(array, i);

		taints[i].key = xstrdup(js_str_at(each, "key"));
		taints[i].value = xstrdup(js_str_at(each, "value"));
		taints[i].effect = effect_from_name(js_str_at(each, "effect"));
	}
	*ret_len = len;
	return taints;
}

void
taints_free(struct taint *taints, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		free(taints[i].key);
		free(taints[i].value);
	}
	free(taints);
}

struct toleration *
tolerations_from_json(const json_t *array, size_t *ret_len)
{
	size_t len = json_array_size(array);
	struct toleration *list = xcalloc(len + 1, sizeof(struct toleration));

	for (size_t i = 0; i < len; i++) {
		const json_t *each = json_array_get(array, i);
		const json_t *seconds = js_at(each, "tolerationSeconds");

		list[i].key = xstrdup(js_str_at(each, "key"));
		list[i].value = xstrdup(js_str_at(each, "value"));
		list[i].exists =
			strcmp(js_str_at(each, "operator"), "Exists") == 0;
		list[i].effect = effect_from_name(js_str_at(each, "effect"));
		list[i].timed = json_is_integer(seconds);
		list[i].seconds = (int64_t)json_integer_value(seconds);
	}
	*ret_len = len;
	return list;
}

void
tolerations_free(struct toleration *tolerations, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		free(tolerations[i].key);
		free(tolerations[i].value);
	}
	free(tolerations);
}

bool
taint_is_hard(const struct taint *taint)
{
	return taint->effect == TAINT_NO_SCHEDULE ||
	       taint->effect == TAINT_NO_EXECUTE;
}

bool
toleration_covers(const struct toleration *t, const struct taint *taint)
{
	if (t->effect != TAINT_EFFECT_COUNT && t->effect != taint->effect)
		return false;
	if (*t->key != '\0' && strcmp(t->key, taint->key) != 0)
		return false;
	return t->exists || strcmp(t->value, taint->value) == 0;
}

bool
tolerations_cover(const struct toleration *tolerations, size_t len,
		  const struct taint *taint)
{
	for (size_t i = 0; i < len; i++) {
		if (toleration_covers(&tolerations[i], taint))
			return true;
	}
	return false;
}
