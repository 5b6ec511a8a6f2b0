/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/quantity.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

#define NANO_DIGITS 9
#define NANO_PER_UNIT 1000000000
#define TEXT_MAX 1024 /* longer texts are refused */
#define DIGITS "0123456789"
#define SUFFIX_LETTERS "eEinumkKMGTP"
/* The most digits of a text that Kubernetes reads without a big number. */
#define INT64_DIGITS 18
/* No exponent beyond this leaves anything but too much or almost nothing. */
#define EXPONENT_MAX 10000

typedef unsigned __int128 u128;

#define MAGNITUDE_MAX ((~(u128)0) >> 1)

/* The parts of a text; num and denom are its digits around the point. */
struct parts {
	bool negative;
	const char *num;
	size_t num_len;
	const char *denom;
	size_t denom_len;
	const char *suffix;
};

static const struct {
	const char *suffix;
	int exponent; /* of ten, or of two */
	enum quantity_format format;
} suffixes[] = {
	{ "n", -9, QUANTITY_DECIMAL_SI }, { "u", -6, QUANTITY_DECIMAL_SI },
	{ "m", -3, QUANTITY_DECIMAL_SI }, { "", 0, QUANTITY_DECIMAL_SI },
	{ "k", 3, QUANTITY_DECIMAL_SI },  { "M", 6, QUANTITY_DECIMAL_SI },
	{ "G", 9, QUANTITY_DECIMAL_SI },  { "T", 12, QUANTITY_DECIMAL_SI },
	{ "P", 15, QUANTITY_DECIMAL_SI }, { "E", 18, QUANTITY_DECIMAL_SI },
	{ "Ki", 10, QUANTITY_BINARY_SI }, { "Mi", 20, QUANTITY_BINARY_SI },
	{ "Gi", 30, QUANTITY_BINARY_SI }, { "Ti", 40, QUANTITY_BINARY_SI },
	{ "Pi", 50, QUANTITY_BINARY_SI }, { "Ei", 60, QUANTITY_BINARY_SI },
};

static int
wrong_form(struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "quantities must match the regular expression "
		       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

static int
too_large(struct err *err)
{
	return err_set(err, ERR_INVALID, "quantity is too large");
}

static int
split(const char *text, struct parts *ret_parts, struct err *err)
{
	const char *s = text;
	size_t letters;

	*ret_parts = (struct parts){ .negative = *s == '-' };
	if (*s == '-' || *s == '+')
		s++;
	s += strspn(s, "0");
	ret_parts->num = s;
	ret_parts->num_len = strspn(s, DIGITS);
	s += ret_parts->num_len;
	ret_parts->denom = s;
	if (*s == '.') {
		ret_parts->denom = s + 1;
		ret_parts->denom_len = strspn(s + 1, DIGITS);
		s += 1 + ret_parts->denom_len;
	}
	ret_parts->suffix = s;
	letters = strspn(s, SUFFIX_LETTERS);
	s += letters;
	if (*s == '-' || *s == '+')
		s++;
	s += strspn(s, DIGITS);
	return *s == '\0' ? 0 : wrong_form(err);
}

static int
wrong_suffix(struct err *err)
{
	return err_set(err, ERR_INVALID, "unable to parse quantity's suffix");
}

static int
read_suffix(const char *suffix, int *ret_exponent,
	    enum quantity_format *ret_format, struct err *err)
{
	const char *digits = suffix + 1;
	char *end;
	long exponent;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (strcmp(suffixes[i].suffix, suffix) == 0) {
			*ret_exponent = suffixes[i].exponent;
			*ret_format = suffixes[i].format;
			return 0;
		}
	}
	if (suffix[0] != 'e' && suffix[0] != 'E')
		return wrong_suffix(err);
	if (strcspn(digits, DIGITS) > 1)
		return wrong_suffix(err);
	exponent = strtol(digits, &end, 10);
	if (end == digits || *end != '\0')
		return wrong_suffix(err);
	if (exponent > EXPONENT_MAX)
		exponent = EXPONENT_MAX;
	if (exponent < -EXPONENT_MAX)
		exponent = -EXPONENT_MAX;
	*ret_exponent = (int)exponent;
	*ret_format = QUANTITY_DECIMAL_EXP;
	return 0;
}

/* The i-th digit of both parts together; 0 behind them. */
static unsigned
digit_at(const struct parts *p, size_t i)
{
	if (i < p->num_len)
		return (unsigned)(p->num[i] - '0');
	i -= p->num_len;
	return i < p->denom_len ? (unsigned)(p->denom[i] - '0') : 0;
}

static bool
is_zero(const struct parts *p)
{
	return p->num_len == 0 && strspn(p->denom, "0") >= p->denom_len;
}

/* number * factor + more, or -1 when that is more than MAGNITUDE_MAX. */
static int
multiply_add(u128 *number, u128 factor, u128 more)
{
	if (factor != 0 && *number > (MAGNITUDE_MAX - more) / factor)
		return -1;
	*number = *number * factor + more;
	return 0;
}

