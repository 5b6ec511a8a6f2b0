/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a launcher says of itself and its machine is the pod's to say. What can
 * be read can be copied, the copy is the same, and both nodes of a migration
 * decide by it, before it has begun, while it goes on and when it is over.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/js.h"
#include "base/jsat.h"
#include "handler/decide.h"
#include "launchrpc/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW INT64_C(1700000000000000)

static const char machine[] =
	"{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachineInstance\""
	",\"metadata\":{\"name\":\"vm1\",\"namespace\":\"default\",\"uid\":"
	"\"u1\",\"resourceVersion\":\"1\",\"labels\":{\"kubevirt.io/nodeName\":"
	"\"a\",\"kubevirt.io/migrationTargetNodeName\":\"b\"}},\"spec\":{"
	"\"domain\":{}},\"status\":{\"nodeName\":\"a\",\"phase\":\"Running\","
	"\"migrationState\":{\"migrationUid\":\"m1\",\"sourceNode\":\"a\","
	"\"targetNode\":\"b\",\"targetNodeAddress\":\"10.0.0.2\","
	"\"targetDirectMigrationNodePorts\":{\"4711\":0}}}}";

enum stage {
	HANDED_OFF,
	STARTED,
	LEFT,
	OVER,
	STAGE_COUNT,
};

/* A new reference. */
static json_t *
machine_at(enum stage stage)
{
	struct err err;
	json_t *object = js_parse(machine, strlen(machine), &err);
	json_t *state;

	assert(object != NULL);
	state = js_obj_at(object, "status.migrationState");
	if (stage >= STARTED)
		json_object_set_new(state, "startTimestamp",
				    json_string("2023-11-14T22:13:10Z"));
	if (stage >= LEFT)
		json_object_set_new(state, "endTimestamp",
				    json_string("2023-11-14T22:13:15Z"));
	if (stage == OVER)
		json_object_set_new(state, "failed", json_true());
	return object;
}

static void
decide_by_status(const struct launch_status *status, const char *node,
		 enum stage stage)
{
	static char text[] = "1.0.0";
	const struct launch_versions versions = {
		.protocol_min = LAUNCH_PROTOCOL_MIN,
		.protocol_max = LAUNCH_PROTOCOL_MAX,
		.program = text,
		.version = status->version,
		.libvirt = status->libvirt,
		.qemu = status->qemu,
	};
	json_t *object = machine_at(stage), *patch;
	struct err err;
	struct vmi *vmi = vmi_decode(object, &err);
	json_t *interfaces = json_array(), *ports = json_object();
	struct decision d;
	const struct facts facts = {
		.now_us = NOW,
		.node = node,
		.vmi = vmi,
		.object = object,
		.link = LINK_READY,
		.link_text = "",
		.status = status,
		.versions = &versions,
		.interfaces = interfaces,
		.network_us = NOW,
		.selinux_context = "none",
		.proxy_up = true,
		.source = { "", "", NULL },
		.target = { "m1", "10.0.0.2", ports },
		.finalized = "",
		.blame_uid = "m1",
		.blame_code = "",
		.blame_text = "",
		.swept = "",
		.pause_failure = "",
	};

	assert(vmi != NULL);
	decide(&facts, &d);
	assert(d.step < STEP_COUNT);
	patch = wishes_patch(&d.wishes, object);
	json_decref(patch);
	decision_done(&d);
	vmi_free(vmi);
	json_decref(object);
	json_decref(interfaces);
	json_decref(ports);
}

static void
check_copy(const struct launch_status *status)
{
	struct launch_status copy = { 0 };
	json_t *before = launch_status_encode(status), *after;

	launch_status_copy(&copy, status);
	after = launch_status_encode(&copy);
	assert(json_equal(before, after));
	assert(status->migration == NULL || copy.migration->uid[0] != '\0');
	launch_status_done(&copy);
	json_decref(before);
	json_decref(after);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct launch_status status = { 0 };
	struct err err;
	json_t *obj = js_parse((const char *)data, size, &err);

	if (obj != NULL && launch_status_decode(obj, &status, &err) == 0) {
		check_copy(&status);
		for (int stage = 0; stage < STAGE_COUNT; stage++) {
			decide_by_status(&status, "a", (enum stage)stage);
			decide_by_status(&status, "b", (enum stage)stage);
		}
		launch_status_done(&status);
	}
	json_decref(obj);
	return 0;
}
