/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "kubelet/runspace.h"

#define PERIOD_US 100000
#define FILE_MAX 65536

static const char *const v1_names[CGROUPS_CONTROLLER_COUNT] = {
	[CGROUPS_CPU] = "cpu",
	[CGROUPS_MEMORY] = "memory",
	[CGROUPS_PIDS] = "pids",
	[CGROUPS_DEVICES] = "devices",
};

static int
open_type(const char *path, long type)
{
	AUTO(close_fd) int fd = -1;
	struct statfs fs;

	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fstatfs(fd, &fs) == -1 || fs.f_type != type)
		return -1;
	return TAKE_FD(fd);
}

void
cgroups_open(struct cgroups *cgroups)
{
	char path[64];

	cgroups->v2 = open_type(RUNSPACE_CGROUPS, CGROUP2_SUPER_MAGIC);
	cgroups->unified = cgroups->v2 != -1;
	if (cgroups->v2 == -1)
		cgroups->v2 = open_type(RUNSPACE_CGROUPS "/unified",
					CGROUP2_SUPER_MAGIC);
	for (size_t i = 0; i < CGROUPS_CONTROLLER_COUNT; i++) {
		(void)snprintf(path, sizeof(path), RUNSPACE_CGROUPS "/%s",
			       v1_names[i]);
		cgroups->v1[i] = open_type(path, CGROUP_SUPER_MAGIC);
	}
}

void
cgroups_close(struct cgroups *cgroups)
{
	close_fd(&cgroups->v2);
	for (size_t i = 0; i < CGROUPS_CONTROLLER_COUNT; i++)
		close_fd(&cgroups->v1[i]);
}

/* Opens the group below a hierarchy, making what is missing if asked to. */
static int
open_group(int root, const char *path, bool make, int *ret_fd, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(path);
	AUTO(close_fd) int at = -1;
	char *save = NULL;

	at = dup(root);
	for (char *part = strtok_r(copy, "/", &save); part != NULL;
	     part = strtok_r(NULL, "/", &save)) {
		int next;

		if (make && mkdirat(at, part, 0755) == -1 && errno != EEXIST)
			return err_errno(err, "cannot make the cgroup '%s'",
					 path);
		if (path_open_at(at, part, O_PATH | O_DIRECTORY, 0, &next,
				 err) == -1)
			return -1;
		close_fd(&at);
		at = next;
	}
	*ret_fd = TAKE_FD(at);
	return 0;
}

static int
write_value(int group, const char *file, const char *value, struct err *err)
{
	AUTO(close_fd) int fd = -1;

	if (path_open_at(group, file, O_WRONLY, 0, &fd, err) == -1)
		return -1;
	if (write(fd, value, strlen(value)) == -1)
		return err_errno(err, "cannot write '%s' to '%s'", value, file);
	return 0;
}

static int
write_number(int group, const char *file, uint64_t value, struct err *err)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return write_value(group, file, text, err);
}

static int
limit_cpu(int group, const struct cgroups_limits *limits, struct err *err)
{
	if (limits->cpu_shares > 0 &&
	    write_number(group, "cpu.shares", limits->cpu_shares, err) == -1)
		return -1;
	if (limits->cpu_milli == 0)
		return 0;
	if (write_number(group, "cpu.cfs_period_us", PERIOD_US, err) == -1)
		return -1;
	return write_number(group, "cpu.cfs_quota_us",
			    limits->cpu_milli * (PERIOD_US / 1000), err);
}

static int
limit_memory(int group, const struct cgroups_limits *limits, struct err *err)
{
	if (limits->memory_bytes == 0)
		return 0;
	return write_number(group, "memory.limit_in_bytes",
			    limits->memory_bytes, err);
}

static int
limit_pids(int group, const struct cgroups_limits *limits, struct err *err)
{
	if (limits->pids == 0)
		return 0;
	return write_number(group, "pids.max", limits->pids, err);
}

