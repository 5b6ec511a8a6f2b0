/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/cloudinit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/testjson.h"

static const struct disk_dirs dirs = { .private = "/nonexistent" };

static void
test_meta_data_names_the_machine(void **state)
{
	AUTO(js_unref)
	json_t *plain = testjson("{\"metadata\":{\"name\":\"vm\","
				 "\"namespace\":\"ns\"}}");
	AUTO(js_unref)
	json_t *named = testjson("{\"metadata\":{\"name\":\"vm\","
				 "\"namespace\":\"ns\"},"
				 "\"spec\":{\"hostname\":\"h\"}}");
	AUTO(free_ptr) char *one = cloudinit_meta_data(plain);
	AUTO(free_ptr) char *two = cloudinit_meta_data(named);

	(void)state;
	assert_string_equal(one, "{\"instance-id\":\"vm.ns\","
				 "\"local-hostname\":\"vm\"}");
	assert_string_equal(two, "{\"instance-id\":\"vm.ns\","
				 "\"local-hostname\":\"h\"}");
}

static void
test_data_is_plain_or_coded_or_a_secret(void **state)
{
	AUTO(js_unref)
	json_t *source = testjson("{\"userDataBase64\":\"aGk=\","
				  "\"networkData\":\"n\"}");
	AUTO(js_unref) json_t *bad = testjson("{\"userDataBase64\":\"%\"}");
	AUTO(js_unref) json_t *none = testjson("{}");
	AUTO(js_unref)
	json_t *secret = testjson("{\"secretRef\":{\"name\":\"s\"}}");
	char volume[] = "v";
	struct disk disk = { .volume = volume, .source = source };
	AUTO(free_ptr) char *user = NULL;
	AUTO(free_ptr) char *network = NULL;
	char *other;
	struct err err;
	size_t len;

	(void)state;
	assert_int_equal(cloudinit_data(&disk, &dirs, false, &user, &len, &err),
			 0);
	assert_string_equal(user, "hi");
	assert_int_equal(len, 2);
	assert_int_equal(
		cloudinit_data(&disk, &dirs, true, &network, &len, &err), 0);
	assert_string_equal(network, "n");
	disk.source = none;
	assert_int_equal(cloudinit_data(&disk, &dirs, true, &other, &len, &err),
			 0);
	assert_null(other);
	disk.source = bad;
	assert_int_equal(
		cloudinit_data(&disk, &dirs, false, &other, &len, &err), -1);
	assert_non_null(strstr(err.text, "userDataBase64"));
	disk.source = secret;
	assert_int_equal(
		cloudinit_data(&disk, &dirs, false, &other, &len, &err), -1);
	assert_non_null(strstr(err.text, "userdata"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meta_data_names_the_machine),
		cmocka_unit_test(test_data_is_plain_or_coded_or_a_secret),
	};

	js_init();
	return cmocka_run_group_tests_name("cloudinit", tests, NULL, NULL);
}
