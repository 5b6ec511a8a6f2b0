/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_TIME_H
#define META_TIME_H

/*
 * time - points in time as the API writes them, and ages as people read them.
 *
 * A point is microseconds since 1970 (UTC). Threading: any thread.
 */

#include <stddef.h>
#include <stdint.h>

struct err;

#define TIME_TEXT_SIZE 32
#define TIME_US_PER_SECOND INT64_C(1000000)

int64_t time_now_us(void); /* CLOCK_REALTIME */

/* "2026-11-16T03:48:24Z": Time, cut to the second. Returns buf. */
const char *time_text(int64_t us, char buf[TIME_TEXT_SIZE]);
/* "2026-11-16T03:48:24.123456Z": MicroTime. Returns buf. */
const char *time_text_micro(int64_t us, char buf[TIME_TEXT_SIZE]);
const char *time_now_text(char buf[TIME_TEXT_SIZE]);

/* RFC 3339 with any offset and any number of decimals; what is finer than a
 * microsecond is cut. Years 0000 to 9999. */
int time_parse(const char *text, int64_t *ret_us, struct err *err);

/* The age of what happened a duration ago: "45s", "2m6s", "3h10m", "5d",
 * "2y30d"; "<invalid>" when it lies in the future. Returns buf. */
const char *time_human(int64_t duration_us, char buf[TIME_TEXT_SIZE]);

/* The same of a time as it stands in an object. NULL or "": "<unknown>", what
 * cannot be read: "<invalid>". Returns buf. */
const char *time_age(const char *text, int64_t now_us,
		     char buf[TIME_TEXT_SIZE]);

#endif
