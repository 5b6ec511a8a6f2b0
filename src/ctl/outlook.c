/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/outlook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/policy.h"
#include "api/predict.h"
#include "api/release.h"
#include "api/storage.h"
#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/checks.h"
#include "ctl/human.h"
#include "kube/obj.h"
#include "meta/time.h"

#define US_PER_MS 1000.0
#define POLICIES_MAX 1024

static size_t
decode_policies(const json_t *list, struct policy **policies)
{
	const json_t *item;
	size_t i, count = 0;

	json_array_foreach(list, i, item)
	{
		struct err ignored;

		if (count == POLICIES_MAX)
			break;
		policies[count] = policy_decode(item, &ignored);
		if (policies[count] != NULL)
			count++;
	}
	return count;
}

int
outlook_settings(const struct outlook_facts *facts,
		 struct migration_config *ret_config, char **ret_policy,
		 struct err *err)
{
	AUTO(kubevirt_config_unref)
	struct kubevirt_config *config =
		kubevirt_config_decode(facts->kubevirt, err);
	AUTO(free_ptr) struct policy **policies = NULL;
	const struct policy *policy;
	size_t count;

	if (config == NULL)
		return -1;
	policies = xcalloc(POLICIES_MAX, sizeof(struct policy *));
	count = decode_policies(facts->policies, policies);
	policy = policy_match((const struct policy *const *)policies, count,
			      js_obj_at(facts->ns, "metadata.labels"),
			      js_obj_at(facts->vmi, "metadata.labels"));
	policy_resolve(policy, &config->migrations, ret_config);
	*ret_policy = xstrdup(policy == NULL ? "" : policy->meta.name);
	for (size_t i = 0; i < count; i++)
		policy_free(policies[i]);
	return 0;
}

/* What has to be copied beside the memory, as far as objects tell. */
static uint64_t
disk_bytes(const struct outlook_facts *facts)
{
	const char *name;
	json_t *claim;
	uint64_t sum = 0;

	if (!str_equal(js_str_at(facts->vmi, "status.migrationMethod"),
		       "BlockMigration"))
		return 0;
	json_object_foreach((json_t *)(uintptr_t)facts->claims, name, claim)
	{
		struct err ignored;
		AUTO(pvc_unref) struct pvc *pvc = pvc_decode(claim, &ignored);

		if (pvc != NULL && !pvc_is_shared(pvc))
			sum += pvc->size_bytes;
	}
	return sum;
}

/* A guest that has not touched all of its memory is moved sooner. */
static uint64_t
memory_bytes(const json_t *guest)
{
	int64_t all = js_int_at(guest, "memoryBytes", 0);
	int64_t resident = js_int_at(guest, "residentBytes", 0);

	if (resident > 0 && resident < all)
		return (uint64_t)resident;
	return all > 0 ? (uint64_t)all : 0;
}

static json_t *
judge_future(const struct outlook_facts *facts,
	     const struct migration_config *config, const char *node,
	     const json_t *status, json_t *checks)
{
	const json_t *guest = js_obj_at(status, "source.guest");
	int64_t rate = js_int_at(status, "source.path.bytesPerSecond", 0);
	struct predict_input in = {
		.memory_bytes = memory_bytes(guest),
		.disk_bytes = disk_bytes(facts),
		.path_rate = rate > 0 ? (uint64_t)rate : 0,
		.dirty_known = js_at(guest, "dirtyRateBytesPerSecond") != NULL,
		.dirty_rate = (uint64_t)js_int_at(guest,
						  "dirtyRateBytesPerSecond", 0),
	};
	struct prediction p;
	AUTO(free_ptr) char *sentence = NULL;
	enum check_result result = CHECK_OK;

	in.timed_bytes =
		(uint64_t)js_int_at(guest, "memoryBytes", 0) + in.disk_bytes;
	predict_settings(&in, config);
	/* Nothing is known of a guest that could not be sampled. */
	if (in.memory_bytes == 0)
		in.path_rate = 0;
	predict(&in, &p);
	sentence = predict_sentence(&in, &p);
	if (p.verdict == PREDICT_FAILS)
		result = CHECK_FAIL;
	else if (p.verdict == PREDICT_UNKNOWN)
		result = CHECK_UNKNOWN;
	else if (p.verdict != PREDICT_CONVERGES)
		result = CHECK_NOTE;
	checks_add(checks, node, result, "prediction", "%s", sentence);
	return predict_json(&in, &p);
}

static void
judge_proxy(const json_t *answer, const char *node, const char *whose,
	    int64_t now_us, json_t *checks)
{
	const char *error = js_str_at(answer, "proxy.error");
	const char *set;
	json_t *credential;

	if (answer == NULL) {
		checks_add(checks, node, CHECK_FAIL, "agent",
			   "that of %s does not answer", whose);
		return;
	}
	if (error[0] != '\0')
		checks_add(checks, node, CHECK_FAIL, "proxy",
			   "that of %s does not answer: %s", whose, error);
	json_object_foreach(js_obj_at(answer, "proxy.status.credentials"), set,
			    credential)
	{
		const char *until = js_str_at(credential, "notAfter");
		bool expired;
		struct err ignored;
		int64_t us;

		expired = time_parse(until, &us, &ignored) == 0 && us <= now_us;
		checks_add(checks, node, expired ? CHECK_FAIL : CHECK_OK,
			   "certificate", "%s: %s %s", set,
			   js_str_at(credential, "identity"),
			   expired ? "has expired" : until);
	}
}