/* Billionths of digits * 10^exponent, rounded up. */
static int
decimal_nano(const struct parts *p, int exponent, u128 *ret_nano)
{
	long count = (long)(p->num_len + p->denom_len);
	/* How many digits are left of the point, in billionths. */
	long left = (long)p->num_len + exponent + NANO_DIGITS;
	u128 nano = 0;

	for (long i = 0; i < left; i++) {
		/* Zeros make nothing larger than nothing. */
		if (i >= count && nano == 0)
			break;
		if (multiply_add(&nano, 10, digit_at(p, (size_t)i)) == -1)
			return -1;
	}
	for (long i = left < 0 ? 0 : left; i < count; i++) {
		if (digit_at(p, (size_t)i) != 0) {
			nano++;
			break;
		}
	}
	*ret_nano = nano;
	return 0;
}

/*
 * Billionths of digits * 2^exponent, rounded up. The digits behind the point
 * are multiplied by hand, the last one first, as on paper: 2^60 * 10^9 * 9 and
 * what is carried stay below 2^128.
 */
static int
binary_nano(const struct parts *p, int exponent, u128 *ret_nano)
{
	u128 factor = ((u128)1 << exponent) * NANO_PER_UNIT;
	u128 carry = 0;
	bool rest = false;
	u128 whole = 0;

	for (size_t i = p->denom_len; i > 0; i--) {
		carry += factor * (unsigned)(p->denom[i - 1] - '0');
		rest = rest || carry % 10 != 0;
		carry /= 10;
	}
	if (rest)
		carry++;
	for (size_t i = 0; i < p->num_len; i++) {
		if (multiply_add(&whole, 10, digit_at(p, i)) == -1)
			return -1;
	}
	if (multiply_add(&whole, factor, carry) == -1)
		return -1;
	*ret_nano = whole;
	return 0;
}

int
quantity_parse(const char *text, struct quantity *ret_q, struct err *err)
{
	const u128 cap = (u128)INT64_MAX * NANO_PER_UNIT;
	enum quantity_format format;
	struct parts parts;
	int exponent;
	u128 nano = 0;

	if (text[0] == '\0')
		return wrong_form(err);
	if (strlen(text) > TEXT_MAX)
		return too_large(err);
	if (split(text, &parts, err) == -1 ||
	    read_suffix(parts.suffix, &exponent, &format, err) == -1)
		return -1;
	if (!is_zero(&parts)) {
		if (format != QUANTITY_BINARY_SI) {
			if (decimal_nano(&parts, exponent, &nano) == -1)
				return too_large(err);
		} else if (binary_nano(&parts, exponent, &nano) == -1 ||
			   nano > cap) {
			nano = cap;
		}
	}
	if (format == QUANTITY_BINARY_SI && nano > 0 && nano < NANO_PER_UNIT)
		format = QUANTITY_DECIMAL_SI;
	ret_q->nano = parts.negative ? -(__int128)nano : (__int128)nano;
	ret_q->format = format;
	return 0;
}

static u128
magnitude(const struct quantity *q)
{
	return q->nano < 0 ? -(u128)q->nano : (u128)q->nano;
}

static const char *
format_text(char *buf, size_t size, bool negative, u128 number,
	    const char *suffix)
{
	char digits[48];
	char *p = digits + sizeof(digits) - 1;

	*p = '\0';
	do {
		*--p = (char)('0' + (int)(number % 10));
		number /= 10;
	} while (number > 0);
	(void)snprintf(buf, size, "%s%s%s", negative ? "-" : "", p, suffix);
	return buf;
}

static const char *
find_suffix(enum quantity_format format, int exponent)
{
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (suffixes[i].format == format &&
		    suffixes[i].exponent == exponent)
			return suffixes[i].suffix;
	}
	return NULL;
}

static const char *
decimal_text(const struct quantity *q, enum quantity_format format, char *buf,
	     size_t size)
{
	u128 number = magnitude(q);
	int exponent = -NANO_DIGITS;
	char spelled[16] = "";
	const char *suffix = NULL;

	/* By thousands: the exponent is a multiple of three from the start. */
	while (number % 1000 == 0) {
		number /= 1000;
		exponent += 3;
	}
	if (format == QUANTITY_DECIMAL_SI)
		suffix = find_suffix(QUANTITY_DECIMAL_SI, exponent);
	if (suffix == NULL && exponent != 0)
		(void)snprintf(spelled, sizeof(spelled), "e%d", exponent);
	return format_text(buf, size, q->nano < 0, number,
			   suffix != NULL ? suffix : spelled);
}

static const char *
binary_text(const struct quantity *q, char *buf, size_t size)
{
	u128 number = magnitude(q) / NANO_PER_UNIT;
	int exponent = 0;
	const char *suffix;

	while (number % 1024 == 0 && exponent < 60) {
		number /= 1024;
		exponent += 10;
	}
	suffix = find_suffix(QUANTITY_BINARY_SI, exponent);
	return format_text(buf, size, q->nano < 0, number,
			   suffix == NULL ? "" : suffix);
}

