/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/*
 * log - one line per event on stderr.
 *
 * JSON with KubeVirt's keys (level, timestamp, pos, component, then the
 * fields of the reference, then msg), or a line for a person when stderr is a
 * terminal. A line is written with one write(2), so lines of several threads
 * and processes never mix.
 *
 * The layer that ends an error's way logs it, once. Libraries log at debug
 * only.
 *
 * Threading: any thread, once log_init() has returned.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;

enum log_level {
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_INFO,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_COUNT,
};

enum log_format {
	LOG_FORMAT_AUTO, /* human on a terminal, JSON otherwise */
	LOG_FORMAT_JSON,
	LOG_FORMAT_HUMAN,
	LOG_FORMAT_COUNT,
};

/* One key and its value; a NULL value is left out. Ends with a NULL key. */
struct log_field {
	const char *key;
	const char *value;
};

/* What a line is about: an array of fields ended by { NULL, NULL }. */
typedef const struct log_field *log_ref;

void log_init(const char *component, enum log_level level,
	      enum log_format format);

/* log_init() with what --log-level and --log-format say. */
int log_start(const char *component, const char *level, const char *format,
	      struct err *err);

/* Each returns -1 for a name it does not know. */
int log_level_from_name(const char *name, enum log_level *ret_level);
int log_format_from_name(const char *name, enum log_format *ret_format);

bool log_enabled(enum log_level level);

void log_write(enum log_level level, const char *file, int line, log_ref ref,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#define log_debug(ref, ...) \
	log_write(LOG_LEVEL_DEBUG, __FILE__, __LINE__, ref, __VA_ARGS__)
#define log_info(ref, ...) \
	log_write(LOG_LEVEL_INFO, __FILE__, __LINE__, ref, __VA_ARGS__)
#define log_warning(ref, ...) \
	log_write(LOG_LEVEL_WARNING, __FILE__, __LINE__, ref, __VA_ARGS__)
#define log_error(ref, ...) \
	log_write(LOG_LEVEL_ERROR, __FILE__, __LINE__, ref, __VA_ARGS__)

#endif
