/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"

/*
 * A line is no longer than what a pipe takes in one piece; what is too long is
 * cut, in values and not in the syntax around them.
 */
#define LINE_MAX_BYTES PIPE_BUF
#define MSG_MAX_BYTES 2048 /* before escaping */
#define MSG_RESERVE 1024   /* the reference's fields leave this for msg */

static const char *const level_names[] = {
	[LOG_LEVEL_DEBUG] = "debug",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_ERROR] = "error",
};
static_assert(ARRAY_LEN(level_names) == LOG_LEVEL_COUNT, "a level has no name");

/* Grey, green, yellow, red. */
static const char *const level_colours[] = {
	[LOG_LEVEL_DEBUG] = "\033[90m",
	[LOG_LEVEL_INFO] = "\033[32m",
	[LOG_LEVEL_WARNING] = "\033[33m",
	[LOG_LEVEL_ERROR] = "\033[31m",
};
static_assert(ARRAY_LEN(level_colours) == LOG_LEVEL_COUNT,
	      "a level has no colour");

static const char *const format_names[] = {
	[LOG_FORMAT_AUTO] = "auto",
	[LOG_FORMAT_JSON] = "json",
	[LOG_FORMAT_HUMAN] = "human",
};
static_assert(ARRAY_LEN(format_names) == LOG_FORMAT_COUNT,
	      "a format has no name");

/* Written by log_init() only. */
static struct {
	const char *component;
	enum log_level level;
	bool human;
	bool coloured;
} config = { .component = "ferry", .level = LOG_LEVEL_INFO };

/* A line being built. Never grows beyond end; what does not fit is left out. */
struct line {
	char text[LINE_MAX_BYTES];
	size_t len;
	size_t end;
};

struct entry {
	enum log_level level;
	const char *file;
	int line;
	log_ref ref;
	const char *msg;
	struct timespec when;
};

void
log_init(const char *component, enum log_level level, enum log_format format)
{
	bool terminal = isatty(STDERR_FILENO) == 1;

	/* Here, and not when a sandbox keeps the zone's file out of reach. */
	tzset();
	config.component = component;
	config.level = level;
	config.human = format == LOG_FORMAT_HUMAN ||
		       (format == LOG_FORMAT_AUTO && terminal);
	config.coloured = config.human && terminal;
}

