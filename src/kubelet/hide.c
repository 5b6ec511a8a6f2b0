/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/hide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubelet/settings.h"

#define OPAQUE "trusted.overlay.opaque"
#define MODE_BITS 07777

/* Keys, passwords and other people's data, and nothing that a program needs to
 * run. */
static const char *const usual[] = {
	"/root",
	"/home",
	"/srv",
	"/etc/shadow",
	"/etc/shadow-",
	"/etc/gshadow",
	"/etc/gshadow-",
	"/etc/security/opasswd",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/ssh",
	"/etc/ssl/private",
	"/etc/krb5.keytab",
	"/etc/wireguard",
	"/etc/netplan",
	"/etc/NetworkManager",
	"/etc/wpa_supplicant",
	"/etc/ferry",
	"/etc/kubernetes",
	"/etc/rancher",
	"/etc/cni",
	"/var/backups",
	"/var/crash",
	"/var/log",
	"/var/mail",
	"/var/spool",
	"/var/lib/containerd",
	"/var/lib/containers",
	"/var/lib/docker",
	"/var/lib/etcd",
	"/var/lib/ferry",
	"/var/lib/kubelet",
	"/var/lib/rancher",
	"/var/lib/systemd",
};

static void
add(json_t *list, const char *path)
{
	AUTO(free_ptr) char *real = NULL;

	if (path == NULL || path[0] == '\0')
		return;
	/* Helpers have another working directory. */
	if (path[0] != '/') {
		real = realpath(path, NULL);
		if (real == NULL)
			return;
		path = real;
	}
	(void)json_array_append_new(list, json_string(path));
}

json_t *
hide_list(const struct settings *s)
{
	/* Other pods' volumes and secrets, and the node's own. */
	const char *const own[] = { s->root_dir,   s->run_dir,
				    s->image_dir,  s->local_dir,
				    s->shared_dir, s->cni_conf_dir,
				    s->tls_key,    s->kube.kubeconfig };
	json_t *list = json_array();

	/* Those that others are likely to be in come first: below something
	 * that is covered not even a name is left. */
	for (size_t i = 0; i < s->hidden.count; i++)
		add(list, s->hidden.value[i]);
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		add(list, usual[i]);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		add(list, own[i]);
	return list;
}

/*
 * What there is of a path, without links: all of it, or up to and with the
 * first name that is missing.
 */
static int
resolve(const char *path, char **ret_real, struct err *err)
{
	AUTO(free_ptr) char *begin = xstrdup(path);
	AUTO(free_ptr) char *missing = NULL;
	char *real;

	while ((real = realpath(begin, NULL)) == NULL) {
		char *slash = strrchr(begin, '/');

		if ((errno != ENOENT && errno != ENOTDIR) || slash == NULL)
			return err_errno(err, "cannot resolve '%s'", path);
		free(missing);
		missing = xstrdup(slash + 1);
		slash[slash == begin ? 1 : 0] = '\0';
	}
	*ret_real =
		missing == NULL
			? real
			: xasprintf("%s/%s", str_equal(real, "/") ? "" : real,
				    missing);
	if (missing != NULL)
		free(real);
	return 0;
}

static bool
is_covered(const char *at)
{
	struct stat st;

	return lstat(at, &st) == 0 &&
	       (S_ISCHR(st.st_mode) || lgetxattr(at, OPAQUE, NULL, 0) > 0);
}

/* A directory as the node has it: the overlay shows the upper one's owner and
 * mode. */
static int
make_dir(const char *at, const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) == -1)
		return err_errno(err, "cannot look at '%s'", path);
	if (mkdir(at, 0700) == -1)
		return errno == EEXIST ? 0
				       : err_errno(err, "cannot make '%s'", at);
	if (chown(at, st.st_uid, st.st_gid) == -1 ||
	    chmod(at, st.st_mode & MODE_BITS) == -1)
		return err_errno(err, "cannot make '%s'", at);
	return 0;
}

/* 1: something above is covered already. */
static int
make_parents(const char *upper, const char *path, struct err *err)
{
	AUTO(free_ptr) char *part = xstrdup(path);

	for (char *slash = strchr(part + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		AUTO(free_ptr) char *at = NULL;

		*slash = '\0';
		at = xasprintf("%s%s", upper, part);
		if (is_covered(at))
			return 1;
		if (make_dir(at, part, err) == -1)
			return -1;
		*slash = '/';
	}
	return 0;
}

static int
cover(const char *upper, const char *path, struct err *err)
{
	AUTO(free_ptr) char *real = NULL;
	AUTO(free_ptr) char *at = NULL;
	struct stat st;
	int above;

	if (resolve(path, &real, err) == -1)
		return -1;
	if (str_equal(real, "/"))
		return err_set(err, ERR_INVALID, "cannot hide '%s'", path);
	above = make_parents(upper, real, err);
	if (above != 0)
		return above == 1 ? 0 : -1;
	at = xasprintf("%s%s", upper, real);
	if (is_covered(at))
		return 0;
	if (lstat(real, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (make_dir(at, real, err) == -1)
			return -1;
		if (lsetxattr(at, OPAQUE, "y", 1, 0) == -1)
			return err_errno(err, "cannot hide '%s'", real);
		return 0;
	}
	if (mknod(at, S_IFCHR, makedev(0, 0)) == -1)
		return err_errno(err, "cannot hide '%s'", real);
	return 0;
}

int
hide_cover(const char *upper, const json_t *paths, struct err *err)
{
	const json_t *path;
	size_t i;

	json_array_foreach(paths, i, path)
	{
		if (cover(upper, json_string_value(path), err) == -1)
			return -1;
	}
	return 0;
}
