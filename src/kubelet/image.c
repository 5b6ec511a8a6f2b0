/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/image.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "meta/imagename.h"

#define DIGEST_PREFIX "sha256:"
#define DIGEST_HEX 64

static bool
is_digest(const char *text)
{
	if (!str_has_prefix(text, DIGEST_PREFIX) ||
	    strlen(text) != strlen(DIGEST_PREFIX) + DIGEST_HEX)
		return false;
	for (text += strlen(DIGEST_PREFIX); *text != '\0'; text++) {
		if (!isdigit((unsigned char)*text) &&
		    !(*text >= 'a' && *text <= 'f'))
			return false;
	}
	return true;
}

/* The part before the digest and the tag. */
static char *
bare_name(const char *ref)
{
	const char *at = strchr(ref, '@');
	size_t len = at == NULL ? strlen(ref) : (size_t)(at - ref);
	char *name = xstrndup(ref, len);
	char *slash = strrchr(name, '/');
	char *colon = strrchr(slash == NULL ? name : slash, ':');

	if (colon != NULL)
		*colon = '\0';
	return name;
}

void
image_done(struct image *image)
{
	free(image->dir);
	free(image->root);
	free(image->digest);
	free(image->ref);
	js_unref(&image->config);
	*image = (struct image){ 0 };
}

/* Reads the image of one directory. */
static int
load(const char *dir, const char *escaped, const char *ref, struct image *ret,
     struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, escaped);
	AUTO(free_ptr) char *file = xasprintf("%s/image.json", path);
	AUTO(free_ptr) char *text = NULL;
	AUTO(free_ptr) char *name = bare_name(ref);
	AUTO(js_unref) json_t *config = NULL;
	const char *kind, *digest;
	size_t len;

	if (path_read_file(file, IMAGE_JSON_MAX, &text, &len, err) == -1)
		return -1;
	config = js_parse(text, len, err);
	if (config == NULL)
		return err_prefix(err, "'%s'", file);
	kind = js_str_at(config, "kind");
	digest = js_str_at(config, "digest");
	if (!is_digest(digest))
		return err_set(err, ERR_INVALID, "'%s': digest '%s' is none",
			       file, digest);
	if (!str_equal(kind, "host") && !str_equal(kind, "files"))
		return err_set(err, ERR_INVALID, "'%s': kind '%s' is not known",
			       file, kind);
	ret->host = str_equal(kind, "host");
	ret->root = ret->host ? xstrdup("/") : xasprintf("%s/rootfs", path);
	ret->digest = xstrdup(digest);
	ret->ref = xasprintf("%s@%s", name, digest);
	ret->dir = TAKE_PTR(path);
	ret->config = TAKE_PTR(config);
	return 0;
}

static int
load_ref(const char *dir, const char *ref, const char *digest,
	 struct image *ret, struct err *err)
{
	char escaped[IMAGENAME_ESCAPED_MAX];

	if (imagename_escape(ref, escaped) == -1)
		return err_set(err, ERR_INVALID,
			       "'%s' cannot be the name of an image", ref);
	if (load(dir, escaped, ref, ret, err) == -1)
		return -1;
	if (digest == NULL || str_equal(ret->digest, digest))
		return 0;
	image_done(ret);
	return err_set(err, ERR_NOT_FOUND, "'%s' has another digest", ref);
}

/* Any image that has this digest: it is the same, whatever it is called. */
static int
find_digest(const char *dir, const char *ref, const char *digest,
	    struct image *ret)
{
	DIR *entries = opendir(dir);
	const struct dirent *entry;
	struct err ignored;
	int r = -1;

	if (entries == NULL)
		return -1;
	while (r == -1 && (entry = readdir(entries)) != NULL) {
		struct image found = { 0 };

		if (entry->d_name[0] == '.' ||
		    load(dir, entry->d_name, ref, &found, &ignored) == -1)
			continue;
		if (str_equal(found.digest, digest)) {
			*ret = found;
			r = 0;
		} else {
			image_done(&found);
		}
	}
	(void)closedir(entries);
	return r;
}

static int
not_found(const char *dir, const char *name, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "image '%s' is not in '%s'", name,
		       dir);
}

int
image_find(const char *dir, const char *name, struct image *ret,
	   struct err *err)
{
	const char *digest = strchr(name, '@');
	AUTO(free_ptr) char *bare = NULL;
	AUTO(free_ptr) char *latest = NULL;

	if (strlen(name) > IMAGENAME_MAX)
		return err_set(err, ERR_INVALID, "image's name is too long");
	if (digest != NULL && !is_digest(++digest))
		return err_set(err, ERR_INVALID,
			       "image '%s': '%s' is not a digest", name,
			       digest);
	bare = bare_name(name);
	latest = xasprintf("%s:latest", bare);
	if (load_ref(dir, name, digest, ret, err) == 0)
		return 0;
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	if (digest != NULL)
		return find_digest(dir, name, digest, ret) == 0
			       ? 0
			       : not_found(dir, name, err);
	if (str_equal(bare, name) && load_ref(dir, latest, NULL, ret, err) == 0)
		return 0;
	return err->kind == ERR_NOT_FOUND ? not_found(dir, name, err) : -1;
}
