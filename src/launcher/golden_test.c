/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/domain.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/test.h"
#include "launcher/disks.h"
#include "launcher/domainxml.h"

/*
 * For each DIR/NAME.in.json what is made of it must be DIR/NAME.out.xml. With
 * --update the latter is written instead. An input is
 *
 *   vmi: the machine
 *   interfaces: as `sync` has them
 *   kvm: whether it works
 *   multiQueue: a bit for each tap that has several queues
 *   files: by volume, what disks_examine() would find: block, noDirect,
 *          backing, backingFormat
 *
 * Where nothing can be made the output is the error.
 */

#define CASES_MAX 100
#define IN_SUFFIX ".in.json"
#define FILE_MAX (1024UL * 1024)
#define PATH_SIZE 512

static const char *data_dir;
static const char *docs;
static bool updating;

static const struct disk_dirs dirs = {
	.ephemeral = "/var/run/kubevirt-ephemeral-disks",
	.containers = "/var/run/kubevirt/container-disks",
	.private = "/var/run/kubevirt-private",
	.devices = "/dev",
};

static void
pretend_files(struct disks *disks, const json_t *files)
{
	for (size_t i = 0; i < disks->count; i++) {
		struct disk *disk = &disks->items[i];
		const json_t *file = json_object_get(files, disk->volume);

		disk->block = js_bool_at(file, "block", false);
		disk->no_direct = js_bool_at(file, "noDirect", false);
		if (*js_str_at(file, "backing") != '\0') {
			disk->backing = xstrdup(js_str_at(file, "backing"));
			disk->backing_format = js_str_at(file, "backingFormat");
		}
	}
}

static char *
make(const json_t *in)
{
	AUTO(launch_interfaces_done)
	struct launch_interfaces interfaces = { 0 };
	AUTO(disks_done) struct disks disks = { 0 };
	struct domain_input input = {
		.vmi = js_obj_at(in, "vmi"),
		.disks = &disks,
		.interfaces = &interfaces,
		.multi_queue =
			(unsigned long long)js_int_at(in, "multiQueue", 0),
		.kvm = js_bool_at(in, "kvm", false),
		.containers = dirs.containers,
		.runtime = "/var/run/kubevirt-private/uid",
		.console = "/var/run/kubevirt-private/uid/console.log",
	};
	struct err err;
	char *xml = NULL;

	if (launch_interfaces_decode(js_arr_at(in, "interfaces"), &interfaces,
				     &err) == 0 &&
	    disks_plan(input.vmi, &dirs, &disks, &err) == 0) {
		pretend_files(&disks, js_obj_at(in, "files"));
		xml = domainxml_make(&input, &err);
	}
	return xml != NULL ? xml
			   : xasprintf("%s: %s\n", err_kind_name(err.kind),
				       err.text);
}

static json_t *
load(const char *name)
{
	AUTO(free_ptr)
	char *path = xasprintf("%s/%s" IN_SUFFIX, data_dir, name);
	json_t *in = json_load_file(path, 0, NULL);

	assert_non_null(in);
	return in;
}

