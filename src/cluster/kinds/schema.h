/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_SCHEMA_H
#define CLUSTER_KINDS_SCHEMA_H

/*
 * schema - what objects of a kind may look like: pruning, defaults, validation.
 *
 * An OpenAPI v3 schema as CustomResourceDefinitions carry it is compiled once
 * per version of a kind; using it costs no memory per object. Understood are
 * type, format, nullable, properties, required, additionalProperties, items,
 * enum, pattern, the minima and maxima, multipleOf, uniqueItems, default,
 * allOf, anyOf, oneOf, not, x-kubernetes-preserve-unknown-fields,
 * x-kubernetes-embedded-resource, x-kubernetes-int-or-string and
 * x-kubernetes-list-type (set, map) with its keys. x-kubernetes-validations
 * (CEL) are kept in the schema and shown, but not evaluated.
 *
 * The order in which Kubernetes does it: schema_check_types() for built-in
 * kinds (their decoder's complaint), schema_prune(), schema_default(),
 * schema_validate().
 *
 * Objects are as deep as js_parse() allows (JS_MAX_DEPTH), deeper ones must
 * not be handed in. Threading: a compiled schema is constant except for its
 * reference count; one thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct causes;
struct schema;
struct schema_pool;

#define SCHEMA_NODES_MAX 50000 /* of one compiled schema */
#define SCHEMA_CAUSES_MAX 100  /* field errors of one object, then it stops */

/*
 * Compiled nodes by the json_t they came from, so that a definition that is
 * referred to from many places (the same json_t, shared) is compiled once. The
 * pool keeps the json_t and the nodes.
 */
struct schema_pool *schema_pool_new(void);
void schema_pool_free(struct schema_pool *pool);

struct schema_options {
	/* The schema is a whole object's: apiVersion, kind and metadata are
	 * those of every object, whatever the schema says. NULL: it is not. */
	struct schema *metadata;
	struct schema_pool *pool; /* NULL: compile everything anew */
	/* Of a built-in kind: a null member is as if it were not there. */
	bool typed;
};

/*
 * Compiles; field ("spec.validation.openAPIV3Schema") is where the schema
 * stands, for the causes. Returns a reference, or NULL when causes were added:
 * a schema that is not structural, a pattern that is none, an unknown type.
 */
struct schema *schema_compile(const json_t *openapi, const char *field,
			      const struct schema_options *options,
			      struct causes *causes);
struct schema *schema_ref(struct schema *schema);
void schema_unref(struct schema *schema); /* NULL is fine */

/* Paths of fields that no schema knows: "spec.bogus", "spec.a[0].b". */
struct unknown {
	char **paths;
	size_t count; /* at most SCHEMA_CAUSES_MAX are kept */
};

void unknown_sort(struct unknown *unknown);
void unknown_done(struct unknown *unknown);

/*
 * Removes what the schema does not know from obj, in place. The paths of what
 * was removed are added to unknown, in the order of the object, if it is not
 * NULL.
 */
void schema_prune(const struct schema *schema, json_t *obj,
		  struct unknown *unknown);

/* Puts in what is missing and has a default, in place. */
void schema_default(const struct schema *schema, json_t *obj);

/* Adds a cause for everything that is wrong; Kubernetes' texts. Returns 0, or
 * -1 if there is any. */
int schema_validate(const struct schema *schema, const json_t *obj,
		    struct causes *causes);

/*
 * What the decoder of a built-in kind would say about the first member of a
 * wrong type: NULL, or for example "json: cannot unmarshal number into Go
 * struct field ConfigMap.data of type string", to be freed by the caller. kind
 * is the name of the outermost type.
 */
char *schema_check_types(const struct schema *schema, const char *kind,
			 const json_t *obj);

#endif