static int
limit_devices(int group, const struct cgroups_limits *limits, struct err *err)
{
	if (limits->device == NULL)
		return 0;
	if (write_value(group, "devices.deny", "a", err) == -1)
		return -1;
	for (size_t i = 0; i < limits->device_count; i++) {
		if (write_value(group, "devices.allow", limits->device[i],
				err) == -1)
			return -1;
	}
	return 0;
}

static int (*const limiters[CGROUPS_CONTROLLER_COUNT])(
	int, const struct cgroups_limits *, struct err *) = {
	[CGROUPS_CPU] = limit_cpu,
	[CGROUPS_MEMORY] = limit_memory,
	[CGROUPS_PIDS] = limit_pids,
	[CGROUPS_DEVICES] = limit_devices,
};

int
cgroups_place(const struct cgroups *cgroups, const char *path,
	      const struct cgroups_limits *limits, pid_t pid, struct err *err)
{
	for (size_t i = 0; i < CGROUPS_CONTROLLER_COUNT; i++) {
		AUTO(close_fd) int group = -1;

		if (cgroups->v1[i] == -1)
			continue;
		if (open_group(cgroups->v1[i], path, true, &group, err) == -1 ||
		    limiters[i](group, limits, err) == -1 ||
		    write_number(group, "cgroup.procs", (uint64_t)pid, err) ==
			    -1)
			return err_prefix(err, "cgroup %s:%s", v1_names[i],
					  path);
	}
	return 0;
}

/* The number behind "name " at the start of a line of a file; 0: not there. */
static uint64_t
read_counter(int group, const char *file, const char *name)
{
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *text = NULL;
	struct err err;
	size_t len;

	if (path_open_at(group, file, O_RDONLY, 0, &fd, &err) == -1 ||
	    path_read_fd(fd, file, FILE_MAX, &text, &len, &err) == -1)
		return 0;
	for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (str_has_prefix(at, name) && at[strlen(name)] == ' ')
			return strtoull(at + strlen(name) + 1, NULL, 10);
		if (*at == '\0')
			break;
	}
	return 0;
}

uint64_t
cgroups_oom_kills(const struct cgroups *cgroups, const char *path)
{
	AUTO(close_fd) int group = -1;
	struct err err;
	bool v1 = cgroups->v1[CGROUPS_MEMORY] != -1;

	if (open_group(v1 ? cgroups->v1[CGROUPS_MEMORY] : cgroups->v2, path,
		       false, &group, &err) == -1)
		return 0;
	return read_counter(group, v1 ? "memory.oom_control" : "memory.events",
			    "oom_kill");
}

void
cgroups_kill(const struct cgroups *cgroups, const char *path)
{
	AUTO(close_fd) int group = -1;
	struct err err;

	if (cgroups->v2 == -1 ||
	    open_group(cgroups->v2, path, false, &group, &err) == -1)
		return;
	(void)write_value(group, "cgroup.kill", "1", &err);
}

/* Removes what is below the group, deepest first. */
static void
remove_below(int group)
{
	char path[64];
	char *const paths[] = { path, NULL };
	const FTSENT *entry;
	FTS *tree;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", group);
	tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			NULL);
	if (tree == NULL)
		return;
	while ((entry = fts_read(tree)) != NULL) {
		if (entry->fts_info == FTS_DP &&
		    entry->fts_level > FTS_ROOTLEVEL)
			(void)rmdir(entry->fts_path);
	}
	(void)fts_close(tree);
}

static bool
remove_group(int root, const char *path)
{
	AUTO(free_ptr) char *dir = NULL;
	AUTO(close_fd) int parent = -1;
	AUTO(close_fd) int group = -1;
	const char *name;
	struct err err;

	if (root == -1 || path_split(path, &dir, &name, &err) == -1 ||
	    open_group(root, dir, false, &parent, &err) == -1 ||
	    path_open_at(parent, name, O_PATH | O_DIRECTORY, 0, &group, &err) ==
		    -1)
		return true;
	remove_below(group);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

bool
cgroups_remove(const struct cgroups *cgroups, const char *path)
{
	bool done = remove_group(cgroups->v2, path);

	for (size_t i = 0; i < CGROUPS_CONTROLLER_COUNT; i++)
		done = remove_group(cgroups->v1[i], path) && done;
	return done;
}
