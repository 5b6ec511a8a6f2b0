/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/migration/hostmodel.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/world.h"

#define HOST_MODEL "host-model"
#define TEXT_MAX 4096 /* bytes; what is beyond is left out */

/* Labels of the source node, and what they mean for others. */
static const struct {
	const char *have, *need;
} wants[] = {
	{ LABEL_HOST_MODEL_PREFIX, LABEL_CPU_MIGRATION_PREFIX },
	{ LABEL_HOST_FEATURES_PREFIX, LABEL_CPU_FEATURE_PREFIX },
};

/* What the label asks for; to be freed, NULL for nothing. */
static char *
need_of(const char *label)
{
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		if (str_has_prefix(label, wants[i].have))
			return xasprintf("%s%s", wants[i].need,
					 label + strlen(wants[i].have));
	}
	return NULL;
}

static bool
fits(const struct node *node, const struct node *source)
{
	const char *label;
	json_t *value;
	bool all = true;

	json_object_foreach(source->labels, label, value)
	{
		char *need = need_of(label);

		if (need != NULL && json_object_get(node->labels, need) == NULL)
			all = false;
		free(need);
	}
	return all;
}

static char *
list_needs(const struct node *source)
{
	struct buf buf = BUF_INIT(TEXT_MAX);
	const char *label;
	json_t *value;

	json_object_foreach(source->labels, label, value)
	{
		char *need = need_of(label);

		if (need != NULL)
			(void)buf_printf(&buf, "%s%s", buf.len == 0 ? "" : ", ",
					 need);
		free(need);
	}
	return (char *)buf.data;
}

char *
hostmodel_missing(const struct world *world, const struct vmi *vmi)
{
	const char *model;
	const struct node *source, *node;
	struct cache_walk walk;

	if (vmi == NULL)
		return NULL;
	model = vmi->cpu_model[0] != '\0' ? vmi->cpu_model
					  : world_config(world)->cpu_model;
	if (model[0] != '\0' && strcmp(model, HOST_MODEL) != 0)
		return NULL;
	source = world_get(world, WORLD_NODES, "", vmi->node);
	if (source == NULL || source->labels == NULL)
		return NULL;
	walk = cache_all(world_cache(world, WORLD_NODES));
	while ((node = world_next(&walk)) != NULL) {
		if (node != source && fits(node, source))
			return NULL;
	}
	return list_needs(source);
}
