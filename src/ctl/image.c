/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "ctl/parents.h"
#include "meta/imagename.h"
#include "tls/digest.h"

#define JSON_MAX (256UL * 1024)
#define LIST_MAX (64UL * 1024)

/* Of a file, which may be large. */
static int
hash_file(const char *path, char hex[DIGEST_SHA256_HEX_SIZE], struct err *err)
{
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	if (fd == -1 || fstat(fd, &st) == -1)
		return err_errno(err, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "'%s' is not a file", path);
	if (st.st_size == 0) {
		(void)digest_sha256_hex("", 0, hex);
		return 0;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_errno(err, "cannot read '%s'", path);
	(void)digest_sha256_hex(data, (size_t)st.st_size, hex);
	(void)munmap(data, (size_t)st.st_size);
	return 0;
}

/* What stays of it is in nobody's way. */
static void
remove_tree(const char *path)
{
	struct err ignored;

	(void)path_remove_tree(path, &ignored);
}

/* A new image beside the others, whose name begins with a dot. */
static int
begin(const char *dir, char **ret_path, struct err *err)
{
	char *path = xasprintf("%s/.new-XXXXXX", dir);

	if (mkdtemp(path) == NULL || chmod(path, 0755) == -1) {
		(void)err_errno(err, "cannot write to '%s'", dir);
		free(path);
		return -1;
	}
	*ret_path = path;
	return 0;
}

/*
 * In one step where the file system can: whoever is killed then leaves the old
 * image or the new one. Where it cannot (EINVAL), in two.
 */
static int
replace(const char *path, const char *final)
{
	AUTO(free_ptr) char *old = xasprintf("%s.old", path);

	if (renameat2(AT_FDCWD, path, AT_FDCWD, final, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno == EINVAL && rename(final, old) == -1 && errno != ENOENT)
		return -1;
	if (rename(path, final) == -1)
		return -1;
	remove_tree(old);
	return 0;
}

/* Takes its place; path is no more, whatever happens. */
static int
finish(const char *dir, const char *name, const char *path, json_t *config,
       struct err *err)
{
	char escaped[IMAGENAME_ESCAPED_MAX];
	AUTO(free_ptr) char *text = js_text(config);
	AUTO(free_ptr) char *final = NULL;
	AUTO(close_fd) int fd = -1;
	int result = 0;

	if (imagename_escape(name, escaped) == -1) {
		result = err_set(err, ERR_INVALID,
				 "'%s' cannot be the name of an image", name);
	} else if (path_open_dir(path, &fd, err) == -1 ||
		   path_write_file_at(fd, "image.json", text, strlen(text),
				      0644, err) == -1) {
		result = -1;
	} else {
		final = xasprintf("%s/%s", dir, escaped);
		if (replace(path, final) == -1)
			result = err_errno(err, "cannot name '%s'", name);
	}
	/* It, or the one whose place was taken. */
	remove_tree(path);
	return result;
}

int
image_add_host(const char *dir, const char *name, const char *program,
	       const json_t *config, struct err *err)
{
	AUTO(js_unref) json_t *all = json_deep_copy(config);
	AUTO(free_ptr) char *path = NULL;
	AUTO(free_ptr) char *digest = NULL;
	char hex[DIGEST_SHA256_HEX_SIZE];

	if (hash_file(program, hex, err) == -1 || begin(dir, &path, err) == -1)
		return -1;
	digest = xasprintf("sha256:%s", hex);
	json_object_set_new(all, "kind", json_string("host"));
	json_object_set_new(all, "digest", json_string(digest));
	return finish(dir, name, path, all, err);
}

static int
copy_file(const char *source, const char *to, struct err *err)
{
	AUTO(close_fd) int in = open(source, O_RDONLY | O_CLOEXEC);
	AUTO(close_fd) int out = -1;
	ssize_t sent;
	struct stat st;

	if (in == -1 || fstat(in, &st) == -1)
		return err_errno(err, "cannot open '%s'", source);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out == -1)
		return err_errno(err, "cannot make '%s'", to);
	while (st.st_size > 0) {
		sent = sendfile(out, in, NULL, (size_t)st.st_size);
		if (sent <= 0)
			return err_errno(err, "cannot copy '%s'", source);
		st.st_size -= sent;
	}
	return fsync(out) == -1 ? err_errno(err, "cannot write '%s'", to) : 0;
}

static int
add_file(const char *root, const struct image_file *file, struct buf *list,
	 struct err *err)
{
	AUTO(free_ptr) char *to = xasprintf("%s/rootfs%s", root, file->path);
	char hex[DIGEST_SHA256_HEX_SIZE];
	AUTO(free_ptr) char *line = NULL;

	if (file->path[0] != '/' || strstr(file->path, "/../") != NULL ||
	    file->path[strlen(file->path) - 1] == '/')
		return err_set(err, ERR_INVALID, "'%s' is no path in an image",
			       file->path);
	if (hash_file(file->source, hex, err) == -1 ||
	    parents_make(to, err) == -1 ||
	    copy_file(file->source, to, err) == -1)
		return -1;
	line = xasprintf("%s %s\n", hex, file->path);
	return buf_append(list, line, strlen(line)) == -1
		       ? err_set(err, ERR_LIMIT, "too many files")
		       : 0;
}

int
image_import(const char *dir, const char *name, const struct image_file *files,
	     size_t count, char **ret_digest, struct err *err)
{
	AUTO(buf_done) struct buf list = BUF_INIT(LIST_MAX);
	AUTO(free_ptr) char *path = NULL;
	AUTO(free_ptr) char *digest = NULL;
	AUTO(js_unref) json_t *config = NULL;
	char hex[DIGEST_SHA256_HEX_SIZE];

	if (begin(dir, &path, err) == -1)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (add_file(path, &files[i], &list, err) == -1) {
			remove_tree(path);
			return -1;
		}
	}
	digest = xasprintf("sha256:%s",
			   digest_sha256_hex(list.data, list.len, hex));
	config = json_pack("{s:s, s:s}", "kind", "files", "digest", digest);
	if (finish(dir, name, path, config, err) == -1)
		return -1;
	if (ret_digest != NULL)
		*ret_digest = TAKE_PTR(digest);
	return 0;
}

