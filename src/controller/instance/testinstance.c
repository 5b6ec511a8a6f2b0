/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/testinstance.h"

#include <string.h>

#include "api/testjson.h"
#include "base/cleanup.h"

static struct pod *
make_pod(const char *text)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	char *at = copy;
	const char *name = strsep(&at, "|");
	const char *node = strsep(&at, "|");
	const char *metadata = strsep(&at, "|");
	AUTO(free_ptr)
	char *json = xasprintf(
		"{'metadata': {%s'name': '%s', 'uid': '%s', "
		"'creationTimestamp': '1970-01-01T00:05:00Z', 'labels': "
		"{'kubevirt.io': 'virt-launcher', 'kubevirt.io/created-by': "
		"'v'}, 'annotations': {'kubevirt.io/migrationTransportUnix': "
		"'true'}, 'ownerReferences': [{'uid': 'v', 'controller': "
		"true}]}, 'spec': {'nodeName': '%s', 'containers': [{'name': "
		"'compute', 'image': 'launcher:1'}]}, 'status': {%s}}",
		metadata, name, name, node, at);
	AUTO(js_unref) json_t *object = testjson(json);
	struct err err = { .text = "" };
	struct pod *pod = pod_decode(object, &err);

	assert_string_equal(err.text, "");
	return pod;
}

static struct vmi *
make_vmi(const char *phase, const char *metadata, const char *status)
{
	AUTO(free_ptr)
	char *json = xasprintf(
		"{'metadata': {%s'name': 'vm', 'namespace': 'ns', 'uid': 'v', "
		"'resourceVersion': '5', 'finalizers': "
		"['foregroundDeleteVirtualMachine']}, 'spec': {'volumes': "
		"[{'name': 'root', 'persistentVolumeClaim': {'claimName': "
		"'disk'}}]}, 'status': {%s'phase': '%s'}}",
		metadata, status, phase);
	AUTO(js_unref) json_t *object = testjson(json);
	struct err err = { .text = "" };
	struct vmi *vmi = vmi_decode(object, &err);

	assert_string_equal(err.text, "");
	return vmi;
}

static void
make_world(struct testinstance *t)
{
	AUTO(js_unref)
	json_t *node =
		testjson("{'metadata': {'name': 'n1', 'annotations': "
			 "{'kubevirt.io/heartbeat': '1970-01-01T00:16:00Z'}}}");
	AUTO(js_unref)
	json_t *pvc = testjson("{'metadata': {'name': 'disk'}, 'spec': "
			       "{'accessModes': ['ReadWriteMany']}}");
	struct err err;

	t->config = kubevirt_config_decode(NULL, &err);
	t->node = node_decode(node, &err);
	t->pvc = pvc_decode(pvc, &err);
}

void
testinstance_open(struct testinstance *t, const char *phase,
		  const char *metadata, const char *status,
		  const char *const *pods)
{
	size_t count = 0;

	*t = (struct testinstance){ .vmi = make_vmi(phase, metadata, status) };
	make_world(t);
	for (; pods != NULL && pods[count] != NULL; count++) {
		assert_true(count < TEST_PODS_MAX);
		t->pods[count] = make_pod(pods[count]);
	}
	t->claims[0] = (struct instance_claim){ &t->vmi->volumes[0], t->pvc };
	t->facts = (struct instance_facts){
		.now_us = TEST_NOW_US,
		.confirmed = true,
		.config = t->config,
		.launcher_image = "launcher:1",
		.vmi = t->vmi,
		.pods = (const struct pod *const *)t->pods,
		.pod_count = count,
		.claims = t->claims,
		.claim_count = 1,
		.node = t->node,
	};
}

void
testinstance_close(struct testinstance *t)
{
	for (size_t i = 0; i < TEST_PODS_MAX; i++)
		pod_free(t->pods[i]);
	vmi_free(t->vmi);
	node_free(t->node);
	pvc_free(t->pvc);
	kubevirt_config_free(t->config);
}
