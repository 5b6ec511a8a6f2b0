/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/doctor.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/checks.h"
#include "ctl/human.h"
#include "meta/time.h"
#include "net/reach.h"

#define US_PER_DAY (INT64_C(86400) * TIME_US_PER_SECOND)
#define MS_PER_S 1000
#define US_PER_MS 1000.0
#define EVERY_ADDRESS "*" /* ferry-proxy is bound to no network */

/* Reasons of ferry-proxy that tell of a handshake that failed. */
static bool
is_handshake(const char *reason)
{
	static const char *const reasons[] = {
		"CertificateExpired",
		"CertificateNotYetValid",
		"WrongCA",
		"WrongNode",
		"NoCertificate",
		"WrongPurpose",
		"BadCertificate",
		"WrongALPN",
		"TLSVersion",
		"NoCommonCipher",
		"NotTLS",
		"PeerAlert",
		"HandshakeFailed",
		"HandshakeTimeout",
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (str_equal(reason, reasons[i]))
			return true;
	}
	return false;
}

static const json_t *
node_of(const json_t *facts, const char *name)
{
	return js_find(js_arr_at(facts, "nodes"), "name", name);
}

static const json_t *
listener_of(const json_t *facts, const char *side)
{
	const json_t *migration = js_obj_at(facts, "migration");
	const json_t *node = node_of(facts, js_str_at(migration, side));

	return js_find(js_arr_at(node, side), "key",
		       js_str_at(migration, "key"));
}

static bool
is_expired(const json_t *credential, int64_t now_us)
{
	struct err ignored;
	int64_t us;

	return time_parse(js_str_at(credential, "notAfter"), &us, &ignored) ==
		       0 &&
	       us <= now_us;
}

static void
judge_credential(const json_t *node, const char *set, const json_t *credential,
		 int64_t now_us, json_t *checks)
{
	const char *name = js_str_at(node, "name");
	const char *identity = js_str_at(credential, "identity");
	const char *until = js_str_at(credential, "notAfter");
	struct err ignored;
	int64_t us = 0;

	(void)time_parse(until, &us, &ignored);
	if (is_expired(credential, now_us))
		checks_add(checks, name, CHECK_FAIL, "certificate",
			   "%s: %s has expired at %s", set, identity, until);
	else {
		checks_add(
			checks, name,
			us - now_us < DOCTOR_SOON_DAYS * US_PER_DAY ? CHECK_NOTE
								    : CHECK_OK,
			"certificate", "%s: %s until %s", set, identity, until);
	}
}

/* "DialTimeout 3, WrongCA 1"; to be freed. */
static char *
failures_text(const json_t *failures)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	const char *reason;
	json_t *count;

	json_object_foreach((json_t *)failures, reason, count)
	{
		(void)buf_printf(&out, "%s%s %lld", out.len > 0 ? ", " : "",
				 reason, (long long)json_integer_value(count));
	}
	(void)buf_append(&out, "", 1);
	return (char *)out.data;
}

/* What its proxy listens on; NULL: nobody has said. */
static const json_t *
network_of(const json_t *node)
{
	const json_t *interface = js_obj_at(node, "interface");

	return interface != NULL ? interface : js_obj_at(node, "status.bind");
}

static void
judge_network(const json_t *node, json_t *checks)
{
	const char *name = js_str_at(node, "name");
	const json_t *network = network_of(node);
	const char *reached = js_str_at(node, "address");

	if (network == NULL)
		return;
	if (js_str_at(network, "error")[0] != '\0')
		checks_add(checks, name, CHECK_FAIL, "migration network", "%s",
			   js_str_at(network, "error"));
	else if (!str_equal(js_str_at(network, "name"), EVERY_ADDRESS))
		checks_add(checks, name, CHECK_OK, "migration network",
			   "%s, %s", js_str_at(network, "name"),
			   js_str_at(network, "address"));
	else
		checks_add(checks, name, CHECK_OK, "migration network",
			   "none of its own: every address%s%s",
			   reached[0] == '\0' ? "" : ", others use ", reached);
}

