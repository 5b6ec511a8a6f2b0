/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/vmi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/render/render.h"
#include "controller/render/volumes.h"
#include "meta/names.h"

#define PATH_TEXT_MAX 4096
#define KERNEL_PATH "spec.domain.firmware.kernelBoot.container"

/* What is being made, and what for. */
struct work {
	const struct render_env *env;
	const json_t *references;
	struct volumes *out;
	json_t *names;     /* of volumes there are, as keys */
	char at[48];       /* "spec.volumes[3]" */
	char where[80];    /* "spec.volumes[3].hostDisk" */
	const char *name;  /* of the volume at hand */
	const json_t *src; /* what it is made from */
};

void
volumes_done(struct volumes *volumes)
{
	js_unref(&volumes->volumes);
	js_unref(&volumes->mounts);
	js_unref(&volumes->devices);
	js_unref(&volumes->pull_secrets);
}

/* Takes source, a member of its volume by the name of kind. */
static int
add_volume(struct work *w, const char *name, const char *kind, json_t *source,
	   struct err *err)
{
	AUTO(js_unref) json_t *owned = source;

	if (json_object_get(w->names, name) != NULL)
		return err_set(err, ERR_INVALID,
			       "%s.name: '%s' is the name of another volume of "
			       "the pod",
			       w->at, name);
	json_object_set_new(w->names, name, json_true());
	json_array_append_new(w->out->volumes, json_pack("{s:s, s:O}", "name",
							 name, kind, owned));
	return 0;
}

static void
add_mount(struct work *w, const char *name, const char *path, bool read_only)
{
	json_t *mount =
		json_pack("{s:s, s:s}", "name", name, "mountPath", path);

	if (read_only)
		json_object_set_new(mount, "readOnly", json_true());
	json_array_append_new(w->out->mounts, mount);
}

/* In a directory of its own below dir. */
static void
add_mount_below(struct work *w, const char *name, const char *dir,
		bool read_only)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, w->name);

	add_mount(w, name, path, read_only);
}

static int
add_directories(struct work *w, bool hugepages, struct err *err)
{
	static const struct {
		const char *name;
		const char *path;
	} dirs[] = {
		{ "private", VOLUMES_PRIVATE_DIR },
		{ "public", VOLUMES_SHARE_DIR },
		{ "sockets", VOLUMES_SOCKETS_DIR },
		{ "ephemeral-disks", VOLUMES_EPHEMERAL_DIR },
		{ "libvirt-runtime", VOLUMES_LIBVIRT_DIR },
	};

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (add_volume(w, dirs[i].name, "emptyDir", json_object(),
			       err) == -1)
			return -1;
		add_mount(w, dirs[i].name, dirs[i].path, false);
	}
	if (!hugepages)
		return 0;
	add_mount(w, "hugepages", VOLUMES_HUGEPAGES_DIR, false);
	return add_volume(w, "hugepages", "emptyDir",
			  json_pack("{s:s}", "medium", "HugePages"), err);
}

static void
add_pull_secret(struct work *w, const char *name)
{
	if (*name != '\0' &&
	    js_find(w->out->pull_secrets, "name", name) == NULL)
		json_array_append_new(w->out->pull_secrets,
				      json_pack("{s:s}", "name", name));
}

/* An image of the volume at hand, or of kernelBoot, mounted at path. */
static int
add_image(struct work *w, const char *path, struct err *err)
{
	const char *image = js_str_at(w->src, "image");
	const char *policy = js_str_at(w->src, "imagePullPolicy");
	const json_t *pinned = json_object_get(w->references, w->name);
	json_t *source;

	if (*image == '\0')
		return err_set(err, ERR_INVALID, "%s.image: is missing",
			       w->where);
	if (json_is_string(pinned))
		image = json_string_value(pinned);
	source = json_pack("{s:s}", "reference", image);
	if (*policy != '\0')
		json_object_set_new(source, "pullPolicy", json_string(policy));
	add_pull_secret(w, js_str_at(w->src, "imagePullSecret"));
	add_mount(w, w->name, path, true);
	return add_volume(w, w->name, "image", source, err);
}

static int
add_container_disk(struct work *w, struct err *err)
{
	AUTO(free_ptr)
	char *path = xasprintf("%s/%s", VOLUMES_IMAGES_DIR, w->name);

	return add_image(w, path, err);
}

static int
add_claim_of(struct work *w, const char *claim, struct err *err)
{
	const struct render_env *env = w->env;
	bool read_only = js_bool_at(w->src, "readOnly", false);
	json_t *source;

	if (!name_ok(NAME_DNS1123_SUBDOMAIN, claim))
		return err_set(err, ERR_INVALID, "%s: names no claim",
			       w->where);
	if (env->claim_is_block != NULL &&
	    env->claim_is_block(env->arg, claim)) {
		AUTO(free_ptr) char *path = xasprintf("/dev/%s", w->name);

		json_array_append_new(w->out->devices,
				      json_pack("{s:s, s:s}", "name", w->name,
						"devicePath", path));
	} else {
		add_mount_below(w, w->name, VOLUMES_DISKS_DIR, false);
	}
	source = json_pack("{s:s}", "claimName", claim);
	if (read_only)
		json_object_set_new(source, "readOnly", json_true());
	return add_volume(w, w->name, "persistentVolumeClaim", source, err);
}

