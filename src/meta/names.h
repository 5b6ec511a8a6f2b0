/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_NAMES_H
#define META_NAMES_H

/*
 * names - which names, labels and keys Kubernetes allows, and what it says
 * about the others; and names that the server makes.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct causes;

#define NAME_LABEL_MAX 63
#define NAME_SUBDOMAIN_MAX 253
#define NAME_QUALIFIED_MAX 63 /* of the part behind the slash */
#define NAME_ANNOTATIONS_MAX_BYTES (256 * 1024)

enum name_rule {
	NAME_DNS1123_LABEL,     /* most names that become a host name */
	NAME_DNS1123_SUBDOMAIN, /* most other names */
	NAME_DNS1035_LABEL,     /* services; starts with a letter */
	NAME_QUALIFIED,         /* keys of labels: [prefix/]name */
	NAME_LABEL_VALUE,
	NAME_PATH_SEGMENT, /* roles and the like: whatever fits in a path */
	NAME_CONFIG_KEY,   /* keys of ConfigMap and Secret data */
	NAME_RULE_COUNT,
};

/* What Kubernetes says is wrong with a name; several things can be. */
struct name_faults {
	size_t count;
	char text[4][400];
};

bool name_ok(enum name_rule rule, const char *value);
void name_check(enum name_rule rule, const char *value,
		struct name_faults *ret_faults);
/* Adds each fault as "FIELD: Invalid value: "VALUE": FAULT". */
void name_check_field(enum name_rule rule, const char *value, const char *field,
		      struct causes *causes);

/* The same for a generateName, which may end as a name may not: with a dash. */
void name_check_prefix(enum name_rule rule, const char *prefix,
		       const char *field, struct causes *causes);

/* labels and annotations of an object: keys, values, total size. A value that
 * is no object, or has members that are no strings, is left to the schema. */
void name_check_labels(const json_t *labels, const char *field,
		       struct causes *causes);
void name_check_annotations(const json_t *annotations, const char *field,
			    struct causes *causes);

/* base (cut to what fits) and five random characters; to be freed. */
char *name_generate(const char *base);

#define NAME_UUID_SIZE 37
/* A random UUID (version 4) in lower case; returns buf. */
char *name_uuid(char buf[NAME_UUID_SIZE]);

#endif
