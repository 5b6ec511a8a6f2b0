/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "kubelet/cgroups.h"
#include "kubelet/logfile.h"
#include "kubelet/rootfs.h"
#include "kubelet/runspace.h"
#include "meta/time.h"

#define READ_PART 32768
#define ARGS_MAX 16
#define PID_MAX_TEXT 32
#define CRUN_SAID_MAX 16384
/* What a container left in its pipes is read for so long after its end. */
#define DRAIN_US (1000UL * 1000)
#define DEVICES_MAX 64

struct monitor {
	const char *dir;
	int dir_fd;
	int lock_fd;
	json_t *config;
	struct cgroups cgroups;
	struct loop *loop;
	struct loop_signal *child;
	struct loop_timer *drain;
	struct logfile *log;
	struct source {
		struct monitor *monitor;
		int fd;
		struct loop_io *io;
	} source[LOGFILE_STREAM_COUNT];
	int write_fd[LOGFILE_STREAM_COUNT]; /* the container's ends */
	pid_t pid;
	int status;
	bool ended;
	int64_t started_us;
};

static int
save_state(const struct monitor *m, const json_t *state, struct err *err)
{
	AUTO(free_ptr) char *text = js_text(state);

	return path_write_file_at(m->dir_fd, MONITOR_STATE, text, strlen(text),
				  0600, err);
}

static json_t *
state_new(const struct monitor *m, const char *phase)
{
	return json_pack("{s:s, s:i, s:i, s:I}", "phase", phase, "monitor",
			 (int)getpid(), "pid", (int)m->pid, "startedAt",
			 (json_int_t)m->started_us);
}

/* In the child. */
static _Noreturn void
exec_crun(char *const *argv, const int *outputs)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(null, 0);
	if (outputs != NULL) {
		(void)dup2(outputs[0], 1);
		(void)dup2(outputs[1], 2);
	}
	(void)execvp(argv[0], argv);
	_exit(127);
}

/* What crun wrote to its log last, for an error. */
static int
explain(const struct monitor *m, const char *verb, struct err *err)
{
	AUTO(free_ptr) char *said = NULL;
	AUTO(close_fd) int fd = -1;
	struct err ignored;
	size_t len = 0;
	char *line;

	if (path_open_at(m->dir_fd, "crun.log", O_RDONLY, 0, &fd, &ignored) ==
		    -1 ||
	    path_read_fd(fd, "crun.log", CRUN_SAID_MAX, &said, &len,
			 &ignored) == -1 ||
	    len == 0)
		return err_set(err, ERR_INTERNAL, "crun %s failed", verb);
	while (len > 0 && said[len - 1] == '\n')
		said[--len] = '\0';
	line = strrchr(said, '\n');
	return err_set(err, ERR_INTERNAL, "crun %s: %s", verb,
		       line == NULL ? said : line + 1);
}

/* Runs crun with these arguments, ended by NULL, and waits for it. */
static int
crun(const struct monitor *m, const char *const *args, const int *outputs,
     struct err *err)
{
	const char *argv[ARGS_MAX] = { js_str_at(m->config, "crun"),
				       "--root",
				       js_str_at(m->config, "crunRoot"),
				       "--cgroup-manager=cgroupfs",
				       "--log",
				       "crun.log" };
	size_t n = 6;
	AUTO(close_fd) int pidfd = -1;
	struct pollfd wait;
	pid_t pid;
	int status = -1;