static int
add_claim(struct work *w, struct err *err)
{
	return add_claim_of(w, js_str_at(w->src, "claimName"), err);
}

/* The claim of a data volume has its name. */
static int
add_data_volume(struct work *w, struct err *err)
{
	return add_claim_of(w, js_str_at(w->src, "name"), err);
}

static bool
is_clean_path(const char *path)
{
	size_t len = strlen(path);

	return *path == '/' && len > 1 && len < PATH_TEXT_MAX &&
	       path[len - 1] != '/' && strstr(path, "/../") == NULL &&
	       !str_has_suffix(path, "/..");
}

/* The directory of the file: a file that is to be made cannot be mounted. */
static int
add_host_disk(struct work *w, struct err *err)
{
	const char *path = js_str_at(w->src, "path");
	const char *type = js_str_at(w->src, "type");
	AUTO(free_ptr) char *dir = NULL;

	if (!is_clean_path(path))
		return err_set(err, ERR_INVALID,
			       "%s.path: must be the absolute path of a file",
			       w->where);
	if (!str_equal(type, "Disk") && !str_equal(type, "DiskOrCreate"))
		return err_set(err, ERR_INVALID,
			       "%s.type: must be Disk or DiskOrCreate",
			       w->where);
	dir = xstrdup(path);
	*strrchr(dir, '/') = '\0';
	add_mount_below(w, w->name, VOLUMES_DISKS_DIR, false);
	return add_volume(w, w->name, "hostPath",
			  json_pack("{s:s, s:s}", "path",
				    *dir == '\0' ? "/" : dir, "type",
				    str_equal(type, "Disk")
					    ? "Directory"
					    : "DirectoryOrCreate"),
			  err);
}

/* The launcher makes it; there is room for it in ephemeral-disks. */
static int
add_empty_disk(struct work *w, struct err *err)
{
	if (js_at(w->src, "capacity") == NULL)
		return err_set(err, ERR_INVALID, "%s.capacity: is missing",
			       w->where);
	return 0;
}

/* A secret, as directory dir below that of the volume. */
static int
add_secret(struct work *w, const char *member, const char *dir, struct err *err)
{
	const char *secret = js_str_at(js_obj_at(w->src, member), "name");
	AUTO(free_ptr) char *name = NULL;
	AUTO(free_ptr) char *path = NULL;

	if (js_at(w->src, member) == NULL)
		return 0;
	if (!name_ok(NAME_DNS1123_SUBDOMAIN, secret))
		return err_set(err, ERR_INVALID, "%s.%s.name: names no secret",
			       w->where, member);
	name = xasprintf("%s-%s", w->name, dir);
	path = xasprintf("%s/%s/%s", VOLUMES_SECRETS_DIR, w->name, dir);
	add_mount(w, name, path, true);
	return add_volume(w, name, "secret",
			  json_pack("{s:s}", "secretName", secret), err);
}

/* What stands in the spec itself reaches the launcher with the machine. */
static int
add_cloud_init(struct work *w, struct err *err)
{
	if (add_secret(w, "secretRef", "udata", err) == -1)
		return -1;
	return add_secret(w, "networkDataSecretRef", "ndata", err);
}

static const struct source {
	const char *kind;
	int (*add)(struct work *w, struct err *err);
} sources[] = {
	{ "containerDisk", add_container_disk },
	{ "persistentVolumeClaim", add_claim },
	{ "dataVolume", add_data_volume },
	{ "hostDisk", add_host_disk },
	{ "emptyDisk", add_empty_disk },
	{ "cloudInitNoCloud", add_cloud_init },
};

/* What a volume is, by the only member besides its name. */
static int
add_one(struct work *w, const json_t *volume, struct err *err)
{
	w->name = js_str_at(volume, "name");
	/* It becomes part of paths. */
	if (!name_ok(NAME_DNS1123_LABEL, w->name))
		return err_set(err, ERR_INVALID, "%s.name: '%.64s' is no name",
			       w->at, w->name);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		w->src = js_obj_at(volume, sources[i].kind);
		if (w->src == NULL)
			continue;
		(void)snprintf(w->where, sizeof(w->where), "%s.%s", w->at,
			       sources[i].kind);
		return sources[i].add(w, err);
	}
	return err_set(err, ERR_INVALID,
		       "%s: is of no kind that a pod can be given", w->at);
}

