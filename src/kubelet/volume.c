/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubelet/dirs.h"
#include "kubelet/env.h"
#include "kubelet/image.h"
#include "kubelet/podrefs.h"
#include "kubelet/runspace.h"
#include "kubelet/volfiles.h"
#include "meta/quantity.h"

#define NAME_MAX_LEN 253
#define DEFAULT_MODE 0644

/* One volume being made. */
struct making {
	const struct volume_request *request;
	const json_t *volume; /* of spec.volumes */
	const json_t *source; /* its member that says what it is */
	const char *name;
	json_t *made; /* what it becomes */
	gid_t gid;    /* fsGroup, or -1 */
};

static void
set_path(const struct making *m, const char *path)
{
	(void)json_object_set_new(m->made, "path", json_string(path));
}

/* The volume's own directory, made and told. To be freed. */
static char *
own_dir(const struct making *m, const char *plugin, mode_t mode,
	struct err *err)
{
	AUTO(free_ptr)
	char *path = xasprintf("%s/volumes/kubernetes.io~%s/%s",
			       m->request->pod_dir, plugin, m->name);
	struct stat st;
	bool there = stat(path, &st) == 0;

	if (dirs_make_all(path, mode, err) == -1)
		return NULL;
	if (!there && chmod(path, mode) == -1) {
		(void)err_errno(err, "cannot set the mode of '%s'", path);
		return NULL;
	}
	set_path(m, path);
	return TAKE_PTR(path);
}

static bool
is_mounted(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS,
		     &st) == 0 &&
	       (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static int
mount_memory(const char *path, mode_t mode, int64_t size, struct err *err)
{
	char options[96];

	if (is_mounted(path))
		return 0;
	if (size > 0)
		(void)snprintf(options, sizeof(options),
			       "mode=%o,size=%" PRId64, mode, size);
	else
		(void)snprintf(options, sizeof(options), "mode=%o", mode);
	return runspace_mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV,
			      options, err);
}

/* "HugePages", of the node's default size, or "HugePages-2Mi". */
static int
mount_huge_pages(const char *path, const char *medium, struct err *err)
{
	AUTO(free_ptr) char *options = xstrdup("mode=1777");
	struct quantity size;

	if (is_mounted(path))
		return 0;
	if (str_has_prefix(medium, "HugePages-")) {
		if (quantity_parse(medium + strlen("HugePages-"), &size, err) ==
		    -1)
			return -1;
		free(options);
		options = xasprintf("mode=1777,pagesize=%" PRId64,
				    quantity_value(&size));
	}
	return runspace_mount("hugetlbfs", path, "hugetlbfs",
			      MS_NOSUID | MS_NODEV, options, err);
}

static int
make_empty_dir(struct making *m, struct err *err)
{
	mode_t mode = m->gid == (gid_t)-1 ? 0777 : 02777;
	AUTO(free_ptr) char *path = own_dir(m, "empty-dir", mode, err);
	const char *medium = js_str_at(m->source, "medium");
	const char *limit = js_str_at(m->source, "sizeLimit");
	struct quantity size = QUANTITY_ZERO;

	if (path == NULL)
		return -1;
	if (*limit != '\0' && quantity_parse(limit, &size, err) == -1)
		return -1;
	if (str_equal(medium, "Memory") &&
	    mount_memory(path, mode, quantity_value(&size), err) == -1)
		return -1;
	if (str_has_prefix(medium, "HugePages")) {
		if (mount_huge_pages(path, medium, err) == -1)
			return -1;
	} else if (*medium != '\0' && !str_equal(medium, "Memory"))
		return err_set(err, ERR_INVALID, "medium '%s' is not supported",
			       medium);
	if (m->gid != (gid_t)-1 && chown(path, (uid_t)-1, m->gid) == -1)
		return err_errno(err, "cannot give '%s' to group %u", path,
				 m->gid);
	return 0;
}

/* What a hostPath may be asked to be. */
static const struct {
	const char *type;
	mode_t format; /* 0: anything */
	bool make;
} host_types[] = {
	{ "", 0, false },
	{ "Directory", S_IFDIR, false },
	{ "DirectoryOrCreate", S_IFDIR, true },
	{ "File", S_IFREG, false },
	{ "FileOrCreate", S_IFREG, true },
	{ "Socket", S_IFSOCK, false },
	{ "CharDevice", S_IFCHR, false },
	{ "BlockDevice", S_IFBLK, false },
};

static int
make_host_thing(const char *path, mode_t format, struct err *err)
{
	AUTO(close_fd) int fd = -1;

	if (format == S_IFDIR)
		return dirs_make_all(path, 0755, err);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);
	return fd == -1 ? err_errno(err, "cannot make '%s'", path) : 0;
}