	for (size_t i = 0; args[i] != NULL && n < ARGS_MAX - 1; i++)
		argv[n++] = args[i];
	argv[n] = NULL;
	pid = fork();
	if (pid == -1)
		return err_errno(err, "cannot start crun");
	if (pid == 0)
		exec_crun((char *const *)argv, outputs);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	wait = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	while (poll(&wait, 1, (int)MONITOR_CRUN_MS) == -1 && errno == EINTR)
		continue;
	if (!(wait.revents & POLLIN))
		(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	if (!(wait.revents & POLLIN))
		return err_set(err, ERR_TIMEOUT,
			       "crun %s did not end within %u s", args[0],
			       MONITOR_CRUN_MS / 1000);
	return status == 0 ? 0 : explain(m, args[0], err);
}

static const char *
id_of(const struct monitor *m)
{
	return js_str_at(m->config, "id");
}

static int
read_pid(struct monitor *m, struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(close_fd) int fd = -1;
	size_t len;

	if (path_open_at(m->dir_fd, "pid", O_RDONLY, 0, &fd, err) == -1 ||
	    path_read_fd(fd, "pid", PID_MAX_TEXT, &text, &len, err) == -1)
		return -1;
	m->pid = (pid_t)strtol(text, NULL, 10);
	if (m->pid <= 1)
		return err_set(err, ERR_INTERNAL, "crun wrote no pid");
	return 0;
}

static int
place(const struct monitor *m, struct err *err)
{
	const json_t *devices = js_arr_at(m->config, "limits.devices");
	const char *device[DEVICES_MAX];
	struct cgroups_limits limits = {
		.cpu_milli =
			(uint64_t)js_int_at(m->config, "limits.cpuMilli", 0),
		.cpu_shares =
			(uint64_t)js_int_at(m->config, "limits.cpuShares", 0),
		.memory_bytes =
			(uint64_t)js_int_at(m->config, "limits.memoryBytes", 0),
		.pids = (uint64_t)js_int_at(m->config, "limits.pids", 0),
	};
	const json_t *line;
	size_t i;

	json_array_foreach(devices, i, line)
	{
		if (i < DEVICES_MAX)
			device[limits.device_count++] = json_string_value(line);
	}
	if (devices != NULL)
		limits.device = device;
	return cgroups_place(&m->cgroups, js_str_at(m->config, "cgroup"),
			     &limits, m->pid, err);
}

static int
start(struct monitor *m, struct err *err)
{
	if (crun(m,
		 (const char *const[]){ "create", "--bundle", m->dir,
					"--pid-file", "pid", id_of(m), NULL },
		 m->write_fd, err) == -1 ||
	    read_pid(m, err) == -1 || place(m, err) == -1 ||
	    crun(m, (const char *const[]){ "start", id_of(m), NULL }, NULL,
		 err) == -1)
		return -1;
	m->started_us = time_now_us();
	return 0;
}

static void
close_source(struct source *source)
{
	loop_io_free(TAKE_PTR(source->io));
	close_fd(&source->fd);
}

static void
maybe_stop(struct monitor *m)
{
	for (size_t i = 0; i < LOGFILE_STREAM_COUNT; i++) {
		if (m->source[i].fd != -1)
			return;
	}
	if (m->ended)
		loop_stop(m->loop);
}

static void
on_readable(unsigned ready, void *arg)
{
	struct source *source = arg;
	struct monitor *m = source->monitor;
	char data[READ_PART];
	ssize_t n = read(source->fd, data, sizeof(data));

	(void)ready;
	if (n > 0) {
		logfile_write(m->log, (enum logfile_stream)(source - m->source),
			      data, (size_t)n);
		return;
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	close_source(source);
	maybe_stop(m);
}

/* Reaps whatever ended; what lost its parent has become the monitor's. */
static void
on_child(int signo, void *arg)
{
	struct monitor *m = arg;
	int status;
	pid_t pid;

	(void)signo;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != m->pid)
			continue;
		m->ended = true;
		m->status = status;
		loop_timer_start(m->drain, DRAIN_US);
		maybe_stop(m);
	}
}

static void
on_drained(void *arg)
{
	struct monitor *m = arg;

	loop_stop(m->loop);
}

