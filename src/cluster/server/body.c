/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/kinds/kind.h"
#include "cluster/server/body.h"
#include "cluster/server/call.h"
#include "meta/causes.h"
#include "meta/gojson.h"
#include "meta/proto.h"
#include "meta/status.h"
#include "meta/yaml.h"

#define ACCEPTED_TYPES                         \
	"application/json, application/yaml, " \
	"application/vnd.kubernetes.protobuf"
/* Of a body that cannot be read, so much is quoted. */
#define QUOTE_MAX 256
/* More complaints than these are of no use to anybody. */
#define STRICT_MAX 64

void
strict_errors_done(struct strict_errors *errors)
{
	for (size_t i = 0; i < errors->count; i++)
		free(errors->text[i]);
	free(errors->text);
	*errors = (struct strict_errors){ 0 };
}

void
strict_errors_add(struct strict_errors *errors, const char *what,
		  const char *path)
{
	if (errors->count == STRICT_MAX)
		return;
	errors->text = xrealloc(errors->text,
				(errors->count + 1) * sizeof(*errors->text));
	errors->text[errors->count++] =
		xasprintf("%s field \"%s\"", what, path);
}

static void
add_duplicate(void *arg, const char *path)
{
	strict_errors_add(arg, "duplicate", path);
}

static bool
is_text(const char *s, size_t len)
{
	size_t step;

	for (size_t i = 0; i < len; i += step) {
		step = str_utf8_len(s + i);
		if (step == 0 ||
		    ((unsigned char)s[i] < ' ' &&
		     strchr("\n\t\r", s[i]) == NULL) ||
		    s[i] == '\0')
			return false;
	}
	return true;
}

