/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "ctl/layout.h"
#include "ctl/state.h"
#include "net/netns.h"

#define POLL_NS (50L * 1000 * 1000)
#define TAIL_BYTES 2000
#define PROC_FILE_MAX (256UL * 1024)
#define EXEC_FAILED 127

char *
spawn_log_path(const struct layout *layout, const char *name, unsigned node)
{
	if (node == 0)
		return layout_path(layout, "log/%s.log", name);
	return layout_path(layout, "log/%s-node%u.log", name, node);
}

char *
spawn_log_tail(const struct layout *layout, const char *name, unsigned node)
{
	AUTO(free_ptr) char *path = spawn_log_path(layout, name, node);
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[TAIL_BYTES + 1];
	struct stat st;
	ssize_t len;

	if (fd == -1 || fstat(fd, &st) == -1)
		return xstrdup("");
	len = pread(fd, text, TAIL_BYTES,
		    st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
	text[len > 0 ? len : 0] = '\0';
	return xstrdup(text);
}

/*
 * All programs of a node share a mount namespace, so that they see the same
 * mounts; it lives as long as one of them does.
 */
static int
open_mounts(const struct state *state, unsigned node, int *ret_fd,
	    struct err *err)
{
	char path[64];
	json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(state->json, "programs"), i, item)
	{
		pid_t pid = state_running(item);

		if (js_int_at(item, "node", 0) != (int64_t)node || pid == -1)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
		*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
		if (*ret_fd == -1)
			return err_errno(err, "cannot open '%s'", path);
		return 0;
	}
	*ret_fd = -1;
	return 0;
}

struct child {
	char **argv;
	const char *dir;
	int log_fd;
	int netns_fd; /* -1: this one's */
	int mounts_fd;
	bool own_mounts;
};

/* After fork: becomes the program, or writes why not to its log. */
static void
become(const struct child *c)
{
	sigset_t none;

	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if ((c->netns_fd != -1 && setns(c->netns_fd, CLONE_NEWNET) == -1) ||
	    (c->mounts_fd != -1 && setns(c->mounts_fd, CLONE_NEWNS) == -1) ||
	    (c->own_mounts &&
	     (unshare(CLONE_NEWNS) == -1 ||
	      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)) ||
	    setenv(SPAWN_ENV, c->dir, 1) == -1)
		dprintf(c->log_fd, "cannot enter the node: %m\n");
	else if (dup2(c->log_fd, STDOUT_FILENO) == -1 ||
		 dup2(c->log_fd, STDERR_FILENO) == -1)
		dprintf(c->log_fd, "cannot redirect the output: %m\n");
	else
		(void)execv(c->argv[0], c->argv);
	dprintf(c->log_fd, "cannot run '%s': %m\n", c->argv[0]);
	_exit(EXEC_FAILED);
}

static char **
make_argv(const json_t *argv)
{
	size_t count = json_array_size(argv);
	char **list = xcalloc(count + 1, sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = (char *)(uintptr_t)json_string_value(
			json_array_get(argv, i));
	return list;
}

static int
open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd != -1)
		(void)dup2(fd, STDIN_FILENO);
	return fd;
}

