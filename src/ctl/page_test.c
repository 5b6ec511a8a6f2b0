/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/testjson.h"
#include "ctl/paragraph.h"
#include "ctl/timeline.h"

#define VMI                                                               \
	"{\"metadata\": {\"name\": \"vm1\", \"uid\": \"u1\", "            \
	"\"creationTimestamp\": \"2026-11-16T10:00:00Z\"}, \"status\": "  \
	"{\"phase\": \"Running\", \"nodeName\": \"node1\", "              \
	"\"phaseTransitionTimestamps\": [{\"phase\": \"Running\", "       \
	"\"phaseTransitionTimestamp\": \"2026-11-16T10:00:05Z\"}], "      \
	"\"migrationState\": {\"migrationUid\": \"m1\", \"sourceNode\": " \
	"\"node1\", \"targetNode\": \"node2\", \"failureCode\": "         \
	"\"ConnectFailed\", \"failureReason\": \"no route\"}}}"

#define VMIM_BEGIN                                                     \
	"{\"metadata\": {\"name\": \"mig1\", \"uid\": \"m1\", "        \
	"\"creationTimestamp\": \"2026-11-16T10:01:00Z\"}, \"spec\": " \
	"{\"vmiName\": \"vm1\"}, \"status\": {"                        \
	"\"phaseTransitionTimestamps\": [{\"phase\": \"Pending\", "    \
	"\"phaseTransitionTimestamp\": \"2026-11-16T10:01:01Z\"}], "

#define VMIM_FAILED                                                      \
	VMIM_BEGIN "\"phase\": \"Failed\", \"conditions\": [{\"type\": " \
		   "\"ferry.io/Failure\", \"status\": \"True\", "        \
		   "\"reason\": \"ReportedByNode\", \"message\": "       \
		   "\"source node reported migration failed: no "        \
		   "route\", \"lastTransitionTime\": "                   \
		   "\"2026-11-16T10:02:00Z\"}]}}"

#define VMIM_WAITS                                                        \
	VMIM_BEGIN "\"phase\": \"Pending\", \"conditions\": [{\"type\": " \
		   "\"ferry.io/Waiting\", \"status\": \"True\", "         \
		   "\"reason\": \"ResourceQuota\", \"message\": "         \
		   "\"exceeded quota: small\", "                          \
		   "\"lastTransitionTime\": "                             \
		   "\"2026-11-16T10:01:02Z\"}]}}"

#define SUCCEEDED(progress)                                                 \
	VMIM_BEGIN "\"phase\": \"Succeeded\", \"migrationState\": {"        \
		   "\"sourceNode\": \"node1\", \"targetNode\": \"node2\", " \
		   "\"completed\": true, \"progress\": {" progress "}}}}"

/* What the nodes do not know is 0. */
static void
test_a_success_says_how_long_the_guest_stood_still(void **state)
{
	static const struct {
		const char *vmim, *said;
	} cases[] = {
		{ SUCCEEDED("\"downtimeMs\": 70, \"blackoutMs\": 68"),
		  "the guest stood still for 70 ms, blackout 68 ms" },
		{ SUCCEEDED("\"downtimeMs\": 70, \"blackoutMs\": 0"),
		  "the guest stood still for 70 ms" },
		{ SUCCEEDED("\"downtimeMs\": 70"),
		  "the guest stood still for 70 ms" },
		{ SUCCEEDED("\"downtimeMs\": 0, \"blackoutMs\": 68"),
		  "the guest stood still for 68 ms" },
		{ SUCCEEDED("\"downtimeMs\": 0, \"blackoutMs\": 0, "
			    "\"percent\": 100"),
		  "100 % copied" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *vmim = testjson_plain(cases[i].vmim);
		AUTO(js_unref)
		json_t *page = page_json(
			&(struct page_facts){ .ns = "default", .vmim = vmim });
		AUTO(free_ptr)
		char *line = xasprintf("Migration mig1: Succeeded, node1 to "
				       "node2, %s",
				       cases[i].said);
		const char *summary = js_str_at(page, "summary");
		const char *found = strstr(summary, "Migration ");

		assert_non_null(found);
		assert_string_equal(found, line);
	}
}

static void
test_a_failure_that_a_node_reported_has_the_nodes_code(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
	AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_FAILED);
	struct page_facts facts = { .ns = "default", .vmi = vmi, .vmim = vmim };
	AUTO(js_unref) json_t *page = page_json(&facts);
	const json_t *finding = json_array_get(js_arr_at(page, "findings"), 0);

	(void)state;
	assert_int_equal(json_array_size(js_arr_at(page, "findings")), 1);
	assert_string_equal(js_str_at(finding, "code"), "ConnectFailed");
	assert_string_equal(js_str_at(finding, "about"), "failed");
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#no-connection");
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(finding, "checks"), 0),
			  "command"),
		"ferryctl doctor -n default mig1");
	assert_string_equal(js_str_at(page, "migration.target"), "node2");
}

