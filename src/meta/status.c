/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/causes.h"
#include "meta/gofmt.h"

/* The definitions themselves are no macros; see the header. */
#undef status_set
#undef status_bad_request
#undef status_internal

/* What the error of another server may carry on, at most. */
#define FOREIGN_MAX_CAUSES 100

#define STATUS_CODE_FIRST 400
#define STATUS_CODE_LAST 599

void
status_done(struct status *st)
{
	free(st->message);
	free(st->continue_token);
	free(st->reason_of_other);
	json_decref(st->details);
	*st = STATUS_INIT;
}

/* Takes message and details. */
static int
fill(struct status *st, int code, const char *reason, char *message,
     json_t *details)
{
	status_done(st);
	st->code = code;
	st->reason = reason;
	st->message = message;
	st->details = details;
	return -1;
}

/* The same with a text to be formatted, and without details. */
static int __attribute__((format(printf, 4, 0)))
fill_formatted(struct status *st, int code, const char *reason, const char *fmt,
	       va_list ap)
{
	return fill(st, code, reason, xvasprintf(fmt, ap), NULL);
}

int
status_set(struct status *st, int code, const char *reason, const char *fmt,
	   ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fill_formatted(st, code, reason, fmt, ap);
	va_end(ap);
	return -1;
}

int
status_bad_request(struct status *st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fill_formatted(st, 400, "BadRequest", fmt, ap);
	va_end(ap);
	return -1;
}

int
status_unauthorized(struct status *st)
{
	return fill(st, 401, "Unauthorized", xstrdup("Unauthorized"), NULL);
}

/* What is no UTF-8 is shown as Go shows it, not left out. */
static void
set_text(json_t *obj, const char *name, const char *value)
{
	json_t *text;
	char *copy;

	if (value == NULL || value[0] == '\0')
		return;
	text = json_string(value);
	if (text == NULL) {
		copy = str_to_utf8(value);
		text = json_string(copy);
		free(copy);
	}
	(void)json_object_set_new(obj, name, text);
}

static json_t *
details_of(const char *group, const char *kind, const char *name)
{
	json_t *details = json_object();

	set_text(details, "name", name);
	set_text(details, "group", group);
	set_text(details, "kind", kind);
	return details;
}

/* "pods", "vmis.kubevirt.io"; to be freed. */
static char *
qualified(const char *group, const char *resource)
{
	if (group == NULL || group[0] == '\0')
		return xstrdup(resource);
	return xasprintf("%s.%s", resource, group);
}

/* RESOURCE "NAME", then what is to be said of it; to be freed. */
static char *
about(const struct gr *gr, const char *name, const char *before,
      const char *behind)
{
	AUTO(free_ptr) char *resource = qualified(gr->group, gr->resource);
	AUTO(free_ptr) char *quoted = gofmt_quote(name);

	return xasprintf("%s%s %s%s", before, resource, quoted, behind);
}

int
status_not_found(struct status *st, const struct gr *gr, const char *name)
{
	return fill(st, 404, "NotFound", about(gr, name, "", " not found"),
		    details_of(gr->group, gr->resource, name));
}

int
status_no_route(struct status *st)
{
	return fill(st, 404, "NotFound",
		    xstrdup("the server could not find the requested resource"),
		    json_object());
}

int
status_already_exists(struct status *st, const struct gr *gr, const char *name)
{
	return fill(st, 409, "AlreadyExists",
		    about(gr, name, "", " already exists"),
		    details_of(gr->group, gr->resource, name));
}

int
status_conflict(struct status *st, const struct gr *gr, const char *name,
		const char *why)
{
	AUTO(free_ptr) char *behind = xasprintf(": %s", why);

	return fill(
		st, 409, "Conflict",
		about(gr, name, "Operation cannot be fulfilled on ", behind),
		details_of(gr->group, gr->resource, name));
}

int
status_modified(struct status *st, const struct gr *gr, const char *name)
{
	return status_conflict(st, gr, name,
			       "the object has been modified; please apply "
			       "your changes to the latest version and try "
			       "again");
}

int
status_forbidden(struct status *st, const struct gr *gr, const char *name,
		 const char *why)
{
	AUTO(free_ptr) char *behind = NULL;
	AUTO(free_ptr) char *resource = NULL;

	if (gr == NULL)
		return fill(st, 403, "Forbidden",
			    xasprintf("forbidden: %s", why),
			    details_of(NULL, NULL, name));
	if (name == NULL || name[0] == '\0') {
		resource = qualified(gr->group, gr->resource);
		return fill(st, 403, "Forbidden",
			    xasprintf("%s is forbidden: %s", resource, why),
			    details_of(gr->group, gr->resource, NULL));
	}
	behind = xasprintf(" is forbidden: %s", why);
	return fill(st, 403, "Forbidden", about(gr, name, "", behind),
		    details_of(gr->group, gr->resource, name));
}