/* Whether there is somebody to ask about the proxy. */
static bool
judge_agent(const json_t *node, json_t *checks)
{
	const char *name = js_str_at(node, "name");

	if (js_bool_at(node, "silent", false)) {
		checks_add(checks, name, CHECK_FAIL, "agent",
			   "its ferry-handler does not answer");
		return false;
	}
	if (js_at(node, "agent") != NULL)
		checks_add(checks, name, CHECK_OK, "agent", "answers, %s",
			   js_str_at(node, "agent"));
	return true;
}

static void
judge_node(const json_t *node, int64_t now_us, json_t *checks)
{
	const char *name = js_str_at(node, "name");
	const char *error = js_str_at(node, "error");
	const json_t *failures = js_obj_at(node, "status.failures");
	AUTO(free_ptr) char *text = failures_text(failures);
	const char *set;
	json_t *credential;

	if (!judge_agent(node, checks))
		return;
	if (error[0] != '\0')
		checks_add(checks, name, CHECK_FAIL, "proxy", "%s", error);
	else {
		checks_add(checks, name, CHECK_OK, "proxy",
			   "answers, up for %lld s, listeners: %lld",
			   (long long)js_int_at(node, "status.uptimeMs", 0) /
				   MS_PER_S,
			   (long long)js_int_at(node, "status.listeners", 0));
	}
	if (js_bool_at(node, "status.draining", false))
		checks_add(checks, name, CHECK_FAIL, "proxy",
			   "is draining: takes no new migration");
	json_object_foreach(js_obj_at(node, "status.credentials"), set,
			    credential)
	{
		judge_credential(node, set, credential, now_us, checks);
	}
	judge_network(node, checks);
	if (text[0] != '\0')
		checks_add(checks, name, CHECK_NOTE, "failures",
			   "since it started: %s", text);
}

static bool
is_reached(const json_t *probe)
{
	const char *result = js_str_at(probe, "result");

	return str_equal(result, reach_name(REACH_OPEN)) ||
	       (js_at(probe, "channel") == NULL &&
		str_equal(result, reach_name(REACH_REFUSED)));
}

static const char *
probe_sentence(const char *result)
{
	static const struct {
		enum reach result;
		const char *sentence;
	} sentences[] = {
		{ REACH_OPEN, "open" },
		{ REACH_REFUSED, "nobody listens there" },
		{ REACH_SILENT, "no answer: dropped on the way" },
		{ REACH_UNREACHABLE, "no route" },
	};

	for (size_t i = 0; i < ARRAY_LEN(sentences); i++) {
		if (str_equal(result, reach_name(sentences[i].result)))
			return sentences[i].sentence;
	}
	return result;
}

static void
judge_probe(const json_t *probe, json_t *checks)
{
	const char *from = js_str_at(probe, "from");
	int64_t channel = js_int_at(probe, "channel", -1);
	const char *result = js_str_at(probe, "result");
	enum check_result verdict = is_reached(probe) ? CHECK_OK : CHECK_FAIL;

	if (channel < 0) {
		AUTO(free_ptr)
		char *what = xasprintf("way to %s", js_str_at(probe, "to"));

		checks_add(checks, from, verdict, what, "%s: %s",
			   js_str_at(probe, "address"),
			   verdict == CHECK_OK ? "is reached"
					       : probe_sentence(result));
		return;
	}
	{
		AUTO(free_ptr)
		char *what = xasprintf("channel %lld", (long long)channel);

		checks_add(checks, from, verdict, what, "%s port %lld: %s",
			   js_str_at(probe, "address"),
			   (long long)js_int_at(probe, "port", 0),
			   probe_sentence(result));
	}
}

