/* SPDX-License-Identifier: Apache-2.0 */

/* The command `doctor`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/kinds.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"
#include "ctl/checks.h"
#include "ctl/command.h"
#include "ctl/doctor.h"
#include "ctl/doctornodes.h"
#include "ctl/probe.h"
#include "ctl/screen.h"
#include "ctl/state.h"
#include "ctl/verb.h"
#include "kube/obj.h"
#include "meta/time.h"
#include "net/netns.h"
#include "rpc/client.h"
#include "version.h"

#define REQUEST_MS 10000U
#define CLOSED_PORT 9      /* discard: nobody listens there */
#define ALL_PAIRS_NODES 8U /* with more only to the next one */
#define STATUS_TROUBLE 3   /* a check failed */
#define SOCKETS_DIR "volumes/kubernetes.io~empty-dir/public/migrationproxy"

struct doctor {
	struct verb verb;
	const char *dir; /* of a cluster of this computer */
	struct opts_list controls;
	const char *output;
	const char *vmim;
	bool has_state; /* nodes are of the directory */
	struct state state;
	json_t *facts;
};

/* A node that is looked at: number is 0 outside of a cluster's directory. */
struct place {
	const char *name;
	const char *control;
	unsigned number;
};

static int
ask_proxy(struct rpc_client *client, const char *method, const char *member,
	  json_t *node, struct err *err)
{
	struct rpc_call call = { .method = method };
	json_t *result = NULL;

	if (rpc_client_call(client, &call, &result, err) == -1)
		return -1;
	json_object_set_new(node, member, result);
	return 0;
}

static void
look_at_proxy(const char *control, json_t *node)
{
	const struct rpc_identity self = { "ferryctl", FERRY_VERSION };
	AUTO(rpc_client_done) struct rpc_client *client = NULL;
	struct err err;

	if (rpc_client_connect(control, &self, &client, &err) == -1 ||
	    ask_proxy(client, "status", "status", node, &err) == -1 ||
	    ask_proxy(client, "source.list", "source", node, &err) == -1 ||
	    ask_proxy(client, "target.list", "target", node, &err) == -1)
		json_object_set_new(node, "error", json_string(err.text));
}

/* The namespace of a node of the directory; -1: this process's own, which is
 * the node's where a control socket was named. */
static int
open_netns(const struct doctor *d, const char *node)
{
	char name[LAYOUT_TEXT_SIZE], text[LAYOUT_TEXT_SIZE];
	struct err ignored;
	int fd = -1;

	for (unsigned n = 1; d->has_state && n <= d->state.layout.nodes; n++) {
		if (str_equal(layout_node(n, name), node))
			(void)netns_open(
				layout_netns(&d->state.layout, n, text), &fd,
				&ignored);
	}
	return fd;
}

/* What its proxy was told to bind to: "mig0"; "" if it was not. */
static const char *
bound_to(const struct doctor *d, unsigned number)
{
	const json_t *argv = js_arr_at(
		state_program(&d->state, "ferry-proxy", number), "argv");
	const json_t *item;
	size_t i;

	json_array_foreach(argv, i, item)
	{
		if (str_equal(json_string_value(item), "--bind"))
			return json_string_value(json_array_get(argv, i + 1));
	}
	return "";
}

static void
look_at_interface(const struct doctor *d, const struct place *place,
		  json_t *node)
{
	const char *name = bound_to(d, place->number);
	char address[PROBE_TEXT_SIZE];
	AUTO(close_fd) int netns_fd = -1;
	json_t *interface;
	struct err err;

	if (name == NULL || name[0] == '\0')
		return;
	netns_fd = open_netns(d, place->name);
	interface = json_pack("{s:s}", "name", name);
	if (probe_interface(netns_fd, name, address, &err) == -1)
		json_object_set_new(interface, "error", json_string(err.text));
	else
		json_object_set_new(interface, "address", json_string(address));
	json_object_set_new(node, "interface", interface);
}

static void
look_at_node(struct doctor *d, const struct place *place)
{
	json_t *node = json_pack("{s:s}", "name", place->name);

	look_at_proxy(place->control, node);
	if (place->number > 0)
		look_at_interface(d, place, node);
	json_array_append_new(js_arr_at(d->facts, "nodes"), node);
}

static int
look_at_nodes(struct doctor *d, struct err *err)
{
	char name[LAYOUT_TEXT_SIZE];

	for (unsigned n = 1; d->has_state && n <= d->state.layout.nodes; n++) {
		AUTO(free_ptr)
		char *control =
			layout_path(&d->state.layout, "node%u/proxy.sock", n);
		struct place place = { .name = layout_node(n, name),
				       .control = control,
				       .number = n };

		look_at_node(d, &place);
	}
	for (size_t i = 0; i < d->controls.count; i++) {
		const char *equals = strchr(d->controls.value[i], '=');
		AUTO(free_ptr) char *node = NULL;
		struct place place = { 0 };

		if (equals == NULL)
			return err_set(err, ERR_INVALID,
				       "--control: '%s' is no NODE=PATH",
				       d->controls.value[i]);
		node = xstrndup(d->controls.value[i],
				(size_t)(equals - d->controls.value[i]));
		place.name = node;
		place.control = equals + 1;
		look_at_node(d, &place);
	}
	return 0;
}

