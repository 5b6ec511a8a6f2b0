/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "controller/render/render.h"
#include "controller/render/testcase.h"
#include "controller/render/vmipatch.h"
#include "kube/obj.h"

/*
 * For each DIR/NAME.in.json what is made of it must be DIR/NAME.out.json. With
 * --update the latter is written instead. An input is
 *
 *   make: what to make, a row of makers[] below
 *   kubevirt: the KubeVirt object, if there is one
 *   blockClaims: names of claims that are block devices
 *
 * and the objects that the maker takes. Where nothing can be made the output is
 * the error.
 */

#define CASES_MAX 200
#define IN_SUFFIX ".in.json"

static const char *data_dir;
static bool updating;

static json_t *
make_pod(const struct testcase *tc, const json_t *in, struct err *err)
{
	return render_pod(js_obj_at(in, "vmi"), &tc->env, err);
}

static json_t *
make_target(const struct testcase *tc, const json_t *in, struct err *err)
{
	const json_t *vmim = js_obj_at(in, "migration");
	const struct render_migration migration = {
		.uid = obj_uid(vmim),
		.name = obj_name(vmim),
		.added_node_selector =
			js_obj_at(vmim, "spec.addedNodeSelector"),
		.source_pod = js_obj_at(in, "sourcePod"),
		.source_node = js_obj_at(in, "sourceNode"),
	};

	return render_target_pod(js_obj_at(in, "vmi"), &tc->env, &migration,
				 err);
}

static json_t *
make_vmi(const struct testcase *tc, const json_t *in, struct err *err)
{
	(void)tc;
	return render_vmi(js_obj_at(in, "vm"), js_bool_at(in, "paused", false),
			  err);
}

static json_t *
make_handoff(const struct testcase *tc, const json_t *in, struct err *err)
{
	const json_t *vmi = js_obj_at(in, "vmi");
	const json_t *target = js_obj_at(in, "targetPod");
	AUTO(js_unref)
	json_t *configuration = migration_config_json(&tc->config->migrations);
	const struct handoff handoff = {
		.state = js_obj_at(vmi, "status.migrationState"),
		.labels = js_obj_at(vmi, "metadata.labels"),
		.active_pods = js_obj_at(vmi, "status.activePods"),
		.migration_uid = obj_uid(js_obj_at(in, "migration")),
		.source_node = js_str_at(vmi, "status.nodeName"),
		.source_pod = obj_name(js_obj_at(in, "sourcePod")),
		.target_node = js_str_at(target, "spec.nodeName"),
		.target_pod = obj_name(target),
		.target_pod_uid = obj_uid(target),
		.policy_name = js_str_at(in, "policy"),
		.configuration = configuration,
		.memory_overhead_bytes =
			(uint64_t)js_int_at(in, "overheadBytes", 0),
	};

	(void)err;
	return vmipatch_handoff(&handoff);
}

static const struct maker {
	const char *name;
	json_t *(*make)(const struct testcase *tc, const json_t *in,
			struct err *err);
} makers[] = {
	{ "pod", make_pod },
	{ "target", make_target },
	{ "vmi", make_vmi },
	{ "handoff", make_handoff },
};

static json_t *
make_error(const struct err *err)
{
	return json_pack("{s:{s:s, s:s}}", "error", "kind",
			 err_kind_name(err->kind), "text", err->text);
}

static json_t *
make(const json_t *in)
{
	const char *name = js_str_at(in, "make");
	struct testcase tc;
	struct err err;
	json_t *out;

	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		if (!str_equal(makers[i].name, name))
			continue;
		testcase_open(&tc, js_obj_at(in, "kubevirt"),
			      js_arr_at(in, "blockClaims"));
		out = makers[i].make(&tc, in, &err);
		testcase_close(&tc);
		return out == NULL ? make_error(&err) : out;
	}
	fail_msg("nothing is called '%s'", name);
	return NULL;
}

/* As the files are written; to be freed. */
static char *
text_of(const json_t *value)
{
	AUTO(free_ptr)
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_SORT_KEYS);

	assert_non_null(text);
	return xasprintf("%s\n", text);
}

