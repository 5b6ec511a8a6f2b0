/* SPDX-License-Identifier: Apache-2.0 */
#include "api/release.h"

#include <stdint.h>
#include <stdlib.h>

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

bool
release_is_older(const char *target, const char *source)
{
	uint64_t here = release_of(target), there = release_of(source);

	return here != 0 && there != 0 && here < there;
}
