/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/children.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

#define STDERR_MAX 4096
#define KILL_WAIT_MS 5000
#define MS_PER_S 1000
#define NS_PER_MS 1000000L

struct child {
	struct child *next;
	pid_t pid;
	bool ended;
	int status;
	void (*fn)(void *arg, int status); /* NULL: somebody waits */
	void *arg;
};

struct children {
	struct loop *loop;
	struct loop_signal *signal;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct child *list;
};

/* Under the lock. */
static struct child *
find(struct children *children, pid_t pid)
{
	struct child *child = children->list;

	while (child != NULL && child->pid != pid)
		child = child->next;
	return child;
}

static void
unlink_child(struct children *children, struct child *child)
{
	struct child **at = &children->list;

	while (*at != child)
		at = &(*at)->next;
	*at = child->next;
}

/* Reaps one; false when there is none. One that somebody waits for is his, and
 * may be gone as soon as the lock is. */
static bool
reap(struct children *children)
{
	struct child *child, *owned = NULL;
	int status;
	pid_t pid;

	(void)pthread_mutex_lock(&children->lock);
	pid = waitpid(-1, &status, WNOHANG);
	child = pid > 0 ? find(children, pid) : NULL;
	if (child != NULL && child->fn != NULL) {
		unlink_child(children, child);
		owned = child;
	} else if (child != NULL) {
		child->ended = true;
		child->status = status;
		(void)pthread_cond_broadcast(&children->changed);
	}
	(void)pthread_mutex_unlock(&children->lock);
	if (pid <= 0)
		return false;
	log_debug(NULL, "reaped process %d, status %d", pid, status);
	if (owned != NULL) {
		owned->fn(owned->arg, status);
		free(owned);
	}
	return true;
}

static void
on_child(int signo, void *arg)
{
	(void)signo;
	while (reap(arg))
		;
}

struct children *
children_new(struct loop *loop)
{
	struct children *children = xmalloc0(sizeof(*children));
	pthread_condattr_t attr;

	children->loop = loop;
	(void)pthread_mutex_init(&children->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&children->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	children->signal = loop_signal_new(loop, SIGCHLD, on_child, children);
	/* For one that is not the first process of its namespace. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	return children;
}

void
children_free(struct children *children)
{
	struct child *child;

	if (children == NULL)
		return;
	loop_signal_free(children->signal);
	while ((child = children->list) != NULL) {
		children->list = child->next;
		free(child);
	}
	(void)pthread_cond_destroy(&children->changed);
	(void)pthread_mutex_destroy(&children->lock);
	free(children);
}

/* The environment with one more variable; the array only is the caller's. */
static char **
environment(const char *more)
{
	size_t count = 0;
	char **env;

	while (environ[count] != NULL)
		count++;
	env = xcalloc(count + 2, sizeof(*env));
	memcpy(env, environ, count * sizeof(*env));
	env[count] = (char *)(uintptr_t)more;
	return env;
}

/* stderr_fd is -1 for ours. Signals are as a program expects them. */
static int
spawn(const char *const *argv, const char *more_env, int stderr_fd,
      pid_t *ret_pid)
{
	AUTO(free_ptr) char **env = environment(more_env);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	int rc;

	(void)sigemptyset(&none);
	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGTERM);
	(void)sigaddset(&defaults, SIGINT);
	(void)sigaddset(&defaults, SIGCHLD);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)posix_spawnattr_init(&attr);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &defaults);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
					       "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(
		&actions, stderr_fd == -1 ? STDERR_FILENO : stderr_fd,
		STDOUT_FILENO);
	if (stderr_fd != -1)
		(void)posix_spawn_file_actions_adddup2(&actions, stderr_fd,
						       STDERR_FILENO);
	rc = posix_spawnp(ret_pid, argv[0], &actions, &attr,
			  (char **)(uintptr_t)argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	return rc;
}

/* Known before it can be reaped. */
static int
start(struct children *children, const char *const *argv, const char *env,
      int stderr_fd, struct child *child, struct err *err)
{
	int rc;

	(void)pthread_mutex_lock(&children->lock);
	rc = spawn(argv, env, stderr_fd, &child->pid);
	if (rc == 0) {
		child->next = children->list;
		children->list = child;
	}
	(void)pthread_mutex_unlock(&children->lock);
	if (rc == 0)
		return 0;
	errno = rc;
	return err_errno(err, "cannot start '%s'", argv[0]);
}

int
children_start(struct children *children, const char *const *argv,
	       void (*fn)(void *arg, int status), void *arg, pid_t *ret_pid,
	       struct err *err)
{
	struct child *child = xmalloc0(sizeof(*child));

	child->fn = fn;
	child->arg = arg;
	if (start(children, argv, NULL, -1, child, err) == -1) {
		free(child);
		return -1;
	}
	*ret_pid = child->pid;
	return 0;
}

/* Reads until the end or the deadline; keeps the last of it. */
static void
read_stderr(int fd, uint64_t deadline_ms, char text[STDERR_MAX])
{
	size_t len = 0;

	for (;;) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		uint64_t now = loop_now_ms();
		ssize_t got;

		if (now >= deadline_ms ||
		    poll(&pfd, 1, (int)(deadline_ms - now)) <= 0)
			break;
		if (len == STDERR_MAX - 1) {
			memmove(text, text + len / 2, len - len / 2);
			len -= len / 2;
		}
		got = read(fd, text + len, STDERR_MAX - 1 - len);
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	while (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
}

/* Under the lock. False: it has not ended by then. */
static bool
await(struct children *children, struct child *child, uint64_t deadline_ms)
{
	struct timespec at = {
		.tv_sec = (time_t)(deadline_ms / MS_PER_S),
		.tv_nsec = (long)(deadline_ms % MS_PER_S) * NS_PER_MS,
	};

	while (!child->ended) {
		if (pthread_cond_timedwait(&children->changed, &children->lock,
					   &at) == ETIMEDOUT)
			return child->ended;
	}
	return true;
}

int
children_run(struct children *children, const char *const *argv,
	     const char *env, uint64_t timeout_ms, struct err *err)
{
	uint64_t deadline_ms = loop_now_ms() + timeout_ms;
	struct child child = { 0 };
	char text[STDERR_MAX];
	int pipe_fds[2];
	bool in_time;

	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		return err_errno(err, "cannot make a pipe");
	if (start(children, argv, env, pipe_fds[1], &child, err) == -1) {
		(void)close(pipe_fds[0]);
		(void)close(pipe_fds[1]);
		return -1;
	}
	(void)close(pipe_fds[1]);
	read_stderr(pipe_fds[0], deadline_ms, text);
	(void)close(pipe_fds[0]);

	(void)pthread_mutex_lock(&children->lock);
	in_time = await(children, &child, deadline_ms);
	if (!in_time) {
		(void)kill(child.pid, SIGKILL);
		(void)await(children, &child, loop_now_ms() + KILL_WAIT_MS);
	}
	unlink_child(children, &child);
	(void)pthread_mutex_unlock(&children->lock);
	if (!in_time)
		return err_set(err, ERR_TIMEOUT,
			       "'%s' did not end in time and was killed",
			       argv[0]);
	if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 0)
		return 0;
	return err_set(err, ERR_INTERNAL, "'%s' failed: %s", argv[0],
		       text[0] != '\0' ? text : "it does not say why");
}