static void
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
test_makes_what_the_file_says(void **state)
{
	const char *name = *state;
	AUTO(free_ptr)
	char *in_path = xasprintf("%s/%s.in.json", data_dir, name);
	AUTO(free_ptr)
	char *out_path = xasprintf("%s/%s.out.json", data_dir, name);
	AUTO(js_unref) json_t *in = json_load_file(in_path, 0, NULL);
	AUTO(js_unref) json_t *wanted = NULL;
	AUTO(js_unref) json_t *before = json_deep_copy(in);
	AUTO(js_unref) json_t *out = NULL;
	AUTO(free_ptr) char *text = NULL;
	AUTO(free_ptr) char *wanted_text = NULL;

	assert_non_null(in);
	out = make(in);
	assert_true(json_equal(in, before)); /* it takes, and leaves alone */
	text = text_of(out);
	if (updating) {
		write_file(out_path, text);
		return;
	}
	wanted = json_load_file(out_path, 0, NULL);
	assert_non_null(wanted);
	wanted_text = text_of(wanted);
	assert_string_equal(text, wanted_text);
}

/*
 * What the schema would refuse must not end the program: with any member of any
 * object replaced by something else there is an output or an error.
 */
#define CONTAINERS_MAX 2000

struct containers {
	json_t *list[CONTAINERS_MAX]; /* borrowed */
	size_t count;
};

static void
note(struct containers *found, json_t *value)
{
	if (!json_is_object(value) && !json_is_array(value))
		return;
	assert_true(found->count < CONTAINERS_MAX);
	found->list[found->count++] = value;
}

/* Those below root too. */
static void
find_containers(struct containers *found, json_t *root)
{
	const char *key;
	json_t *value;
	size_t k;

	note(found, root);
	for (size_t i = 0; i < found->count; i++) {
		json_object_foreach(found->list[i], key, value)
			note(found, value);
		json_array_foreach(found->list[i], k, value) note(found, value);
	}
}

static void
try_junk(const json_t *in, json_t *container, void *place, size_t index)
{
	json_t *junk[] = {
		json_null(),      json_true(),
		json_integer(-1), json_string("\xc3\xa4/../x"),
		json_object(),    json_pack("[s, {s:i}]", "x", "y", 1),
		json_real(0.5),
	};
	AUTO(js_unref)
	json_t *old =
		json_incref(place != NULL ? json_object_iter_value(place)
					  : json_array_get(container, index));

	for (size_t i = 0; i <= ARRAY_LEN(junk); i++) {
		json_t *value =
			i < ARRAY_LEN(junk) ? junk[i] : json_incref(old);

		if (place != NULL)
			json_object_iter_set_new(container, place, value);
		else
			json_array_set_new(container, index, value);
		if (i < ARRAY_LEN(junk))
			json_decref(make(in));
	}
}

static void
test_survives_what_is_no_such_object(void **state)
{
	static const char *const objects[] = {
		"vmi",       "vm",         "migration",
		"sourcePod", "sourceNode", "targetPod",
	};
	const char *name = *state;
	AUTO(free_ptr) char *path = xasprintf("%s/%s.in.json", data_dir, name);
	AUTO(js_unref) json_t *in = json_load_file(path, 0, NULL);
	static struct containers found;

	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		found.count = 0;
		find_containers(&found, json_object_get(in, objects[i]));
		for (size_t k = 0; k < found.count; k++) {
			json_t *container = found.list[k];

			for (void *place = json_object_iter(container);
			     place != NULL;
			     place = json_object_iter_next(container, place))
				try_junk(in, container, place, 0);
			for (size_t n = 0; n < json_array_size(container); n++)
				try_junk(in, container, NULL, n);
		}
	}
}

static int
is_input(const struct dirent *entry)
{
	return str_has_suffix(entry->d_name, IN_SUFFIX);
}

int
main(int argc, char **argv)
{
	static struct CMUnitTest tests[2 * CASES_MAX];
	struct dirent **entries = NULL;
	size_t used = 0;
	int count, result;

	js_init();
	updating = argc == 3 && str_equal(argv[1], "--update");
	data_dir = argv[argc - 1];
	count = argc < 2 ? 0 : scandir(data_dir, &entries, is_input, alphasort);
	if (count <= 0 || count > CASES_MAX) {
		(void)fprintf(stderr, "usage: %s [--update] DIR\n", argv[0]);
		return 2;
	}
	for (int i = 0; i < count; i++) {
		char *name = xstrndup(entries[i]->d_name,
				      strlen(entries[i]->d_name) -
					      strlen(IN_SUFFIX));

		tests[used++] = (struct CMUnitTest){
			.name = name,
			.test_func = test_makes_what_the_file_says,
			.initial_state = name,
		};
		free(entries[i]);
	}
	free(entries);
	for (int i = 0; i < count && !updating; i++) {
		tests[used] = tests[i];
		tests[used++].test_func = test_survives_what_is_no_such_object;
	}
	result = _cmocka_run_group_tests("golden", tests, used, NULL, NULL);
	for (int i = 0; i < count; i++)
		free((void *)(uintptr_t)tests[i].name);
	return result;
}
