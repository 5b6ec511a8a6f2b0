/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"

enum {
	BY_NODE,
	BY_TAG
};

/* What the tests decode: a node and any number of tags. */
struct thing {
	char node[32];
	char tags[4][32];
	size_t tag_count;
};

static unsigned decoded;
static unsigned released;
static char story[1024];

static void *
decode(json_t *object, void *arg)
{
	struct thing *t = xmalloc0(sizeof(*t));
	const json_t *tag;
	size_t i;

	(void)arg;
	decoded++;
	(void)snprintf(t->node, sizeof(t->node), "%s",
		       js_str_at(object, "spec.node"));
	json_array_foreach(js_arr_at(object, "spec.tags"), i, tag)(void)
		snprintf(t->tags[t->tag_count++], sizeof(t->tags[0]), "%s",
			 json_string_value(tag));
	return t;
}

static void
release(void *view, void *arg)
{
	(void)arg;
	released++;
	free(view);
}

static void
by_node(const struct cache_object *object, struct cache_keys *keys)
{
	const struct thing *t = object->view;

	cache_add_key(keys, t->node);
}

static void
by_tag(const struct cache_object *object, struct cache_keys *keys)
{
	const struct thing *t = object->view;

	for (size_t i = 0; i < t->tag_count; i++)
		cache_add_key(keys, t->tags[i]);
}

static const struct cache_index indexes[] = {
	[BY_NODE] = { "node", by_node },
	[BY_TAG] = { "tag", by_tag },
};

static struct cache *
new_cache(void)
{
	struct cache_config config = { .decode = decode,
				       .release = release,
				       .indexes = indexes,
				       .index_count = 2 };

	decoded = 0;
	released = 0;
	story[0] = '\0';
	return cache_new(&config);
}

static void
tell(const struct cache_object *old, const struct cache_object *object,
     void *arg)
{
	size_t len = strlen(story);

	(void)arg;
	(void)snprintf(story + len, sizeof(story) - len, "%s%s>%s%s ",
		       old != NULL ? old->key : "",
		       old != NULL ? old->version : "",
		       object != NULL ? object->key : "",
		       object != NULL ? object->version : "");
}

/* "name/uid/version node tag tag" */
static enum cache_change
put(struct cache *c, const char *name, const char *uid, const char *version,
    json_t *spec)
{
	json_t *object = json_pack("{s:{s:s,s:s,s:s,s:s},s:o}", "metadata",
				   "namespace", "w", "name", name, "uid", uid,
				   "resourceVersion", version, "spec", spec);
	enum cache_change change = cache_put(c, object, tell, NULL);

	json_decref(object);
	return change;
}

static json_t *
spec(const char *node, const char *tag1, const char *tag2)
{
	return json_pack("{s:s,s:[s,s]}", "node", node, "tags", tag1, tag2);
}

static void
test_objects_are_found_by_name_and_by_every_key(void **state)
{
	struct cache *c = new_cache();
	const struct cache_object *o;
	struct cache_walk walk;

	(void)state;
	assert_int_equal(put(c, "a", "u1", "1", spec("n1", "x", "y")),
			 CACHE_ADDED);
	assert_int_equal(put(c, "b", "u2", "2", spec("n1", "y", "y")),
			 CACHE_ADDED);
	assert_int_equal(cache_count(c), 2);
	o = cache_get(c, "w", "a");
	assert_string_equal(o->uid, "u1");
	assert_ptr_equal(o, cache_get_key(c, "w/a"));
	assert_null(cache_get(c, "v", "a"));
	assert_null(cache_get(c, NULL, "a"));
	assert_int_equal(cache_count_of(c, BY_NODE, "n1"), 2);
	assert_int_equal(cache_count_of(c, BY_TAG, "x"), 1);
	assert_int_equal(cache_count_of(c, BY_TAG, "y"), 2);
	assert_int_equal(cache_count_of(c, BY_TAG, "n1"), 0);
	walk = cache_find(c, BY_TAG, "x");
	assert_ptr_equal(cache_walk_next(&walk), o);
	assert_null(cache_walk_next(&walk));
	assert_null(cache_walk_next(&walk));
	walk = cache_all(c);
	assert_non_null(cache_walk_next(&walk));
	assert_non_null(cache_walk_next(&walk));
	assert_null(cache_walk_next(&walk));
	cache_free(c);
	assert_int_equal(decoded, 2);
	assert_int_equal(released, 2);
}

static void
test_an_update_moves_between_keys_and_is_decoded_once(void **state)
{
	struct cache *c = new_cache();

	(void)state;
	(void)put(c, "a", "u1", "1", spec("n1", "x", "y"));
	assert_int_equal(put(c, "a", "u1", "1", spec("n1", "x", "y")),
			 CACHE_SAME);
	assert_int_equal(decoded, 1);
	assert_int_equal(put(c, "a", "u1", "2", spec("n2", "y", "z")),
			 CACHE_UPDATED);
	assert_int_equal(cache_count_of(c, BY_NODE, "n1"), 0);
	assert_int_equal(cache_count_of(c, BY_NODE, "n2"), 1);
	assert_int_equal(cache_count_of(c, BY_TAG, "x"), 0);
	assert_int_equal(cache_count_of(c, BY_TAG, "y"), 1);
	assert_int_equal(cache_count_of(c, BY_TAG, "z"), 1);
	assert_string_equal(story, ">w/a1 w/a1>w/a2 ");
	assert_int_equal(decoded, 2);
	assert_int_equal(released, 1);
	cache_free(c);
}

