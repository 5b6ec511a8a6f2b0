/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/admit/hook.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

#define GROUP "admissionregistration.k8s.io"

struct hooks {
	struct subscription *subscription;
	bool mutating;
	struct hook_set *set;
};

void
hook_set_unref(struct hook_set *set)
{
	if (set == NULL || --set->refs > 0)
		return;
	for (size_t i = 0; i < set->config_count; i++)
		hook_config_unref(set->configs[i]);
	free(set->configs);
	free((void *)set->hooks);
	free(set);
}

struct hook_set *
hooks_set(struct hooks *hooks)
{
	hooks->set->refs++;
	return hooks->set;
}

static void
list_hooks(struct hook_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->config_count; i++) {
		assert(set->configs[i] != NULL);
		set->count += set->configs[i]->count;
	}
	set->hooks = xcalloc(set->count + 1, sizeof(const struct hook *));
	for (size_t i = 0; i < set->config_count; i++) {
		const struct hook_config *config = set->configs[i];

		assert(config != NULL);
		for (size_t k = 0; k < config->count; k++)
			set->hooks[n++] = &config->hooks[k];
	}
}

/* A new set like the old one but for one name; config is taken, and is NULL
 * for one that is gone. */
static struct hook_set *
replace(const struct hook_set *old, const char *name,
	struct hook_config *config)
{
	struct hook_set *set = xmalloc0(sizeof(*set));
	size_t count = old != NULL ? old->config_count : 0;
	size_t i = 0;

	set->refs = 1;
	set->configs = xcalloc(count + 1, sizeof(struct hook_config *));
	while (i < count && strcmp(old->configs[i]->name, name) < 0)
		set->configs[set->config_count++] = old->configs[i++];
	if (i < count && str_equal(old->configs[i]->name, name))
		i++;
	if (config != NULL)
		set->configs[set->config_count++] = config;
	while (i < count)
		set->configs[set->config_count++] = old->configs[i++];
	for (size_t n = 0; n < set->config_count; n++) {
		if (set->configs[n] != config)
			set->configs[n]->refs++;
	}
	list_hooks(set);
	return set;
}

static void
on_event(const struct event *event, void *arg)
{
	struct hooks *hooks = arg;
	struct hook_set *old = hooks->set;
	bool gone = event->type == EVENT_DELETED;
	AUTO(js_unref) json_t *obj = gone ? NULL : object_json(event->object);

	hooks->set =
		replace(old, event->object->name,
			gone ? NULL : hook_config_new(obj, hooks->mutating));
	hook_set_unref(old);
}

struct hooks *
hooks_new(struct store *store, const char *resource)
{
	struct hooks *hooks = xmalloc0(sizeof(*hooks));

	hooks->mutating = str_has_prefix(resource, "mutating");
	hooks->set = replace(NULL, "", NULL);
	hooks->subscription = follow(store, GROUP, resource, on_event, hooks);
	return hooks;
}

void
hooks_free(struct hooks *hooks)
{
	if (hooks == NULL)
		return;
	unsubscribe(hooks->subscription);
	hook_set_unref(hooks->set);
	free(hooks);
}