/* A connection through both proxies. */
static void
judge_path(const json_t *path, json_t *checks)
{
	const char *from = js_str_at(path, "from");
	AUTO(free_ptr)
	char *what = xasprintf("path to %s", js_str_at(path, "to"));

	if (js_str_at(path, "reason")[0] != '\0') {
		checks_add(checks, from, CHECK_FAIL, what, "%s: %s",
			   js_str_at(path, "reason"),
			   js_str_at(path, "message"));
	} else {
		checks_add(
			checks, from, CHECK_OK, what,
			"%s: handshake %.1f ms, there and back %.1f ms",
			js_str_at(path, "address"),
			(double)js_int_at(path, "handshakeUs", 0) / US_PER_MS,
			(double)js_int_at(path, "roundTripUs", 0) / US_PER_MS);
	}
}

/* Connections that ended before they said anything, as those of a probe do,
 * and those that were stopped, are no trouble. */
static bool
is_trouble(const json_t *failures)
{
	const char *reason;
	json_t *count;

	json_object_foreach((json_t *)failures, reason, count)
	{
		if (!str_equal(reason, "Truncated") &&
		    !str_equal(reason, "Stopped"))
			return true;
	}
	return false;
}

static void
judge_streams(const json_t *listener, const char *node, json_t *checks)
{
	const json_t *failures = js_obj_at(listener, "failures");
	AUTO(free_ptr) char *text = failures_text(failures);
	const json_t *streams = js_arr_at(listener, "streams");
	char sent[HUMAN_SIZE], received[HUMAN_SIZE];

	if (json_array_size(streams) > 0) {
		checks_add(
			checks, node, CHECK_OK, "TLS handshake",
			"with %s, %s; streams: %zu, %s sent, %s received",
			js_str_at(listener, "peer"),
			js_str_at(json_array_get(streams, 0), "cipher"),
			json_array_size(streams),
			human_bytes(js_int_at(listener, "sentBytes", 0), sent),
			human_bytes(js_int_at(listener, "receivedBytes", 0),
				    received));
	}
	if (text[0] != '\0')
		checks_add(checks, node,
			   is_trouble(failures) ? CHECK_FAIL : CHECK_NOTE,
			   "failures", "%s; last: %s", text,
			   js_str_at(listener, "lastFailure.message"));
}

static void
judge_target(const json_t *facts, json_t *checks)
{
	const json_t *migration = js_obj_at(facts, "migration");
	const char *name = js_str_at(migration, "target");
	const json_t *listener = listener_of(facts, "target");

	if (name[0] == '\0' || js_at(node_of(facts, name), "target") == NULL)
		return;
	if (listener == NULL) {
		checks_add(checks, name, CHECK_FAIL, "target listener",
			   "the proxy has none for this migration");
		return;
	}
	checks_add(checks, name, CHECK_OK, "target listener", "%s, for %s",
		   js_str_at(listener, "address"), js_str_at(listener, "peer"));
	if (json_equal(js_obj_at(listener, "ports"),
		       js_obj_at(migration, "ports")) &&
	    str_equal(js_str_at(listener, "address"),
		      js_str_at(migration, "address")))
		checks_add(checks, name, CHECK_OK, "port map",
			   "as the machine says it");
	else
		checks_add(checks, name, CHECK_FAIL, "port map",
			   "the machine names other ports than the proxy has: "
			   "the source node dials the wrong ones");
	judge_streams(listener, name, checks);
}

static void
judge_source(const json_t *facts, json_t *checks)
{
	const json_t *migration = js_obj_at(facts, "migration");
	const char *name = js_str_at(migration, "source");
	const json_t *listener = listener_of(facts, "source");
	const char *socket;
	json_t *there;

	if (name[0] == '\0' || js_at(node_of(facts, name), "source") == NULL)
		return;
	if (listener == NULL) {
		checks_add(checks, name, CHECK_FAIL, "source listener",
			   "the proxy has none for this migration");
		return;
	}
	checks_add(checks, name, CHECK_OK, "source listener", "for %s",
		   js_str_at(listener, "peer"));
	json_object_foreach(js_obj_at(migration, "sockets"), socket, there)
	{
		checks_add(checks, name,
			   json_is_true(there) ? CHECK_OK : CHECK_FAIL,
			   "socket", "%s %s", socket,
			   json_is_true(there) ? "exists" : "is missing");
	}
	judge_streams(listener, name, checks);
}

