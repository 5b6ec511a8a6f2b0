/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/skew.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"

static char program[] = "ferry-launcher";
static char version[] = "1.0.0";
static char libvirt[] = "9.0.0";

static struct launch_versions
make(uint32_t min, uint32_t max, char *qemu)
{
	return (struct launch_versions){
		.protocol_min = min,
		.protocol_max = max,
		.program = program,
		.version = version,
		.libvirt = libvirt,
		.qemu = qemu,
	};
}

/* Whether a machine of the first is kept from going to the second. */
static bool
is_skewed(struct launch_versions from, struct launch_versions to, char *why,
	  size_t size)
{
	AUTO(free_ptr) char *text = skew_text(&from);
	const struct skew_side source = { "a", &from }, target = { "b", &to };
	bool found = skew_found(&source, &target, why, size);

	/* What is written down leads to the same. */
	if (text != NULL)
		assert_int_equal(skew_found_in(text, "a", &target, why, size),
				 found);
	return found;
}

static void
test_an_older_qemu_does_not_take_the_machine_of_a_newer_one(void **state)
{
	static struct {
		char source[16], target[16];
		bool skewed;
	} cases[] = {
		{ "7.2.22", "7.2.22", false }, { "7.2.22", "7.2.1", false },
		{ "7.2.22", "9.0.0", false },  { "9.0.0", "7.2.22", true },
		{ "7.2.0", "7.1.9", true },    { "10.0.0", "9.2.0", true },
		{ "9.2.0", "10.0.0", false },  { "", "7.2.22", false },
		{ "9.0.0", "", false },        { "strange", "7.2.22", false },
		{ "9", "7.2.22", false },      { "-1.5", "7.2.22", false },
	};
	char why[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (is_skewed(make(1, 1, cases[i].source),
			      make(1, 1, cases[i].target), why,
			      sizeof(why)) != cases[i].skewed)
			fail_msg("%s to %s", cases[i].source, cases[i].target);
	}
}

static void
test_it_names_both_versions_and_what_to_do(void **state)
{
	char old[] = "7.2.22", new[] = "9.0.0", why[512];

	(void)state;
	assert_true(
		is_skewed(make(1, 1, new), make(1, 1, old), why, sizeof(why)));
	assert_string_equal(
		why, "the machine runs with QEMU 9.0.0 (ferry-launcher 1.0.0) "
		     "on node 'a', and node 'b' has QEMU 7.2.22 "
		     "(ferry-launcher 1.0.0), which is older: update node 'b', "
		     "or choose another one");
	assert_true(
		is_skewed(make(1, 2, old), make(3, 4, old), why, sizeof(why)));
	assert_non_null(strstr(why, "'a' and 'b' have no common protocol"));
	assert_non_null(strstr(why, "speaks protocol 1 to 2"));
	assert_non_null(strstr(why, "speaks 3 to 4"));
	assert_non_null(strstr(why, "update ferry-launcher"));
	assert_false(
		is_skewed(make(1, 2, old), make(2, 3, old), why, sizeof(why)));
}

/* A launcher may say anything, and so may whoever can annotate a machine. */
static void
test_what_is_no_version_is_not_passed_on_nor_believed(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"protocolMin\":1}",
		"{\"protocolMin\":-1,\"protocolMax\":0}",
	};
	char blank[] = "", space[] = "7.2 \"x", qemu[] = "7.2.22";
	char *longer = calloc(1, SKEW_VERSION_MAX + 2), why[512];
	struct launch_versions v = make(1, 1, qemu);
	const struct skew_side target = { "b", &v };

	(void)state;
	memset(longer, '7', SKEW_VERSION_MAX + 1);
	for (size_t i = 0; i < 3; i++) {
		v.qemu = i == 0 ? blank : i == 1 ? space : longer;
		assert_null(skew_text(&v));
	}
	v.qemu = qemu;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(skew_found_in(texts[i], "a", &target, why,
					   sizeof(why)));
	assert_false(skew_found_in(NULL, "a", &target, why, sizeof(why)));
	free(longer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_an_older_qemu_does_not_take_the_machine_of_a_newer_one),
		cmocka_unit_test(test_it_names_both_versions_and_what_to_do),
		cmocka_unit_test(
			test_what_is_no_version_is_not_passed_on_nor_believed),
	};

	return cmocka_run_group_tests_name("skew", tests, NULL, NULL);
}