int
status_invalid(struct status *st, const char *group, const char *kind,
	       const char *name, const struct causes *causes)
{
	AUTO(free_ptr) char *what = qualified(group, kind);
	AUTO(free_ptr) char *quoted = gofmt_quote(name);
	AUTO(free_ptr) char *text = causes_text(causes);
	const char *colon = causes->len > 0 ? ": " : "";

	(void)fill(st, 422, "Invalid",
		   xasprintf("%s %s is invalid%s%s", what, quoted, colon, text),
		   details_of(group, kind, name));
	for (size_t i = 0; i < causes->len; i++)
		status_add_cause(st, causes_reason(causes->list[i].type),
				 causes->list[i].body, causes->list[i].field);
	return -1;
}

int
status_rejected(struct status *st)
{
	return fill(st, 422, "Invalid",
		    xstrdup("the server rejected our request due to an error "
			    "in our request"),
		    json_object());
}

int
status_too_large(struct status *st, size_t limit_bytes)
{
	return fill(st, 413, "RequestEntityTooLarge",
		    xasprintf("Request entity too large: limit is %zu",
			      limit_bytes),
		    NULL);
}

int
status_unsupported_media(struct status *st, const char *accepted)
{
	return fill(st, 415, "UnsupportedMediaType",
		    xasprintf("the body of the request was in an unknown "
			      "format - accepted media types include: %s",
			      accepted),
		    NULL);
}

int
status_not_acceptable(struct status *st, const char *accepted)
{
	return fill(st, 406, "NotAcceptable",
		    xasprintf("only the following media types are accepted: %s",
			      accepted),
		    NULL);
}

int
status_method_not_allowed(struct status *st, const struct gr *gr,
			  const char *action)
{
	AUTO(free_ptr) char *resource = NULL;

	if (gr == NULL)
		return fill(st, 405, "MethodNotAllowed",
			    xstrdup("the server does not allow this method on "
				    "the requested resource"),
			    json_object());
	resource = qualified(gr->group, gr->resource);
	return fill(st, 405, "MethodNotAllowed",
		    xasprintf("%s is not supported on resources of kind \"%s\"",
			      action, resource),
		    details_of(gr->group, gr->resource, NULL));
}

static int
set_retry(struct status *st, unsigned seconds)
{
	st->retry_after = seconds;
	st->details = json_object();
	if (seconds > 0)
		(void)json_object_set_new(st->details, "retryAfterSeconds",
					  json_integer(seconds));
	return -1;
}

int
status_too_many(struct status *st, unsigned retry_after, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fill_formatted(st, 429, "TooManyRequests", fmt, ap);
	va_end(ap);
	return set_retry(st, retry_after);
}

int
status_timeout(struct status *st, const char *fmt, ...)
{
	AUTO(free_ptr) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	(void)status_set(st, 504, "Timeout", "Timeout: %s", text);
	return set_retry(st, 1);
}

int
status_expired(struct status *st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fill_formatted(st, 410, "Expired", fmt, ap);
	va_end(ap);
	return -1;
}

int
status_gone(struct status *st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fill_formatted(st, 410, "Gone", fmt, ap);
	va_end(ap);
	return -1;
}

int
status_internal(struct status *st, const char *fmt, ...)
{
	AUTO(free_ptr) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	(void)status_set(st, 500, "InternalError",
			 "Internal error occurred: %s", text);
	status_add_cause(st, NULL, text, NULL);
	return -1;
}

int
status_unavailable(struct status *st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fill_formatted(st, 503, "ServiceUnavailable", fmt, ap);
	va_end(ap);
	return -1;
}

int
status_from_err(struct status *st, const struct err *err)
{
	static const struct {
		int code;
		const char *reason;
	} kinds[] = {
		[ERR_INTERNAL] = { 500, NULL },
		[ERR_INVALID] = { 400, "BadRequest" },
		[ERR_NOT_FOUND] = { 404, "NotFound" },
		[ERR_EXISTS] = { 409, "AlreadyExists" },
		[ERR_CONFLICT] = { 409, "Conflict" },
		[ERR_DENIED] = { 403, "Forbidden" },
		[ERR_REFUSED] = { 500, NULL },
		[ERR_UNAVAILABLE] = { 503, "ServiceUnavailable" },
		[ERR_TIMEOUT] = { 504, "Timeout" },
		[ERR_LIMIT] = { 503, "ServiceUnavailable" },
	};

	_Static_assert(ARRAY_LEN(kinds) == ERR_KIND_COUNT, "a row per kind");
	if (kinds[err->kind].reason == NULL)
		return status_internal(st, "%s", err->text);
	return status_set(st, kinds[err->kind].code, kinds[err->kind].reason,
			  "%s", err->text);
}

