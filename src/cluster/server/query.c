/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/server/query.h"
#include "meta/causes.h"
#include "meta/status.h"

#define META_GROUP "meta.k8s.io"

static int
decode(const char *in, size_t len, char *out, bool plus)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = in[i];

		if (c == '%') {
			bool whole = len - i > 2;
			int high = whole ? str_hex_digit(in[i + 1]) : -1;
			int low = whole ? str_hex_digit(in[i + 2]) : -1;

			if (high == -1 || low == -1)
				return -1;
			c = (char)(high * 16 + low);
			i += 2;
		} else if (plus && c == '+') {
			c = ' ';
		}
		if (c == '\0')
			return -1;
		out[n++] = c;
	}
	out[n] = '\0';
	return 0;
}

int
query_decode(const char *in, size_t len, char *out)
{
	return decode(in, len, out, false);
}

static int
add(struct query *query, char *pair, char *out, struct status *st)
{
	size_t key_len = strcspn(pair, "=");
	const char *value = pair[key_len] == '=' ? pair + key_len + 1 : "";
	char *key = out;

	if (query->count == QUERY_PARAMS_MAX)
		return status_bad_request(st, "more than %d query parameters",
					  QUERY_PARAMS_MAX);
	if (decode(pair, key_len, key, true) == -1)
		return status_bad_request(st,
					  "invalid URL escape in the query");
	out += strlen(key) + 1;
	if (decode(value, strlen(value), out, true) == -1)
		return status_bad_request(st,
					  "invalid URL escape in the query");
	query->param[query->count].key = key;
	query->param[query->count].value = out;
	query->count++;
	return 0;
}

int
query_parse(const char *raw, struct query *ret, struct status *st)
{
	size_t len = raw == NULL ? 0 : strlen(raw);
	char *save = NULL, *copy, *out;

	*ret = (struct query){ 0 };
	if (len == 0)
		return 0;
	if (len > QUERY_MAX)
		return status_bad_request(
			st, "the query is longer than %d bytes", QUERY_MAX);
	/* The raw text, and behind it the decoded one with its NULs. */
	ret->storage = xmalloc0(len + 1 + len + 2 * QUERY_PARAMS_MAX + 2);
	copy = ret->storage;
	memcpy(copy, raw, len);
	out = copy + len + 1;
	for (char *pair = strtok_r(copy, "&", &save); pair != NULL;
	     pair = strtok_r(NULL, "&", &save)) {
		const char *value;

		if (add(ret, pair, out, st) == -1)
			return -1;
		value = ret->param[ret->count - 1].value;
		out += (value - out) + (ptrdiff_t)strlen(value) + 1;
	}
	return 0;
}

void
query_done(struct query *query)
{
	free(query->storage);
	query->storage = NULL;
	query->count = 0;
}

const char *
query_get(const struct query *query, const char *key)
{
	for (size_t i = 0; i < query->count; i++)
		if (str_equal(query->param[i].key, key))
			return query->param[i].value;
	return NULL;
}

bool
query_bool(const struct query *query, const char *key)
{
	static const char *const no[] = { "0",     "f",     "F",
					  "false", "FALSE", "False" };
	const char *value = query_get(query, key);

	if (value == NULL)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (str_equal(value, no[i]))
			return false;
	return true;
}

static const char *
get_or_empty(const struct query *query, const char *key)
{
	const char *value = query_get(query, key);

	return value == NULL ? "" : value;
}

/* Decimal, as strconv.ParseInt() takes it. */
static int
parse_int(const char *text, int64_t *ret, struct status *st)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (*text == '\0' || isspace((unsigned char)*text) || *end != '\0')
		return status_bad_request(
			st, "strconv.ParseInt: parsing \"%s\": invalid syntax",
			text);
	if (errno == ERANGE)
		return status_bad_request(
			st,
			"strconv.ParseInt: parsing \"%s\": value out of range",
			text);
	*ret = value;
	return 0;
}

static int
opt_int(const struct query *query, const char *key, int64_t *ret,
	struct status *st)
{
	const char *text = query_get(query, key);

	*ret = 0;
	return text == NULL || *text == '\0' ? 0 : parse_int(text, ret, st);
}

