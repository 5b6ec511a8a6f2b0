/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/libvirtd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/random.h"
#include "launcher/children.h"
#include "launcher/files.h"
#include "launcher/owed.h"

#define SOCKET "/var/run/libvirt/libvirt-sock"
#define PID_FILE "/run/libvirt/libvirtd.pid"
#define QEMU_DRIVER "libvirt_driver_qemu.so"
#define PAUSE_FIRST_US 100000U
#define PAUSE_MAX_US 5000000U
#define STEADY_MS 30000U /* lived that long: the next pause is short */

static const char libvirtd_conf[] = "auth_unix_ro = \"none\"\n"
				    "auth_unix_rw = \"none\"\n"
				    "unix_sock_rw_perms = \"0700\"\n"
				    "listen_tls = 0\n"
				    "listen_tcp = 0\n"
				    "log_level = 3\n"
				    "log_outputs = \"3:stderr\"\n"
				    "host_uuid = \"%s\"\n";

/* The pod is the container: no second one, no other user, no cgroups. */
static const char qemu_conf[] = "security_driver = \"none\"\n"
				"security_default_confined = 0\n"
				"dynamic_ownership = 0\n"
				"remember_owner = 0\n"
				"cgroup_controllers = [ ]\n"
				"namespaces = [ ]\n"
				"stdio_handler = \"file\"\n"
				"clear_emulator_capabilities = 0\n"
				"max_core = 0\n";
static const char qemu_conf_root[] = "user = \"root\"\n"
				     "group = \"root\"\n";

struct libvirtd {
	struct libvirtd_config config;
	struct loop_timer *timer;
	struct owed *owed; /* what is waited for before the next start */
	pid_t pid;         /* 0: not running */
	uint64_t started_ms;
	uint64_t pause_us;
	bool stopping;
};

const char *
libvirtd_uri(bool nonroot)
{
	return nonroot ? "qemu+unix:///session?socket=" SOCKET
		       : "qemu+unix:///system?socket=" SOCKET;
}

char *
libvirtd_peer_uri(bool nonroot, const char *socket)
{
	return xasprintf("qemu+unix:///%s?socket=%s",
			 nonroot ? "session" : "system", socket);
}

char *
libvirtd_pid_file(bool nonroot, const char *domain)
{
	return xasprintf("/var/run/libvirt/qemu/%s%s.pid",
			 nonroot ? "run/" : "", domain);
}

char *
libvirtd_cache_dir(bool nonroot, const char *private_dir)
{
	if (!nonroot)
		return xstrdup("/var/cache/libvirt/qemu/capabilities");
	return xasprintf("%s/libvirt/cache/libvirt/qemu/cache/capabilities",
			 private_dir);
}

static int
write_file(const char *dir, const char *name, const char *text, struct err *err)
{
	AUTO(close_fd) int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir_fd == -1)
		return err_errno(err, "cannot open '%s'", dir);
	return path_write_file_at(dir_fd, name, text, strlen(text), 0600, err);
}

