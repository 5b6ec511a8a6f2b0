/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/causes.h"

static void
check_all(enum name_rule rule, const char *const *good, const char *const *bad)
{
	for (; *good != NULL; good++) {
		if (!name_ok(rule, *good))
			fail_msg("'%s' should be allowed", *good);
	}
	for (; *bad != NULL; bad++) {
		if (name_ok(rule, *bad))
			fail_msg("'%s' should not be allowed", *bad);
	}
}

#define CHARS_63 \
	"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"
#define CHARS_64 \
	"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234"
#define CHARS_64_AND_DOMAIN \
	"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234.x"

static void
test_names_follow_their_rules(void **state)
{
	static const char *const labels[] = { "a", "0", "a-b", CHARS_63, NULL };
	static const char *const no_labels[] = { "",    "A",        "-a",
						 "a-",  "a.b",      "a_b",
						 "a b", "\303\244", CHARS_64,
						 NULL };
	static const char *const subdomains[] = {
		"a", "a.b", "0.1", "a-b.c-d", CHARS_64_AND_DOMAIN, NULL
	};
	static const char *const no_subdomains[] = { "",     ".",        "a.",
						     ".a",   "A",        "a..b",
						     "a.-b", "Bad_Name", NULL };
	static const char *const dns1035[] = { "a", "a1", "a-1", NULL };
	static const char *const no_dns1035[] = { "", "1a", "a.b", NULL };
	static const char *const keys[] = {
		"a",      "A_b.c-1", "x.io/A", "kubernetes.io/metadata.name",
		CHARS_63, NULL
	};
	static const char *const no_keys[] = { "",    "/a",     "a/", "a/b/c",
					       "A/b", "-a",     "a.", "a b",
					       "a=b", CHARS_64, NULL };
	static const char *const values[] = { "", "A", "1.0_x-y", NULL };
	static const char *const no_values[] = { "-", "a/b", "a b", CHARS_64,
						 NULL };
	static const char *const segments[] = { "system:node", "a b", "...",
						NULL };
	static const char *const no_segments[] = { ".", "..", "a/b", "50%",
						   NULL };
	static const char *const config[] = { "a.conf", "_A-", ".x", NULL };
	static const char *const no_config[] = { "",    ".",   "..", "..x",
						 "a/b", "a b", NULL };

	(void)state;
	check_all(NAME_DNS1123_LABEL, labels, no_labels);
	check_all(NAME_DNS1123_SUBDOMAIN, subdomains, no_subdomains);
	check_all(NAME_DNS1035_LABEL, dns1035, no_dns1035);
	check_all(NAME_QUALIFIED, keys, no_keys);
	check_all(NAME_LABEL_VALUE, values, no_values);
	check_all(NAME_PATH_SEGMENT, segments, no_segments);
	check_all(NAME_CONFIG_KEY, config, no_config);
}

static void
expect_text(const struct causes *c, const char *text)
{
	AUTO(free_ptr) char *got = causes_text(c);

	assert_string_equal(got, text);
}

