/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/layout.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define HASH_PRIME 16777619U
#define HASH_START 2166136261U
#define HOST_OWN 254 /* who is no node */
#define PODS_FIRST 16

/* FNV: nobody attacks the name of his own cluster. */
static uint32_t
hash(const char *text)
{
	uint32_t sum = HASH_START;

	for (; *text != '\0'; text++)
		sum = (sum ^ (uint8_t)*text) * HASH_PRIME;
	return sum;
}

static int
check_name(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > LAYOUT_NAME_MAX || name[0] < 'a' ||
	    name[0] > 'z' ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != len)
		return err_set(err, ERR_INVALID,
			       "'%s' is no name for a cluster: up to %d "
			       "characters of a-z, 0-9 and '-', a letter first",
			       name, LAYOUT_NAME_MAX);
	return 0;
}

int
layout_init(struct layout *layout, const char *dir, const char *name,
	    unsigned nodes, struct err *err)
{
	AUTO(free_ptr) char *cwd = NULL;

	if (check_name(name, err) == -1)
		return -1;
	if (dir[0] != '/') {
		cwd = getcwd(NULL, 0);
		if (cwd == NULL)
			return err_errno(err, "cannot tell where this is");
	}
	memset(layout, 0, sizeof(*layout));
	layout->dir = cwd == NULL ? xstrdup(dir) : xasprintf("%s/%s", cwd, dir);
	(void)snprintf(layout->name, sizeof(layout->name), "%s", name);
	layout->nodes = nodes;
	layout->block = LAYOUT_BLOCK_FIRST + hash(name) % LAYOUT_BLOCK_COUNT;
	return 0;
}

void
layout_done(struct layout *layout)
{
	free(layout->dir);
	layout->dir = NULL;
}

char *
layout_path(const struct layout *layout, const char *fmt, ...)
{
	AUTO(free_ptr) char *rest = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&rest, fmt, args) == -1)
		abort();
	va_end(args);
	return xasprintf("%s/%s", layout->dir, rest);
}

const char *
layout_node(unsigned node, char text[LAYOUT_TEXT_SIZE])
{
	(void)snprintf(text, LAYOUT_TEXT_SIZE, "node%u", node);
	return text;
}

const char *
layout_netns(const struct layout *layout, unsigned node,
	     char text[LAYOUT_TEXT_SIZE])
{
	if (node == 0)
		(void)snprintf(text, LAYOUT_TEXT_SIZE, "ferry-%s-fabric",
			       layout->name);
	else
		(void)snprintf(text, LAYOUT_TEXT_SIZE, "ferry-%s-node%u",
			       layout->name, node);
	return text;
}

const char *
layout_uplink(const struct layout *layout, char text[LAYOUT_TEXT_SIZE])
{
	(void)snprintf(text, LAYOUT_TEXT_SIZE, "ferry%08x", hash(layout->name));
	return text;
}

const char *
layout_address(const struct layout *layout, enum layout_net net, unsigned node,
	       char text[LAYOUT_TEXT_SIZE])
{
	(void)snprintf(text, LAYOUT_TEXT_SIZE, "10.%u.%u.%u", layout->block,
		       (unsigned)net, node == 0 ? HOST_OWN : node);
	return text;
}

const char *
layout_pods(const struct layout *layout, unsigned node,
	    char text[LAYOUT_TEXT_SIZE])
{
	(void)snprintf(text, LAYOUT_TEXT_SIZE, "10.%u.%u.0/24", layout->block,
		       PODS_FIRST + node);
	return text;
}

const char *
layout_cgroup(const struct layout *layout, unsigned node,
	      char text[LAYOUT_TEXT_SIZE])
{
	(void)snprintf(text, LAYOUT_TEXT_SIZE, "/ferry-%s-node%u", layout->name,
		       node);
	return text;
}

/* Of one name: "ferry-NAME-node2" is also how a cluster "NAME-node2" begins,
 * but behind the number of a node its name ends. */
static bool
is_node_cgroup(const char *name, const char *prefix)
{
	size_t digits;

	if (!str_has_prefix(name, prefix))
		return false;
	name += strlen(prefix);
	digits = strspn(name, "0123456789");
	return digits > 0 && (name[digits] == '\0' || name[digits] == '/' ||
			      name[digits] == '\n');
}

bool
layout_has_cgroup(const struct layout *layout, const char *cgroups)
{
	char prefix[LAYOUT_TEXT_SIZE];

	(void)snprintf(prefix, sizeof(prefix), "/ferry-%s-node", layout->name);
	for (const char *at = strchr(cgroups, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		if (is_node_cgroup(at, prefix))
			return true;
	}
	return false;
}
