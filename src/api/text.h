/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_TEXT_H
#define API_TEXT_H

/*
 * text - reading members into views; for the modules of this directory.
 *
 * Most texts of most views are empty, so that all empty ones are the same and
 * cost nothing: a text of a view is made and freed with these.
 *
 * Threading: any thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "meta/quantity.h"

struct err;

char *text_new(const char *s);
void text_free(char *s);

/* The string at a path; "" when there is none. */
char *text_at(const json_t *obj, const char *path);
/* A label or annotation, by the object's member; "" when there is none. */
char *text_label(const json_t *object, const char *key);
char *text_annotation(const json_t *object, const char *key);

/* What an object says about being evicted, for comparison: the values of the
 * two annotations of names.h, "" when it has neither. */
char *text_wishes(const json_t *object);

/* Where s is in names; count when it is not there. */
size_t text_index(const char *const *names, size_t count, const char *s);

/* The time at a path in microseconds; 0 when there is none. */
int64_t text_time_at(const json_t *obj, const char *path);

/* A quantity, which is a string or a number. what names it in the error. */
int text_quantity(const json_t *value, const char *what,
		  struct quantity *ret_quantity, struct err *err);
/* In whole bytes; 0 for what is missing, negative or no quantity. */
uint64_t text_bytes(const json_t *value);

/* A number from 0 to max in an annotation; otherwise for none or nonsense, as
 * in KubeVirt. */
int64_t text_number(const json_t *object, const char *annotation, uint64_t max,
		    int64_t otherwise);
/* A time in an annotation in microseconds; 0 for none or nonsense. */
int64_t text_moment(const json_t *object, const char *annotation);
/* Seconds in an annotation, as text_number(). */
int64_t text_seconds(const json_t *object, const char *annotation,
		     int64_t otherwise);

/* A new reference to the object at path; NULL when there is none or it is
 * empty. */
json_t *text_obj_at(const json_t *obj, const char *path);

#endif