static int
parse_rv(const char *text, uint64_t *ret, struct status *st)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0') {
		return status_set(st, 500, NULL,
				  "resourceVersion: Invalid value: \"%s\": "
				  "strconv.ParseUint: parsing \"%s\": "
				  "invalid syntax",
				  text, text);
	}
	if (errno == ERANGE) {
		return status_set(st, 500, NULL,
				  "resourceVersion: Invalid value: \"%s\": "
				  "strconv.ParseUint: parsing \"%s\": "
				  "value out of range",
				  text, text);
	}
	return 0;
}

/* One field of an options object is wrong. */
static int
refuse(struct status *st, const char *kind, struct causes *causes)
{
	(void)status_invalid(st, META_GROUP, kind, "", causes);
	causes_done(causes);
	return -1;
}

static int
read_rv_match(const char *text, bool watch, struct list_options *opts,
	      struct status *st)
{
	static const char field[] = "resourceVersionMatch";
	static const char *const supported[] = { "Exact", "NotOlderThan", "",
						 NULL };
	struct causes causes = CAUSES_INIT;

	if (opts->has_send_initial_events && !str_equal(text, "NotOlderThan"))
		causes_forbidden(&causes, field,
				 "sendInitialEvents requires setting "
				 "resourceVersionMatch to NotOlderThan");
	else if (*text == '\0')
		return 0;
	else if (watch && !opts->has_send_initial_events)
		causes_forbidden(&causes, field,
				 "resourceVersionMatch is forbidden for watch");
	else if (str_equal(text, "Exact"))
		opts->rv_match = RV_MATCH_EXACT;
	else if (str_equal(text, "NotOlderThan"))
		opts->rv_match = RV_MATCH_NOT_OLDER;
	else
		causes_not_supported(&causes, field, text, supported);
	if (causes_count(&causes) == 0 && !opts->has_rv && !watch)
		causes_forbidden(&causes, field,
				 "resourceVersionMatch is forbidden unless "
				 "resourceVersion is provided");
	if (opts->rv_match == RV_MATCH_EXACT && opts->has_rv && opts->rv == 0)
		causes_forbidden(&causes, field,
				 "resourceVersionMatch \"exact\" is forbidden "
				 "for resourceVersion \"0\"");
	return causes_count(&causes) == 0 ? 0
					  : refuse(st, "ListOptions", &causes);
}

int
query_list_options(const struct query *query, bool watch,
		   struct list_options *ret, struct status *st)
{
	const char *rv = get_or_empty(query, "resourceVersion");
	int64_t limit, timeout;

	*ret = (struct list_options){
		.label_selector = get_or_empty(query, "labelSelector"),
		.field_selector = get_or_empty(query, "fieldSelector"),
		.continue_ = get_or_empty(query, "continue"),
		.watch = watch,
		.bookmarks = query_bool(query, "allowWatchBookmarks"),
		.send_initial_events = query_bool(query, "sendInitialEvents"),
		.has_send_initial_events =
			query_get(query, "sendInitialEvents") != NULL,
		.has_rv = *rv != '\0',
	};
	if (opt_int(query, "limit", &limit, st) == -1 ||
	    opt_int(query, "timeoutSeconds", &timeout, st) == -1)
		return -1;
	ret->limit = limit > 0 ? (uint64_t)limit : 0;
	ret->timeout_s = timeout > 0 ? (uint64_t)timeout : 0;
	if (ret->has_rv && parse_rv(rv, &ret->rv, st) == -1)
		return -1;
	if (*ret->continue_ != '\0' && ret->has_rv && ret->rv != 0)
		return status_bad_request(st, "specifying resource version is "
					      "not allowed when using "
					      "continue");
	return read_rv_match(get_or_empty(query, "resourceVersionMatch"), watch,
			     ret, st);
}

/* Kubernetes prints the whole list when one of it is not "All". */
static void
refuse_dry_run(struct causes *causes, const char *value)
{
	char *list = xasprintf("[]string{\"%s\"}", value);

	causes_add_value(causes, CAUSE_NOT_SUPPORTED, "dryRun", list,
			 "supported values: \"All\"");
	free(list);
}

static bool
read_dry_run(const struct query *query, struct causes *causes)
{
	bool dry_run = false;

	for (size_t i = 0; i < query->count; i++) {
		if (!str_equal(query->param[i].key, "dryRun"))
			continue;
		if (str_equal(query->param[i].value, "All"))
			dry_run = true;
		else
			refuse_dry_run(causes, query->param[i].value);
	}
	return dry_run;
}