/* Twice, so that the program is nobody's child: who waits for it is init. */
static int
fork_twice(const struct child *child, pid_t *ret_pid, struct err *err)
{
	int pipe_fds[2];
	pid_t pid = -1, middle;

	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		return err_errno(err, "cannot make a pipe");
	middle = fork();
	if (middle == 0) {
		(void)open_null();
		pid = fork();
		if (pid == 0)
			become(child);
		_exit(write(pipe_fds[1], &pid, sizeof(pid)) !=
		      (ssize_t)sizeof(pid));
	}
	(void)close(pipe_fds[1]);
	if (middle == -1 ||
	    read(pipe_fds[0], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		pid = -1;
	(void)close(pipe_fds[0]);
	if (middle != -1)
		(void)waitpid(middle, NULL, 0);
	if (pid == -1)
		return err_set(err, ERR_LIMIT, "cannot start a process");
	*ret_pid = pid;
	return 0;
}

int
spawn_start(struct state *state, const struct spawn_spec *spec, struct err *err)
{
	AUTO(free_ptr)
	char *log = spawn_log_path(&state->layout, spec->name, spec->node);
	AUTO(free_ptr) char **argv = make_argv(spec->argv);
	AUTO(close_fd) int log_fd = -1;
	AUTO(close_fd) int netns_fd = -1;
	AUTO(close_fd) int mounts_fd = -1;
	char netns[LAYOUT_TEXT_SIZE];
	struct child child = { .argv = argv, .dir = state->layout.dir };
	pid_t pid = -1;

	log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log_fd == -1)
		return err_errno(err, "cannot write '%s'", log);
	if (spec->node != 0 &&
	    (netns_open(layout_netns(&state->layout, spec->node, netns),
			&netns_fd, err) == -1 ||
	     open_mounts(state, spec->node, &mounts_fd, err) == -1))
		return -1;
	child.log_fd = log_fd;
	child.netns_fd = netns_fd;
	child.mounts_fd = mounts_fd;
	child.own_mounts = spec->node != 0 && mounts_fd == -1;
	if (fork_twice(&child, &pid, err) == -1)
		return -1;
	state_set_program(state, spec->name, spec->node, pid,
			  json_deep_copy(spec->argv));
	return state_save(state, err);
}

static void
pause_shortly(void)
{
	struct timespec pause = { .tv_nsec = POLL_NS };

	(void)nanosleep(&pause, NULL);
}

int
spawn_stop(struct state *state, const char *name, unsigned node,
	   struct err *err)
{
	json_t *program = state_program(state, name, node);
	uint64_t killing = loop_now_ms() + SPAWN_STOP_MS;
	pid_t pid = -1;

	if (program == NULL)
		return err_set(err, ERR_NOT_FOUND, "there is no %s", name);
	pid = state_running(program);
	if (pid != -1)
		(void)kill(pid, SIGTERM);
	while ((pid = state_running(program)) != -1) {
		if (loop_now_ms() > killing)
			(void)kill(pid, SIGKILL);
		if (loop_now_ms() > killing + SPAWN_STOP_MS)
			return err_set(err, ERR_TIMEOUT,
				       "%s (pid %d) does not end", name,
				       (int)pid);
		pause_shortly();
	}
	return 0;
}

/* Whether a file of a process has a text; hidden zeroes count as ends. */
static bool
proc_has(pid_t pid, const char *file, const char *text)
{
	char path[64];
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *data = xmalloc0(PROC_FILE_MAX + 1);
	ssize_t len, total = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	while ((size_t)total < PROC_FILE_MAX &&
	       (len = read(fd, data + total, PROC_FILE_MAX - (size_t)total)) >
		       0)
		total += len;
	return memmem(data, (size_t)total + 1, text, strlen(text) + 1) != NULL;
}

static bool
in_pod(const struct layout *layout, pid_t pid)
{
	char path[64];
	AUTO(free_ptr) char *text = NULL;
	struct err err;
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	return path_read_file(path, PROC_FILE_MAX, &text, &len, &err) == 0 &&
	       layout_has_cgroup(layout, text);
}

/* Signals everything of the cluster; how many there were. */
static size_t
signal_all(const struct layout *layout, int signo)
{
	AUTO(free_ptr) char *mark = xasprintf(SPAWN_ENV "=%s", layout->dir);
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 1 || pid == getpid() || state_started(pid) == 0 ||
		    (!proc_has(pid, "environ", mark) && !in_pod(layout, pid)))
			continue;
		count++;
		(void)kill(pid, signo);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

/* Nothing here needs to say goodbye: guests and pods end with their cluster. */
int
spawn_stop_all(const struct layout *layout, struct err *err)
{
	/* A look at all processes of a busy machine can take long by itself:
	 * what is found late has had its time only if it was found before. */
	size_t left = signal_all(layout, SIGKILL);
	uint64_t until = loop_now_ms() + SPAWN_STOP_MS;

	while (left > 0) {
		bool late = loop_now_ms() > until;

		pause_shortly();
		left = signal_all(layout, SIGKILL);
		if (left > 0 && late)
			return err_set(err, ERR_TIMEOUT,
				       "%zu processes do not end", left);
	}
	return 0;
}
