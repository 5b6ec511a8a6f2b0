/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_TESTKINDS_H
#define CLUSTER_KINDS_TESTKINDS_H

/* testkinds - what the tests of this directory share. */

#include "base/js.h"
#include "meta/causes.h"

struct kind_version;
struct registry;
struct schema;

/* The built-in kinds; those of deploy/crds too if asked. */
struct registry *testkinds_registry(bool bundled);

struct kind_version *testkinds_version(const struct registry *registry,
				       const char *group, const char *version,
				       const char *plural);

/* What is wrong with the object, "" if nothing; to be freed. Unknown fields
 * come first, as "unknown X; ". The object is pruned and defaulted. */
char *testkinds_check(const struct schema *schema, json_t *obj);

/* Compares the compact text with sorted keys. */
void testkinds_equal(const json_t *value, const char *text);

#endif