void
doctor_judge(const json_t *facts, int64_t now_us, json_t *checks)
{
	const json_t *item;
	size_t i, j;

	json_array_foreach(js_arr_at(facts, "nodes"), i, item)
	{
		const char *name = js_str_at(item, "name");
		const json_t *probe;

		judge_node(item, now_us, checks);
		json_array_foreach(js_arr_at(facts, "probes"), j, probe)
		{
			if (str_equal(js_str_at(probe, "from"), name))
				judge_probe(probe, checks);
		}
		json_array_foreach(js_arr_at(facts, "paths"), j, probe)
		{
			if (str_equal(js_str_at(probe, "from"), name))
				judge_path(probe, checks);
		}
		if (str_equal(js_str_at(facts, "migration.source"), name))
			judge_source(facts, checks);
		if (str_equal(js_str_at(facts, "migration.target"), name))
			judge_target(facts, checks);
	}
}

/* Each returns a sentence, to be freed, or NULL when that is not the case. */

static char *
conclude_agent(const json_t *facts, int64_t now_us)
{
	const json_t *migration = js_obj_at(facts, "migration");
	const char *phase = js_str_at(migration, "phase");
	const json_t *node;
	size_t i;

	(void)now_us;
	json_array_foreach(js_arr_at(facts, "nodes"), i, node)
	{
		const char *name = js_str_at(node, "name"), *so = "";

		if (!js_bool_at(node, "silent", false))
			continue;
		if (str_equal(phase, "PreparingTarget") &&
		    str_equal(js_str_at(migration, "target"), name))
			so = "The target pod is there and nothing starts: ";
		else if (str_equal(phase, "TargetReady") &&
			 str_equal(js_str_at(migration, "source"), name))
			so = "The target is ready and nothing starts: ";
		return xasprintf("%s%s agent (ferry-handler) of %s does not "
				 "answer; see docs/operations.md#node-silent.",
				 so, so[0] == '\0' ? "The" : "the", name);
	}
	return NULL;
}

static char *
conclude_proxy(const json_t *facts, int64_t now_us)
{
	const json_t *node;
	size_t i;

	(void)now_us;
	json_array_foreach(js_arr_at(facts, "nodes"), i, node)
	{
		if (js_str_at(node, "error")[0] != '\0')
			return xasprintf("The proxy (ferry-proxy) of %s does "
					 "not answer; see "
					 "docs/operations.md#node-silent.",
					 js_str_at(node, "name"));
	}
	return NULL;
}

static char *
conclude_expired(const json_t *facts, int64_t now_us)
{
	const json_t *node;
	const char *set;
	json_t *credential;
	size_t i;

	json_array_foreach(js_arr_at(facts, "nodes"), i, node)
	{
		json_object_foreach(js_obj_at(node, "status.credentials"), set,
				    credential)
		{
			if (is_expired(credential, now_us)) {
				return xasprintf(
					"TLS handshake: the certificate of %s "
					"has expired; see docs/operations.md"
					"#certificate-expired.",
					js_str_at(node, "name"));
			}
		}
	}
	return NULL;
}

static char *
conclude_interface(const json_t *facts, int64_t now_us)
{
	const json_t *node;
	size_t i;

	(void)now_us;
	json_array_foreach(js_arr_at(facts, "nodes"), i, node)
	{
		if (js_str_at(network_of(node), "error")[0] != '\0')
			return xasprintf("The migration network is missing on "
					 "%s; see docs/operations.md"
					 "#migration-network-missing.",
					 js_str_at(node, "name"));
	}
	return NULL;
}

