/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/note.h"

#include "base/js.h"
#include "base/test.h"
#include "meta/time.h"

static struct notes notes;

static int
tear_down(void **state)
{
	(void)state;
	notes_done(&notes);
	return 0;
}

static void
test_a_note_is_about_one_object(void **state)
{
	struct note *first = notes_get(&notes, "ns/m", "uid-1");

	(void)state;
	first->create_sent = true;
	assert_ptr_equal(notes_get(&notes, "ns/m", "uid-1"), first);
	/* Another one of the same name. */
	assert_false(notes_get(&notes, "ns/m", "uid-2")->create_sent);
	assert_string_equal(notes_find(&notes, "ns/m")->uid, "uid-2");
	notes_drop(&notes, "ns/m");
	notes_drop(&notes, "ns/m");
	assert_null(notes_find(&notes, "ns/m"));
}

static void
test_what_makes_no_sense_changes_nothing(void **state)
{
	struct note *note = notes_get(&notes, "ns/m", "uid-1");
	json_t *pod = json_pack("{s:{s:s, s:s, s:s, s:s}}", "metadata", "name",
				"p", "namespace", "ns", "uid", "u",
				"resourceVersion", "7");
	json_t *nothing = json_object();

	(void)state;
	note_set_target(note, pod);
	note_set_target(note, nothing);
	note_set_vmim(note, nothing);
	note_set_vmi(note, nothing);
	assert_string_equal(note->target->meta.version, "7");
	assert_null(note->vmim);
	assert_null(note->vmi);
	json_decref(pod);
	json_decref(nothing);
}

static void
test_versions_are_compared_as_numbers(void **state)
{
	static char nine[] = "9", ten[] = "10", eleven[] = "11", none[] = "";
	const struct objmeta v9 = { .version = nine };
	const struct objmeta v10 = { .version = ten };
	const struct objmeta v11 = { .version = eleven };
	const struct objmeta v0 = { .version = none };

	(void)state;
	assert_true(note_is_newer(&v10, &v9));
	assert_true(note_is_newer(&v11, &v10));
	assert_false(note_is_newer(&v9, &v10));
	assert_false(note_is_newer(&v10, &v10));
	assert_true(note_is_newer(&v9, &v0));
}

static void
test_what_is_refused_again_and_again_waits_longer_each_time(void **state)
{
	struct note *note = notes_get(&notes, "ns/m", "uid-1");
	int64_t last_us = 0;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		note_refuse(note, "no", 0);
		assert_string_equal(note->refused_text, "no");
		assert_true(note->refused_until_us > last_us ||
			    note->refused_until_us == 300 * TIME_US_PER_SECOND);
		last_us = note->refused_until_us;
		note_retry(note);
		assert_null(note->refused_text);
	}
	assert_int_equal(last_us, 300 * TIME_US_PER_SECOND);
	note_accept(note);
	note_refuse(note, "no", 0);
	assert_int_equal(note->refused_until_us, TIME_US_PER_SECOND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_note_is_about_one_object,
					  tear_down),
		cmocka_unit_test_teardown(
			test_what_makes_no_sense_changes_nothing, tear_down),
		cmocka_unit_test(test_versions_are_compared_as_numbers),
		cmocka_unit_test_teardown(
			test_what_is_refused_again_and_again_waits_longer_each_time,
			tear_down),
	};

	js_init();
	return cmocka_run_group_tests_name("note", tests, NULL, NULL);
}