/* The start of a body in an error: as it is, or as hex if it is not text. */
static char *
quote(const char *data, size_t len)
{
	size_t n = len < QUOTE_MAX ? len : QUOTE_MAX;
	char *text;

	if (data == NULL || len == 0)
		return xstrdup("<empty>");
	/* Not through the middle of a character. */
	while (n > 0 && n < len && ((unsigned char)data[n] & 0xc0) == 0x80)
		n--;
	text = xstrndup(data, n);
	if (is_text(text, n))
		return text;
	free(text);
	text = xmalloc0(2 * n + 1);
	for (size_t i = 0; i < n; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", (unsigned char)data[i]);
	return text;
}

char *
body_json_fault(const struct call *call, const struct err *err)
{
	char *fault =
		gojson_fault(call->data == NULL ? "" : call->data, call->len);

	return fault == NULL ? xstrdup(err->text) : fault;
}

static int
unreadable(struct call *call, const char *kind, const char *why)
{
	char *start = quote(call->data, call->len);

	(void)status_bad_request(
		&call->st,
		"the object provided is unrecognized (must be of type %s): "
		"couldn't get version/kind; json parse error: %s (%s)",
		kind, why, start);
	free(start);
	return -1;
}

enum body_type {
	BODY_JSON,
	BODY_YAML,
	BODY_PROTO,
	BODY_OTHER,
};

static enum body_type
type_of(const struct call *call)
{
	const char *cursor = call->content_type;
	struct media_type media;

	if (!media_type_next(&cursor, &media) ||
	    str_equal(media.type, "application/json"))
		return BODY_JSON;
	if (str_equal(media.type, "application/yaml"))
		return BODY_YAML;
	if (str_equal(media.type, "application/vnd.kubernetes.protobuf"))
		return BODY_PROTO;
	return BODY_OTHER;
}

static int
decode(struct call *call, const char *kind, struct strict_errors *errors,
       json_t **ret)
{
	enum body_type type = type_of(call);
	AUTO(free_ptr) char *fault = NULL;
	struct err err;

	switch (type) {
	case BODY_JSON:
		*ret = js_parse_lenient(call->data == NULL ? "" : call->data,
					call->len, add_duplicate, errors, &err);
		break;
	case BODY_YAML:
		*ret = yaml_to_json_strict(call->data == NULL ? "" : call->data,
					   call->len, add_duplicate, errors,
					   &err);
		break;
	case BODY_PROTO:
		return proto_decode((const uint8_t *)call->data, call->len, ret,
				    &call->st);
	case BODY_OTHER:
		return status_unsupported_media(&call->st, ACCEPTED_TYPES);
	}
	if (*ret != NULL)
		return 0;
	fault = type == BODY_JSON ? body_json_fault(call, &err)
				  : xstrdup(err.text);
	return unreadable(call, kind, fault);
}

int
body_decode(struct call *call, const char *kind, struct strict_errors *errors,
	    json_t **ret)
{
	if (call->body != NULL) { /* from inside: no text */
		*ret = json_deep_copy(call->body);
		return 0;
	}
	if (decode(call, kind, errors, ret) == -1)
		return -1;
	if (!json_is_object(*ret)) {
		json_decref(*ret);
		*ret = NULL;
		return unreadable(call, kind,
				  "json: cannot unmarshal into Go value of "
				  "type struct { APIVersion string; "
				  "Kind string }");
	}
	return 0;
}

int
body_decode_options(struct call *call, json_t **ret)
{
	struct strict_errors errors = { 0 };
	int r;

	*ret = NULL;
	if (call->body == NULL && call->len == 0)
		return 0;
	r = body_decode(call, "DeleteOptions", &errors, ret);
	strict_errors_done(&errors);
	return r;
}

int
body_report(struct call *call, const char *kind,
	    const struct strict_errors *errors)
{
	char *all = NULL;

	if (errors->count == 0)
		return 0;
	switch (call->write.field_validation) {
	case FIELD_VALIDATION_IGNORE:
		return 0;
	case FIELD_VALIDATION_WARN:
		for (size_t i = 0; i < errors->count; i++)
			call_warn(call, "%s", errors->text[i]);
		return 0;
	case FIELD_VALIDATION_STRICT:
		break;
	}
	for (size_t i = 0; i < errors->count; i++) {
		char *longer =
			xasprintf("%s%s%s", all == NULL ? "" : all,
				  all == NULL ? "" : ", ", errors->text[i]);

		free(all);
		all = longer;
	}
	(void)status_bad_request(&call->st,
				 "%s in version \"%s\" cannot be handled as a "
				 "%s: strict decoding error: %s",
				 kind, call->version->name, kind, all);
	free(all);
	return -1;
}

static int
wrong_kind(struct call *call, const json_t *object, const char *kind)
{
	const struct kind *want = call->kind;
	struct causes causes = CAUSES_INIT;
	const char *name = json_string_value(
		json_object_get(json_object_get(object, "metadata"), "name"));
	char *must;

	if (want->builtin) {
		return status_bad_request(
			&call->st,
			"%s in version \"%s\" cannot be handled as a %s: "
			"converting (%s.%s) to (%s.%s): unknown conversion",
			kind, call->version->name, want->kind,
			call->version->name, kind,
			*want->group == '\0' ? "core" : want->group,
			want->kind);
	}
	must = xasprintf("must be %s", want->kind);
	causes_invalid_str(&causes, "kind", kind, must);
	free(must);
	(void)status_invalid(&call->st, want->group, kind,
			     name == NULL ? "" : name, &causes);
	causes_done(&causes);
	return -1;
}

static int
missing_kind(struct call *call, const json_t *object)
{
	size_t len;
	char *text = js_text_sorted(object, &len);

	(void)status_bad_request(
		&call->st,
		"the object provided is unrecognized (must be of type %s): "
		"Object 'Kind' is missing in '%.*s' (%.*s)",
		call->kind->kind, QUOTE_MAX, text, QUOTE_MAX, text);
	free(text);
	return -1;
}

int
body_check_kind(struct call *call, json_t *object)
{
	const char *version =
		json_string_value(json_object_get(object, "apiVersion"));
	const char *kind = json_string_value(json_object_get(object, "kind"));
	const char *want = call_api_version(call);

	if (kind == NULL || *kind == '\0' || version == NULL ||
	    *version == '\0') {
		if (!call->kind->builtin && !call->kind->body_only)
			return missing_kind(call, object);
		json_object_set_new(object, "apiVersion", json_string(want));
		json_object_set_new(object, "kind",
				    json_string(call->kind->kind));
		return 0;
	}
	if (!str_equal(version, want) && !call->kind->body_only) {
		return status_bad_request(
			&call->st,
			"the API version in the data (%s) does not match the "
			"expected API version (%s)",
			version, want);
	}
	if (!str_equal(kind, call->kind->kind))
		return wrong_kind(call, object, kind);
	return 0;
}