const char *
quantity_text(const struct quantity *q, char *buf, size_t size)
{
	u128 number = magnitude(q);

	assert(size >= QUANTITY_TEXT_SIZE);
	if (number == 0)
		return format_text(buf, size, false, 0, "");
	/* What would be rounded, or has no suffix, is clearer in decimal. */
	if (q->format == QUANTITY_BINARY_SI && number % NANO_PER_UNIT == 0 &&
	    number >= (u128)1024 * NANO_PER_UNIT)
		return binary_text(q, buf, size);
	return decimal_text(q,
			    q->format == QUANTITY_BINARY_SI
				    ? QUANTITY_DECIMAL_SI
				    : q->format,
			    buf, size);
}

/* Whether Kubernetes gives a text back as it came: it only looks whether it
 * could be canonical, and takes 1.500 and +1 for that. */
static bool
is_kept(const struct parts *p, int exponent, enum quantity_format format)
{
	size_t count = (p->num_len > 0 ? p->num_len : 1) + p->denom_len;
	int scale = exponent - (int)p->denom_len;
	unsigned low = 0;

	if (format == QUANTITY_BINARY_SI) {
		if (p->denom_len > 0 ||
		    15 - (int)count - exponent * 3 / 10 - 1 < 0)
			return false;
		for (size_t i = 0; i < p->num_len; i++)
			low = (low * 10 + digit_at(p, i)) % 8;
		return low != 0;
	}
	if (count > INT64_DIGITS || scale < -NANO_DIGITS || scale % 3 != 0 ||
	    p->num_len == 0)
		return false;
	return count < 3 || digit_at(p, count - 1) != 0 ||
	       digit_at(p, count - 2) != 0 || digit_at(p, count - 3) != 0;
}

int
quantity_normalise(const char *text, char *buf, size_t size, struct err *err)
{
	enum quantity_format format;
	struct quantity q;
	struct parts parts;
	int exponent;

	if (quantity_parse(text, &q, err) == -1 ||
	    split(text, &parts, err) == -1 ||
	    read_suffix(parts.suffix, &exponent, &format, err) == -1)
		return -1;
	if (strlen(text) < size && is_kept(&parts, exponent, format))
		(void)snprintf(buf, size, "%s", text);
	else
		(void)quantity_text(&q, buf, size);
	return 0;
}

struct quantity
quantity_from_int(int64_t value, enum quantity_format format)
{
	return (struct quantity){
		.nano = (__int128)value * NANO_PER_UNIT,
		.format = format,
	};
}

struct quantity
quantity_from_milli(int64_t milli, enum quantity_format format)
{
	return (struct quantity){
		.nano = (__int128)milli * (NANO_PER_UNIT / 1000),
		.format = format,
	};
}

static struct quantity
from_magnitude(bool negative, u128 number, enum quantity_format format)
{
	if (number > MAGNITUDE_MAX)
		number = MAGNITUDE_MAX;
	return (struct quantity){
		.nano = negative ? -(__int128)number : (__int128)number,
		.format = format,
	};
}

struct quantity
quantity_add(struct quantity a, struct quantity b)
{
	enum quantity_format format = a.nano == 0 ? b.format : a.format;
	u128 left = magnitude(&a);
	u128 right = magnitude(&b);

	/* Both are below 2^127, so nothing here wraps around. */
	if ((a.nano < 0) == (b.nano < 0))
		return from_magnitude(a.nano < 0, left + right, format);
	if (left >= right)
		return from_magnitude(a.nano < 0, left - right, format);
	return from_magnitude(b.nano < 0, right - left, format);
}

struct quantity
quantity_neg(struct quantity a)
{
	return from_magnitude(a.nano > 0, magnitude(&a), a.format);
}

struct quantity
quantity_sub(struct quantity a, struct quantity b)
{
	return quantity_add(a, quantity_neg(b));
}

int
quantity_cmp(const struct quantity *a, const struct quantity *b)
{
	return (a->nano > b->nano) - (a->nano < b->nano);
}

bool
quantity_is_zero(const struct quantity *q)
{
	return q->nano == 0;
}

int
quantity_sign(const struct quantity *q)
{
	return (q->nano > 0) - (q->nano < 0);
}

/* In units of so many billionths. */
static int64_t
scaled(const struct quantity *q, unsigned nano_per_unit)
{
	u128 number = magnitude(q);
	u128 units = number / nano_per_unit + (number % nano_per_unit != 0);

	if (units > INT64_MAX)
		return q->nano < 0 ? INT64_MIN : INT64_MAX;
	return q->nano < 0 ? -(int64_t)units : (int64_t)units;
}

int64_t
quantity_value(const struct quantity *q)
{
	return scaled(q, NANO_PER_UNIT);
}

int64_t
quantity_milli(const struct quantity *q)
{
	return scaled(q, NANO_PER_UNIT / 1000);
}