void
status_add_cause(struct status *st, const char *reason, const char *message,
		 const char *field)
{
	json_t *cause = json_object();
	json_t *causes;

	set_text(cause, "reason", reason);
	set_text(cause, "message", message);
	set_text(cause, "field", field);
	if (st->details == NULL)
		st->details = json_object();
	causes = json_object_get(st->details, "causes");
	if (!json_is_array(causes)) {
		causes = json_array();
		(void)json_object_set_new(st->details, "causes", causes);
	}
	(void)json_array_append_new(causes, cause);
}

json_t *
status_json(const struct status *st)
{
	json_t *obj = json_object();
	json_t *metadata = json_object();

	set_text(metadata, "continue", st->continue_token);
	(void)json_object_set_new(obj, "kind", json_string("Status"));
	(void)json_object_set_new(obj, "apiVersion", json_string("v1"));
	(void)json_object_set_new(obj, "metadata", metadata);
	(void)json_object_set_new(obj, "status", json_string("Failure"));
	set_text(obj, "message", st->message);
	set_text(obj, "reason", st->reason);
	if (st->details != NULL)
		(void)json_object_set(obj, "details", st->details);
	(void)json_object_set_new(obj, "code", json_integer(st->code));
	return obj;
}

json_t *
status_success_json(int code, json_t *details)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, "kind", json_string("Status"));
	(void)json_object_set_new(obj, "apiVersion", json_string("v1"));
	(void)json_object_set_new(obj, "metadata", json_object());
	(void)json_object_set_new(obj, "status", json_string("Success"));
	if (details != NULL)
		(void)json_object_set_new(obj, "details", details);
	if (code != 0)
		(void)json_object_set_new(obj, "code", json_integer(code));
	return obj;
}

static void
take_text(json_t *to, const json_t *from, const char *name)
{
	set_text(to, name, json_string_value(json_object_get(from, name)));
}

static json_t *
foreign_causes(const json_t *from)
{
	json_t *causes = json_array();
	size_t i;
	json_t *cause;

	json_array_foreach(from, i, cause)
	{
		json_t *copy;

		if (i >= FOREIGN_MAX_CAUSES)
			break;
		copy = json_object();
		take_text(copy, cause, "reason");
		take_text(copy, cause, "message");
		take_text(copy, cause, "field");
		(void)json_array_append_new(causes, copy);
	}
	return causes;
}

static json_t *
foreign_details(const json_t *from, unsigned *ret_retry_after)
{
	const json_t *causes = json_object_get(from, "causes");
	const json_t *retry = json_object_get(from, "retryAfterSeconds");
	json_t *details;

	if (!json_is_object(from))
		return NULL;
	details = json_object();
	take_text(details, from, "name");
	take_text(details, from, "group");
	take_text(details, from, "kind");
	take_text(details, from, "uid");
	if (json_array_size(causes) > 0)
		(void)json_object_set_new(details, "causes",
					  foreign_causes(causes));
	if (json_integer_value(retry) > 0 &&
	    json_integer_value(retry) <= INT32_MAX) {
		*ret_retry_after = (unsigned)json_integer_value(retry);
		(void)json_object_set_new(details, "retryAfterSeconds",
					  json_integer(*ret_retry_after));
	}
	return details;
}

int
status_from_json(struct status *st, const json_t *obj, int default_code)
{
	json_int_t code = json_integer_value(json_object_get(obj, "code"));
	const char *reason = json_string_value(json_object_get(obj, "reason"));
	const char *message =
		json_string_value(json_object_get(obj, "message"));
	unsigned retry = 0;
	json_t *details =
		foreign_details(json_object_get(obj, "details"), &retry);

	if (code < STATUS_CODE_FIRST || code > STATUS_CODE_LAST)
		code = default_code;
	(void)fill(st, (int)code, NULL, xstrdup(message ? message : ""),
		   details);
	if (reason != NULL && reason[0] != '\0') {
		st->reason_of_other = xstrdup(reason);
		st->reason = st->reason_of_other;
	}
	st->retry_after = retry;
	return -1;
}
