/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/render/testcase.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "base/test.h"
#include "meta/yaml.h"

static bool
is_block(void *arg, const char *claim)
{
	const struct testcase *tc = arg;
	json_t *name;
	size_t i;

	json_array_foreach(tc->block_claims, i, name)
	{
		if (str_equal(json_string_value(name), claim))
			return true;
	}
	return false;
}

void
testcase_open(struct testcase *tc, json_t *kubevirt, json_t *block_claims)
{
	struct err err;

	*tc = (struct testcase){
		.kubevirt = json_incref(kubevirt),
		.block_claims = json_incref(block_claims),
		.config = kubevirt_config_decode(kubevirt, &err),
	};
	if (tc->config == NULL)
		fail_msg("%s", err.text);
	tc->env = (struct render_env){
		.config = tc->config,
		.configuration = js_obj_at(kubevirt, "spec.configuration"),
		.launcher_image = "ferry-launcher:v1",
		.claim_is_block = is_block,
		.arg = tc,
		.random = 7,
	};
}

void
testcase_close(struct testcase *tc)
{
	kubevirt_config_free(tc->config);
	json_decref(tc->kubevirt);
	json_decref(tc->block_claims);
}

json_t *
testcase_yaml(const char *text)
{
	struct err err;
	json_t *value = yaml_to_json(text, strlen(text), &err);

	if (value == NULL)
		fail_msg("%s in %s", err.text, text);
	return value;
}

void
testcase_assert_yaml(const json_t *value, const char *yaml)
{
	json_t *wanted = testcase_yaml(yaml);
	char *wanted_text = yaml_from_json(wanted);
	char *text = yaml_from_json(value);

	assert_string_equal(text, wanted_text);
	free(text);
	free(wanted_text);
	json_decref(wanted);
}