static int
use_host_path(const struct making *m, const char *path, const char *type,
	      struct err *err)
{
	struct stat st;

	if (path[0] != '/' || strstr(path, "/../") != NULL ||
	    str_has_suffix(path, "/.."))
		return err_set(err, ERR_INVALID,
			       "hostPath '%s' must be absolute and without "
			       "'..'",
			       path);
	for (size_t i = 0; i < ARRAY_LEN(host_types); i++) {
		if (!str_equal(type, host_types[i].type))
			continue;
		if (host_types[i].make && access(path, F_OK) == -1 &&
		    make_host_thing(path, host_types[i].format, err) == -1)
			return -1;
		if (stat(path, &st) == -1)
			return err_errno(err, "hostPath '%s'", path);
		if (host_types[i].format != 0 &&
		    (st.st_mode & S_IFMT) != host_types[i].format)
			return err_set(err, ERR_INVALID,
				       "hostPath type check failed: '%s' is "
				       "not a %s",
				       path, type);
		set_path(m, path);
		return 0;
	}
	return err_set(err, ERR_INVALID, "hostPath type '%s' is not known",
		       type);
}

static int
make_host_path(struct making *m, struct err *err)
{
	return use_host_path(m, js_str_at(m->source, "path"),
			     js_str_at(m->source, "type"), err);
}

static int
make_claim(struct making *m, struct err *err)
{
	const char *name = js_str_at(m->source, "claimName");
	const json_t *claim =
		podrefs_get(m->request->have, "persistentvolumeclaims", name);
	const json_t *volume =
		podrefs_get(m->request->have, "persistentvolumes",
			    js_str_at(claim, "spec.volumeName"));
	const char *local = js_str_at(volume, "spec.local.path");
	const char *host = js_str_at(volume, "spec.hostPath.path");

	if (str_equal(js_str_at(volume, "spec.volumeMode"), "Block"))
		return err_set(err, ERR_INVALID,
			       "claim '%s' is of mode Block, which is not "
			       "supported here",
			       name);
	if (*local == '\0' && *host == '\0')
		return err_set(err, ERR_INVALID,
			       "volume '%s' of claim '%s' is neither local nor "
			       "a hostPath",
			       js_str_at(volume, "metadata.name"), name);
	if (js_bool_at(m->source, "readOnly", false))
		(void)json_object_set_new(m->made, "readOnly", json_true());
	if (*local != '\0')
		return use_host_path(m, local, "Directory", err);
	return use_host_path(m, host, js_str_at(volume, "spec.hostPath.type"),
			     err);
}

static int
make_image(struct making *m, struct err *err)
{
	struct image image;

	if (image_find(m->request->image_dir, js_str_at(m->source, "reference"),
		       &image, err) == -1)
		return -1;
	if (image.host) {
		image_done(&image);
		return err_set(err, ERR_INVALID,
			       "the node itself cannot be an image volume");
	}
	set_path(m, image.root);
	(void)json_object_set_new(m->made, "readOnly", json_true());
	(void)json_object_set_new(m->made, "imageRef", json_string(image.ref));
	image_done(&image);
	return 0;
}

static mode_t
default_mode(const json_t *source)
{
	return (mode_t)js_int_at(source, "defaultMode", DEFAULT_MODE);
}

/* Files readable by the group that the pod's processes have. */
static int
write_files(const struct making *m, struct volfiles *files, const char *path,
	    struct err *err)
{
	for (size_t i = 0; m->gid != (gid_t)-1 && i < files->count; i++)
		files->list[i].mode |= 0040;
	return volfiles_write(files, path, m->gid, err);
}

static int
make_of_object(struct making *m, const char *plugin, const char *plural,
	       const char *name, struct err *err)
{
	AUTO(volfiles_done) struct volfiles files = { 0 };
	AUTO(free_ptr) char *path = own_dir(m, plugin, 0755, err);

	if (path == NULL ||
	    (str_equal(plural, "secrets") &&
	     mount_memory(path, 0755, 0, err) == -1) ||
	    volfiles_add_object(&files,
				podrefs_get(m->request->have, plural, name),
				m->source, default_mode(m->source), err) == -1)
		return -1;
	return write_files(m, &files, path, err);
}

static int
make_config_map(struct making *m, struct err *err)
{
	return make_of_object(m, "configmap", "configmaps",
			      js_str_at(m->source, "name"), err);
}

static int
make_secret(struct making *m, struct err *err)
{
	return make_of_object(m, "secret", "secrets",
			      js_str_at(m->source, "secretName"), err);
}

static const json_t *
find_container(const json_t *pod, const char *name)
{
	const json_t *found =
		js_find(js_arr_at(pod, "spec.containers"), "name", name);

	return found != NULL ? found
			     : js_find(js_arr_at(pod, "spec.initContainers"),
				       "name", name);
}

