/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_YAML_H
#define META_YAML_H

/*
 * yaml - manifests: YAML to JSON and back.
 *
 * Plain scalars mean what they mean to kubectl, which reads YAML 1.1 with the
 * ways of go-yaml: yes, on, ~, 0x1f, 1_000 and .inf are no strings, dates are.
 * Keys become strings. Merge keys (<<) work. What aliases may stand for in a
 * document is limited, and it is nested at most JS_MAX_DEPTH deep: a small text
 * cannot become a large value.
 *
 * The only user of <yaml.h>. Threading: any thread.
 */

#include <stddef.h>

#include "base/js.h"

struct err;

/* Values, and bytes of text, that aliases may add to a document. */
#define YAML_MAX_ALIASED 100000
#define YAML_MAX_ALIASED_BYTES (3 * 1024 * 1024)

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
