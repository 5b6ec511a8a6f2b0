/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_SELECTOR_H
#define META_SELECTOR_H

/*
 * selector - which objects a list, a watch or a rule is about: by labels, and
 * by the few fields that can be selected by.
 *
 * A selector is a list of requirements that must all hold. Its text is bounded
 * by SELECTOR_MAX_BYTES; matching costs a look-up per requirement.
 *
 * Threading: any thread may match; a selector does not change once made.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct status;

#define SELECTOR_MAX_BYTES (64 * 1024)

struct selector;

struct label {
	const char *key;
	const char *value;
};

/* "a=b,c in (d,e),!f". NULL with the parser's complaint as BadRequest. An empty
 * text selects everything. */
struct selector *selector_parse(const char *text, struct status *st);

/*
 * A LabelSelector object: {matchLabels, matchExpressions}. NULL or null selects
 * nothing, {} everything, as everywhere in Kubernetes. Returns NULL when it is
 * malformed.
 */
struct selector *selector_from_json(const json_t *obj, struct status *st);

/* Selects objects that have exactly these values ({"a":"b"}: nodeSelector, the
 * selector of a service). NULL or {} selects everything. */
struct selector *selector_from_map(const json_t *map);

void selector_free(struct selector *sel);       /* NULL is fine */
void selector_unref(struct selector **pointer); /* for AUTO() */

/* labels: an object of strings, or NULL for none. A NULL selector selects
 * everything. */
bool selector_matches(const struct selector *sel, const json_t *labels);
bool selector_matches_labels(const struct selector *sel,
			     const struct label *labels, size_t n);

/* Whether it selects everything, or nothing, by its form. */
bool selector_is_empty(const struct selector *sel);
bool selector_is_nothing(const struct selector *sel);

/*
 * The value a single label must have by "key=value", "key in (value)"; NULL if
 * there is no such requirement. Lets a caller use an index.
 */
const char *selector_exact_value(const struct selector *sel, const char *key);

/* The same for all labels of which it says one value, the first from *at = 0
 * on; *at is moved behind it. False: there are no more. Borrowed. */
bool selector_next_exact(const struct selector *sel, size_t *at,
			 struct label *ret_label);

/* As Kubernetes prints it; to be freed. */
char *selector_text(const struct selector *sel);

/* One term of a field selector. */
struct fieldsel_term {
	char *path; /* "spec.nodeName" */
	char *value;
	bool equal; /* = or ==; false: != */
};

struct fieldsel {
	struct fieldsel_term *terms;
	size_t len;
};

/*
 * "spec.nodeName=n1,status.phase!=Failed". Which paths there are is for the
 * caller to say. NULL: malformed, with BadRequest. An empty text has no terms.
 */
struct fieldsel *fieldsel_parse(const char *text, struct status *st);
void fieldsel_free(struct fieldsel *sel);       /* NULL is fine */
void fieldsel_unref(struct fieldsel **pointer); /* for AUTO() */

/* The value the path must equal; NULL if it is not said. */
const char *fieldsel_exact_value(const struct fieldsel *sel, const char *path);

/*
 * Whether all terms hold. get is asked for the value at a path and returns a
 * string that stays valid until it is asked again; NULL counts as "".
 */
bool fieldsel_matches(const struct fieldsel *sel,
		      const char *(*get)(void *arg, const char *path),
		      void *arg);

#endif