static enum field_validation
read_field_validation(const struct query *query, struct causes *causes)
{
	static const char *const supported[] = { "", "Ignore", "Strict", "Warn",
						 NULL };
	const char *text = get_or_empty(query, "fieldValidation");

	if (str_equal(text, "Ignore"))
		return FIELD_VALIDATION_IGNORE;
	if (str_equal(text, "Strict"))
		return FIELD_VALIDATION_STRICT;
	if (*text != '\0' && !str_equal(text, "Warn"))
		causes_not_supported(causes, "fieldValidation", text,
				     supported);
	return FIELD_VALIDATION_WARN;
}

int
query_write_options(const struct query *query, const char *kind,
		    struct write_options *ret, struct status *st)
{
	struct causes causes = CAUSES_INIT;

	ret->dry_run = read_dry_run(query, &causes);
	ret->field_validation = read_field_validation(query, &causes);
	ret->field_manager = get_or_empty(query, "fieldManager");
	if (str_equal(kind, "PatchOptions") &&
	    query_get(query, "force") != NULL)
		causes_forbidden(&causes, "force",
				 "may not be specified for non-apply patch");
	return causes_count(&causes) == 0 ? 0 : refuse(st, kind, &causes);
}

static enum propagation
read_propagation(const char *text, struct causes *causes)
{
	static const char *const supported[] = { "Foreground", "Background",
						 "Orphan", "nil", NULL };

	if (*text == '\0')
		return PROPAGATION_DEFAULT;
	if (str_equal(text, "Background"))
		return PROPAGATION_BACKGROUND;
	if (str_equal(text, "Foreground"))
		return PROPAGATION_FOREGROUND;
	if (str_equal(text, "Orphan"))
		return PROPAGATION_ORPHAN;
	causes_not_supported(causes, "propagationPolicy", text, supported);
	return PROPAGATION_DEFAULT;
}

static const char *
body_str(const json_t *body, const char *key)
{
	return json_string_value(json_object_get(body, key));
}

static void
read_body_dry_run(const json_t *body, struct delete_options *ret,
		  struct causes *causes)
{
	const json_t *list = json_object_get(body, "dryRun");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *value = json_string_value(json_array_get(list, i));

		if (value != NULL && str_equal(value, "All"))
			ret->dry_run = true;
		else
			refuse_dry_run(causes, value == NULL ? "" : value);
	}
}

static int
read_grace(const struct query *query, const json_t *body,
	   struct delete_options *ret, struct status *st)
{
	const json_t *grace = json_object_get(body, "gracePeriodSeconds");
	const char *text = query_get(query, "gracePeriodSeconds");

	if (json_is_integer(grace)) {
		ret->has_grace = true;
		ret->grace_s = json_integer_value(grace);
	} else if (text != NULL && *text != '\0') {
		ret->has_grace = true;
		return parse_int(text, &ret->grace_s, st);
	}
	return 0;
}

static void
read_orphan(const struct query *query, const json_t *body, const char *policy,
	    struct delete_options *ret, struct causes *causes)
{
	const json_t *orphan = json_object_get(body, "orphanDependents");
	bool given = json_is_boolean(orphan) ||
		     query_get(query, "orphanDependents") != NULL;
	bool value =
		json_is_true(orphan) || (!json_is_boolean(orphan) &&
					 query_bool(query, "orphanDependents"));

	if (!given)
		return;
	if (ret->propagation != PROPAGATION_DEFAULT)
		causes_invalid_str(causes, "propagationPolicy", policy,
				   "orphanDependents and deletionPropagation "
				   "cannot be both set");
	else
		ret->propagation =
			value ? PROPAGATION_ORPHAN : PROPAGATION_BACKGROUND;
}

int
query_delete_options(const struct query *query, const json_t *body,
		     struct delete_options *ret, struct status *st)
{
	const json_t *pre = json_object_get(body, "preconditions");
	const char *policy = body_str(body, "propagationPolicy");
	struct causes causes = CAUSES_INIT;

	*ret = (struct delete_options){ 0 };
	if (policy == NULL)
		policy = get_or_empty(query, "propagationPolicy");
	ret->dry_run = read_dry_run(query, &causes);
	read_body_dry_run(body, ret, &causes);
	ret->propagation = read_propagation(policy, &causes);
	read_orphan(query, body, policy, ret, &causes);
	ret->uid = body_str(pre, "uid");
	ret->rv = body_str(pre, "resourceVersion");
	if (causes_count(&causes) > 0)
		return refuse(st, "DeleteOptions", &causes);
	return read_grace(query, body, ret, st);
}