static int
open_pipes(struct monitor *m, struct err *err)
{
	for (size_t i = 0; i < LOGFILE_STREAM_COUNT; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) == -1)
			return err_errno(err, "cannot make a pipe");
		m->source[i].monitor = m;
		m->source[i].fd = fds[0];
		m->write_fd[i] = fds[1];
		(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

static void
watch(struct monitor *m)
{
	m->child = loop_signal_new(m->loop, SIGCHLD, on_child, m);
	m->drain = loop_timer_new(m->loop, on_drained, m);
	for (size_t i = 0; i < LOGFILE_STREAM_COUNT; i++) {
		close_fd(&m->write_fd[i]);
		m->source[i].io = loop_io_new(m->loop, m->source[i].fd,
					      on_readable, &m->source[i]);
		loop_io_want(m->source[i].io, LOOP_READ);
	}
	on_child(SIGCHLD, m); /* it may have ended already */
	loop_run(m->loop);
	for (size_t i = 0; i < LOGFILE_STREAM_COUNT; i++)
		close_source(&m->source[i]);
	loop_timer_free(m->drain);
	loop_signal_free(m->child);
}

/* Takes crun's traces away, and with them all that is left of it. */
static void
clean_up(struct monitor *m)
{
	struct err ignored;

	(void)crun(m,
		   (const char *const[]){ "delete", "--force", id_of(m), NULL },
		   NULL, &ignored);
	(void)cgroups_remove(&m->cgroups, js_str_at(m->config, "cgroup"));
}

static int
end_state(struct monitor *m, uint64_t oom_kills, struct err *err)
{
	AUTO(js_unref) json_t *state = state_new(m, "exited");
	int code = WIFSIGNALED(m->status) ? 128 + WTERMSIG(m->status)
					  : WEXITSTATUS(m->status);
	const char *reason = oom_kills > 0 && code != 0 ? "OOMKilled"
			     : code == 0                ? "Completed"
							: "Error";

	(void)json_object_set_new(state, "exitCode", json_integer(code));
	if (WIFSIGNALED(m->status))
		(void)json_object_set_new(state, "signal",
					  json_integer(WTERMSIG(m->status)));
	(void)json_object_set_new(state, "reason", json_string(reason));
	(void)json_object_set_new(state, "finishedAt",
				  json_integer(time_now_us()));
	return save_state(m, state, err);
}

static int
failed_state(struct monitor *m, const struct err *why, struct err *err)
{
	AUTO(js_unref) json_t *state = state_new(m, "exited");

	(void)json_object_set_new(state, "exitCode",
				  json_integer(MONITOR_START_ERROR));
	(void)json_object_set_new(state, "reason", json_string("StartError"));
	(void)json_object_set_new(state, "message", json_string(why->text));
	(void)json_object_set_new(state, "finishedAt",
				  json_integer(time_now_us()));
	return save_state(m, state, err);
}

static int
prepare(struct monitor *m, struct err *err)
{
	size_t log_max =
		(size_t)js_int_at(m->config, "logMaxBytes", 10 * 1024 * 1024);

	/* Orphans of the container, and crun's own child, become ours. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		return err_errno(err, "cannot become a reaper");
	cgroups_open(&m->cgroups);
	if (runspace_enter(err) == -1 ||
	    rootfs_mount(m->dir, m->config, err) == -1 ||
	    logfile_open(m->dir_fd, log_max, &m->log, err) == -1)
		return -1;
	return open_pipes(m, err);
}

static int
run(struct monitor *m, struct err *err)
{
	AUTO(js_unref) json_t *running = NULL;
	uint64_t oom_kills;
	struct err why;

	if (prepare(m, &why) == -1 || start(m, &why) == -1) {
		clean_up(m);
		return failed_state(m, &why, err);
	}
	running = state_new(m, "running");
	if (save_state(m, running, err) == -1) {
		clean_up(m);
		return -1;
	}
	watch(m);
	oom_kills =
		cgroups_oom_kills(&m->cgroups, js_str_at(m->config, "cgroup"));
	logfile_free(TAKE_PTR(m->log));
	clean_up(m);
	return end_state(m, oom_kills, err);
}

static int
load(struct monitor *m, struct err *err)
{
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *text = NULL;
	size_t len;

	if (path_open_dir(m->dir, &m->dir_fd, err) == -1 ||
	    path_open_at(m->dir_fd, MONITOR_LOCK, O_RDWR | O_CREAT, 0600,
			 &m->lock_fd, err) == -1)
		return -1;
	if (flock(m->lock_fd, LOCK_EX | LOCK_NB) == -1)
		return err_errno(err, "another monitor is in '%s'", m->dir);
	if (path_open_at(m->dir_fd, MONITOR_CONFIG, O_RDONLY, 0, &fd, err) ==
		    -1 ||
	    path_read_fd(fd, MONITOR_CONFIG, MONITOR_CONFIG_MAX, &text, &len,
			 err) == -1)
		return -1;
	m->config = js_parse(text, len, err);
	return m->config == NULL ? -1 : 0;
}

int
monitor_run(const char *dir, struct err *err)
{
	struct monitor m = { .dir = dir,
			     .dir_fd = -1,
			     .lock_fd = -1,
			     .write_fd = { -1, -1 },
			     .source = { { .fd = -1 }, { .fd = -1 } } };
	int r = -1;

	if (load(&m, err) == -1 || chdir(dir) == -1)
		goto out;
	r = 0;
	if (faccessat(m.dir_fd, MONITOR_STATE, F_OK, 0) == 0)
		goto out;
	m.loop = loop_new();
	r = run(&m, err);
	logfile_free(m.log);
	loop_free(m.loop);
out:
	js_unref(&m.config);
	close_fd(&m.dir_fd);
	close_fd(&m.lock_fd);
	return r;
}
