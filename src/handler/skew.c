/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/skew.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"

/* Letters, digits and what is between them. */
static bool
is_version(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-+_~";
	size_t len = strlen(text);

	return len > 0 && len <= SKEW_VERSION_MAX &&
	       strspn(text, allowed) == len;
}

char *
skew_text(const struct launch_versions *versions)
{
	AUTO(js_unref) json_t *object = NULL;

	if (!is_version(versions->program) || !is_version(versions->version) ||
	    !is_version(versions->libvirt) || !is_version(versions->qemu))
		return NULL;
	object = launch_versions_encode(versions);
	return js_text_sorted(object, NULL);
}

/* What QEMU's promise is about: the first two numbers. 0: not known. */
static uint64_t
release_of(const char *version)
{
	char *rest;
	unsigned long major = strtoul(version, &rest, 10), minor;

	if (rest == version || *rest != '.')
		return 0;
	minor = strtoul(rest + 1, NULL, 10);
	return major > UINT16_MAX || minor > UINT16_MAX
		       ? 0
		       : ((uint64_t)major << 32) | minor;
}

static bool
is_older_qemu(const char *target, const char *source)
{
	uint64_t here = release_of(target), there = release_of(source);

	return here != 0 && there != 0 && here < there;
}

bool
skew_found(const struct skew_side *source, const struct skew_side *target,
	   char *why, size_t size)
{
	const struct launch_versions *from = source->versions;
	const struct launch_versions *to = target->versions;
	uint32_t protocol;
	struct err err;

	if (launch_versions_agree(from, to, &protocol, &err) == -1) {
		(void)snprintf(why, size,
			       "the launchers of nodes '%s' and '%s' have no "
			       "common protocol: %s",
			       source->node, target->node, err.text);
		return true;
	}
	if (!is_older_qemu(to->qemu, from->qemu))
		return false;
	(void)snprintf(why, size,
		       "the machine runs with QEMU %s (%s %s) on node '%s', "
		       "and node '%s' has QEMU %s (%s %s), which is older: "
		       "update node '%s', or choose another one",
		       from->qemu, from->program, from->version, source->node,
		       target->node, to->qemu, to->program, to->version,
		       target->node);
	return true;
}

bool
skew_found_in(const char *text, const char *source_node,
	      const struct skew_side *target, char *why, size_t size)
{
	AUTO(launch_versions_done) struct launch_versions versions = { 0 };
	AUTO(js_unref) json_t *object = NULL;
	struct skew_side source = { source_node, &versions };
	struct err err;

	if (text == NULL)
		return false;
	object = js_parse(text, strlen(text), &err);
	if (object == NULL ||
	    launch_versions_decode(object, &versions, &err) == -1)
		return false;
	return skew_found(&source, target, why, size);
}
