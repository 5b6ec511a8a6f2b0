/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/labels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cluster/store/entry.h"
#include "cluster/store/object.h"
#include "meta/selector.h"

static char *
text_of(const struct label *label)
{
	return xasprintf("%s=%s", label->key, label->value);
}

static struct label_group *
find(const struct map *labels, const char *text)
{
	struct map_node *node = map_get(labels, text);

	return node == NULL ? NULL : MAP_ENTRY(node, struct label_group, node);
}

const struct label_group *
labels_find(const struct map *labels, const struct label *label)
{
	AUTO(free_ptr) char *text = text_of(label);

	return find(labels, text);
}

static struct label_group *
get(struct map *labels, const struct label *label)
{
	AUTO(free_ptr) char *text = text_of(label);
	struct label_group *group = find(labels, text);
	size_t len = strlen(text) + 1;

	if (group != NULL)
		return group;
	group = xmalloc0(sizeof(*group) + len);
	memcpy(group->text, text, len);
	map_put(labels, &group->node, group->text);
	return group;
}

static void
put(struct map *labels, struct label_post *post, const struct label *label)
{
	struct label_group *group = get(labels, label);

	post->group = group;
	post->prev = NULL;
	post->next = group->first;
	if (post->next != NULL)
		post->next->prev = post;
	group->first = post;
	group->count++;
}

static void
take(struct map *labels, struct label_post *post)
{
	struct label_group *group = post->group;

	if (post->next != NULL)
		post->next->prev = post->prev;
	if (post->prev != NULL)
		post->prev->next = post->next;
	else
		group->first = post->next;
	if (--group->count > 0)
		return;
	map_remove(labels, &group->node);
	free(group);
}

/* Whether the n-th post is for this label; keys have no '='. */
static bool
is_for(const struct label_post *post, const struct label *label)
{
	size_t len = strlen(label->key);
	const char *text = post->group->text;

	return strncmp(text, label->key, len) == 0 && text[len] == '=' &&
	       strcmp(text + len + 1, label->value) == 0;
}

static bool
is_current(const struct entry *entry)
{
	const struct object *object = entry->object;
	size_t count = object == NULL ? 0 : object->label_count;

	if (entry->post_count != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_for(&entry->posts[i], &object->labels[i]))
			return false;
	}
	return true;
}

void
labels_update(struct map *labels, struct entry *entry)
{
	const struct object *object = entry->object;

	if (is_current(entry))
		return;
	for (size_t i = 0; i < entry->post_count; i++)
		take(labels, &entry->posts[i]);
	free(entry->posts);
	entry->posts = NULL;
	entry->post_count = object == NULL ? 0 : object->label_count;
	if (entry->post_count == 0)
		return;
	entry->posts = xcalloc(entry->post_count, sizeof(*entry->posts));
	for (size_t i = 0; i < entry->post_count; i++) {
		entry->posts[i].entry = entry;
		put(labels, &entry->posts[i], &object->labels[i]);
	}
}