static void
test_a_page_reads_like_a_page(void **state)
{
	static const char expected[] =
		"Machine vm1: Running on node1\n"
		"Migration mig1: Pending, node1 to node2\n"
		"\n"
		"What happened\n"
		"  2026-11-16 (UTC)\n"
		"  10:00:00  machine    created\n"
		"  10:00:05  machine    Running\n"
		"  10:01:00  migration  asked for\n"
		"  10:01:01  migration  Pending\n"
		"  10:01:02  migration  waits: ResourceQuota\n"
		"\n"
		"What it waits for: ResourceQuota (since "
		"2026-11-16T10:01:02Z)\n"
		"    exceeded quota: small\n"
		"    A quota of the namespace has no room for the target pod, "
		"which needs as\n"
		"    much as the source pod while both exist.\n"
		"  Check\n"
		"    which quota is full\n"
		"        kubectl describe resourcequota -n default\n"
		"  Do\n"
		"    raise it; the migration goes on by itself\n"
		"        kubectl edit resourcequota -n default\n"
		"    or stop something of the namespace\n"
		"        kubectl get vm,pods -n default\n"
		"    or give it up; the machine stays where it is\n"
		"        ferryctl migrate-cancel -n default vm1\n"
		"  More: docs/operations.md#quota\n"
		"\n"
		"Not seen: events: forbidden\n";
	AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
	AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_WAITS);
	AUTO(js_unref)
	json_t *unseen = testjson_plain("[\"events: forbidden\"]");
	struct page_facts facts = {
		.ns = "default", .vmi = vmi, .vmim = vmim, .unseen = unseen
	};
	AUTO(js_unref) json_t *page = page_json(&facts);
	AUTO(free_ptr) char *text = page_text(page);

	(void)state;
	assert_string_equal(text, expected);
}

static void
test_a_machine_says_why_it_cannot_move(void **state)
{
	AUTO(js_unref)
	json_t *vmi = testjson_plain(
		"{\"metadata\": {\"name\": \"vm1\"}, \"status\": {\"phase\": "
		"\"Running\", \"conditions\": [{\"type\": \"LiveMigratable\", "
		"\"status\": \"False\", \"reason\": "
		"\"DisksNotLiveMigratable\", \"message\": \"PVC x\"}]}}");
	struct page_facts facts = { .ns = "default", .vmi = vmi };
	AUTO(js_unref) json_t *page = page_json(&facts);
	const json_t *finding = json_array_get(js_arr_at(page, "findings"), 0);

	(void)state;
	assert_string_equal(js_str_at(finding, "code"),
			    "DisksNotLiveMigratable");
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#pvc-not-shared");
}

