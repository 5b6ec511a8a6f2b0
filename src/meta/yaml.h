/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_YAML_H
#define META_YAML_H

/*
 * yaml - manifests: YAML to JSON and back.
 *
 * Plain scalars mean what they mean to kubectl, which reads YAML 1.1 with the
 * ways of go-yaml: yes, on, ~, 0x1f, 1_000 and .inf are no strings, dates are.
 * Keys become strings. Merge keys (<<) work. An alias counts for what it stands
 * for: the result has at most YAML_MAX_NODES values and is nested at most
 * JS_MAX_DEPTH deep, however small the text is.
 *
 * The only user of <yaml.h>. Threading: any thread.
 */

#include <stddef.h>

#include "base/js.h"

struct err;

#define YAML_MAX_NODES 1000000

/* The first document; NULL on failure. An empty one is null. Of a key that is
 * given twice the last counts. */
json_t *yaml_to_json(const char *text, size_t len, struct err *err);

/* The same, and calls duplicate for each key that is given twice. */
json_t *yaml_to_json_strict(const char *text, size_t len,
			    void (*duplicate)(void *arg, const char *path),
			    void *arg, struct err *err);

/* The documents of a text, one after the other; the text must outlive it. */
struct yaml_docs;

struct yaml_docs *yaml_docs_new(const char *text, size_t len);
/* 1 with *ret_doc (a new reference), 0 when there are no more, -1 when the text
 * is malformed, after which there are no more either. */
int yaml_docs_next(struct yaml_docs *docs, json_t **ret_doc, struct err *err);
void yaml_docs_free(struct yaml_docs *docs);      /* NULL is fine */
void yaml_docs_unref(struct yaml_docs **pointer); /* for AUTO() */

/* Block style, keys sorted, as kubectl -o yaml; ends with a newline. To be
 * freed by the caller. */
char *yaml_from_json(const json_t *value);

#endif
