/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/time.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"

#define SECONDS_PER_DAY 86400
#define DAYS_PER_ERA 146097 /* 400 years */
#define MICRO_DIGITS 6

int64_t
time_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * TIME_US_PER_SECOND + now.tv_nsec / 1000;
}

/* Rounded down also before 1970. */
static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static const char *
format(int64_t us, bool with_micro, char buf[TIME_TEXT_SIZE])
{
	int64_t second = floor_div(us, TIME_US_PER_SECOND);
	int micro = (int)(us - second * TIME_US_PER_SECOND);
	time_t t = (time_t)second;
	struct tm tm;
	size_t len;

	(void)gmtime_r(&t, &tm);
	len = (size_t)snprintf(buf, TIME_TEXT_SIZE,
			       "%04d-%02d-%02dT%02d:%02d:%02d",
			       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			       tm.tm_hour, tm.tm_min, tm.tm_sec);
	if (len >= TIME_TEXT_SIZE)
		return buf;
	if (with_micro)
		(void)snprintf(buf + len, TIME_TEXT_SIZE - len, ".%06dZ",
			       micro);
	else
		(void)snprintf(buf + len, TIME_TEXT_SIZE - len, "Z");
	return buf;
}

const char *
time_text(int64_t us, char buf[TIME_TEXT_SIZE])
{
	return format(us, false, buf);
}

const char *
time_text_micro(int64_t us, char buf[TIME_TEXT_SIZE])
{
	return format(us, true, buf);
}

const char *
time_now_text(char buf[TIME_TEXT_SIZE])
{
	return time_text(time_now_us(), buf);
}

/* Days since 1970 in the Gregorian calendar. */
static int64_t
days_since_epoch(int year, int month, int day)
{
	/* Counted from March, so that the leap day is the last of a year. */
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = floor_div(y, 400);
	int64_t year_of_era = y - era * 400;
	int64_t month_from_march = (month + 9) % 12;
	int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 -
			     year_of_era / 100 + day_of_year;

	return era * DAYS_PER_ERA + day_of_era - 719468;
}

static int
days_in_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30,
				    31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* Reads count digits and what must follow them; returns behind, or NULL. */
static const char *
read_digits(const char *s, int count, char end, int *ret_number)
{
	int number = 0;

	if (s == NULL)
		return NULL;
	for (; count > 0; count--, s++) {
		if (!isdigit((unsigned char)*s))
			return NULL;
		number = number * 10 + (*s - '0');
	}
	*ret_number = number;
	if (end == '\0')
		return s;
	return *s == end ? s + 1 : NULL;
}

/* .123, with at least a digit. */
static const char *
read_fraction(const char *s, int *ret_micro)
{
	int digits = 0;

	*ret_micro = 0;
	if (s == NULL || (*s != '.' && *s != ','))
		return s;
	for (s++; isdigit((unsigned char)*s); s++, digits++) {
		if (digits < MICRO_DIGITS)
			*ret_micro = *ret_micro * 10 + (*s - '0');
	}
	for (int i = digits; i < MICRO_DIGITS; i++)
		*ret_micro *= 10;
	return digits > 0 ? s : NULL;
}

/* Z or +01:00, then the end. */
static bool
read_zone(const char *s, int *ret_seconds)
{
	int hours, minutes, sign;

	*ret_seconds = 0;
	if (s == NULL || (*s != '+' && *s != '-'))
		return s != NULL && strcmp(s, "Z") == 0;
	sign = *s == '-' ? -1 : 1;
	s = read_digits(s + 1, 2, ':', &hours);
	s = read_digits(s, 2, '\0', &minutes);
	if (s == NULL || *s != '\0' || hours > 24 || minutes > 60)
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

int
time_parse(const char *text, int64_t *ret_us, struct err *err)
{
	int year, month, day, hour, minute, second, micro, zone;
	const char *s = text;
	int64_t seconds;

	s = read_digits(s, 4, '-', &year);
	s = read_digits(s, 2, '-', &month);
	s = read_digits(s, 2, 'T', &day);
	s = read_digits(s, 2, ':', &hour);
	s = read_digits(s, 2, ':', &minute);
	s = read_digits(s, 2, '\0', &second);
	s = read_fraction(s, &micro);
	if (!read_zone(s, &zone))
		return err_set(err, ERR_INVALID,
			       "'%s' is no time like 2006-01-02T15:04:05Z",
			       text);
	if (month < 1 || month > 12 || day < 1 ||
	    day > days_in_month(year, month) || hour > 23 || minute > 59 ||
	    second > 59)
		return err_set(err, ERR_INVALID, "time '%s' does not exist",
			       text);
	seconds = days_since_epoch(year, month, day) * SECONDS_PER_DAY +
		  hour * INT64_C(3600) + minute * INT64_C(60) + second - zone;
	*ret_us = seconds * TIME_US_PER_SECOND + micro;
	return 0;
}

/* "5m", and "5m3s" when there is a rest. */
static const char *
two_units(char *buf, int64_t large, char large_unit, int64_t small,
	  char small_unit)
{
	if (small == 0)
		(void)snprintf(buf, TIME_TEXT_SIZE, "%lld%c", (long long)large,
			       large_unit);
	else
		(void)snprintf(buf, TIME_TEXT_SIZE, "%lld%c%lld%c",
			       (long long)large, large_unit, (long long)small,
			       small_unit);
	return buf;
}

const char *
time_human(int64_t duration_us, char buf[TIME_TEXT_SIZE])
{
	int64_t seconds = duration_us / TIME_US_PER_SECOND;
	int64_t minutes = seconds / 60;
	int64_t hours = minutes / 60;
	int64_t days = hours / 24;

	/* Clocks differ: a second of future is the present. */
	if (seconds < -1) {
		(void)snprintf(buf, TIME_TEXT_SIZE, "<invalid>");
		return buf;
	}
	if (seconds < 0)
		return two_units(buf, 0, 's', 0, 's');
	if (seconds < INT64_C(60) * 2)
		return two_units(buf, seconds, 's', 0, 's');
	if (minutes < 10)
		return two_units(buf, minutes, 'm', seconds % 60, 's');
	if (minutes < INT64_C(60) * 3)
		return two_units(buf, minutes, 'm', 0, 's');
	if (hours < 8)
		return two_units(buf, hours, 'h', minutes % 60, 'm');
	if (hours < 48)
		return two_units(buf, hours, 'h', 0, 'm');
	if (days < 8)
		return two_units(buf, days, 'd', hours % 24, 'h');
	if (days < INT64_C(365) * 2)
		return two_units(buf, days, 'd', 0, 'h');
	if (days < INT64_C(365) * 8)
		return two_units(buf, days / 365, 'y', days % 365, 'd');
	return two_units(buf, days / 365, 'y', 0, 'd');
}

const char *
time_age(const char *text, int64_t now_us, char buf[TIME_TEXT_SIZE])
{
	struct err err;
	int64_t us;

	if (text == NULL || text[0] == '\0') {
		(void)snprintf(buf, TIME_TEXT_SIZE, "<unknown>");
		return buf;
	}
	if (time_parse(text, &us, &err) == -1) {
		(void)snprintf(buf, TIME_TEXT_SIZE, "<invalid>");
		return buf;
	}
	return time_human(now_us - us, buf);
}
