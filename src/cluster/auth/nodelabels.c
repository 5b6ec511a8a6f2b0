/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/nodelabels.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"

/* What describes a node, by label and by namespace of labels. */
static const char *const own_labels[] = {
	"kubernetes.io/hostname",
	"kubernetes.io/os",
	"kubernetes.io/arch",
	"node.kubernetes.io/instance-type",
	"node.kubernetes.io/windows-build",
	"topology.kubernetes.io/zone",
	"topology.kubernetes.io/region",
	"beta.kubernetes.io/instance-type",
	"beta.kubernetes.io/os",
	"beta.kubernetes.io/arch",
	"failure-domain.beta.kubernetes.io/zone",
	"failure-domain.beta.kubernetes.io/region",
};
static const char *const own_namespaces[] = { "kubelet.kubernetes.io",
					      "node.kubernetes.io" };

/* Whether the namespace of the key is this one or below it. */
static bool
is_below(const char *key, const char *ns)
{
	const char *slash = strchr(key, '/');
	size_t len = strlen(ns);
	size_t key_len;

	if (!slash)
		return false;
	key_len = (size_t)(slash - key);
	if (key_len < len || strncmp(slash - len, ns, len) != 0)
		return false;
	return key_len == len || slash[-(ptrdiff_t)len - 1] == '.';
}

bool
nodelabels_allowed(const char *key)
{
	if (is_below(key, "node-restriction.kubernetes.io"))
		return false;
	if (!is_below(key, "kubernetes.io") && !is_below(key, "k8s.io"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(own_labels); i++) {
		if (strcmp(key, own_labels[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(own_namespaces); i++) {
		if (is_below(key, own_namespaces[i]))
			return true;
	}
	return false;
}

struct keys {
	const char **list;
	size_t count;
};

/* Keys of one that the other does not have with the same value. */
static void
collect(const json_t *one, const json_t *other, bool differing,
	struct keys *keys)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)one, key, value)
	{
		const json_t *second = json_object_get(other, key);

		if (second && (!differing || json_equal(value, second)))
			continue;
		if (!nodelabels_allowed(key))
			keys->list[keys->count++] = key;
	}
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *
nodelabels_forbidden(const json_t *now, const json_t *before)
{
	struct keys keys = { 0 };
	struct buf text = BUF_INIT(BUF_UNLIMITED);

	keys.list =
		xcalloc(json_object_size(now) + json_object_size(before) + 1,
			sizeof(*keys.list));
	collect(now, before, true, &keys);
	collect(before, now, false, &keys);
	qsort((void *)keys.list, keys.count, sizeof(*keys.list), compare);
	for (size_t i = 0; i < keys.count; i++)
		(void)buf_printf(&text, "%s%s", i ? ", " : "", keys.list[i]);
	free((void *)keys.list);
	return (char *)text.data;
}
