/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/cloudinit.h"

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
#include "launcher/children.h"

#define DATA_MAX (1024UL * 1024)
#define ISO_TIMEOUT_MS 60000U
/* All times in the image: it must not depend on when it was made. */
#define EPOCH "SOURCE_DATE_EPOCH=946684800"
#define EPOCH_S 946684800

/* Names of a member: in the spec, and in a secret as people write them. */
static const struct {
	const char *plain, *base64, *secret, *dir;
	const char *keys[2];
} members[] = {
	[false] = { "userData",
		    "userDataBase64",
		    "secretRef",
		    "udata",
		    { "userdata", "userData" } },
	[true] = { "networkData",
		   "networkDataBase64",
		   "networkDataSecretRef",
		   "ndata",
		   { "networkdata", "networkData" } },
};

char *
cloudinit_meta_data(const json_t *vmi)
{
	const char *name = js_str_at(vmi, "metadata.name");
	const char *hostname = js_str_at(vmi, "spec.hostname");
	AUTO(free_ptr)
	char *id =
		xasprintf("%s.%s", name, js_str_at(vmi, "metadata.namespace"));
	AUTO(js_unref)
	json_t *data =
		json_pack("{s:s, s:s}", "instance-id", id, "local-hostname",
			  *hostname != '\0' ? hostname : name);

	return js_text_sorted(data, NULL);
}

static int
read_secret(const struct disk *disk, const struct disk_dirs *dirs, bool network,
	    char **ret_data, size_t *ret_len, struct err *err)
{
	for (size_t i = 0; i < 2; i++) {
		AUTO(free_ptr)
		char *path = xasprintf("%s/secret/%s/%s/%s", dirs->private,
				       disk->volume, members[network].dir,
				       members[network].keys[i]);

		if (path_read_file(path, DATA_MAX, ret_data, ret_len, err) == 0)
			return 0;
		if (err->kind != ERR_NOT_FOUND)
			return -1;
	}
	return err_set(err, ERR_NOT_FOUND, "its secret has no key '%s'",
		       members[network].keys[0]);
}

int
cloudinit_data(const struct disk *disk, const struct disk_dirs *dirs,
	       bool network, char **ret_data, size_t *ret_len, struct err *err)
{
	const char *plain = js_str_at(disk->source, members[network].plain);
	const char *coded = js_str_at(disk->source, members[network].base64);
	uint8_t *data;

	*ret_data = NULL;
	*ret_len = 0;
	if (*plain != '\0') {
		*ret_data = xstrdup(plain);
		*ret_len = strlen(plain);
		return 0;
	}
	if (*coded != '\0') {
		if (base64_decode(BASE64_STD, coded, strlen(coded), &data,
				  ret_len, err) == -1)
			return err_prefix(err, "%s", members[network].base64);
		*ret_data = (char *)data;
		return 0;
	}
	if (js_obj_at(disk->source, members[network].secret) != NULL)
		return read_secret(disk, dirs, network, ret_data, ret_len, err);
	return 0;
}

/* A file of the image, with the time that all of them have. */
static int
put_file(int dir_fd, const char *name, const char *data, size_t len,
	 struct err *err)
{
	const struct timespec times[2] = { { .tv_sec = EPOCH_S },
					   { .tv_sec = EPOCH_S } };

	if (path_write_file_at(dir_fd, name, data, len, 0600, err) == -1)
		return -1;
	if (utimensat(dir_fd, name, times, 0) == -1)
		return err_errno(err, "cannot set the time of '%s'", name);
	return 0;
}

static int
put_files(const json_t *vmi, const struct disk *disk,
	  const struct disk_dirs *dirs, int dir_fd, struct err *err)
{
	AUTO(free_ptr) char *meta = cloudinit_meta_data(vmi);
	AUTO(free_ptr) char *user = NULL;
	AUTO(free_ptr) char *network = NULL;
	size_t user_len, network_len;

	if (cloudinit_data(disk, dirs, false, &user, &user_len, err) == -1 ||
	    cloudinit_data(disk, dirs, true, &network, &network_len, err) == -1)
		return -1;
	/* A disk without user-data is none to cloud-init. */
	if (put_file(dir_fd, "user-data", user != NULL ? user : "", user_len,
		     err) == -1 ||
	    put_file(dir_fd, "meta-data", meta, strlen(meta), err) == -1)
		return -1;
	if (network == NULL)
		return 0;
	return put_file(dir_fd, "network-config", network, network_len, err);
}

static void
remove_files(int dir_fd, const char *dir)
{
	(void)unlinkat(dir_fd, "user-data", 0);
	(void)unlinkat(dir_fd, "meta-data", 0);
	(void)unlinkat(dir_fd, "network-config", 0);
	(void)rmdir(dir);
}

int
cloudinit_make(struct children *children, const json_t *vmi,
	       const struct disk *disk, const struct disk_dirs *dirs,
	       const char *path, struct err *err)
{
	AUTO(free_ptr) char *dir = xasprintf("%s.d", path);
	const char *argv[] = { "xorrisofs", "-quiet", "-o", path, "-V",
			       "cidata",    "-J",     "-r", dir,  NULL };
	const struct timespec times[2] = { { .tv_sec = EPOCH_S },
					   { .tv_sec = EPOCH_S } };
	AUTO(close_fd) int dir_fd = -1;
	int rc;

	(void)mkdir(dir, 0700);
	dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd == -1)
		return err_errno(err, "cannot make '%s'", dir);
	rc = put_files(vmi, disk, dirs, dir_fd, err);
	if (rc == 0) {
		(void)utimensat(AT_FDCWD, dir, times, 0);
		rc = children_run(children, argv, EPOCH, ISO_TIMEOUT_MS, err);
	}
	remove_files(dir_fd, dir);
	return rc;
}
