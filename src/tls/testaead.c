/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Linked into the unit tests only: runs all of one with the AES-GCM that
 * FERRY_TEST_AEAD names, before main() so that no test need know of it.
 */

#include <stdio.h>
#include <stdlib.h>

#define TLS_ALLOW_PRIVATE
#include "tls/private.h"

__attribute__((constructor)) static void
force_from_environment(void)
{
	const char *name = getenv("FERRY_TEST_AEAD");

	if (name == NULL || tls_aead_force(name) == 0)
		return;
	(void)fprintf(stderr, "cannot use '%s' for AES-GCM\n", name);
	abort();
}
