/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/testfacts.h"

#include <string.h>

#include "api/testjson.h"
#include "base/cleanup.h"
#include "meta/patch.h"

static char no_text[] = "";
static char vmi_uid[] = "u1";
static char migration_uid[] = TEST_UID;
static char program[] = "ferry-launcher";
static char version[] = "1.0.0";
static char libvirt[] = "9.0.0";
static char qemu[] = "7.2.22";

void
testnode_init(struct testnode *n, const char *name)
{
	memset(n, 0, sizeof(*n));
	n->pod = (struct pod){
		.launcher = true,
		.vmi_uid = vmi_uid,
		.migration_uid = no_text,
		.phase = POD_RUNNING,
		.ready = true,
		.compute_running = true,
		.compute_image = no_text,
	};
	n->status = (struct launch_status){
		.version = no_text,
		.libvirt = no_text,
		.qemu = no_text,
		.vmi_uid = vmi_uid,
		.message = no_text,
		.disk_error = no_text,
		.libvirt_up = true,
	};
	n->versions = (struct launch_versions){
		.protocol_min = LAUNCH_PROTOCOL_MIN,
		.protocol_max = LAUNCH_PROTOCOL_MAX,
		.program = program,
		.version = version,
		.libvirt = libvirt,
		.qemu = qemu,
	};
	n->interfaces =
		testjson("[{'name': 'default', 'mac': '02:00:00:00:00:01'}]");
	n->ports = testjson("{'4711': 0, '4712': 49152}");
	n->migratable.ok = true;
	n->migratable.storage_ok = true;
	n->facts = (struct facts){
		.now_us = TEST_NOW,
		.node = name,
		.pod = &n->pod,
		.link = LINK_READY,
		.link_text = "",
		.status = &n->status,
		.versions = &n->versions,
		.interfaces = n->interfaces,
		.network_us = TEST_NOW,
		.migratable = &n->migratable,
		.selinux_context = "none",
		.proxy_up = true,
		.source = { "", "", NULL },
		.target = { "", "10.0.0.2", n->ports },
		.finalized = "",
		.swept = "",
		.blame_uid = "",
		.blame_code = "",
		.blame_text = "",
		.pause_failure = "",
	};
}

void
testnode_done(struct testnode *n)
{
	vmi_free(n->vmi);
	json_decref(n->object);
	json_decref(n->interfaces);
	json_decref(n->ports);
}

void
testnode_see(struct testnode *n, const json_t *object)
{
	struct err err = { .text = "" };

	vmi_free(n->vmi);
	json_decref(n->object);
	n->object = json_deep_copy(object);
	n->vmi = vmi_decode(n->object, &err);
	if (n->vmi == NULL)
		fail_msg("%s", err.text);
	n->facts.vmi = n->vmi;
	n->facts.object = n->object;
}

struct launch_record *
testnode_record(struct testnode *n, enum launch_role role)
{
	n->record = (struct launch_record){
		.uid = migration_uid,
		.role = role,
		.start_us = TEST_NOW,
		.message = no_text,
	};
	n->status.migration = &n->record;
	return &n->record;
}

json_t *
testfacts_machine(const char *phase, bool migrating)
{
	json_t *machine = testjson(
		"{'apiVersion': 'kubevirt.io/v1', 'kind': "
		"'VirtualMachineInstance', 'metadata': {'name': 'vm1', "
		"'namespace': 'default', 'uid': 'u1', 'resourceVersion': '1', "
		"'labels': {'kubevirt.io/nodeName': 'a'}}, 'spec': {'domain': "
		"{}}, 'status': {'nodeName': 'a'}}");

	testfacts_set(machine, "status", "phase", json_string(phase));
	if (!migrating)
		return machine;
	testfacts_set(machine, "metadata.labels",
		      "kubevirt.io/migrationTargetNodeName", json_string("b"));
	testfacts_set(machine, "status", "migrationState",
		      json_pack("{s:s, s:s, s:s, s:s, s:s}", "migrationUid",
				TEST_UID, "sourceNode", "a", "sourcePod", "pa",
				"targetNode", "b", "targetPod", "pb"));
	return machine;
}

void
testfacts_set(json_t *machine, const char *path, const char *name,
	      json_t *value)
{
	json_object_set_new(js_make_obj_at(machine, path), name, value);
}

void
testnode_decide(struct testnode *n, struct decision *ret, const char *rule,
		enum step step)
{
	decide(&n->facts, ret);
	assert_string_equal(ret->rule, rule);
	assert_string_equal(step_name(ret->step), step_name(step));
}

json_t *
testnode_after(const struct testnode *n, const struct decision *d)
{
	AUTO(status_done) struct status st = STATUS_INIT;
	json_t *patch = wishes_patch(&d->wishes, n->object), *after;

	if (patch == NULL)
		return json_deep_copy(n->object);
	after = patch_json(n->object, patch, &st);
	if (after == NULL)
		fail_msg("%s", st.message);
	json_decref(patch);
	return after;
}
