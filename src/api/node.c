/* SPDX-License-Identifier: Apache-2.0 */
#include "api/node.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/text.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/conditions.h"
#include "kube/obj.h"

static void
decode_taints(const json_t *array, struct node *node)
{
	size_t count = json_array_size(array);

	if (count == 0)
		return;
	if (count > NODE_TAINTS_MAX)
		count = NODE_TAINTS_MAX;
	node->taints = xcalloc(count, sizeof(*node->taints));
	for (size_t i = 0; i < count; i++) {
		const json_t *taint = json_array_get(array, i);

		node->taints[node->taint_count++] = (struct node_taint){
			.key = text_at(taint, "key"),
			.value = text_at(taint, "value"),
			.effect = text_at(taint, "effect"),
		};
	}
}

struct node *
node_decode(const json_t *object, struct err *err)
{
	AUTO(node_unref) struct node *node = xmalloc0(sizeof(*node));

	if (objmeta_decode(object, &node->meta, err) == -1)
		return NULL;
	node->labels = text_obj_at(object, "metadata.labels");
	node->unschedulable = js_bool_at(object, "spec.unschedulable", false);
	node->ready = condition_is_true(js_arr_at(object, "status.conditions"),
					"Ready");
	node->vm_schedulable =
		str_equal(obj_label(object, LABEL_SCHEDULABLE), "true");
	node->heartbeat_us = text_moment(object, ANNOTATION_HEARTBEAT);
	decode_taints(js_arr_at(object, "spec.taints"), node);
	return TAKE_PTR(node);
}

void
node_free(struct node *node)
{
	if (node == NULL)
		return;
	objmeta_done(&node->meta);
	json_decref(node->labels);
	for (size_t i = 0; i < node->taint_count; i++) {
		text_free(node->taints[i].key);
		text_free(node->taints[i].value);
		text_free(node->taints[i].effect);
	}
	free(node->taints);
	free(node);
}

void
node_unref(struct node **pointer)
{
	node_free(*pointer);
	*pointer = NULL;
}

bool
node_has_taint(const struct node *node, const char *key, const char *effect)
{
	for (size_t i = 0; i < node->taint_count; i++) {
		if (strcmp(node->taints[i].key, key) == 0 &&
		    strcmp(node->taints[i].effect, effect) == 0)
			return true;
	}
	return false;
}

const char *
node_label_suffix(const struct node *node, const char *prefix)
{
	const char *key;
	json_t *value;

	json_object_foreach(node->labels, key, value)
	{
		if (str_has_prefix(key, prefix))
			return key + strlen(prefix);
	}
	return NULL;
}
