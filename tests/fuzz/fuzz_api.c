/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whatever an object looks like, each view of it is decoded whole or refused
 * with a reason, and each check of it answers with what JSON can hold. The text
 * is two objects in a list, as before and after a change, or one.
 */
#include <assert.h>
#include <string.h>

#include "api/check.h"
#include "api/config.h"
#include "api/defaults.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/storage.h"
#include "api/vm.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "meta/quantity.h"
#include "meta/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect_reason(const void *view, const struct err *err)
{
	assert(view != NULL || err->text[0] != '\0');
}

static const struct pvc *
no_claim(void *arg, const char *name)
{
	(void)arg;
	assert(name[0] != '\0');
	return NULL;
}

static void
decode_machines(const json_t *object)
{
	struct err err = { .text = "" };
	AUTO(vmi_unref) struct vmi *vmi = vmi_decode(object, &err);
	AUTO(vmim_unref) struct vmim *vmim = NULL;
	AUTO(vm_unref) struct vm *vm = NULL;
	char text[64];

	expect_reason(vmi, &err);
	if (vmi != NULL)
		(void)storage_judge(vmi, no_claim, NULL, text, sizeof(text));
	vmim = vmim_decode(object, &err);
	expect_reason(vmim, &err);
	vm = vm_decode(object, &err);
	expect_reason(vm, &err);
}

static void
decode_others(const json_t *object)
{
	struct err err = { .text = "" };
	AUTO(pod_unref) struct pod *pod = pod_decode(object, &err);
	AUTO(node_unref) struct node *node = node_decode(object, &err);
	AUTO(pvc_unref) struct pvc *pvc = pvc_decode(object, &err);
	AUTO(policy_unref) struct policy *policy = policy_decode(object, &err);
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(object, &err);

	expect_reason(config, &err);
	/* Nothing but a name is asked of these. */
	assert((pod != NULL) == (node != NULL));
	assert((pod != NULL) == (pvc != NULL));
	if (policy != NULL && config != NULL) {
		AUTO(migration_config_done) struct migration_config resolved;
		AUTO(js_unref) json_t *json = NULL;

		policy_resolve(policy, &config->migrations, &resolved);
		json = migration_config_json(&resolved);
		assert(json != NULL);
	}
}

/* Ends a check: what it returned fits what it said. */
static void
expect_answer(int result, struct status *st)
{
	AUTO(js_unref) json_t *json = NULL;

	assert((result == 0) == (st->code == 0));
	if (result == -1) {
		json = status_json(st);
		assert(json_object_get(json, "message") != NULL);
	}
	status_done(st);
}

static void
check_all(const json_t *before, const json_t *now)
{
	static const struct check_user user = { .name = "u" };
	struct status st = STATUS_INIT;
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);
	struct vm_facts facts = {
		.old_object = before,
		.new_object = now,
		.config = config,
	};

	expect_answer(vmim_check_update(before, now, &st), &st);
	expect_answer(vmi_check_create(now, &user, &st), &st);
	expect_answer(vmi_check_update(before, now, &user, 1, &st), &st);
	expect_answer(vmi_check_node_update(before, now, "n", &st), &st);
	expect_answer(vm_check(&facts, &st), &st);
	expect_answer(policy_check(before, now, config, &st), &st);
	expect_answer(kubevirt_check(before, now, &st), &st);
}

/* Defaults are set once: a second time there is nothing to do. */
static void
set_defaults(const json_t *object)
{
	struct err err;
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config = kubevirt_config_decode(NULL, &err);
	AUTO(js_unref) json_t *once = json_deep_copy(object);
	AUTO(js_unref) json_t *twice = NULL;

	if (!json_is_object(once))
		return;
	vmi_set_defaults(once, config, "uuid");
	vmim_set_defaults(once);
	twice = json_deep_copy(once);
	vmi_set_defaults(twice, config, "other");
	vmim_set_defaults(twice);
	assert(json_equal(once, twice));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err;
	AUTO(js_unref) json_t *value = js_parse((const char *)data, size, &err);
	const json_t *before = json_array_get(value, 0);
	const json_t *now = json_array_get(value, 1);

	if (value == NULL)
		return 0;
	if (now == NULL)
		now = value;
	decode_machines(now);
	decode_others(now);
	check_all(before, now);
	set_defaults(now);
	return 0;
}
