/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/render/testcase.h"

#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "base/test.h"

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
