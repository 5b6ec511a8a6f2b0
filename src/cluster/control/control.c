/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/control.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "cluster/control/context.h"
#include "cluster/control/feed.h"
#include "cluster/control/view.h"

static const struct controller *const controllers[] = {
	&scheduler_controller,  &gc_controller,       &namespace_controller,
	&definition_controller, &defaults_controller, &nodelife_controller,
	&eviction_controller,   &expiry_controller,   &pdb_controller,
	&binder_controller,
};

struct control {
	struct context context;
	char *root_ca_pem;
	void *states[ARRAY_LEN(controllers)];
};

struct control *
control_new(const struct control_config *config)
{
	struct control *control = xmalloc0(sizeof(*control));
	struct context *context = &control->context;

	context->config = *config;
	if (context->config.node_grace_ms == 0)
		context->config.node_grace_ms = CONTROL_NODE_GRACE_MS;
	if (context->config.event_ttl_ms == 0)
		context->config.event_ttl_ms = CONTROL_EVENT_TTL_MS;
	if (config->root_ca_pem != NULL) {
		control->root_ca_pem = xstrdup(config->root_ca_pem);
		context->config.root_ca_pem = control->root_ca_pem;
	}
	context->view = view_new();
	context->feed = feed_new(config->store, context->view);
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		control->states[i] = controllers[i]->start(context);
	feed_start(context->feed);
	return control;
}

void
control_free(struct control *control)
{
	if (control == NULL)
		return;
	feed_free(control->context.feed);
	for (size_t i = ARRAY_LEN(controllers); i-- > 0;)
		controllers[i]->stop(control->states[i]);
	view_free(control->context.view);
	free(control->root_ca_pem);
	free(control);
}