static char *
conclude_probes(const json_t *facts, int64_t now_us)
{
	const json_t *probe, *blocked = NULL;
	size_t i, reached = 0;

	(void)now_us;
	json_array_foreach(js_arr_at(facts, "probes"), i, probe)
	{
		if (is_reached(probe))
			reached++;
		else
			blocked = probe;
	}
	if (blocked == NULL)
		return NULL;
	if (reached == 0 || js_at(blocked, "channel") == NULL) {
		return xasprintf("%s does not reach the migration address of "
				 "%s; see docs/operations.md"
				 "#migration-network-missing.",
				 js_str_at(blocked, "from"),
				 js_str_at(blocked, "to"));
	}
	return xasprintf("Only some ports are reached: channel %lld (port %lld "
			 "of %s) is not, from %s; see docs/operations.md"
			 "#port-blocked.",
			 (long long)js_int_at(blocked, "channel", 0),
			 (long long)js_int_at(blocked, "port", 0),
			 js_str_at(blocked, "to"), js_str_at(blocked, "from"));
}

/* The entry of docs/operations.md for a way that is closed. */
static const char *
entry_of(const char *reason)
{
	static const struct {
		const char *reason, *entry;
	} known[] = {
		{ "TargetSilent", "node-silent" },
		{ "TargetRefused", "node-silent" },
		{ "DialFailed", "migration-network-missing" },
		{ "DialTimeout", "migration-network-missing" },
		{ "DialRefused", "migration-network-missing" },
	};

	if (is_handshake(reason))
		return "certificate-expired";
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(reason, known[i].reason))
			return known[i].entry;
	}
	return "no-connection";
}

static char *
conclude_paths(const json_t *facts, int64_t now_us)
{
	const json_t *path;
	size_t i;

	(void)now_us;
	json_array_foreach(js_arr_at(facts, "paths"), i, path)
	{
		const char *reason = js_str_at(path, "reason");

		if (reason[0] == '\0')
			continue;
		return xasprintf("%s from %s to %s: %s: %s; see "
				 "docs/operations.md#%s.",
				 is_handshake(reason) ? "TLS handshake"
						      : "No connection",
				 js_str_at(path, "from"), js_str_at(path, "to"),
				 reason, js_str_at(path, "message"),
				 entry_of(reason));
	}
	return NULL;
}

static char *
conclude_handshake(const json_t *facts, int64_t now_us)
{
	static const char *const sides[] = { "source", "target" };

	(void)now_us;
	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		const json_t *listener = listener_of(facts, sides[i]);
		const char *reason;
		json_t *count;

		json_object_foreach(js_obj_at(listener, "failures"), reason,
				    count)
		{
			if (is_handshake(reason)) {
				return xasprintf(
					"TLS handshake: %s (%s): %s; see "
					"docs/operations.md"
					"#certificate-expired.",
					reason, sides[i],
					js_str_at(listener,
						  "lastFailure.message"));
			}
		}
	}
	return NULL;
}

static char *
conclude_start(const json_t *facts, int64_t now_us)
{
	const json_t *migration = js_obj_at(facts, "migration");
	const char *phase = js_str_at(migration, "phase");
	bool target = listener_of(facts, "target") != NULL;
	bool source = listener_of(facts, "source") != NULL;

	(void)now_us;
	if (str_equal(phase, "PreparingTarget") && !target)
		return xasprintf("The target pod is there and nothing starts: "
				 "%s has opened no port yet; see "
				 "docs/operations.md#node-silent.",
				 js_str_at(migration, "target"));
	if (target && !source &&
	    (str_equal(phase, "TargetReady") || str_equal(phase, "Running")))
		return xasprintf("The target is ready and nothing starts: %s "
				 "has not begun; see docs/operations.md"
				 "#node-silent.",
				 js_str_at(migration, "source"));
	return NULL;
}

char *
doctor_conclude(const json_t *facts, int64_t now_us)
{
	static char *(*const cases[])(const json_t *facts, int64_t now_us) = {
		conclude_agent,     conclude_proxy,  conclude_expired,
		conclude_interface, conclude_probes, conclude_paths,
		conclude_handshake, conclude_start,
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *sentence = cases[i](facts, now_us);

		if (sentence != NULL)
			return sentence;
	}
	return NULL;
}