/* A random one, of version 4. */
static void
make_uuid(char text[37])
{
	uint8_t b[16];

	random_bytes(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	(void)snprintf(text, 37,
		       "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		       "%02x%02x%02x%02x%02x%02x",
		       b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8],
		       b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static int
configure(const struct libvirtd_config *config, struct err *err)
{
	AUTO(free_ptr)
	char *dir = config->nonroot ? xasprintf("%s/libvirt/config/libvirt",
						config->private_dir)
				    : xstrdup("/etc/libvirt");
	AUTO(free_ptr)
	char *qemu = xasprintf("%s%s", qemu_conf,
			       config->nonroot ? "" : qemu_conf_root);
	AUTO(free_ptr) char *daemon = NULL;
	char uuid[37];

	make_uuid(uuid);
	daemon = xasprintf(libvirtd_conf, uuid);
	if (files_make_dir(dir, err) == -1 ||
	    write_file(dir, "libvirtd.conf", daemon, err) == -1)
		return -1;
	return write_file(dir, "qemu.conf", qemu, err);
}

/*
 * Of libvirt's drivers only the one for QEMU. The others look at all devices
 * and networks as libvirtd starts, just when a machine is to arrive. Where
 * libvirt keeps its drivers elsewhere, it takes them all.
 */
static int
choose_drivers(const struct libvirtd_config *config, struct err *err)
{
	AUTO(free_ptr)
	char *dir = xasprintf("%s/libvirt/drivers", config->private_dir);
	AUTO(free_ptr) char *path = xasprintf("%s/" QEMU_DRIVER, dir);

	if (access(LIBVIRT_DRIVERS "/" QEMU_DRIVER, R_OK) == -1) {
		log_info(NULL, "no '%s': libvirtd loads all of its drivers",
			 LIBVIRT_DRIVERS "/" QEMU_DRIVER);
		return 0;
	}
	if (files_make_dir(dir, err) == -1)
		return -1;
	if (symlink(LIBVIRT_DRIVERS "/" QEMU_DRIVER, path) == -1 &&
	    errno != EEXIST)
		return err_errno(err, "cannot make '%s'", path);
	(void)setenv("LIBVIRT_DRIVER_DIR", dir, 1);
	return 0;
}

/* Without root everything that libvirt keeps is below HOME. */
static int
set_environment(const struct libvirtd_config *config, struct err *err)
{
	static const char *const dirs[][2] = {
		{ "XDG_CONFIG_HOME", "config" },
		{ "XDG_CACHE_HOME", "cache" },
		{ "XDG_DATA_HOME", "data" },
	};

	if (!config->nonroot)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		AUTO(free_ptr)
		char *path = xasprintf("%s/libvirt/%s", config->private_dir,
				       dirs[i][1]);

		if (files_make_dir(path, err) == -1)
			return -1;
		(void)setenv(dirs[i][0], path, 1);
	}
	(void)setenv("HOME", config->private_dir, 1);
	(void)setenv("XDG_RUNTIME_DIR", "/var/run", 1);
	return 0;
}

/* What cannot be copied costs time only. */
static int
seed(const struct libvirtd_config *config, struct err *err)
{
	AUTO(free_ptr)
	char *cache = libvirtd_cache_dir(config->nonroot, config->private_dir);

	return files_copy_dir(config->seed_dir, cache, err);
}

static void ended(void *arg, int status);

static int
spawn(struct libvirtd *libvirtd, struct err *err)
{
	/* The one of the host, if there is one, has its file in /run. */
	static const char *const as_root[] = { "libvirtd", "--pid-file",
					       PID_FILE, NULL };
	static const char *const as_user[] = { "libvirtd", NULL };
	const char *const *argv = libvirtd->config.nonroot ? as_user : as_root;

	if (children_start(libvirtd->config.children, argv, ended, libvirtd,
			   &libvirtd->pid, err) == -1)
		return -1;
	libvirtd->started_ms = loop_now_ms();
	log_info(NULL, "started libvirtd, process %d", libvirtd->pid);
	return 0;
}

/* Where libvirt lets QEMU listen; a pod has one domain. */
static char *
monitor_pattern(const struct libvirtd_config *config)
{
	if (!config->nonroot)
		return xstrdup("/var/lib/libvirt/qemu/domain-*/monitor.sock");
	return xasprintf("%s/libvirt/config/libvirt/qemu/lib/domain-*/"
			 "monitor.sock",
			 config->private_dir);
}

static void
spawn_again(void *arg)
{
	struct libvirtd *libvirtd = arg;
	struct err err;

	owed_free(libvirtd->owed);
	libvirtd->owed = NULL;
	if (spawn(libvirtd, &err) == 0)
		return;
	log_error(NULL, "%s", err.text);
	loop_timer_start(libvirtd->timer, PAUSE_MAX_US);
}

static void
again(void *arg)
{
	struct libvirtd *libvirtd = arg;
	AUTO(free_ptr) char *pattern = monitor_pattern(&libvirtd->config);

	libvirtd->owed = owed_new(libvirtd->config.loop, pattern,
				  LIBVIRTD_OWED_MS, spawn_again, libvirtd);
	if (libvirtd->owed == NULL)
		spawn_again(libvirtd);
}

static void
ended(void *arg, int status)
{
	struct libvirtd *libvirtd = arg;

	libvirtd->pid = 0;
	if (libvirtd->stopping) {
		loop_timer_free(libvirtd->timer);
		free(libvirtd);
		return;
	}
	if (loop_now_ms() - libvirtd->started_ms > STEADY_MS)
		libvirtd->pause_us = PAUSE_FIRST_US;
	log_warning(NULL,
		    "libvirtd ended with status %d, starting it again in "
		    "%lu ms",
		    status, (unsigned long)libvirtd->pause_us / 1000);
	loop_timer_start(libvirtd->timer, libvirtd->pause_us);
	libvirtd->pause_us *= 2;
	if (libvirtd->pause_us > PAUSE_MAX_US)
		libvirtd->pause_us = PAUSE_MAX_US;
}

int
libvirtd_start(const struct libvirtd_config *config,
	       struct libvirtd **ret_libvirtd, struct err *err)
{
	struct libvirtd *libvirtd;

	if (set_environment(config, err) == -1 ||
	    choose_drivers(config, err) == -1 || configure(config, err) == -1)
		return -1;
	if (seed(config, err) == -1)
		log_info(NULL,
			 "libvirtd has to find out about QEMU by itself: %s",
			 err->text);
	libvirtd = xmalloc0(sizeof(*libvirtd));
	libvirtd->config = *config;
	libvirtd->pause_us = PAUSE_FIRST_US;
	if (spawn(libvirtd, err) == -1) {
		free(libvirtd);
		return -1;
	}
	libvirtd->timer = loop_timer_new(config->loop, again, libvirtd);
	*ret_libvirtd = libvirtd;
	return 0;
}

/* Freed when its end is seen: until then it is somebody's child. */
void
libvirtd_stop(struct libvirtd *libvirtd)
{
	if (libvirtd == NULL)
		return;
	libvirtd->stopping = true;
	loop_timer_stop(libvirtd->timer);
	owed_free(libvirtd->owed);
	libvirtd->owed = NULL;
	if (libvirtd->pid > 0) {
		(void)kill(libvirtd->pid, SIGTERM);
		return;
	}
	loop_timer_free(libvirtd->timer);
	free(libvirtd);
}
