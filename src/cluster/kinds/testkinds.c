/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/testkinds.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/schema.h"

struct registry *
testkinds_registry(bool bundled)
{
	struct err err;
	struct registry *registry = registry_new(NULL, NULL, &err);

	if (registry == NULL)
		fail_msg("%s", err.text);
	for (size_t i = 0; bundled; i++) {
		AUTO(causes_done) struct causes causes = CAUSES_INIT;
		AUTO(js_unref) json_t *crd = registry_bundled_crd(i);

		if (crd == NULL)
			break;
		if (registry_prepare_crd(registry, crd, NULL,
					 "2026-01-01T00:00:00Z",
					 &causes) == -1 ||
		    registry_set_crd(registry, crd, &causes) == -1)
			fail_msg("%s", causes_text(&causes));
	}
	return registry;
}

struct kind_version *
testkinds_version(const struct registry *registry, const char *group,
		  const char *version, const char *plural)
{
	struct kind_version *found = NULL;

	assert_int_equal(
		registry_find(registry, group, version, plural, NULL, &found),
		0);
	return found;
}

char *
testkinds_check(const struct schema *schema, json_t *obj)
{
	AUTO(causes_done) struct causes causes = CAUSES_INIT;
	AUTO(free_ptr) char *wrong = NULL;
	struct buf out = BUF_INIT(65536);
	struct unknown unknown = { 0 };

	schema_prune(schema, obj, &unknown);
	schema_default(schema, obj);
	(void)schema_validate(schema, obj, &causes);
	for (size_t i = 0; i < unknown.count; i++)
		(void)buf_printf(&out, "unknown %s; ", unknown.paths[i]);
	unknown_done(&unknown);
	if (causes_count(&causes) > 0) {
		wrong = causes_text(&causes);
		(void)buf_append_str(&out, wrong);
	}
	return out.data != NULL ? (char *)out.data : xstrdup("");
}

void
testkinds_equal(const json_t *value, const char *text)
{
	AUTO(free_ptr)
	char *is = json_dumps(value,
			      JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

	assert_string_equal(is, text);
}