static void
test_another_object_of_the_same_name_is_another_object(void **state)
{
	struct cache *c = new_cache();

	(void)state;
	(void)put(c, "a", "u1", "1", spec("n1", "", ""));
	assert_int_equal(put(c, "a", "u2", "5", spec("n1", "", "")),
			 CACHE_REPLACED);
	assert_string_equal(story, ">w/a1 w/a1> >w/a5 ");
	assert_int_equal(cache_count(c), 1);
	assert_int_equal(cache_count_of(c, BY_NODE, "n1"), 1);
	cache_free(c);
}

static void
test_what_is_removed_is_in_no_index(void **state)
{
	struct cache *c = new_cache();

	(void)state;
	(void)put(c, "a", "u1", "1", spec("n1", "x", "y"));
	assert_true(cache_remove(c, "w", "a", tell, NULL));
	assert_false(cache_remove(c, "w", "a", tell, NULL));
	assert_string_equal(story, ">w/a1 w/a1> ");
	assert_int_equal(cache_count_of(c, BY_TAG, "x"), 0);
	assert_int_equal(cache_count(c), 0);
	assert_int_equal(released, 1);
	cache_free(c);
}

static void
test_a_sweep_removes_what_it_did_not_see(void **state)
{
	struct cache *c = new_cache();

	(void)state;
	(void)put(c, "a", "u1", "1", spec("n1", "", ""));
	(void)put(c, "b", "u2", "2", spec("n1", "", ""));
	(void)put(c, "c", "u3", "3", spec("n1", "", ""));
	/* One that is broken off, then one that is not. */
	cache_sweep_begin(c);
	(void)put(c, "a", "u1", "1", spec("n1", "", ""));
	cache_sweep_begin(c);
	(void)put(c, "c", "u3", "4", spec("n1", "", ""));
	(void)put(c, "d", "u4", "5", spec("n1", "", ""));
	story[0] = '\0';
	cache_sweep_end(c, tell, NULL);
	assert_int_equal(cache_count(c), 2);
	assert_non_null(cache_get(c, "w", "c"));
	assert_non_null(cache_get(c, "w", "d"));
	assert_true(strstr(story, "w/a1> ") != NULL);
	assert_true(strstr(story, "w/b2> ") != NULL);
	cache_free(c);
}

static void
test_what_has_no_name_or_version_is_ignored(void **state)
{
	struct cache *c = new_cache();
	json_t *nothing = json_object();

	(void)state;
	assert_int_equal(cache_put(c, nothing, tell, NULL), CACHE_INVALID);
	assert_int_equal(put(c, "", "u", "1", json_object()), CACHE_INVALID);
	assert_int_equal(put(c, "a", "u", "", json_object()), CACHE_INVALID);
	assert_int_equal(cache_count(c), 0);
	json_decref(nothing);
	cache_free(c);
}

static void
test_without_a_decoder_the_object_itself_is_kept(void **state)
{
	struct cache_config config = { 0 };
	struct cache *c = cache_new(&config);
	json_t *o = json_pack("{s:{s:s,s:s}}", "metadata", "name", "n",
			      "resourceVersion", "1");

	(void)state;
	assert_int_equal(cache_put(c, o, NULL, NULL), CACHE_ADDED);
	assert_ptr_equal(cache_get(c, "", "n")->view, o);
	assert_string_equal(cache_get(c, "", "n")->key, "n");
	json_decref(o);
	cache_free(c);
}

static void
test_many_objects_cost_no_more_each_than_few(void **state)
{
	struct cache *c = new_cache();
	char name[32];
	char node[32];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof(name), "vm-%d", i);
		(void)snprintf(node, sizeof(node), "n%d", i % 100);
		(void)put(c, name, name, "1", spec(node, name, "all"));
		story[0] = '\0';
	}
	assert_int_equal(cache_count_of(c, BY_TAG, "all"), 20000);
	assert_int_equal(cache_count_of(c, BY_NODE, "n7"), 200);
	for (int i = 0; i < 20000; i += 2) {
		(void)snprintf(name, sizeof(name), "vm-%d", i);
		assert_true(cache_remove(c, "w", name, NULL, NULL));
	}
	assert_int_equal(cache_count_of(c, BY_TAG, "all"), 10000);
	assert_int_equal(cache_count_of(c, BY_NODE, "n8"), 0);
	cache_free(c);
	assert_int_equal(released, 20000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_objects_are_found_by_name_and_by_every_key),
		cmocka_unit_test(
			test_an_update_moves_between_keys_and_is_decoded_once),
		cmocka_unit_test(
			test_another_object_of_the_same_name_is_another_object),
		cmocka_unit_test(test_what_is_removed_is_in_no_index),
		cmocka_unit_test(test_a_sweep_removes_what_it_did_not_see),
		cmocka_unit_test(test_what_has_no_name_or_version_is_ignored),
		cmocka_unit_test(
			test_without_a_decoder_the_object_itself_is_kept),
		cmocka_unit_test(test_many_objects_cost_no_more_each_than_few),
	};

	js_init();
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
