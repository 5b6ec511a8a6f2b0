/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JS_H
#define BASE_JS_H

/*
 * js - reading JSON that somebody else wrote, and writing our own.
 *
 * The only place that includes <jansson.h>; everybody else includes this.
 * Getters take a name or a path of names ("params.peer") and tell apart
 * missing from wrong: a required member that is missing, or any member of the
 * wrong type or out of range, is ERR_INVALID with the name in the text. A
 * member whose own name has a dot in it cannot be reached with them.
 *
 * Threading: any thread, but a json_t belongs to one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct err;

#define JS_MAX_DEPTH 64 /* deeper input is refused */

/*
 * Once per program, before the first json_t and before a sandbox keeps
 * /dev/urandom away: makes missing memory abort as everywhere else, and seeds
 * the hashing of names so that a peer cannot choose names that collide.
 */
void js_init(void);

/* For AUTO(js_unref): drops the reference a json_t * variable owns. */
void js_unref(json_t **value);

/* Parses exactly one value; duplicate keys and trailing bytes are errors. */
json_t *js_parse(const char *text, size_t len, struct err *err);

/*
 * The same, but of members with the same name the last one counts. Each such
 * name is reported once by its path ("spec.disks[0].name"), in order of the
 * text, and at most JS_MAX_DUPLICATES of them; duplicate may be NULL.
 */
#define JS_MAX_DUPLICATES 100
json_t *js_parse_lenient(const char *text, size_t len,
			 void (*duplicate)(void *arg, const char *path),
			 void *arg, struct err *err);

/* Compact text, to be freed by the caller. */
char *js_text(const json_t *value);

/*
 * The same with the members of objects in the order of their names: equal
 * values have equal texts. Written as Kubernetes writes: <, > and & in strings
 * as \u003c and so on, fractions with no more digits than needed. ret_len may
 * be NULL.
 */
char *js_text_sorted(const json_t *value, size_t *ret_len);

/* Required members. Strings stay owned by the object. */
int js_get_str(const json_t *obj, const char *name, const char **ret_value,
	       struct err *err);
int js_get_u64(const json_t *obj, const char *name, uint64_t min, uint64_t max,
	       uint64_t *ret_value, struct err *err);
int js_get_bool(const json_t *obj, const char *name, bool *ret_value,
		struct err *err);
int js_get_obj(const json_t *obj, const char *name, json_t **ret_value,
	       struct err *err);
int js_get_arr(const json_t *obj, const char *name, json_t **ret_value,
	       struct err *err);

/* Optional members: *ret_value is left as it was when missing or null. */
int js_opt_str(const json_t *obj, const char *name, const char **ret_value,
	       struct err *err);
int js_opt_u64(const json_t *obj, const char *name, uint64_t min, uint64_t max,
	       uint64_t *ret_value, struct err *err);
int js_opt_bool(const json_t *obj, const char *name, bool *ret_value,
		struct err *err);
int js_opt_obj(const json_t *obj, const char *name, json_t **ret_value,
	       struct err *err);
int js_opt_arr(const json_t *obj, const char *name, json_t **ret_value,
	       struct err *err);

/* ERR_INVALID naming the first member that is not in the NULL-ended list. */
int js_only(const json_t *obj, const char *const *names, struct err *err);

#endif
