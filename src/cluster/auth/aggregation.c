/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/aggregation.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/map.h"
#include "base/mem.h"
#include "cluster/auth/rbac.h"
#include "cluster/auth/rolestore.h"
#include "cluster/store/follow.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"
#include "meta/selector.h"
#include "meta/status.h"

/* A role that gathers from one that gathers, and so on: so often at a time. */
#define ROUNDS_MAX 16
/* After the disk refused what was written. */
#define RETRY_US 5000000

/* A ClusterRole with an aggregationRule. */
struct gatherer {
	struct map_node node;
	char *name;
	struct selector **selectors;
	size_t count;
	bool dirty;
};

struct aggregation {
	unsigned refs; /* its owner, and whoever waits for the disk */
	struct collection *roles;
	struct map gatherers;
	struct loop_timer *timer; /* NULL: it was freed */
	struct subscription *following;
};

static void
gatherer_drop(struct aggregation *agg, struct gatherer *g)
{
	map_remove(&agg->gatherers, &g->node);
	for (size_t i = 0; i < g->count; i++)
		selector_free(g->selectors[i]);
	free((void *)g->selectors);
	free(g->name);
	free(g);
}

static void
gatherer_add(struct aggregation *agg, const char *name, const json_t *rule)
{
	const json_t *list = js_arr_at(rule, "clusterRoleSelectors");
	struct gatherer *g = xmalloc0(sizeof(*g));
	size_t i;
	json_t *item;

	g->name = xstrdup(name);
	g->dirty = true;
	g->selectors =
		xcalloc(json_array_size(list) + 1, sizeof(struct selector *));
	json_array_foreach(list, i, item)
	{
		struct status st = STATUS_INIT;
		struct selector *sel = selector_from_json(item, &st);

		/* One that cannot be read gathers nothing. */
		if (sel)
			g->selectors[g->count++] = sel;
		status_done(&st);
	}
	map_put(&agg->gatherers, &g->node, g->name);
}

static bool
selects(const struct gatherer *g, const struct object *role)
{
	for (size_t i = 0; role && i < g->count; i++) {
		if (selector_matches_labels(g->selectors[i], role->labels,
					    role->label_count))
			return true;
	}
	return false;
}

/* Those that gather from either state of a role have work to do. */
static void
mark(struct aggregation *agg, const struct object *now,
     const struct object *before)
{
	for (struct map_node *node = map_next(&agg->gatherers, NULL); node;
	     node = map_next(&agg->gatherers, node)) {
		struct gatherer *g = MAP_ENTRY(node, struct gatherer, node);

		g->dirty |= selects(g, now) || selects(g, before);
	}
}

static void
on_role(const struct event *event, void *arg)
{
	struct aggregation *agg = arg;
	const struct object *role = event->object;
	struct map_node *node = map_get(&agg->gatherers, role->name);
	AUTO(js_unref) json_t *json = NULL;
	const json_t *rule;

	if (node)
		gatherer_drop(agg, MAP_ENTRY(node, struct gatherer, node));
	if (event->type != EVENT_DELETED &&
	    strstr(role->text, "\"aggregationRule\"")) {
		json = object_json(role);
		rule = js_obj_at(json, "aggregationRule");
		if (rule)
			gatherer_add(agg, role->name, rule);
	}
	mark(agg, role, event->old);
	/* At the end of the turn: a burst of changes is one piece of work. */
	loop_timer_start(agg->timer, 0);
}

/* Appends those rules that are not in the list yet; seen has their texts. */
static void
append_rules(json_t *list, json_t *seen, const json_t *rules)
{
	size_t i;
	json_t *item;

	json_array_foreach(rules, i, item)
	{
		AUTO(free_ptr) char *text = js_text_sorted(item, NULL);

		if (json_object_get(seen, text))
			continue;
		(void)json_object_set_new(seen, text, json_true());
		(void)json_array_append(list, item);
	}
}

/* The rules of all roles that are selected, in order of their names. */
static json_t *
gather(const struct aggregation *agg, const struct gatherer *g)
{
	struct object **roles;
	size_t count = store_list(agg->roles, NULL, NULL, 0, &roles);
	AUTO(js_unref) json_t *seen = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		AUTO(js_unref) json_t *json = NULL;

		if (strcmp(roles[i]->name, g->name) == 0 ||
		    !selects(g, roles[i]))
			continue;
		json = object_json(roles[i]);
		append_rules(list, seen, js_arr_at(json, "rules"));
	}
	objects_unref(roles, count);
	return list;
}

/* Whether the role had to be written. */
static bool
work_out(struct aggregation *agg, struct gatherer *g)
{
	const struct object *role = store_get(agg->roles, "", g->name);
	AUTO(js_unref) json_t *json = NULL;
	json_t *rules;

	g->dirty = false;
	if (!role)
		return false;
	json = object_json(role);
	rules = gather(agg, g);
	if (json_equal(rules, js_arr_at(json, "rules")) ||
	    (!json_array_size(rules) && !js_arr_at(json, "rules"))) {
		json_decref(rules);
		return false;
	}
	(void)json_object_set_new(json, "rules", rules);
	rolestore_put(agg->roles, json);
	mark(agg, store_get(agg->roles, "", g->name), NULL);
	return true;
}

static void
unref(struct aggregation *agg)
{
	if (--agg->refs == 0)
		free(agg);
}

static void
on_durable(const struct err *err, void *arg)
{
	struct aggregation *agg = arg;

	if (err && agg->timer) {
		log_warning(NULL,
			    "cannot write aggregated roles, trying "
			    "again: %s",
			    err->text);
		for (struct map_node *node = map_next(&agg->gatherers, NULL);
		     node; node = map_next(&agg->gatherers, node))
			MAP_ENTRY(node, struct gatherer, node)->dirty = true;
		loop_timer_start(agg->timer, RETRY_US);
	}
	unref(agg);
}

static void
run(void *arg)
{
	struct aggregation *agg = arg;
	bool written = false;
	bool more = true;

	for (unsigned round = 0; more && round < ROUNDS_MAX; round++) {
		more = false;
		for (struct map_node *node = map_next(&agg->gatherers, NULL);
		     node; node = map_next(&agg->gatherers, node)) {
			struct gatherer *g =
				MAP_ENTRY(node, struct gatherer, node);

			if (g->dirty)
				more |= work_out(agg, g);
		}
		written |= more;
	}
	if (written) {
		agg->refs++;
		store_when_durable(collection_store(agg->roles), on_durable,
				   agg);
	}
}

struct aggregation *
aggregation_new(struct store *store, struct loop *loop)
{
	struct aggregation *agg = xmalloc0(sizeof(*agg));

	agg->refs = 1;
	agg->roles = store_collection(store, RBAC_GROUP, "clusterroles");
	agg->timer = loop_timer_new(loop, run, agg);
	agg->following =
		follow(store, RBAC_GROUP, "clusterroles", on_role, agg);
	run(agg);
	return agg;
}

void
aggregation_free(struct aggregation *agg)
{
	struct map_node *next;

	if (!agg)
		return;
	unsubscribe(agg->following);
	loop_timer_free(agg->timer);
	agg->timer = NULL;
	for (struct map_node *node = map_next(&agg->gatherers, NULL); node;
	     node = next) {
		next = map_next(&agg->gatherers, node);
		gatherer_drop(agg, MAP_ENTRY(node, struct gatherer, node));
	}
	map_done(&agg->gatherers);
	unref(agg);
}
