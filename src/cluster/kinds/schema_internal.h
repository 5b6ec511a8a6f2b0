/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_SCHEMA_INTERNAL_H
#define CLUSTER_KINDS_SCHEMA_INTERNAL_H

/*
 * schema_internal - a compiled schema, for the files named schema_*.c.
 *
 * Nodes form a tree, or a graph without circles where definitions are shared;
 * each holds references to those below it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "cluster/kinds/format.h"

struct causes;
struct pattern;
struct schema;

enum schema_type {
	SCHEMA_OBJECT = 1 << 0,
	SCHEMA_ARRAY = 1 << 1,
	SCHEMA_STRING = 1 << 2,
	SCHEMA_INTEGER = 1 << 3,
	SCHEMA_NUMBER = 1 << 4,
	SCHEMA_BOOLEAN = 1 << 5,
};

enum schema_list {
	SCHEMA_LIST_ATOMIC,
	SCHEMA_LIST_SET,
	SCHEMA_LIST_MAP,
};

struct schema_prop {
	const char *name; /* owned by the schema's source */
	struct schema *schema;
};

struct schema_set {
	struct schema **list;
	size_t count;
};

/* What few nodes have. */
struct schema_rules {
	json_t *values; /* enum: an array */
	struct pattern *pattern;
	double minimum, maximum, multiple_of; /* NAN: none */
	bool exclusive_minimum, exclusive_maximum;
	int64_t min_length, max_length; /* -1: none, as in all below */
	int64_t min_items, max_items;
	int64_t min_properties, max_properties;
	struct schema_set all_of, any_of, one_of;
	struct schema *never; /* not */
};

struct schema {
	unsigned refs;
	json_t *source; /* the node it was compiled from; holds the names */
	enum schema_type type; /* 0: any */
	enum schema_list list;
	enum format format;
	bool nullable;
	bool int_or_string;
	bool preserve; /* unknown fields stay */
	bool embedded; /* an object of some kind */
	bool typed;
	bool any_member;           /* additionalProperties: true */
	bool fills;                /* schema_default() has work here or below */
	const char *name;          /* of the definition; NULL: none */
	json_t *fallback;          /* default; NULL: none */
	json_t *required;          /* an array of strings; NULL: none */
	json_t *list_keys;         /* an array of strings; NULL: none */
	struct schema_prop *props; /* sorted by name */
	size_t prop_count;
	/* What a definition says of metadata; NULL: nothing. */
	struct schema *own_metadata;
	struct schema *additional;  /* NULL: none */
	struct schema *items;       /* NULL: anything */
	struct schema_rules *rules; /* NULL: none */
};

/* Where the walk through an object is. key NULL: an index. */
struct schema_place {
	const struct schema_place *up; /* NULL at the root */
	const char *key;
	size_t index;
};

/* "spec.a[0].b"; to be freed. "" at the root. */
char *schema_place_text(const struct schema_place *place);
/* The same without indexes: "spec.a.b". */
char *schema_place_names(const struct schema_place *place);

/* schema_validate() of a value that stands somewhere. */
void schema_validate_at(const struct schema *schema, const json_t *value,
			const struct schema_place *place,
			struct causes *causes);

/* NULL if the schema does not name it. */
const struct schema_prop *schema_prop_find(const struct schema *schema,
					   const char *name);

/* "integer", "object", ...: what go-openapi calls the type of a value. */
const char *schema_type_of(const json_t *value);
const char *schema_type_name(enum schema_type type);
/* Whether the value is of the node's type; null is not looked at. */
bool schema_type_fits(const struct schema *schema, const json_t *value);

#endif
