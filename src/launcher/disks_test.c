/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/disks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/test.h"
#include "launcher/files.h"

/* A directory with the images of one volume, "v". */
struct fixture {
	char dir[64];
	json_t *vmi;
	struct disk_dirs dirs;
};

static json_t *
vmi_of(const char *source)
{
	AUTO(free_ptr)
	char *text = xasprintf("{\"spec\":{\"domain\":{\"devices\":{\"disks\":["
			       "{\"name\":\"v\",\"disk\":{\"bus\":\"virtio\"}}"
			       "]}},\"volumes\":[{\"name\":\"v\",%s}]}}",
			       source);
	struct err err;
	json_t *vmi = js_parse(text, strlen(text), &err);

	assert_non_null(vmi);
	return vmi;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/ferry-disks-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->dirs = (struct disk_dirs){ .ephemeral = f->dir,
				      .containers = f->dir,
				      .private = f->dir,
				      .devices = f->dir };
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(path_remove_tree(f->dir, &err), 0);
	js_unref(&f->vmi);
	free(f);
	return 0;
}

static void
put(const struct fixture *f, const char *name, const char *text)
{
	AUTO(free_ptr) char *path = xasprintf("%s/v/%s", f->dir, name);
	struct err err;
	FILE *file;

	assert_int_equal(files_make_dir_of(path, &err), 0);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int
examine(struct fixture *f, const char *source, struct disks *disks,
	struct err *err)
{
	js_unref(&f->vmi);
	f->vmi = vmi_of(source);
	assert_int_equal(disks_plan(f->vmi, &f->dirs, disks, err), 0);
	return disks_examine(disks, &f->dirs, err);
}

static void
test_an_image_is_the_only_file_or_the_one_that_is_named(void **state)
{
	struct fixture *f = *state;
	AUTO(disks_done) struct disks found = { 0 };
	AUTO(disks_done) struct disks several = { 0 };
	AUTO(disks_done) struct disks named = { 0 };
	struct err err;

	put(f, "disk/a.img", "raw bytes");
	assert_int_equal(examine(f, "\"containerDisk\":{}", &found, &err), 0);
	assert_non_null(strstr(found.items[0].backing, "/v/disk/a.img"));
	assert_string_equal(found.items[0].backing_format, "raw");

	put(f, "disk/b.img", "QFI\xfb and so on");
	assert_int_equal(examine(f, "\"containerDisk\":{}", &several, &err),
			 -1);
	assert_non_null(strstr(err.text, "more than one"));
	assert_int_equal(examine(f,
				 "\"containerDisk\":{\"path\":\"/disk/b.img\"}",
				 &named, &err),
			 0);
	assert_string_equal(named.items[0].backing_format, "qcow2");
}

static void
test_an_image_does_not_lead_out_of_its_directory(void **state)
{
	struct fixture *f = *state;
	AUTO(disks_done) struct disks linked = { 0 };
	AUTO(disks_done) struct disks above = { 0 };
	AUTO(free_ptr) char *link = xasprintf("%s/v/disk/l.img", f->dir);
	struct err err;

	put(f, "other", "");
	put(f, "disk/x", "");
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(examine(f,
				 "\"containerDisk\":{\"path\":\"disk/l.img\"}",
				 &linked, &err),
			 -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(
		examine(f, "\"containerDisk\":{\"path\":\"../../etc/passwd\"}",
			&above, &err),
		-1);
}

static void
test_a_missing_image_is_named(void **state)
{
	struct fixture *f = *state;
	AUTO(disks_done) struct disks none = { 0 };
	struct err err;

	assert_int_equal(examine(f, "\"containerDisk\":{}", &none, &err), -1);
	assert_non_null(strstr(err.text, "/v/disk"));
}

static void
test_what_only_one_node_has_is_copied(void **state)
{
	static const struct {
		const char *source;
		bool copied;
	} cases[] = {
		{ "\"containerDisk\":{}", true },
		{ "\"emptyDisk\":{\"capacity\":\"1Mi\"}", true },
		{ "\"cloudInitNoCloud\":{}", true },
		{ "\"persistentVolumeClaim\":{\"claimName\":\"c\"}", false },
		{ "\"dataVolume\":{\"name\":\"d\"}", false },
		{ "\"hostDisk\":{\"path\":\"/x\"}", true },
		{ "\"hostDisk\":{\"path\":\"/x\",\"shared\":true}", false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(disks_done) struct disks disks = { 0 };
		struct err err;

		js_unref(&f->vmi);
		f->vmi = vmi_of(cases[i].source);
		assert_int_equal(disks_plan(f->vmi, &f->dirs, &disks, &err), 0);
		assert_int_equal(disk_is_copied(&disks.items[0]),
				 cases[i].copied);
		disks.items[0].read_only = true;
		assert_false(disk_is_copied(&disks.items[0]));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_an_image_is_the_only_file_or_the_one_that_is_named,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_image_does_not_lead_out_of_its_directory, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_a_missing_image_is_named,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_what_only_one_node_has_is_copied, setup, teardown),
	};

	js_init();
	return cmocka_run_group_tests_name("disks", tests, NULL, NULL);
}