static int
add_kernel_boot(struct work *w, const json_t *vmi, struct err *err)
{
	w->src = js_obj_at(vmi, KERNEL_PATH);
	if (w->src == NULL)
		return 0;
	w->name = VOLUMES_KERNEL_BOOT;
	(void)snprintf(w->at, sizeof(w->at), "%s", KERNEL_PATH);
	(void)snprintf(w->where, sizeof(w->where), "%s", KERNEL_PATH);
	return add_image(w, VOLUMES_KERNEL_DIR, err);
}

int
volumes_render(const json_t *vmi, const struct render_env *env,
	       const json_t *references, struct volumes *ret_volumes,
	       struct err *err)
{
	const json_t *volumes = js_arr_at(vmi, "spec.volumes");
	AUTO(js_unref) json_t *names = json_object();
	struct work w = {
		.env = env,
		.references = references,
		.out = ret_volumes,
		.names = names,
	};
	json_t *volume;
	size_t i;

	*ret_volumes = (struct volumes){
		.volumes = json_array(),
		.mounts = json_array(),
		.devices = json_array(),
		.pull_secrets = json_array(),
	};
	if (json_array_size(volumes) > VMI_VOLUMES_MAX)
		return err_set(err, ERR_INVALID,
			       "spec.volumes: there are more than %d",
			       VMI_VOLUMES_MAX);
	if (add_directories(&w,
			    js_at(vmi, "spec.domain.memory.hugepages") != NULL,
			    err) == -1)
		return -1;
	json_array_foreach(volumes, i, volume)
	{
		(void)snprintf(w.at, sizeof(w.at), "spec.volumes[%zu]", i);
		if (add_one(&w, volume, err) == -1)
			return -1;
	}
	return add_kernel_boot(&w, vmi, err);
}

#define DIGEST_PREFIX "sha256:"
#define DIGEST_LEN (sizeof(DIGEST_PREFIX) - 1 + 64)

/* The digest in "NAME@sha256:..." or "sha256:..."; NULL when there is none. */
static const char *
find_digest(const char *text)
{
	const char *digest = strstr(text, DIGEST_PREFIX);

	if (digest == NULL || strlen(digest) != DIGEST_LEN)
		return NULL;
	for (const char *p = digest + sizeof(DIGEST_PREFIX) - 1; *p != '\0';
	     p++) {
		if (str_hex_digit(*p) == -1)
			return NULL;
	}
	return digest;
}

/* The image without its tag and digest, but with this one; to be freed. */
static char *
pin(const char *image, const char *digest)
{
	size_t len = strcspn(image, "@");
	const char *slash = memrchr(image, '/', len);
	size_t start = slash == NULL ? 0 : (size_t)(slash - image);
	const char *colon = memchr(image + start, ':', len - start);

	if (colon != NULL)
		len = (size_t)(colon - image);
	return xasprintf("%.*s@%s", (int)len, image, digest);
}

/* What the kubelet says it mounted, or what it was told exactly. */
static const char *
used_digest(const json_t *pod, const char *volume, const char *image)
{
	const json_t *compute =
		js_find(js_arr_at(pod, "status.containerStatuses"), "name",
			RENDER_COMPUTE);
	const json_t *mount =
		js_find(js_arr_at(compute, "volumeMounts"), "name", volume);
	const json_t *told =
		js_find(js_arr_at(pod, "spec.volumes"), "name", volume);
	const char *digest =
		find_digest(js_str_at(mount, "volumeStatus.image.imageRef"));

	if (digest == NULL)
		digest = find_digest(js_str_at(told, "image.reference"));
	return digest == NULL ? find_digest(image) : digest;
}

static int
add_reference(json_t *references, const json_t *pod, const char *volume,
	      const char *image, struct err *err)
{
	const char *digest = used_digest(pod, volume, image);
	AUTO(free_ptr) char *reference = NULL;

	if (digest == NULL) {
		return err_set(err, ERR_CONFLICT,
			       "can not proceed with the migration when no "
			       "reproducible image digest can be detected: "
			       "the source pod does not say which image volume "
			       "'%.64s' has",
			       volume);
	}
	reference = pin(image, digest);
	json_object_set_new(references, volume, json_string(reference));
	return 0;
}

json_t *
volumes_references(const json_t *vmi, const json_t *pod, struct err *err)
{
	AUTO(js_unref) json_t *references = json_object();
	const json_t *kernel = js_obj_at(vmi, KERNEL_PATH);
	json_t *volume;
	size_t i;

	json_array_foreach(js_arr_at(vmi, "spec.volumes"), i, volume)
	{
		const json_t *disk = js_obj_at(volume, "containerDisk");

		if (disk != NULL &&
		    add_reference(references, pod, js_str_at(volume, "name"),
				  js_str_at(disk, "image"), err) == -1)
			return NULL;
	}
	if (kernel != NULL &&
	    add_reference(references, pod, VOLUMES_KERNEL_BOOT,
			  js_str_at(kernel, "image"), err) == -1)
		return NULL;
	return TAKE_PTR(references);
}
