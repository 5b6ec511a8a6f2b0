/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_CRD_H
#define CLUSTER_KINDS_CRD_H

/*
 * crd - what makes a CustomResourceDefinition right; see
 * registry_prepare_crd().
 */

#include "base/js.h"

struct causes;
struct registry;

/*
 * NULL, or what is wrong with the names because another definition has them,
 * such as "\"gadget\" is already in use"; to be freed.
 */
char *crd_name_conflict(const struct registry *registry, const json_t *crd);

/* The defaults of spec, in place. */
void crd_default(json_t *crd);

/* All but the schemas. old may be NULL. */
void crd_validate(const json_t *crd, const json_t *old, struct causes *causes);

/* status, in place; conflict may be NULL. */
void crd_set_status(json_t *crd, const json_t *old, const char *conflict,
		    const char *now);

#endif
