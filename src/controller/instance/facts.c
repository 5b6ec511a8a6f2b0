/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/instance/facts.h"

#include <string.h>

#include "meta/time.h"

static bool
is_newer(const struct pod *a, const struct pod *b)
{
	if (a->meta.created_us != b->meta.created_us)
		return a->meta.created_us > b->meta.created_us;
	/* Times are whole seconds; the same answer each time will do. */
	return strcmp(a->meta.name, b->meta.name) > 0;
}

const struct pod *
instance_pod(const struct instance_facts *facts)
{
	const char *node = facts->vmi->node;
	const struct pod *found = NULL;

	for (size_t i = 0; i < facts->pod_count; i++) {
		const struct pod *pod = facts->pods[i];

		if (*node != '\0' && strcmp(pod->node, node) != 0)
			continue;
		if (found == NULL || is_newer(pod, found))
			found = pod;
	}
	return found;
}

bool
instance_is_moving(const struct instance_facts *facts)
{
	const struct migration_state *state = facts->vmi->migration;

	if (state == NULL || state->completed || state->failed)
		return false;
	for (size_t i = 0; i < facts->pod_count; i++) {
		const struct pod *pod = facts->pods[i];

		if (strcmp(pod->migration_uid, state->uid) == 0 &&
		    !pod_is_down(pod))
			return true;
	}
	return false;
}

bool
instance_is_stranded(const struct instance_facts *facts)
{
	const struct node *node = facts->node;

	if (*facts->vmi->node == '\0')
		return false;
	if (node == NULL)
		return true;
	return node->heartbeat_us != 0 &&
	       facts->now_us - node->heartbeat_us >
		       INSTANCE_HEARTBEAT_S * TIME_US_PER_SECOND;
}