static void
test_what_a_proxy_saw_leads_to_its_entry(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
	AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_FAILED);
	json_t *cond = json_array_get(js_arr_at(vmim, "status.conditions"), 0);
	struct page_facts facts = { .ns = "default", .vmi = vmi, .vmim = vmim };
	AUTO(js_unref) json_t *page = NULL;
	const json_t *finding;

	(void)state;
	json_object_set_new(cond, "message",
			    json_string("it failed; ferry-proxy: "
					"CertificateExpired: no"));
	page = page_json(&facts);
	finding = json_array_get(js_arr_at(page, "findings"), 0);
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#certificate-expired");
	assert_non_null(strstr(js_str_at(finding, "meaning"),
			       "The certificate of a node has expired."));
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(finding, "checks"), 0),
			  "command"),
		"ferryctl doctor");
}

#define VMIM_PREPARES                                                  \
	VMIM_BEGIN "\"phase\": \"PreparingTarget\", \"conditions\": "  \
		   "[{\"type\": \"ferry.io/Waiting\", \"status\": "    \
		   "\"True\", \"reason\": \"TargetNodePreparation\", " \
		   "\"message\": \"It prepares.\"}]}}"

#define COMPLAINT(time, text)                                  \
	"{\"type\": \"Warning\", \"reason\": \"SyncFailed\", " \
	"\"involvedObject\": {\"name\": \"vm1\"}, "            \
	"\"lastTimestamp\": \"" time "\", \"message\": \"" text "\"}"

/* What the handler complained about before is not what it waits for. */
static void
test_what_a_handler_says_leads_to_its_entry(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
	AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_PREPARES);
	AUTO(js_unref)
	json_t *before = testjson_plain(
		"[" COMPLAINT("2026-11-16T10:00:59Z", "something") "]");
	AUTO(js_unref)
	json_t *now = testjson_plain("[" COMPLAINT(
		"2026-11-16T10:01:05Z", "interface 'mig0' is down") "]");
	struct page_facts facts = {
		.ns = "default", .vmi = vmi, .vmim = vmim, .events = before
	};
	AUTO(js_unref) json_t *quiet = page_json(&facts);
	AUTO(js_unref) json_t *page = NULL;
	const json_t *finding = json_array_get(js_arr_at(quiet, "findings"), 0);

	(void)state;
	assert_null(js_at(finding, "detail"));
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#node-silent");
	facts.events = now;
	page = page_json(&facts);
	finding = json_array_get(js_arr_at(page, "findings"), 0);
	assert_string_equal(js_str_at(finding, "detail"),
			    "interface 'mig0' is down");
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#migration-network-missing");
}

#define OF_VM1 "\"type\": \"Warning\", \"involvedObject\": {\"name\": \"vm1\"}"

/* As newer clients write events: without lastTimestamp, and with parts of a
 * second. The migration was made at 10:01:00. */
static void
test_the_newest_complaint_is_taken_wherever_its_time_stands(void **state)
{
	static const struct {
		const char *events, *detail;
	} cases[] = {
		{ "[{" OF_VM1
		  ", \"message\": \"new\", \"lastTimestamp\": null, "
		  "\"eventTime\": \"2026-11-16T10:01:00.250000Z\"}]",
		  "new" },
		{ "[{" OF_VM1 ", \"message\": \"before\", \"eventTime\": "
		  "\"2026-11-16T10:00:59.999999Z\"}]",
		  "" },
		{ "[{" OF_VM1 ", \"message\": \"new\", \"eventTime\": "
		  "\"2026-11-16T10:00:00.000000Z\", \"series\": {\"count\": 4, "
		  "\"lastObservedTime\": \"2026-11-16T10:02:00.000000Z\"}}, "
		  "{" OF_VM1 ", \"message\": \"old\", \"eventTime\": "
		  "\"2026-11-16T10:01:59.000000Z\"}]",
		  "new" },
		{ "[{" OF_VM1 ", \"message\": \"half\", \"eventTime\": "
		  "\"2026-11-16T10:01:05.500000Z\"}, " COMPLAINT(
			  "2026-11-16T10:01:05Z", "whole") "]",
		  "half" },
		{ "[{" OF_VM1 ", \"message\": \"made\", \"metadata\": "
		  "{\"creationTimestamp\": \"2026-11-16T10:01:01Z\"}}]",
		  "made" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
		AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_PREPARES);
		AUTO(js_unref) json_t *events = testjson_plain(cases[i].events);
		struct page_facts facts = { .ns = "default",
					    .vmi = vmi,
					    .vmim = vmim,
					    .events = events };
		AUTO(js_unref) json_t *page = page_json(&facts);

		assert_string_equal(
			js_str_at(
				json_array_get(js_arr_at(page, "findings"), 0),
				"detail"),
			cases[i].detail);
	}
}

