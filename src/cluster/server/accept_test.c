/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/test.h"
#include "cluster/server/accept.h"
#include "meta/status.h"

#define TABLE                                                            \
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;" \
	"as=Table;v=v1beta1;g=meta.k8s.io,application/json"

static const struct {
	const char *header;
	enum accept_format format;
	enum accept_shape shape;
	const char *version;
} good[] = {
	{ NULL, ACCEPT_JSON, ACCEPT_OBJECT, "v1" },
	{ "*/*", ACCEPT_JSON, ACCEPT_OBJECT, "v1" },
	{ "application/json, */*", ACCEPT_JSON, ACCEPT_OBJECT, "v1" },
	{ TABLE, ACCEPT_JSON, ACCEPT_TABLE, "v1" },
	{ "application/json;as=Table;v=v1beta1;g=meta.k8s.io", ACCEPT_JSON,
	  ACCEPT_TABLE, "v1beta1" },
	{ "application/json;as=Table;v=v9;g=meta.k8s.io,application/yaml",
	  ACCEPT_YAML, ACCEPT_OBJECT, "v1" },
	{ "application/vnd.kubernetes.protobuf,application/json", ACCEPT_JSON,
	  ACCEPT_OBJECT, "v1" },
	{ "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	  ACCEPT_JSON, ACCEPT_PARTIAL, "v1" },
};

static void
test_takes_the_first_form_it_can_make(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct status st = STATUS_INIT;
		struct accept accept;

		assert_int_equal(
			accept_parse(good[i].header, true, &accept, &st), 0);
		assert_int_equal(accept.format, good[i].format);
		assert_int_equal(accept.shape, good[i].shape);
		assert_string_equal(accept.version, good[i].version);
	}
}

static void
test_says_what_it_could_make_otherwise(void **state)
{
	static const char *const bad[] = {
		"text/html",
		"application/vnd.kubernetes.protobuf",
		"application/json;as=Table;v=v2;g=meta.k8s.io",
		"application/json;as=Table;v=v1;g=other.io",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct status st = STATUS_INIT;
		struct accept accept;

		assert_int_equal(accept_parse(bad[i], true, &accept, &st), -1);
		assert_int_equal(st.code, 406);
		assert_string_equal(st.message,
				    "only the following media types are "
				    "accepted: application/json, "
				    "application/yaml, application/"
				    "vnd.kubernetes.protobuf");
		status_done(&st);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_the_first_form_it_can_make),
		cmocka_unit_test(test_says_what_it_could_make_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