static int
add_downward(const struct making *m, struct volfiles *files,
	     const json_t *source, mode_t mode, struct err *err)
{
	const json_t *pod = m->request->pod, *item;
	size_t i;

	json_array_foreach(js_arr_at(source, "items"), i, item)
	{
		const json_t *resource = js_obj_at(item, "resourceFieldRef");
		mode_t own = (mode_t)js_int_at(item, "mode", mode);
		AUTO(free_ptr)
		char *value =
			resource == NULL
				? env_field(
					  pod, m->request->facts,
					  js_str_at(item, "fieldRef.fieldPath"),
					  err)
				: env_resource(
					  find_container(
						  pod,
						  js_str_at(resource,
							    "containerName")),
					  js_str_at(resource, "resource"),
					  js_str_at(resource, "divisor"), err);

		if (value == NULL ||
		    volfiles_add(files, js_str_at(item, "path"), value,
				 strlen(value), own, err) == -1)
			return -1;
	}
	return 0;
}

static int
make_downward(struct making *m, struct err *err)
{
	AUTO(volfiles_done) struct volfiles files = { 0 };
	AUTO(free_ptr) char *path = own_dir(m, "downward-api", 0755, err);

	if (path == NULL || add_downward(m, &files, m->source,
					 default_mode(m->source), err) == -1)
		return -1;
	return write_files(m, &files, path, err);
}

static int
add_projection(const struct making *m, struct volfiles *files,
	       const json_t *source, size_t i, mode_t mode, struct err *err)
{
	const json_t *have = m->request->have;
	const json_t *part;

	if ((part = js_obj_at(source, "configMap")) != NULL)
		return volfiles_add_object(files,
					   podrefs_get(have, "configmaps",
						       js_str_at(part, "name")),
					   part, mode, err);
	if ((part = js_obj_at(source, "secret")) != NULL)
		return volfiles_add_object(
			files,
			podrefs_get(have, "secrets", js_str_at(part, "name")),
			part, mode, err);
	if ((part = js_obj_at(source, "downwardAPI")) != NULL)
		return add_downward(m, files, part, mode, err);
	if ((part = js_obj_at(source, "serviceAccountToken")) != NULL) {
		const char *token = js_str_at(podrefs_token(have, m->name, i),
					      "status.token");

		return volfiles_add(files, js_str_at(part, "path"), token,
				    strlen(token), mode, err);
	}
	return err_set(err, ERR_INVALID,
		       "projected.sources[%zu] is not supported", i);
}

static int
make_projected(struct making *m, struct err *err)
{
	AUTO(volfiles_done) struct volfiles files = { 0 };
	AUTO(free_ptr) char *path = own_dir(m, "projected", 0755, err);
	const json_t *source;
	size_t i;

	if (path == NULL || mount_memory(path, 0755, 0, err) == -1)
		return -1;
	json_array_foreach(js_arr_at(m->source, "sources"), i, source)
	{
		if (add_projection(m, &files, source, i,
				   default_mode(m->source), err) == -1)
			return -1;
	}
	return write_files(m, &files, path, err);
}

static const struct {
	const char *member;
	int (*make)(struct making *m, struct err *err);
} kinds[] = {
	{ "emptyDir", make_empty_dir },
	{ "hostPath", make_host_path },
	{ "configMap", make_config_map },
	{ "secret", make_secret },
	{ "projected", make_projected },
	{ "downwardAPI", make_downward },
	{ "persistentVolumeClaim", make_claim },
	{ "image", make_image },
};

static int
make_one(struct making *m, struct err *err)
{
	if (!str_is_name(m->name, NAME_MAX_LEN))
		return err_set(err, ERR_INVALID, "a name that is none");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		m->source = js_obj_at(m->volume, kinds[i].member);
		if (m->source != NULL)
			return kinds[i].make(m, err);
	}
	return err_set(err, ERR_INVALID, "of a kind that is not supported");
}

json_t *
volume_make_all(const struct volume_request *request, struct err *err)
{
	AUTO(js_unref) json_t *all = json_object();
	int64_t gid =
		js_int_at(request->pod, "spec.securityContext.fsGroup", -1);
	const json_t *volume;
	size_t i;

	json_array_foreach(js_arr_at(request->pod, "spec.volumes"), i, volume)
	{
		struct making m = { .request = request,
				    .volume = volume,
				    .name = js_str_at(volume, "name"),
				    .made = json_object(),
				    .gid = (gid_t)gid };

		(void)json_object_set_new(all, m.name, m.made);
		if (make_one(&m, err) == -1) {
			(void)err_prefix(err, "volume '%s'", m.name);
			return NULL;
		}
	}
	return TAKE_PTR(all);
}