/* As kubelets hand on what the plugins of networks say. */
static void
test_what_a_network_lacks_on_a_node_leads_to_its_entry(void **state)
{
	static const struct {
		const char *said, *entry;
	} cases[] = {
		{ "network-attachment-definitions.k8s.cni.cncf.io 'lan' not "
		  "found",
		  "docs/operations.md#nad-missing" },
		{ "plugin type='macvlan' name='lan' failed (ADD): failed to "
		  "lookup master 'lan0': Link not found",
		  "docs/operations.md#nad-missing" },
		{ "plugin type='bridge' name='lan' failed (add): could not "
		  "lookup 'br-lan': Link not found",
		  "docs/operations.md#nad-missing" },
		{ "plugin type='ovs' name='lan' failed (add): failed to find "
		  "bridge br-lan",
		  "docs/operations.md#nad-missing" },
		{ "plugin type='bridge' name='pods' failed (ADD): no address "
		  "is left",
		  "docs/operations.md#pod-not-ready" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
		AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_WAITS);
		AUTO(js_unref)
		json_t *events = testjson_plain(
			"[" COMPLAINT("2026-11-16T10:01:05Z", "x") "]");
		json_t *cond =
			json_array_get(js_arr_at(vmim, "status.conditions"), 0);
		AUTO(js_unref)
		json_t *pods = testjson_plain(
			"[{\"metadata\": {\"name\": \"vm1\", \"labels\": "
			"{\"kubevirt.io/migrationJobUID\": \"m1\"}}}]");
		struct page_facts facts = { .ns = "default",
					    .vmi = vmi,
					    .vmim = vmim,
					    .pods = pods,
					    .events = events };
		AUTO(js_unref) json_t *page = NULL;
		const json_t *finding;

		json_object_set_new(cond, "reason", json_string("PodNotReady"));
		json_object_set_new(json_array_get(events, 0), "message",
				    json_string(cases[i].said));
		page = page_json(&facts);
		finding = json_array_get(js_arr_at(page, "findings"), 0);
		assert_string_equal(js_str_at(finding, "detail"),
				    cases[i].said);
		assert_string_equal(js_str_at(finding, "runbook"),
				    cases[i].entry);
	}
}

/* Anybody who may write events or conditions has his words on the page. */
static void
test_what_would_steer_the_terminal_is_not_shown(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
	AUTO(js_unref)
	json_t *events = testjson_plain(
		"[{\"type\": \"Warning\", \"reason\": \"\\u001b[2JNo\", "
		"\"message\": \"\\u001b]0;boo\\u0007a\\n  10:00:00  machine    "
		"fine\\u009b1m\", \"lastTimestamp\": "
		"\"2026-11-16T10:01:05Z\"}]");
	json_t *status = json_object_get(vmi, "status");
	struct page_facts facts = { .ns = "default",
				    .vmi = vmi,
				    .events = events };
	AUTO(js_unref) json_t *page = NULL;
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	json_object_set_new(
		status, "conditions",
		testjson_plain("[{\"type\": \"LiveMigratable\", \"status\": "
			       "\"False\", "
			       "\"reason\": \"x\\u001b[8m\\ny\", \"message\": "
			       "\"\\u001b[31mred\"}]"));
	page = page_json(&facts);
	text = page_text(page);
	for (const char *c = text; *c != '\0'; c++)
		assert_true(*c == '\n' || (unsigned char)*c >= ' ');
	assert_non_null(strstr(text, "?[2JNo: ?]0;boo?a   10:00:00  machine    "
				     "fine??1m\n"));
	assert_non_null(strstr(text, "machine: x?[8m y\n"));
	assert_non_null(strstr(text, "    ?[31mred\n"));
}

