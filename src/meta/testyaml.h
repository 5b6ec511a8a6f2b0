/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_TESTYAML_H
#define META_TESTYAML_H

/*
 * testyaml - objects that are written as YAML in tests; a text that is none
 * fails them.
 */

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/yaml.h"

/* A new reference. */
static inline json_t *
testyaml(const char *text)
{
	struct err err = { .text = "" };
	json_t *value = yaml_to_json(text, strlen(text), &err);

	if (value == NULL)
		fail_msg("%s in %s", err.text, text);
	return value;
}

static inline void
assert_yaml(const json_t *value, const char *yaml)
{
	AUTO(js_unref) json_t *wanted = testyaml(yaml);
	AUTO(free_ptr) char *wanted_text = yaml_from_json(wanted);
	AUTO(free_ptr) char *text = yaml_from_json(value);

	assert_string_equal(text, wanted_text);
}

#endif