int
image_each(const char *dir,
	   void (*fn)(const char *name, const json_t *config, void *arg),
	   void *arg, struct err *err)
{
	DIR *all = opendir(dir);
	struct dirent *entry;

	if (all == NULL)
		return err_errno(err, "cannot read '%s'", dir);
	while ((entry = readdir(all)) != NULL) {
		AUTO(free_ptr)
		char *path = xasprintf("%s/%s/image.json", dir, entry->d_name);
		AUTO(free_ptr) char *text = NULL;
		AUTO(js_unref) json_t *config = NULL;
		char name[IMAGENAME_MAX + 1];
		struct err ignored;
		size_t len;

		if (entry->d_name[0] == '.' ||
		    path_read_file(path, JSON_MAX, &text, &len, &ignored) == -1)
			continue;
		config = js_parse(text, len, &ignored);
		imagename_unescape(entry->d_name, name);
		if (config != NULL)
			fn(name, config, arg);
	}
	(void)closedir(all);
	return 0;
}

int
image_remove(const char *dir, const char *name, struct err *err)
{
	char escaped[IMAGENAME_ESCAPED_MAX];
	AUTO(free_ptr) char *path = NULL;
	AUTO(free_ptr) char *going = NULL;

	if (imagename_escape(name, escaped) == -1)
		return err_set(err, ERR_INVALID,
			       "'%s' cannot be the name of an image", name);
	path = xasprintf("%s/%s", dir, escaped);
	going = xasprintf("%s/.old-%s", dir, escaped);
	if (rename(path, going) == -1) {
		if (errno == ENOENT)
			return err_set(err, ERR_NOT_FOUND,
				       "there is no image '%s'", name);
		return err_errno(err, "cannot remove '%s'", name);
	}
	remove_tree(going);
	return 0;
}