struct way {
	const char *from, *to, *address;
	uint16_t port;
	int channel; /* -1: none */
};

static void
look_at_way(struct doctor *d, const struct way *way)
{
	AUTO(close_fd) int netns_fd = open_netns(d, way->from);
	enum reach result;
	struct err err;
	json_t *probe;

	if (probe_port(netns_fd, way->address, way->port, &result, &err) == -1)
		return;
	probe = json_pack("{s:s, s:s, s:s, s:i, s:s}", "from", way->from, "to",
			  way->to, "address", way->address, "port",
			  (int)way->port, "result", reach_name(result));
	if (way->channel >= 0)
		json_object_set_new(probe, "channel",
				    json_integer(way->channel));
	json_array_append_new(js_arr_at(d->facts, "probes"), probe);
}

/* Without a migration: whether nodes reach each other at all. */
static void
look_at_ways(struct doctor *d)
{
	const json_t *nodes = js_arr_at(d->facts, "nodes"), *from, *to;
	size_t count = json_array_size(nodes), i, j;

	json_array_foreach(nodes, i, from)
	{
		json_array_foreach(nodes, j, to)
		{
			struct way way = {
				.from = js_str_at(from, "name"),
				.to = js_str_at(to, "name"),
				.address = js_str_at(to, "interface.address"),
				.port = CLOSED_PORT,
				.channel = -1,
			};

			if (i == j || way.address[0] == '\0' ||
			    (count > ALL_PAIRS_NODES && j != (i + 1) % count))
				continue;
			look_at_way(d, &way);
		}
	}
}

static int
get(struct doctor *d, const struct kube_resource *resource, const char *name,
    json_t **ret, struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = resource,
		.ns = d->verb.ns,
		.name = name,
		.timeout_ms = REQUEST_MS,
	};

	return kubesync_send(d->verb.kube, &request, ret, err);
}

/* Whether the sockets are there that the source's launcher connects to. */
static void
look_at_sockets(struct doctor *d, const char *source_pod)
{
	json_t *migration = js_obj_at(d->facts, "migration");
	const char *node = js_str_at(migration, "source");
	const json_t *proxy =
		js_find(js_arr_at(d->facts, "nodes"), "name", node);
	const json_t *listener = js_find(js_arr_at(proxy, "source"), "key",
					 js_str_at(migration, "key"));
	AUTO(js_unref) json_t *pod = NULL;
	json_t *sockets = json_object();
	const char *channel;
	struct err ignored;
	json_t *name;

	json_object_set_new(migration, "sockets", sockets);
	if (!d->has_state || listener == NULL ||
	    get(d, &kube_pods, source_pod, &pod, &ignored) == -1)
		return;
	json_object_foreach(js_obj_at(listener, "sockets"), channel, name)
	{
		AUTO(free_ptr)
		char *path = layout_path(
			&d->state.layout,
			"%s/kubelet/pods/%s/" SOCKETS_DIR "/%s", node,
			obj_uid(pod), json_string_value(name));

		json_object_set_new(sockets, json_string_value(name),
				    json_boolean(access(path, F_OK) == 0));
	}
}

static void
look_at_ports(struct doctor *d)
{
	const json_t *migration = js_obj_at(d->facts, "migration");
	const char *port;
	json_t *channel;

	/* A listener that is gone would only tell that it is. */
	if (js_find(js_arr_at(d->facts, "nodes"), "name",
		    js_str_at(migration, "source")) == NULL)
		return;
	json_object_foreach(js_obj_at(migration, "ports"), port, channel)
	{
		struct way way = {
			.from = js_str_at(migration, "source"),
			.to = js_str_at(migration, "target"),
			.address = js_str_at(migration, "address"),
			.port = (uint16_t)strtoul(port, NULL, 10),
			.channel = (int)json_integer_value(channel),
		};

		look_at_way(d, &way);
	}
}

/* Nothing was said about where the proxies are: their nodes are asked. */
static bool
is_remote(const struct doctor *d)
{
	return d->dir == NULL && d->controls.count == 0;
}

static bool
is_over(const char *phase)
{
	return str_equal(phase, "Succeeded") || str_equal(phase, "Failed");
}