/* Programs of two versions work together, as a rule; it is said all the
 * same. */
static void
judge_versions(const json_t *status, const char *node, json_t *checks)
{
	static const char *const members[] = {
		"source.handler",
		"target.handler",
		"source.proxy.version",
		"target.proxy.version",
	};
	const char *first = "";
	bool same = true;

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const char *version = js_str_at(status, members[i]);

		if (first[0] == '\0')
			first = version;
		same = same &&
		       (version[0] == '\0' || str_equal(first, version));
	}
	if (first[0] != '\0')
		checks_add(checks, node, same ? CHECK_OK : CHECK_NOTE,
			   "version", "%s%s", first,
			   same ? "" : ", and others on the way");
}

/* What a launcher of today has on the node, as far as a machine there tells; a
 * new reference, NULL: not known. */
static json_t *
launcher_on(const struct outlook_facts *facts, const char *node)
{
	const json_t *vmi;
	size_t i;

	json_array_foreach(facts->machines, i, vmi)
	{
		const char *text =
			obj_annotation(vmi, ANNOTATION_LAUNCHER_VERSIONS);
		struct err ignored;

		if (str_equal(js_str_at(vmi, "status.nodeName"), node) &&
		    obj_label(vmi, LABEL_OUTDATED_IMAGE) == NULL &&
		    text != NULL)
			return js_parse(text, strlen(text), &ignored);
	}
	return NULL;
}

/* The target's is known when its pod is there; others of the node tell what it
 * will be. */
static void
judge_launcher(const struct outlook_facts *facts, const json_t *status,
	       const char *node, json_t *checks)
{
	const json_t *here = js_obj_at(status, "source.launcher");
	AUTO(js_unref) json_t *there = launcher_on(facts, node);
	const char *qemu = js_str_at(here, "qemu");
	const char *theirs = js_str_at(there, "qemu");
	bool outdated = obj_label(facts->vmi, LABEL_OUTDATED_IMAGE) != NULL;

	if (here == NULL)
		return;
	if (release_is_older(theirs, qemu)) {
		checks_add(checks, node, CHECK_FAIL, "launcher",
			   "QEMU %s is older than %s, which the machine runs "
			   "with: update the node",
			   theirs, qemu);
		return;
	}
	checks_add(checks, node, outdated ? CHECK_NOTE : CHECK_OK, "launcher",
		   "%s with libvirt %s and QEMU %s%s%s%s",
		   js_str_at(here, "version"), js_str_at(here, "libvirt"), qemu,
		   theirs[0] == '\0' ? "" : ", there QEMU ", theirs,
		   outdated ? ": outdated, it gets a newer one" : "");
}

static void
judge_path(const json_t *path, const char *node, json_t *checks)
{
	const char *reason = js_str_at(path, "reason");
	char rate[HUMAN_SIZE];

	if (path == NULL)
		return;
	if (reason[0] != '\0') {
		checks_add(
			checks, node,
			str_equal(reason, "Busy") ? CHECK_UNKNOWN : CHECK_FAIL,
			"path", "%s: %s", reason, js_str_at(path, "message"));
		return;
	}
	checks_add(checks, node, CHECK_OK, "path",
		   "%s: handshake %.1f ms, there and back %.1f ms, %s/s",
		   js_str_at(path, "address"),
		   (double)js_int_at(path, "handshakeUs", 0) / US_PER_MS,
		   (double)js_int_at(path, "roundTripUs", 0) / US_PER_MS,
		   human_bytes(js_int_at(path, "bytesPerSecond", 0), rate));
}

static void
judge_guest(const json_t *guest, const char *node, json_t *checks)
{
	char memory[HUMAN_SIZE], resident[HUMAN_SIZE], rate[HUMAN_SIZE];

	if (guest == NULL)
		return;
	if (js_str_at(guest, "reason")[0] != '\0') {
		checks_add(checks, node, CHECK_UNKNOWN, "guest", "%s",
			   js_str_at(guest, "message"));
		return;
	}
	checks_add(checks, node, CHECK_OK, "guest",
		   "%s of memory, %s touched, %s/s written to",
		   human_bytes(js_int_at(guest, "memoryBytes", 0), memory),
		   human_bytes(js_int_at(guest, "residentBytes", 0), resident),
		   human_bytes(js_int_at(guest, "dirtyRateBytesPerSecond", 0),
			       rate));
}

json_t *
outlook_judge(const struct outlook_facts *facts,
	      const struct migration_config *config, const char *node,
	      const json_t *status, int64_t now_us, json_t *checks)
{
	const char *from = js_str_at(facts->vmi, "status.nodeName");
	json_t *path = js_obj_at(status, "source.path");
	json_t *guest = js_obj_at(status, "source.guest");

	judge_proxy(js_obj_at(status, "source"), node, from, now_us, checks);
	judge_proxy(js_obj_at(status, "target"), node, node, now_us, checks);
	judge_versions(status, node, checks);
	judge_launcher(facts, status, node, checks);
	judge_path(path, node, checks);
	judge_guest(guest, node, checks);
	return json_pack("{s:O*, s:O*, s:o}", "path", path, "guest", guest,
			 "prediction",
			 judge_future(facts, config, node, status, checks));
}