static void
test_makes_what_the_file_says(void **state)
{
	AUTO(free_ptr)
	char *path = xasprintf("%s/%s.out.xml", data_dir, (char *)*state);
	AUTO(js_unref) json_t *in = load(*state);
	AUTO(free_ptr) char *text = make(in);
	AUTO(free_ptr) char *wanted = NULL;
	struct err err;
	size_t len;

	if (updating) {
		FILE *file = fopen(path, "we");

		assert_non_null(file);
		assert_true(fputs(text, file) >= 0);
		assert_int_equal(fclose(file), 0);
		return;
	}
	assert_int_equal(path_read_file(path, FILE_MAX, &wanted, &len, &err),
			 0);
	assert_string_equal(text, wanted);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the inputs are */

/* What admission would have refused must not end the program. */
static void
try_junk(const json_t *in, json_t *value)
{
	static const char *const junk[] = { "null", "-1", "\"../\\u0007<&\"",
					    "[]",   "{}", "[{\"name\":1}]" };
	size_t count = json_is_object(value) ? json_object_size(value)
					     : json_array_size(value);
	void *at = json_object_iter(value);

	for (size_t i = 0; i < count; i++) {
		json_t *child = json_is_object(value)
					? json_object_iter_value(at)
					: json_array_get(value, i);
		AUTO(js_unref) json_t *old = json_incref(child);

		try_junk(in, old);
		for (size_t k = 0; k <= sizeof(junk) / sizeof(junk[0]); k++) {
			bool last = k == sizeof(junk) / sizeof(junk[0]);
			json_t *other =
				last ? json_incref(old)
				     : json_loads(junk[k], JSON_DECODE_ANY,
						  NULL);

			if (json_is_object(value))
				json_object_iter_set_new(value, at, other);
			else
				json_array_set_new(value, i, other);
			if (!last)
				free(make(in));
		}
		at = at == NULL ? NULL : json_object_iter_next(value, at);
	}
}

static void
test_survives_what_is_no_machine(void **state)
{
	AUTO(js_unref) json_t *in = load(*state);

	try_junk(in, json_object_get(in, "vmi"));
}

/* All paths of members, as the API's table writes them. */
static void
collect(const json_t *value, const char *path, json_t *found)
{
	const char *key;
	json_t *child;
	size_t i;

	(void)json_object_set_new(found, path, json_true());
	json_object_foreach((json_t *)(uintptr_t)value, key, child)
	{
		char longer[PATH_SIZE];

		(void)snprintf(longer, sizeof(longer), "%s%s%s", path,
			       *path != '\0' ? "." : "", key);
		collect(child, longer, found);
	}
	json_array_foreach(value, i, child)
	{
		char longer[PATH_SIZE];

		(void)snprintf(longer, sizeof(longer), "%s[]", path);
		collect(child, longer, found);
	}
}

/* NOLINTEND(misc-no-recursion) */

static int
is_input(const struct dirent *entry)
{
	return str_has_suffix(entry->d_name, IN_SUFFIX);
}

/*
 * What can be used is in one of the inputs, so that its effect is seen; or the
 * documentation names it among what has no place in a domain.
 */
static void
test_each_usable_member_is_shown_or_explained(void **state)
{
	struct dirent **entries = NULL;
	int count = scandir(data_dir, &entries, is_input, alphasort);
	AUTO(js_unref) json_t *found = json_object();
	AUTO(free_ptr) char *text = NULL;
	struct err err;
	size_t len;

	(void)state;
	for (int i = 0; i < count; i++) {
		AUTO(free_ptr)
		char *name = xstrndup(entries[i]->d_name,
				      strlen(entries[i]->d_name) -
					      strlen(IN_SUFFIX));
		AUTO(js_unref) json_t *in = load(name);

		collect(js_obj_at(in, "vmi.spec"), "", found);
		free(entries[i]);
	}
	free(entries);
	assert_int_equal(path_read_file(docs, FILE_MAX, &text, &len, &err), 0);
	for (size_t row = 0; domain_subset_path(row) != NULL; row++) {
		const char *path = domain_subset_path(row);
		AUTO(free_ptr) char *quoted = xasprintf("`%s`", path);

		const char *next = domain_subset_path(row + 1);

		/* What has members is shown by them. */
		if (next != NULL && str_has_prefix(next, path) &&
		    strchr(".[", next[strlen(path)]) != NULL)
			continue;
		if (json_object_get(found, path) == NULL &&
		    strstr(text, quoted) == NULL)
			fail_msg("%s is in no input and not explained", path);
	}
}

int
main(int argc, char **argv)
{
	static struct CMUnitTest tests[2 * CASES_MAX + 1];
	struct dirent **entries = NULL;
	size_t used = 0;
	int count, result;

	js_init();
	updating = argc == 4 && str_equal(argv[1], "--update");
	data_dir = argc > 2 ? argv[argc - 2] : "";
	docs = argv[argc - 1];
	count = scandir(data_dir, &entries, is_input, alphasort);
	if (count <= 0 || count > CASES_MAX) {
		(void)fprintf(stderr, "usage: %s [--update] DIR DOCS\n",
			      argv[0]);
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
		tests[used++].test_func = test_survives_what_is_no_machine;
	}
	if (!updating)
		tests[used++] = (struct CMUnitTest)cmocka_unit_test(
			test_each_usable_member_is_shown_or_explained);
	result = _cmocka_run_group_tests("golden", tests, used, NULL, NULL);
	for (int i = 0; i < count; i++)
		free((void *)(uintptr_t)tests[i].name);
	return result;
}