static int
look_at_migration(struct doctor *d, struct err *err)
{
	AUTO(js_unref) json_t *vmim = NULL;
	AUTO(js_unref) json_t *vmi = NULL;
	const json_t *state;
	const char *phase;
	json_t *migration, *ports;

	if (verb_open(&d->verb, err) == -1 ||
	    get(d, &api_vmims, d->vmim, &vmim, err) == -1 ||
	    get(d, &api_vmis, js_str_at(vmim, "spec.vmiName"), &vmi, err) == -1)
		return -1;
	phase = js_str_at(vmim, "status.phase");
	state = js_obj_at(vmi, "status.migrationState");
	if (!str_equal(js_str_at(state, "migrationUid"), obj_uid(vmim)) ||
	    is_over(phase))
		state = NULL;
	ports = js_obj_at(state, "targetDirectMigrationNodePorts");
	migration = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:O*}", "name", obj_name(vmim),
		"phase", phase, "key", obj_uid(vmi), "source",
		js_str_at(state, "sourceNode"), "target",
		js_str_at(state, "targetNode"), "address",
		js_str_at(state, "targetNodeAddress"), "ports", ports);
	json_object_set_new(d->facts, "migration", migration);
	if (is_remote(d)) {
		if (js_str_at(migration, "source")[0] == '\0')
			return doctornodes_all(d->verb.kube, d->verb.ns,
					       d->facts, err);
		return doctornodes_migration(d->verb.kube, d->verb.ns,
					     obj_name(vmi), d->facts, err);
	}
	if (is_over(phase)) {
		look_at_ways(d);
		return 0;
	}
	look_at_sockets(d, js_str_at(state, "sourcePod"));
	look_at_ports(d);
	return 0;
}

static int
open_directory(struct doctor *d, struct err *err)
{
	if (d->dir == NULL)
		return 0;
	if (state_open(&d->state, d->dir, err) == -1)
		return err_prefix(err, "no proxies to ask (--dir, --control)");
	d->has_state = true;
	/* Nothing is changed: let others go on. */
	close_fd(&d->state.lock_fd);
	return 0;
}

static int
print_result(struct doctor *d)
{
	AUTO(js_unref) json_t *checks = json_array();
	int64_t now_us = time_now_us();
	AUTO(free_ptr) char *conclusion = doctor_conclude(d->facts, now_us);
	AUTO(free_ptr) char *text = NULL;
	const char *sentence = conclusion;
	size_t failed;

	doctor_judge(d->facts, now_us, checks);
	failed = checks_count(checks, NULL, CHECK_FAIL);
	if (sentence == NULL)
		sentence = failed > 0 ? "Some checks failed."
				      : "Nothing is wrong with the proxies "
					"and the way between them.";
	if (d->output != NULL) {
		AUTO(js_unref)
		json_t *all =
			json_pack("{s:O, s:s, s:O}", "checks", checks,
				  "conclusion", sentence, "facts", d->facts);

		text = json_dumps(all, JSON_INDENT(2));
		(void)printf("%s\n", text);
	} else {
		AUTO(free_ptr)
		char *line = screen_clean(xstrdup(sentence), false);

		text = checks_text(checks);
		(void)printf("%s\n%s\n", text, line);
		if (is_over(js_str_at(d->facts, "migration.phase")))
			(void)printf("The migration is over: its listeners "
				     "are gone; see `ferryctl explain vmim "
				     "%s`.\n",
				     d->vmim);
	}
	return failed > 0 ? STATUS_TROUBLE : 0;
}

static int
doctor(struct doctor *d, struct err *err)
{
	AUTO(free_ptr) char *kubeconfig = NULL;

	if (open_directory(d, err) == -1 || look_at_nodes(d, err) == -1)
		return -1;
	if (d->vmim == NULL && is_remote(d)) {
		if (verb_open(&d->verb, err) == -1)
			return -1;
		return doctornodes_all(d->verb.kube, d->verb.ns, d->facts, err);
	}
	if (d->vmim == NULL) {
		look_at_ways(d);
		return 0;
	}
	if (d->dir != NULL && d->verb.flags.kubeconfig == NULL) {
		kubeconfig = layout_path(&d->state.layout,
					 "cluster/admin.kubeconfig");
		d->verb.flags.kubeconfig = kubeconfig;
	}
	return look_at_migration(d, err);
}

int
command_doctor(int argc, char **argv)
{
	struct doctor d = { .state = STATE_NONE };
	const struct opt table[] = {
		KUBE_FLAGS_OPTS(&d.verb.flags),
		{ "dir", "DIR",
		  "a cluster on this computer: look for yourself, as root",
		  OPT_STR, &d.dir, 0, 0 },
		{ "control", "NODE=PATH",
		  "the control socket of a node's proxy; may be repeated "
		  "(default: the nodes are asked)",
		  OPT_LIST, &d.controls, 0, 0 },
		{ "output", "json", "the result as a JSON object", OPT_STR,
		  &d.output, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl doctor",
		.args = "[MIGRATION]",
		.summary = "Looks at the proxies, the way between the nodes "
			   "and what a migration has there.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 0,
		.args_max = 1,
	};
	int first, status, result;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	d.vmim = first < argc ? argv[first] : NULL;
	d.facts = json_pack("{s:[], s:[], s:[]}", "nodes", "probes", "paths");
	if (d.output != NULL && !str_equal(d.output, "json"))
		result = err_set(&err, ERR_INVALID,
				 "--output: '%s' is not json", d.output);
	else
		result = doctor(&d, &err);
	if (result == -1)
		status = command_error(&err, err.kind == ERR_INVALID
						     ? COMMAND_USAGE
						     : COMMAND_FAILED);
	else
		status = print_result(&d);
	json_decref(d.facts);
	state_done(&d.state);
	verb_done(&d.verb);
	return status;
}