int
log_level_from_name(const char *name, enum log_level *ret_level)
{
	for (unsigned i = 0; i < LOG_LEVEL_COUNT; i++) {
		if (str_equal(name, level_names[i])) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -1;
}

int
log_format_from_name(const char *name, enum log_format *ret_format)
{
	for (unsigned i = 0; i < LOG_FORMAT_COUNT; i++) {
		if (str_equal(name, format_names[i])) {
			*ret_format = (enum log_format)i;
			return 0;
		}
	}
	return -1;
}

int
log_start(const char *component, const char *level, const char *format,
	  struct err *err)
{
	enum log_level number;
	enum log_format form;

	if (log_level_from_name(level, &number) == -1)
		return err_set(err, ERR_INVALID,
			       "--log-level: '%s' is none of "
			       "debug, info, warning, error",
			       level);
	if (log_format_from_name(format, &form) == -1)
		return err_set(
			err, ERR_INVALID,
			"--log-format: '%s' is none of auto, json, human",
			format);
	log_init(component, number, form);
	return 0;
}

bool
log_enabled(enum log_level level)
{
	return level >= config.level;
}

/* All of it or nothing. */
static bool
line_add(struct line *line, const char *text, size_t len)
{
	/* len may be beyond end where room was set aside for what follows. */
	if (line->len > line->end || len > line->end - line->len)
		return false;
	memcpy(line->text + line->len, text, len);
	line->len += len;
	return true;
}

static bool
line_add_str(struct line *line, const char *text)
{
	return line_add(line, text, strlen(text));
}

/* Bytes a terminal could take for a command: C0, DEL and, as UTF-8, C1. */
static bool
is_control(const unsigned char *s, size_t len)
{
	if (len == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	return len == 2 && s[0] == 0xc2 && s[1] < 0xa0;
}

/*
 * Adds text with JSON's escapes; they serve people as well, since they keep a
 * peer's bytes from breaking the line or reaching the terminal. A byte that
 * is no UTF-8 becomes U+FFFD. Stops where the line is full.
 */
static void
line_add_escaped(struct line *line, const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const unsigned char *s = (const unsigned char *)text;
	bool fits = true;

	while (*s != '\0' && fits) {
		size_t len = str_utf8_len((const char *)s);
		char escape[8];

		if (len == 0) {
			fits = line_add_str(line, replacement);
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\') {
			(void)snprintf(escape, sizeof(escape), "\\%c", *s);
			fits = line_add_str(line, escape);
		} else if (*s == '\n') {
			fits = line_add_str(line, "\\n");
		} else if (is_control(s, len)) {
			(void)snprintf(escape, sizeof(escape), "\\u%04x",
				       len == 1 ? s[0] : s[1]);
			fits = line_add_str(line, escape);
		} else {
			fits = line_add(line, (const char *)s, len);
		}
		s += len;
	}
}

/* Adds `"key":"value",`, cutting the value, or nothing if not even the key
 * fits. */
static void
line_add_json(struct line *line, const char *key, const char *value)
{
	/* What comes after the value. */
	static const char tail[] = "\",";
	size_t start = line->len;
	size_t end = line->end;

	line->end -= sizeof(tail) - 1;
	(void)line_add_str(line, "\"");
	line_add_escaped(line, key);
	if (!line_add_str(line, "\":\"")) {
		line->len = start;
		line->end = end;
		return;
	}
	line_add_escaped(line, value);
	line->end = end;
	(void)line_add_str(line, tail);
}

static const char *
base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash != NULL ? slash + 1 : file;
}

static void
format_json(struct line *line, const struct entry *entry)
{
	char stamp[32];
	char timestamp[48];
	char pos[128];
	struct tm tm;

	(void)gmtime_r(&entry->when.tv_sec, &tm);
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(timestamp, sizeof(timestamp), "%s.%06ldZ", stamp,
		       entry->when.tv_nsec / 1000);
	(void)snprintf(pos, sizeof(pos), "%s:%d", base_name(entry->file),
		       entry->line);

	line->end = sizeof(line->text) - MSG_RESERVE;
	(void)line_add_str(line, "{");
	line_add_json(line, "level", level_names[entry->level]);
	line_add_json(line, "timestamp", timestamp);
	line_add_json(line, "pos", pos);
	line_add_json(line, "component", config.component);
	for (log_ref f = entry->ref; f != NULL && f->key != NULL; f++) {
		if (f->value != NULL)
			line_add_json(line, f->key, f->value);
	}
	line->end = sizeof(line->text) - 2;
	line_add_json(line, "msg", entry->msg);

	/* The comma behind the last value makes room for the brace. */
	line->len--;
	line->end = sizeof(line->text);
	(void)line_add_str(line, "}\n");
}

/* "22:30:01.123 info    message  key=value key=value", in local time. */
static void
format_human(struct line *line, const struct entry *entry)
{
	char stamp[32];
	char head[96];
	struct tm tm;

	(void)localtime_r(&entry->when.tv_sec, &tm);
	(void)strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
	(void)snprintf(head, sizeof(head), "%s.%03ld %s%-7s%s ", stamp,
		       entry->when.tv_nsec / 1000000,
		       config.coloured ? level_colours[entry->level] : "",
		       level_names[entry->level],
		       config.coloured ? "\033[0m" : "");

	line->end = sizeof(line->text) - 1;
	(void)line_add_str(line, head);
	line_add_escaped(line, entry->msg);
	if (entry->ref != NULL && entry->ref->key != NULL)
		(void)line_add_str(line, " ");
	for (log_ref f = entry->ref; f != NULL && f->key != NULL; f++) {
		if (f->value == NULL || !line_add_str(line, " "))
			continue;
		line_add_escaped(line, f->key);
		(void)line_add_str(line, "=");
		line_add_escaped(line, f->value);
	}
	line->end = sizeof(line->text);
	(void)line_add_str(line, "\n");
}

void
log_write(enum log_level level, const char *file, int line_number, log_ref ref,
	  const char *fmt, ...)
{
	int saved = errno;
	char msg[MSG_MAX_BYTES];
	struct line line;
	struct entry entry = {
		.level = level,
		.file = file,
		.line = line_number,
		.ref = ref,
		.msg = msg,
	};
	va_list ap;

	if (!log_enabled(level))
		return;

	/* For a %m in fmt. */
	errno = saved;
	va_start(ap, fmt);
	(void)vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	(void)clock_gettime(CLOCK_REALTIME, &entry.when);

	line.len = 0;
	if (config.human)
		format_human(&line, &entry);
	else
		format_json(&line, &entry);

	/* A log nobody takes is dropped: the program's work comes first. */
	while (write(STDERR_FILENO, line.text, line.len) == -1 &&
	       errno == EINTR)
		;
	errno = saved;
}
