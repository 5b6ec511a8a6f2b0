/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/volfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define PATH_LEN_MAX 1024
#define DEPTH_MAX 16

void
volfiles_done(struct volfiles *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->list[i].path);
		free(files->list[i].data);
	}
	free(files->list);
	*files = (struct volfiles){ 0 };
}

/* Relative, and not out of the directory. */
static int
check_path(const char *path, struct err *err)
{
	const char *at = path;
	unsigned depth = 0;

	if (*path == '\0' || *path == '/' || strlen(path) > PATH_LEN_MAX)
		return err_set(err, ERR_INVALID,
			       "'%s' cannot be a path in a volume", path);
	while (*at != '\0') {
		size_t len = strcspn(at, "/");

		if (len == 0 ||
		    (at[0] == '.' && len <= 2 && (len == 1 || at[1] == '.')) ||
		    ++depth > DEPTH_MAX)
			return err_set(err, ERR_INVALID,
				       "'%s' cannot be a path in a volume",
				       path);
		at += len;
		at += *at == '/';
	}
	return 0;
}

int
volfiles_add(struct volfiles *files, const char *path, const void *data,
	     size_t len, mode_t mode, struct err *err)
{
	struct volfile *file = NULL;

	if (check_path(path, err) == -1)
		return -1;
	if (files->count >= VOLFILES_MAX ||
	    files->bytes + len > VOLFILES_BYTES_MAX)
		return err_set(err, ERR_LIMIT,
			       "a volume of more than %d files or %lu bytes",
			       VOLFILES_MAX, VOLFILES_BYTES_MAX);
	for (size_t i = 0; i < files->count; i++) {
		if (str_equal(files->list[i].path, path))
			file = &files->list[i];
	}
	if (file == NULL) {
		files->list = xrealloc(files->list,
				       (files->count + 1) * sizeof(*file));
		file = &files->list[files->count++];
		*file = (struct volfile){ .path = xstrdup(path) };
	}
	free(file->data);
	file->data = xmalloc0(len + 1);
	if (len > 0)
		memcpy(file->data, data, len);
	file->len = len;
	file->mode = mode & 07777;
	files->bytes += len;
	return 0;
}

/* A key's value, wherever it stands. 1: there is no such key. */
static int
add_key(struct volfiles *files, const json_t *object, const char *key,
	const char *path, mode_t mode, struct err *err)
{
	bool secret = str_equal(js_str_at(object, "kind"), "Secret");
	const char *text = json_string_value(
		json_object_get(js_obj_at(object, "data"), key));
	const char *binary = json_string_value(
		json_object_get(js_obj_at(object, "binaryData"), key));
	AUTO(free_ptr) uint8_t *data = NULL;
	size_t len;

	if (secret) {
		binary = text;
		text = NULL;
	}
	if (text != NULL)
		return volfiles_add(files, path, text, strlen(text), mode, err);
	if (binary == NULL)
		return 1;
	if (base64_decode(BASE64_STD, binary, strlen(binary), &data, &len,
			  err) == -1)
		return err_prefix(err, "key '%s'", key);
	return volfiles_add(files, path, data, len, mode, err);
}

static int
add_all(struct volfiles *files, const json_t *object, const char *member,
	mode_t mode, struct err *err)
{
	const json_t *value;
	const char *key;

	json_object_foreach(js_obj_at(object, member), key, value)
	{
		if (add_key(files, object, key, key, mode, err) == -1)
			return -1;
	}
	return 0;
}

int
volfiles_add_object(struct volfiles *files, const json_t *object,
		    const json_t *source, mode_t mode, struct err *err)
{
	const json_t *items = js_arr_at(source, "items"), *item;
	size_t i;

	if (object == NULL)
		return 0;
	if (json_array_size(items) == 0) {
		if (add_all(files, object, "data", mode, err) == -1)
			return -1;
		return add_all(files, object, "binaryData", mode, err);
	}
	json_array_foreach(items, i, item)
	{
		mode_t own = (mode_t)js_int_at(item, "mode", mode);
		int r = add_key(files, object, js_str_at(item, "key"),
				js_str_at(item, "path"), own, err);

		if (r == 1 && !js_bool_at(source, "optional", false))
			return err_set(err, ERR_NOT_FOUND,
				       "references non-existent key: %s",
				       js_str_at(item, "key"));
		if (r == -1)
			return -1;
	}
	return 0;
}

/* Opens the directory of a path below dir_fd, making it; *ret_name points into
 * path. */
static int
open_parent(int dir_fd, const char *path, int *ret_fd, const char **ret_name,
	    struct err *err)
{
	AUTO(close_fd) int at = dup(dir_fd);
	const char *slash;

	while ((slash = strchr(path, '/')) != NULL) {
		AUTO(free_ptr)
		char *part = xstrndup(path, (size_t)(slash - path));
		int next;

		if (mkdirat(at, part, 0755) == -1 && errno != EEXIST)
			return err_errno(err, "cannot make '%s'", part);
		if (path_open_at(at, part, O_PATH | O_DIRECTORY, 0, &next,
				 err) == -1)
			return -1;
		close_fd(&at);
		at = next;
		path = slash + 1;
	}
	*ret_fd = TAKE_FD(at);
	*ret_name = path;
	return 0;
}

static bool
is_same(int dir_fd, const char *name, const struct volfile *file)
{
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *data = NULL;
	struct err ignored;
	struct stat st;
	size_t len;

	return path_open_at(dir_fd, name, O_RDONLY, 0, &fd, &ignored) == 0 &&
	       fstat(fd, &st) == 0 && (st.st_mode & 07777) == file->mode &&
	       path_read_fd(fd, name, VOLFILES_BYTES_MAX, &data, &len,
			    &ignored) == 0 &&
	       len == file->len && memcmp(data, file->data, len) == 0;
}

static int
write_one(int dir_fd, const struct volfile *file, gid_t gid, struct err *err)
{
	AUTO(close_fd) int parent = -1;
	const char *name = NULL;

	if (open_parent(dir_fd, file->path, &parent, &name, err) == -1)
		return -1;
	if (is_same(parent, name, file))
		return 0;
	if (path_write_file_at(parent, name, file->data, file->len, file->mode,
			       err) == -1)
		return -1;
	if (gid != (gid_t)-1 &&
	    fchownat(parent, name, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW) == -1)
		return err_errno(err, "cannot give '%s' away", name);
	return 0;
}

static bool
is_known(const struct volfiles *files, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < files->count; i++) {
		const char *path = files->list[i].path;

		if (strncmp(path, name, len) == 0 &&
		    (path[len] == '\0' || path[len] == '/'))
			return true;
	}
	return false;
}

/* Keys that went away; of directories only those at the top are looked at. */
static void
remove_others(int dir_fd, const struct volfiles *files)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (dir == NULL) {
		close_fd(&fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (!str_equal(entry->d_name, ".") &&
		    !str_equal(entry->d_name, "..") &&
		    !is_known(files, entry->d_name))
			(void)unlinkat(fd, entry->d_name, 0);
	}
	(void)closedir(dir);
}

int
volfiles_write(const struct volfiles *files, const char *dir, gid_t gid,
	       struct err *err)
{
	AUTO(close_fd) int dir_fd = -1;

	if (path_open_dir(dir, &dir_fd, err) == -1)
		return -1;
	for (size_t i = 0; i < files->count; i++) {
		if (write_one(dir_fd, &files->list[i], gid, err) == -1)
			return -1;
	}
	remove_others(dir_fd, files);
	return 0;
}