static void
test_a_machine_that_stands_or_cannot_be_made_says_so(void **state)
{
	AUTO(js_unref)
	json_t *vm = testjson_plain(
		"{\"metadata\": {\"name\": \"vm1\"}, \"status\": "
		"{\"conditions\": [{\"type\": \"Failure\", \"status\": "
		"\"True\", \"reason\": \"FailedCreate\"}]}}");
	AUTO(js_unref)
	json_t *vmi = testjson_plain(
		"{\"metadata\": {\"name\": \"vm1\"}, \"status\": "
		"{\"conditions\": [{\"type\": \"Paused\", \"status\": "
		"\"True\", \"reason\": \"PausedIOError\"}]}}");
	struct page_facts facts = { .ns = "default", .vm = vm, .vmi = vmi };
	AUTO(js_unref) json_t *page = page_json(&facts);
	const json_t *findings = js_arr_at(page, "findings");

	(void)state;
	assert_int_equal(json_array_size(findings), 2);
	assert_string_equal(js_str_at(json_array_get(findings, 0), "runbook"),
			    "docs/operations.md#machine-not-starting");
	assert_string_equal(js_str_at(json_array_get(findings, 1), "runbook"),
			    "docs/operations.md#machine-paused");
}

/* As its handler says it when post-copy was cut. */
static void
test_half_a_machine_leads_to_what_mends_it(void **state)
{
	AUTO(js_unref)
	json_t *vmi = testjson_plain(
		"{\"metadata\": {\"name\": \"vm1\"}, \"status\": "
		"{\"conditions\": [{\"type\": \"Paused\", \"status\": "
		"\"True\", \"reason\": \"PostCopyFailed\"}]}}");
	struct page_facts facts = { .ns = "default", .vmi = vmi };
	AUTO(js_unref) json_t *page = page_json(&facts);
	const json_t *finding = json_array_get(js_arr_at(page, "findings"), 0);

	(void)state;
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#post-copy-broken");
	assert_int_equal(json_array_size(js_arr_at(finding, "remedies")), 2);
}

static void
test_what_keeps_a_machine_from_starting_is_told(void **state)
{
	AUTO(js_unref)
	json_t *vmi =
		testjson_plain("{\"metadata\": {\"name\": \"vm1\"}, "
			       "\"status\": {\"phase\": \"Scheduling\"}}");
	AUTO(js_unref)
	json_t *pods = testjson_plain("[{\"metadata\": {\"name\": \"vm1\"}}]");
	AUTO(js_unref)
	json_t *events = testjson_plain("[" COMPLAINT(
		"2026-11-16T10:01:05Z", "image 'x' is not in y") "]");
	struct page_facts facts = {
		.ns = "default", .vmi = vmi, .pods = pods, .events = events
	};
	AUTO(js_unref) json_t *page = page_json(&facts);
	const json_t *finding = json_array_get(js_arr_at(page, "findings"), 0);

	(void)state;
	assert_string_equal(js_str_at(finding, "code"), "PodNotStarted");
	assert_string_equal(js_str_at(finding, "message"),
			    "image 'x' is not in y");
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#machine-not-starting");
}

