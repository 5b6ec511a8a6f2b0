/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/evacuation/testevacuation.h"

#include "api/testjson.h"
#include "base/cleanup.h"

struct vmi *
test_vmi(const char *metadata, const char *spec, const char *status)
{
	AUTO(free_ptr)
	char *text = xasprintf("{'metadata': {%s'name': 'vm', 'namespace': "
			       "'ns', 'uid': 'v'}, 'spec': {%s'x': 1}, "
			       "'status': {%s'nodeName': 'n1'}}",
			       metadata, spec, status);
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct vmi *vmi = vmi_decode(object, &err);

	assert_string_equal(err.text, "");
	return vmi;
}

struct vmim *
test_vmim(const char *name, const char *created, const char *phase)
{
	AUTO(free_ptr)
	char *text = xasprintf(
		"{'metadata': {'name': '%s', 'uid': '%s', "
		"'creationTimestamp': '1970-01-01T%sZ'}, 'spec': {'vmiName': "
		"'vm'}, 'status': {'phase': '%s'}}",
		name, name, created, phase);
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct vmim *vmim = vmim_decode(object, &err);

	assert_string_equal(err.text, "");
	return vmim;
}

struct node *
test_node(const char *taints)
{
	AUTO(free_ptr)
	char *text = xasprintf("{'metadata': {'name': 'n1'}, 'spec': "
			       "{'taints': [%s]}}",
			       taints);
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };

	return node_decode(object, &err);
}

struct kubevirt_config *
test_config(const char *spec, const char *status)
{
	AUTO(free_ptr)
	char *text = xasprintf("{'metadata': {'name': 'kubevirt', "
			       "'namespace': 'kubevirt'}, 'spec': {%s'x': 1}, "
			       "'status': {%s'x': 1}}",
			       spec == NULL ? "" : spec, status);
	AUTO(js_unref) json_t *object = testjson(text);
	struct err err = { .text = "" };
	struct kubevirt_config *config =
		kubevirt_config_decode(spec == NULL ? NULL : object, &err);

	assert_string_equal(err.text, "");
	return config;
}
