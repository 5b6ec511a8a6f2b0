/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/doctornodes.h"

#include "api/names.h"
#include "api/pathprobe.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "ctl/kubesync.h"
#include "ctl/pathask.h"
#include "kube/obj.h"

#define REQUEST_MS 10000U

/* A node as doctor.h has it, of its agent's answer; once. */
static void
add_node(json_t *facts, const char *name, const json_t *answer)
{
	json_t *nodes = js_arr_at(facts, "nodes"), *node;

	if (name[0] == '\0' || js_find(nodes, "name", name) != NULL)
		return;
	node = json_pack("{s:s}", "name", name);
	if (answer == NULL)
		json_object_set_new(node, "silent", json_true());
	else {
		json_object_update(node, js_obj_at(answer, "proxy"));
		json_object_set(node, "agent",
				json_object_get(answer, "handler"));
		json_object_set(node, "address",
				json_object_get(answer, "address"));
	}
	json_array_append_new(nodes, node);
}

static void
add_path(json_t *facts, const struct pathprobe_question *question,
	 const json_t *status)
{
	const json_t *path = js_obj_at(status, "source.path");
	json_t *item;

	if (path == NULL)
		return;
	item = json_deep_copy(path);
	json_object_set_new(item, "from", json_string(question->source));
	json_object_set_new(item, "to", json_string(question->target));
	json_array_append_new(js_arr_at(facts, "paths"), item);
}

static int
list_nodes(struct kubesync *kube, json_t **ret_names, struct err *err)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &kube_nodes,
		.label_selector = LABEL_SCHEDULABLE,
		.timeout_ms = REQUEST_MS,
	};
	AUTO(js_unref) json_t *list = NULL;
	const json_t *node;
	size_t i;

	if (kubesync_send(kube, &request, &list, err) == -1)
		return -1;
	*ret_names = json_array();
	json_array_foreach(js_arr_at(list, "items"), i, node)
	{
		json_array_append_new(*ret_names, json_string(obj_name(node)));
	}
	return 0;
}

/* Each node about itself and about the way to the next one. */
static struct pathprobe_question *
ring_of(const json_t *names)
{
	size_t count = json_array_size(names);
	struct pathprobe_question *ring = xcalloc(count, sizeof(*ring));

	for (size_t i = 0; i < count; i++) {
		const json_t *next = json_array_get(names, (i + 1) % count);

		ring[i] = (struct pathprobe_question){
			.source = json_string_value(json_array_get(names, i)),
			.target = count > 1 ? json_string_value(next) : "",
			.vmi_name = "",
			.measure = PATHPROBE_HANDSHAKE,
		};
	}
	return ring;
}

int
doctornodes_all(struct kubesync *kube, const char *ns, json_t *facts,
		struct err *err)
{
	AUTO(js_unref) json_t *names = NULL;
	AUTO(js_unref) json_t *statuses = NULL;
	AUTO(free_ptr) struct pathprobe_question *ring = NULL;
	const json_t *status;
	size_t count, i;

	if (list_nodes(kube, &names, err) == -1)
		return -1;
	count = json_array_size(names);
	if (count == 0)
		return err_set(err, ERR_NOT_FOUND,
			       "no node of this cluster runs machines "
			       "(label " LABEL_SCHEDULABLE ")");
	ring = ring_of(names);
	if (pathask_all(kube, ns, ring, count, &statuses, err) == -1)
		return -1;
	json_array_foreach(statuses, i, status)
	{
		add_node(facts, ring[i].source, js_obj_at(status, "source"));
		add_path(facts, &ring[i], status);
	}
	return 0;
}

static void
add_ports(json_t *facts, const json_t *status)
{
	const json_t *migration = js_obj_at(facts, "migration"), *port;
	size_t i;

	json_array_foreach(js_arr_at(status, "source.ports"), i, port)
	{
		json_t *probe = json_deep_copy(port);
		const struct {
			const char *name, *of;
		} more[] = { { "from", "source" },
			     { "to", "target" },
			     { "address", "address" } };

		for (size_t k = 0; k < sizeof(more) / sizeof(more[0]); k++)
			json_object_set_new(
				probe, more[k].name,
				json_string(js_str_at(migration, more[k].of)));
		json_array_append_new(js_arr_at(facts, "probes"), probe);
	}
}

int
doctornodes_migration(struct kubesync *kube, const char *ns, const char *vmi,
		      json_t *facts, struct err *err)
{
	json_t *migration = js_obj_at(facts, "migration");
	const struct pathprobe_question question = {
		.source = js_str_at(migration, "source"),
		.target = js_str_at(migration, "target"),
		.vmi_name = vmi,
		.measure = PATHPROBE_NONE,
	};
	AUTO(js_unref) json_t *status = NULL;
	json_t *sockets;

	if (pathask(kube, ns, &question, &status, err) == -1)
		return -1;
	add_node(facts, question.source, js_obj_at(status, "source"));
	add_node(facts, question.target, js_obj_at(status, "target"));
	add_ports(facts, status);
	sockets = js_obj_at(status, "source.sockets");
	if (sockets != NULL)
		json_object_set(migration, "sockets", sockets);
	return 0;
}