static void
test_a_node_that_is_not_well_is_named(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
	AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_FAILED);
	AUTO(js_unref)
	json_t *nodes = testjson_plain(
		"[{\"metadata\": {\"name\": \"node1\"}, \"status\": "
		"{\"conditions\": [{\"type\": \"Ready\", \"status\": "
		"\"True\"}]}}, {\"metadata\": {\"name\": \"node2\"}, "
		"\"status\": {\"conditions\": [{\"type\": \"Ready\", "
		"\"status\": \"Unknown\", \"message\": \"silent\"}]}}]");
	struct page_facts facts = {
		.ns = "default", .vmi = vmi, .vmim = vmim, .nodes = nodes
	};
	AUTO(js_unref) json_t *page = page_json(&facts);
	const json_t *findings = js_arr_at(page, "findings");
	const json_t *finding = json_array_get(findings, 1);

	(void)state;
	assert_int_equal(json_array_size(findings), 2);
	assert_string_equal(js_str_at(finding, "code"), "TargetNodeNotReady");
	assert_string_equal(js_str_at(finding, "message"),
			    "Node node2 is not ready. silent");
	assert_string_equal(js_str_at(finding, "runbook"),
			    "docs/operations.md#target-node-dies");
}

static void
test_what_was_healed_is_told_and_is_no_trouble(void **state)
{
	AUTO(js_unref) json_t *vmi = testjson_plain(VMI);
	AUTO(js_unref)
	json_t *events =
		testjson_plain("[{\"type\": \"Warning\", \"reason\": "
			       "\"NetworkStateRebuilt\", \"message\": "
			       "\"wrote vif-cache-eth0.json again\"}]");
	struct page_facts facts = { .ns = "default",
				    .vmi = vmi,
				    .events = events };
	AUTO(js_unref) json_t *page = page_json(&facts);
	AUTO(free_ptr) char *text = page_text(page);

	(void)state;
	assert_non_null(strstr(text, "What was seen: NetworkStateRebuilt"));
	assert_non_null(strstr(text, "docs/operations.md#vif-cache"));
	assert_non_null(strstr(text, "Nothing waits, nothing has failed."));
}

static void
test_a_code_of_the_future_is_shown_as_it_is(void **state)
{
	AUTO(js_unref)
	json_t *vmi = testjson_plain(
		"{\"metadata\": {\"name\": \"vm1\"}, \"status\": {"
		"\"conditions\": [{\"type\": \"LiveMigratable\", "
		"\"status\": \"False\", \"reason\": \"NewThing\"}]}}");
	struct page_facts facts = { .ns = "default", .vmi = vmi };
	AUTO(js_unref) json_t *page = page_json(&facts);
	const json_t *finding = json_array_get(js_arr_at(page, "findings"), 0);

	(void)state;
	assert_string_equal(js_str_at(finding, "code"), "NewThing");
	assert_null(js_at(finding, "runbook"));
}

static void
test_a_machine_that_is_gone_or_fine_is_said_to_be(void **state)
{
	AUTO(js_unref) json_t *vmim = testjson_plain(VMIM_FAILED);
	AUTO(js_unref)
	json_t *vm = testjson_plain(
		"{\"metadata\": {\"name\": \"vm1\"}, \"status\": "
		"{\"printableStatus\": \"Stopped\"}}");
	struct page_facts gone = { .ns = "default", .vmim = vmim };
	struct page_facts stopped = { .ns = "default", .vm = vm };
	AUTO(js_unref) json_t *page = page_json(&gone);
	AUTO(js_unref) json_t *other = page_json(&stopped);
	AUTO(free_ptr) char *text = page_text(page);
	AUTO(free_ptr) char *fine = page_text(other);

	(void)state;
	assert_non_null(strstr(text, "Machine vm1: is gone\n"));
	assert_non_null(strstr(fine, "Machine vm1: Stopped\n"));
	assert_non_null(strstr(fine, "Nothing waits, nothing has failed."));
}

