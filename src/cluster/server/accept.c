/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/str.h"
#include "cluster/server/accept.h"
#include "meta/status.h"

/* Copies what lies between blanks; cut text matches nothing that is known. */
static void
copy_word(char *out, size_t size, const char *from, size_t len)
{
	while (len > 0 && (*from == ' ' || *from == '\t')) {
		from++;
		len--;
	}
	while (len > 0 && (from[len - 1] == ' ' || from[len - 1] == '\t'))
		len--;
	if (len >= 2 && from[0] == '"' && from[len - 1] == '"') {
		from++;
		len -= 2;
	}
	if (len >= size)
		len = size - 1;
	memcpy(out, from, len);
	out[len] = '\0';
}

static void
read_parameter(const char *text, size_t len, struct media_type *ret)
{
	const char *equals = memchr(text, '=', len);
	char name[8];
	size_t name_len, value_len;

	if (equals == NULL)
		return;
	name_len = (size_t)(equals - text);
	value_len = len - name_len - 1;
	copy_word(name, sizeof(name), text, name_len);
	if (str_equal(name, "as"))
		copy_word(ret->as, sizeof(ret->as), equals + 1, value_len);
	else if (str_equal(name, "v"))
		copy_word(ret->version, sizeof(ret->version), equals + 1,
			  value_len);
	else if (str_equal(name, "g"))
		copy_word(ret->group, sizeof(ret->group), equals + 1,
			  value_len);
}

bool
media_type_next(const char **cursor, struct media_type *ret)
{
	const char *at = *cursor;
	size_t len = strcspn(at, ";,");

	*ret = (struct media_type){ 0 };
	if (*at == '\0')
		return false;
	copy_word(ret->type, sizeof(ret->type), at, len);
	at += len;
	while (*at == ';') {
		at++;
		len = strcspn(at, ";,");
		read_parameter(at, len, ret);
		at += len;
	}
	*cursor = *at == ',' ? at + 1 : at;
	return true;
}

static const struct {
	const char *type;
	enum accept_format format;
} formats[] = {
	{ "application/json", ACCEPT_JSON },
	{ "application/yaml", ACCEPT_YAML },
	{ "application/*", ACCEPT_JSON },
	{ "*/*", ACCEPT_JSON },
};

static const struct {
	const char *as;
	enum accept_shape shape;
} shapes_known[] = {
	{ "", ACCEPT_OBJECT },
	{ "Table", ACCEPT_TABLE },
	{ "PartialObjectMetadata", ACCEPT_PARTIAL },
	{ "PartialObjectMetadataList", ACCEPT_PARTIAL },
};

static bool
choose_shape(const struct media_type *media, bool shapes, struct accept *ret)
{
	static const char *const versions[] = { "v1", "v1beta1" };

	for (size_t i = 0; i < ARRAY_LEN(shapes_known); i++) {
		if (!str_equal(media->as, shapes_known[i].as))
			continue;
		ret->shape = shapes_known[i].shape;
		if (ret->shape == ACCEPT_OBJECT)
			return true;
		if (!shapes || !str_equal(media->group, "meta.k8s.io"))
			return false;
		for (size_t v = 0; v < ARRAY_LEN(versions); v++)
			if (str_equal(media->version, versions[v])) {
				ret->version = versions[v];
				return true;
			}
	}
	return false;
}

static bool
choose(const struct media_type *media, bool shapes, struct accept *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (strcasecmp(media->type, formats[i].type) == 0) {
			ret->format = formats[i].format;
			return choose_shape(media, shapes, ret);
		}
	return false;
}

int
accept_parse(const char *header, bool shapes, struct accept *ret,
	     struct status *st)
{
	const char *cursor = header == NULL ? "" : header;
	struct media_type media;

	*ret = (struct accept){ .version = "v1" };
	if (*cursor == '\0')
		return 0;
	while (media_type_next(&cursor, &media))
		if (choose(&media, shapes, ret))
			return 0;
	return status_not_acceptable(st, "application/json, application/yaml, "
					 "application/"
					 "vnd.kubernetes.protobuf");
}