static void
test_complaints_are_those_of_kubernetes(void **state)
{
	AUTO(causes_done) struct causes c = CAUSES_INIT;
	struct name_faults faults;

	(void)state;
	name_check_field(NAME_DNS1123_SUBDOMAIN, "Bad_Name", "metadata.name",
			 &c);
	expect_text(
		&c,
		"metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC "
		"1123 subdomain must consist of lower case alphanumeric "
		"characters, '-' or '.', and must start and end with an "
		"alphanumeric character (e.g. 'example.com', regex used for "
		"validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]"
		"([-a-z0-9]*[a-z0-9])?)*')");
	name_check(NAME_QUALIFIED, "/", &faults);
	assert_int_equal(faults.count, 3);
	assert_string_equal(faults.text[0], "prefix part must be non-empty");
	assert_string_equal(faults.text[1], "name part must be non-empty");
	assert_string_equal(
		faults.text[2],
		"name part must consist of alphanumeric characters, '-', '_' "
		"or '.', and must start and end with an alphanumeric character "
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
		"validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')");
	name_check(NAME_DNS1123_LABEL, CHARS_64 ".", &faults);
	assert_int_equal(faults.count, 2);
	assert_string_equal(faults.text[0],
			    "must be no more than 63 characters");
	name_check(NAME_LABEL_VALUE, "-", &faults);
	assert_string_equal(
		faults.text[0],
		"a valid label must be an empty string or consist of "
		"alphanumeric characters, '-', '_' or '.', and must start and "
		"end with an alphanumeric character (e.g. 'MyValue',  or "
		"'my_value',  or '12345', regex used for validation is "
		"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

static void
test_a_prefix_may_end_with_a_dash(void **state)
{
	AUTO(causes_done) struct causes c = CAUSES_INIT;

	(void)state;
	name_check_prefix(NAME_DNS1123_LABEL, "gg-", "metadata.generateName",
			  &c);
	name_check_prefix(NAME_PATH_SEGMENT, "..", "metadata.generateName", &c);
	assert_int_equal(causes_count(&c), 0);
	name_check_prefix(NAME_DNS1123_LABEL, "g_x-", "metadata.generateName",
			  &c);
	name_check_prefix(NAME_PATH_SEGMENT, "a/", "metadata.generateName", &c);
	assert_int_equal(causes_count(&c), 2);
	assert_non_null(strstr(c.list[0].body, "\"g_x-\""));
}

static void
test_labels_and_annotations_are_checked(void **state)
{
	AUTO(causes_done) struct causes c = CAUSES_INIT;
	AUTO(js_unref)
	json_t *fine = json_pack("{s:s,s:s}", "a", "b", "X.y/Z", "");
	AUTO(js_unref)
	json_t *wrong = json_pack("{s:s,s:s}", "a b", "c", "d", "e f");
	AUTO(free_ptr) char *large = xmalloc0(NAME_ANNOTATIONS_MAX_BYTES + 1);

	(void)state;
	name_check_annotations(fine, "metadata.annotations", &c);
	assert_int_equal(causes_count(&c), 0);
	name_check_labels(fine, "metadata.labels", &c);
	assert_int_equal(causes_count(&c), 1); /* the prefix is in capitals */
	name_check_labels(wrong, "metadata.labels", &c);
	assert_int_equal(causes_count(&c), 3);
	memset(large, 'x', NAME_ANNOTATIONS_MAX_BYTES);
	(void)json_object_set_new(fine, "a", json_string(large));
	name_check_annotations(fine, "metadata.annotations", &c);
	assert_int_equal(causes_count(&c), 4);
	assert_string_equal(c.list[3].body,
			    "Too long: must have at most 262144 bytes");
}

static void
test_generated_names_are_short_and_differ(void **state)
{
	AUTO(free_ptr) char *one = name_generate("gg-");
	AUTO(free_ptr) char *two = name_generate("gg-");
	AUTO(free_ptr) char *long_one = name_generate(CHARS_64);

	(void)state;
	assert_int_equal(strlen(one), 8);
	assert_memory_equal(one, "gg-", 3);
	assert_int_equal(strspn(one + 3, "bcdfghjklmnpqrstvwxz2456789"), 5);
	assert_string_not_equal(one, two);
	assert_int_equal(strlen(long_one), 63);
}

static void
test_uuids_are_version_4(void **state)
{
	char one[NAME_UUID_SIZE];
	char two[NAME_UUID_SIZE];

	(void)state;
	assert_string_not_equal(name_uuid(one), name_uuid(two));
	assert_int_equal(strlen(one), 36);
	assert_int_equal(strspn(one, "0123456789abcdef-"), 36);
	assert_true(one[8] == '-' && one[13] == '-' && one[18] == '-' &&
		    one[23] == '-');
	assert_int_equal(one[14], '4');
	assert_non_null(strchr("89ab", one[19]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_follow_their_rules),
		cmocka_unit_test(test_complaints_are_those_of_kubernetes),
		cmocka_unit_test(test_a_prefix_may_end_with_a_dash),
		cmocka_unit_test(test_labels_and_annotations_are_checked),
		cmocka_unit_test(test_generated_names_are_short_and_differ),
		cmocka_unit_test(test_uuids_are_version_4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