static void
test_the_migration_that_goes_on_is_chosen(void **state)
{
	AUTO(js_unref)
	json_t *list = testjson_plain(
		"[{\"metadata\": {\"name\": \"a\", \"creationTimestamp\": "
		"\"2026-11-16T10:00:00Z\"}, \"status\": {\"phase\": "
		"\"Running\"}}, {\"metadata\": {\"name\": \"b\", "
		"\"creationTimestamp\": \"2026-11-16T10:05:00Z\"}, \"status\": "
		"{\"phase\": \"Failed\"}}]");

	(void)state;
	assert_string_equal(js_str_at(page_choose(list), "metadata.name"), "a");
	assert_null(page_choose(NULL));
}

static void
test_a_timeline_keeps_the_newest_in_order(void **state)
{
	AUTO(timeline_unref) struct timeline *timeline = timeline_new();
	AUTO(js_unref) json_t *list = NULL;
	size_t left;

	(void)state;
	timeline_add(timeline, "2026-11-16T10:00:09Z", "event", "last");
	timeline_add(timeline, "no time", "event", "never");
	for (int i = 0; i < TIMELINE_SHOWN + 5; i++)
		timeline_add(timeline, "2026-11-16T10:00:00Z", "event", "%d",
			     i);
	list = timeline_json(timeline, &left);
	assert_int_equal(left, 6);
	assert_int_equal(json_array_size(list), TIMELINE_SHOWN);
	assert_string_equal(js_str_at(json_array_get(list, 0), "what"), "6");
	assert_string_equal(
		js_str_at(json_array_get(list, TIMELINE_SHOWN - 1), "what"),
		"last");
}

