/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/skew.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/release.h"
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
	if (!release_is_older(to->qemu, from->qemu))
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
