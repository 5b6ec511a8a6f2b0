/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/container.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "kubelet/dirs.h"
#include "kubelet/monitor.h"
#include "meta/time.h"

#define ATTEMPT_MAX 1000000

void
container_done(struct container *container)
{
	free(container->name);
	free(container->image_ref);
	js_unref(&container->volumes);
	*container = (struct container){ 0 };
}

char *
container_dir(const char *pod_dir, const char *name, unsigned attempt)
{
	return xasprintf("%s/containers/%s/%u", pod_dir, name, attempt);
}

char *
container_id(const char *uid, const char *name, unsigned attempt)
{
	return xasprintf("%s-%s-%u", uid, name, attempt);
}

/* The highest number among the names in a directory; -1: there is none. */
static long
last_attempt(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	long last = -1;

	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		char *end;
		long n;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		n = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && n <= ATTEMPT_MAX && n > last)
			last = n;
	}
	(void)closedir(dir);
	return last;
}

static json_t *
read_json(int dir_fd, const char *name, size_t max)
{
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *text = NULL;
	struct err ignored;
	size_t len;

	if (path_open_at(dir_fd, name, O_RDONLY, 0, &fd, &ignored) == -1 ||
	    path_read_fd(fd, name, max, &text, &len, &ignored) == -1)
		return NULL;
	return js_parse(text, len, &ignored);
}

static bool
is_locked(int dir_fd)
{
	AUTO(close_fd) int fd = -1;
	struct err ignored;

	if (path_open_at(dir_fd, MONITOR_LOCK, O_RDWR, 0, &fd, &ignored) == -1)
		return false;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return false;
	return errno == EWOULDBLOCK;
}

static void
read_run(const json_t *state, struct container_run *run)
{
	*run = (struct container_run){
		.exit_code = (int)js_int_at(state, "exitCode", 0),
		.signal = (int)js_int_at(state, "signal", 0),
		.started_us = js_int_at(state, "startedAt", 0),
		.finished_us = js_int_at(state, "finishedAt", 0),
	};
	(void)snprintf(run->reason, sizeof(run->reason), "%s",
		       js_str_at(state, "reason"));
	(void)snprintf(run->message, sizeof(run->message), "%s",
		       js_str_at(state, "message"));
}

static enum container_phase
read_phase(int dir_fd, struct container_run *run)
{
	bool locked = is_locked(dir_fd);
	AUTO(js_unref)
	json_t *state = read_json(dir_fd, MONITOR_STATE, MONITOR_STATE_MAX);

	*run = (struct container_run){ 0 };
	if (state == NULL)
		return locked ? CONTAINER_STARTING : CONTAINER_STALE;
	read_run(state, run);
	if (str_equal(js_str_at(state, "phase"), "exited"))
		return CONTAINER_EXITED;
	if (locked)
		return CONTAINER_RUNNING;
	/* It may have ended between the two looks. */
	js_unref(&state);
	state = read_json(dir_fd, MONITOR_STATE, MONITOR_STATE_MAX);
	if (!str_equal(js_str_at(state, "phase"), "exited"))
		return CONTAINER_LOST;
	read_run(state, run);
	return CONTAINER_EXITED;
}

static void
load_images(struct container *c, int dir_fd)
{
	AUTO(js_unref)
	json_t *config = read_json(dir_fd, MONITOR_CONFIG, MONITOR_CONFIG_MAX);

	if (config == NULL || c->loaded == c->attempt + 1)
		return;
	free(c->image_ref);
	js_unref(&c->volumes);
	c->image_ref = xstrdup(js_str_at(config, "imageRef"));
	c->volumes = json_incref(js_obj_at(config, "imageVolumes"));
	c->loaded = c->attempt + 1;
}

static void
look_before(struct container *c, const char *pod_dir)
{
	AUTO(free_ptr) char *path = NULL;
	AUTO(close_fd) int dir_fd = -1;
	struct err ignored;

	c->has_before = false;
	if (c->attempt == 0)
		return;
	path = container_dir(pod_dir, c->name, c->attempt - 1);
	c->has_before = path_open_dir(path, &dir_fd, &ignored) == 0 &&
			read_phase(dir_fd, &c->before) == CONTAINER_EXITED;
}

void
container_look(struct container *c, const char *pod_dir)
{
	AUTO(free_ptr)
	char *all = xasprintf("%s/containers/%s", pod_dir, c->name);
	AUTO(free_ptr) char *path = NULL;
	AUTO(close_fd) int dir_fd = -1;
	long last = last_attempt(all);
	struct err ignored;

	c->phase = CONTAINER_NONE;
	c->attempt = 0;
	c->has_before = false;
	if (last < 0)
		return;
	c->attempt = (unsigned)last;
	path = container_dir(pod_dir, c->name, c->attempt);
	if (path_open_dir(path, &dir_fd, &ignored) == -1)
		return;
	c->phase = read_phase(dir_fd, &c->now);
	load_images(c, dir_fd);
	look_before(c, pod_dir);
}

static int
write_json(int dir_fd, const char *name, const json_t *value, struct err *err)
{
	AUTO(free_ptr) char *text = js_text(value);

	return path_write_file_at(dir_fd, name, text, strlen(text), 0600, err);
}

int
container_write(const char *pod_dir, const char *name, unsigned attempt,
		const json_t *config, const json_t *monitor, struct err *err)
{
	AUTO(free_ptr) char *top = xasprintf("%s/containers", pod_dir);
	AUTO(free_ptr) char *all = xasprintf("%s/%s", top, name);
	AUTO(free_ptr) char *path = container_dir(pod_dir, name, attempt);
	AUTO(close_fd) int dir_fd = -1;

	if (dirs_make(top, 0700, err) == -1 ||
	    dirs_make(all, 0700, err) == -1 ||
	    dirs_make(path, 0700, err) == -1 ||
	    path_open_dir(path, &dir_fd, err) == -1 ||
	    write_json(dir_fd, "config.json", config, err) == -1)
		return -1;
	return write_json(dir_fd, MONITOR_CONFIG, monitor, err);
}

int
container_lock(const char *pod_dir, const struct container *c, int *ret_fd,
	       struct err *err)
{
	AUTO(free_ptr) char *path = container_dir(pod_dir, c->name, c->attempt);
	AUTO(close_fd) int dir_fd = -1;
	AUTO(close_fd) int fd = -1;

	if (path_open_dir(path, &dir_fd, err) == -1 ||
	    path_open_at(dir_fd, MONITOR_LOCK, O_RDWR | O_CREAT, 0600, &fd,
			 err) == -1)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == -1)
		return err_set(err, ERR_UNAVAILABLE, "'%s' has a monitor",
			       path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int
container_write_lost(const char *pod_dir, const struct container *c,
		     struct err *err)
{
	AUTO(free_ptr) char *path = container_dir(pod_dir, c->name, c->attempt);
	AUTO(close_fd) int dir_fd = -1;
	AUTO(js_unref)
	json_t *state = json_pack(
		"{s:s, s:I, s:I, s:i, s:i, s:s, s:s}", "phase", "exited",
		"startedAt", (json_int_t)c->now.started_us, "finishedAt",
		(json_int_t)time_now_us(), "exitCode", 128 + SIGKILL, "signal",
		SIGKILL, "reason", "ContainerStatusUnknown", "message",
		"The container was lost, and its exit code with it");

	if (path_open_dir(path, &dir_fd, err) == -1)
		return -1;
	return write_json(dir_fd, MONITOR_STATE, state, err);
}