static void
test_a_timeline_knows_pods_events_and_earlier_migrations(void **state)
{
	AUTO(timeline_unref) struct timeline *timeline = timeline_new();
	AUTO(js_unref)
	json_t *pod = testjson_plain(
		"{\"metadata\": {\"name\": \"p\", \"creationTimestamp\": "
		"\"2026-11-16T10:00:00Z\"}, \"spec\": {\"nodeName\": "
		"\"node2\"}, \"status\": {\"conditions\": [{\"type\": "
		"\"PodScheduled\", \"status\": \"True\", "
		"\"lastTransitionTime\": \"2026-11-16T10:00:01Z\"}, "
		"{\"type\": \"Ready\", \"status\": \"False\", \"message\": "
		"\"containers are not ready\", \"lastTransitionTime\": "
		"\"2026-11-16T10:00:02Z\"}]}}");
	AUTO(js_unref)
	json_t *event = testjson_plain(
		"{\"reason\": \"BackOff\", \"message\": \"again\", \"count\": "
		"3, \"lastTimestamp\": \"2026-11-16T10:00:03Z\"}");
	AUTO(js_unref)
	json_t *earlier = testjson_plain(
		"{\"metadata\": {\"name\": \"m0\"}, \"status\": {\"phase\": "
		"\"Failed\", \"phaseTransitionTimestamps\": [{\"phase\": "
		"\"Failed\", \"phaseTransitionTimestamp\": "
		"\"2026-11-16T09:00:00Z\"}], \"conditions\": [{\"type\": "
		"\"ferry.io/Failure\", \"status\": \"True\", \"reason\": "
		"\"TargetPodEnded\"}]}}");
	static const char *const expected[] = {
		"migration m0: Failed, TargetPodEnded", "p: created",
		"p: has a node (node2)", "p: containers are not ready",
		"BackOff: again (3 times)"
	};
	AUTO(js_unref) json_t *list = NULL;
	size_t left;

	(void)state;
	timeline_add_pod(timeline, pod);
	timeline_add_event(timeline, event);
	timeline_add_earlier(timeline, earlier);
	list = timeline_json(timeline, &left);
	assert_int_equal(json_array_size(list), 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(js_str_at(json_array_get(list, i), "what"),
				    expected[i]);
}

/* All within one second, as short ones are. */
static void
test_a_timeline_has_what_the_nodes_did_between_the_phases(void **state)
{
	AUTO(timeline_unref) struct timeline *timeline = timeline_new();
	static const char *const phases[] = { "Pending", "Scheduled",
					      "TargetReady", "Running",
					      "Succeeded" };
	static const char *const expected[] = {
		"asked for",
		"Pending",
		"Scheduled",
		"TargetReady",
		"the source node begins the transfer",
		"Running",
		"the guest runs on the target node",
		"the nodes say that it is over",
		"Succeeded",
	};
	const char *when = "2026-11-16T10:00:00Z";
	AUTO(js_unref)
	json_t *vmim = json_pack(
		"{s:{s:s}, s:{s:{s:s, s:s, s:s}, s:[]}}", "metadata",
		"creationTimestamp", when, "status", "migrationState",
		"startTimestamp", when, "targetNodeDomainReadyTimestamp", when,
		"endTimestamp", when, "phaseTransitionTimestamps");
	AUTO(js_unref) json_t *list = NULL;
	size_t left;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
		(void)json_array_append_new(
			json_object_get(json_object_get(vmim, "status"),
					"phaseTransitionTimestamps"),
			json_pack("{s:s, s:s}", "phase", phases[i],
				  "phaseTransitionTimestamp", when));
	}
	timeline_add_migration(timeline, vmim);
	list = timeline_json(timeline, &left);
	assert_int_equal(json_array_size(list), ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_string_equal(js_str_at(json_array_get(list, i), "what"),
				    expected[i]);
}

static void
test_paragraphs_break_between_words(void **state)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	char word[PARAGRAPH_WIDTH + 1];

	(void)state;
	memset(word, 'x', PARAGRAPH_WIDTH);
	word[PARAGRAPH_WIDTH] = '\0';
	paragraph_write(&out, 2, "");
	assert_int_equal(out.len, 0);
	paragraph_write(&out, 2, " a  b\n");
	paragraph_write(&out, 0, word);
	(void)buf_append(&out, "", 1);
	assert_memory_equal(out.data, "  a b\nxxx", 9);
	buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_success_says_how_long_the_guest_stood_still),
		cmocka_unit_test(
			test_a_failure_that_a_node_reported_has_the_nodes_code),
		cmocka_unit_test(test_a_page_reads_like_a_page),
		cmocka_unit_test(test_a_machine_says_why_it_cannot_move),
		cmocka_unit_test(test_what_a_proxy_saw_leads_to_its_entry),
		cmocka_unit_test(test_what_a_handler_says_leads_to_its_entry),
		cmocka_unit_test(
			test_the_newest_complaint_is_taken_wherever_its_time_stands),
		cmocka_unit_test(
			test_what_a_network_lacks_on_a_node_leads_to_its_entry),
		cmocka_unit_test(
			test_what_would_steer_the_terminal_is_not_shown),
		cmocka_unit_test(
			test_a_machine_that_stands_or_cannot_be_made_says_so),
		cmocka_unit_test(test_half_a_machine_leads_to_what_mends_it),
		cmocka_unit_test(
			test_what_keeps_a_machine_from_starting_is_told),
		cmocka_unit_test(test_a_node_that_is_not_well_is_named),
		cmocka_unit_test(
			test_what_was_healed_is_told_and_is_no_trouble),
		cmocka_unit_test(test_a_code_of_the_future_is_shown_as_it_is),
		cmocka_unit_test(
			test_a_machine_that_is_gone_or_fine_is_said_to_be),
		cmocka_unit_test(test_the_migration_that_goes_on_is_chosen),
		cmocka_unit_test(test_a_timeline_keeps_the_newest_in_order),
		cmocka_unit_test(
			test_a_timeline_knows_pods_events_and_earlier_migrations),
		cmocka_unit_test(
			test_a_timeline_has_what_the_nodes_did_between_the_phases),
		cmocka_unit_test(test_paragraphs_break_between_words),
	};

	js_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
