/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"

#define READ_PART 16384
/* Of what a process said that goes into an error. */
#define SAID_MAX 160
/* An output may stay open in something that got away; this long is waited for
 * its end after the process itself has ended. */
#define LINGER_US (500UL * 1000)
#define EXEC_FAILED 127

/* One output of the process. */
struct output {
	struct process *process;
	int fd; /* -1: its end was seen */
	struct loop_io *io;
	struct buf buf;
	bool cut;
};

struct process {
	struct loop *loop;
	process_done_fn *done;
	void *arg;
	char *name;
	pid_t pid;
	int pidfd;
	struct loop_io *exit_io;
	struct loop_timer *deadline;
	unsigned timeout_ms;
	bool detached;
	int in_fd;
	struct loop_io *in_io;
	struct buf input;
	struct output out[2];
	int status;
	bool ended;
	bool late;
	bool failed; /* err says why it never ran */
	struct err err;
};

const char *
process_status_text(int status, char *buf, size_t size)
{
	if (WIFSIGNALED(status))
		(void)snprintf(buf, size, "killed by signal %d",
			       WTERMSIG(status));
	else
		(void)snprintf(buf, size, "exit status %d",
			       WEXITSTATUS(status));
	return buf;
}

static void
close_input(struct process *p)
{
	loop_io_free(TAKE_PTR(p->in_io));
	close_fd(&p->in_fd);
}

static void
close_output(struct output *o)
{
	loop_io_free(TAKE_PTR(o->io));
	close_fd(&o->fd);
}

static void
process_free(struct process *p)
{
	close_input(p);
	for (size_t i = 0; i < 2; i++) {
		close_output(&p->out[i]);
		buf_done(&p->out[i].buf);
	}
	loop_io_free(p->exit_io);
	loop_timer_free(p->deadline);
	close_fd(&p->pidfd);
	buf_done(&p->input);
	free(p->name);
	free(p);
}

/* The last words are those that say what went wrong. */
static void
explain(struct process *p)
{
	const struct buf *said = &p->out[1].buf;
	char how[64];
	size_t len = said->len, skip;

	(void)process_status_text(p->status, how, sizeof(how));
	while (len > 0 && said->data[len - 1] == '\n')
		len--;
	skip = len > SAID_MAX ? len - SAID_MAX : 0;
	if (len == 0)
		(void)err_set(&p->err, ERR_INTERNAL, "'%s': %s", p->name, how);
	else
		(void)err_set(&p->err, ERR_INTERNAL, "'%s': %s: %.*s", p->name,
			      how, (int)(len - skip),
			      (const char *)said->data + skip);
}

static void
finish(struct process *p)
{
	struct process_result result = { .status = p->status };

	for (size_t i = 0; i < 2; i++) {
		(void)buf_reserve(&p->out[i].buf, 0);
		close_output(&p->out[i]);
	}
	if (p->late) {
		(void)err_set(&p->err, ERR_TIMEOUT,
			      "'%s': did not end within %u ms", p->name,
			      p->timeout_ms);
	} else if (!p->failed && p->status != 0) {
		explain(p);
	}
	if (p->failed || p->late || p->status != 0)
		result.err = &p->err;
	result.out = p->out[0].buf.data == NULL
			     ? ""
			     : (const char *)p->out[0].buf.data;
	result.out_len = p->out[0].buf.len;
	result.err_out = p->out[1].buf.data == NULL
				 ? ""
				 : (const char *)p->out[1].buf.data;
	result.err_len = p->out[1].buf.len;
	result.cut = p->out[0].cut || p->out[1].cut;
	p->done(&result, p->arg);
	process_free(p);
}

static void
maybe_finish(struct process *p)
{
	if (p->ended && p->out[0].fd == -1 && p->out[1].fd == -1)
		finish(p);
}

static void
keep(struct output *o, const char *data, size_t len)
{
	size_t room = o->buf.limit - o->buf.len;

	if (len > room) {
		o->cut = true;
		len = room;
	}
	if (len > 0)
		(void)buf_append(&o->buf, data, len);
}

static void
on_output(unsigned ready, void *arg)
{
	struct output *o = arg;
	char data[READ_PART];
	ssize_t n = read(o->fd, data, sizeof(data));

	(void)ready;
	if (n > 0) {
		keep(o, data, (size_t)n);
		return;
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	close_output(o);
	maybe_finish(o->process);
}

static void
on_input(unsigned ready, void *arg)
{
	struct process *p = arg;
	ssize_t n = write(p->in_fd, p->input.data, p->input.len);

	(void)ready;
	if (n > 0)
		buf_consume(&p->input, (size_t)n);
	else if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Who does not read its input says by its status whether it minds. */
	if (n <= 0 || p->input.len == 0)
		close_input(p);
}

static void
kill_group(const struct process *p)
{
	if (p->pid > 0)
		(void)kill(-p->pid, SIGKILL);
}

static void
on_exit_seen(unsigned ready, void *arg)
{
	struct process *p = arg;

	(void)ready;
	if (waitpid(p->pid, &p->status, WNOHANG) != p->pid)
		return;
	p->ended = true;
	loop_io_free(TAKE_PTR(p->exit_io));
	close_input(p);
	if (p->out[0].fd != -1 || p->out[1].fd != -1)
		loop_timer_start(p->deadline, LINGER_US);
	maybe_finish(p);
}

static void
on_deadline(void *arg)
{
	struct process *p = arg;

	if (p->failed || p->ended) {
		finish(p);
		return;
	}
	p->late = true;
	kill_group(p);
}

/* A pipe of which one end is the child's. */
static int
make_pipe(int *ret_ours, int *ret_theirs, int ours, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return err_errno(err, "cannot make a pipe");
	*ret_ours = fds[ours];
	*ret_theirs = fds[1 - ours];
	(void)fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
	return 0;
}

/* In the child, between fork() and exec(). */
static _Noreturn void
become(const struct process_spec *spec, const int theirs[3], pid_t parent)
{
	sigset_t none;

	if (spec->detached) {
		(void)setsid();
	} else {
		(void)setpgid(0, 0);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXEC_FAILED);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < 3; i++) {
		if (theirs[i] != -1 && dup2(theirs[i], i) == -1)
			_exit(EXEC_FAILED);
	}
	if (spec->cwd != NULL && chdir(spec->cwd) == -1) {
		dprintf(2, "cannot go to '%s': %m", spec->cwd);
		_exit(EXEC_FAILED);
	}
	if (spec->env != NULL)
		environ = (char **)spec->env;
	(void)execvp(spec->argv[0], (char *const *)spec->argv);
	dprintf(2, "cannot run: %m");
	_exit(EXEC_FAILED);
}

static void
watch(struct process *p, const struct process_spec *spec)
{
	p->exit_io = loop_io_new(p->loop, p->pidfd, on_exit_seen, p);
	loop_io_want(p->exit_io, LOOP_READ);
	for (size_t i = 0; i < 2; i++) {
		if (p->out[i].fd == -1)
			continue;
		p->out[i].io = loop_io_new(p->loop, p->out[i].fd, on_output,
					   &p->out[i]);
		loop_io_want(p->out[i].io, LOOP_READ);
	}
	if (p->in_fd != -1 && spec->input_len > 0) {
		p->input = BUF_INIT(BUF_UNLIMITED);
		(void)buf_append(&p->input, spec->input, spec->input_len);
		p->in_io = loop_io_new(p->loop, p->in_fd, on_input, p);
		loop_io_want(p->in_io, LOOP_WRITE);
	} else {
		close_fd(&p->in_fd);
	}
	if (p->timeout_ms > 0)
		loop_timer_start(p->deadline, p->timeout_ms * UINT64_C(1000));
}

static int
launch(struct process *p, const struct process_spec *spec, struct err *err)
{
	AUTO(close_fd) int in = -1;
	AUTO(close_fd) int out = -1;
	AUTO(close_fd) int err_out = -1;
	pid_t parent = getpid();

	if (spec->detached) {
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (in == -1)
			return err_errno(err, "cannot open '/dev/null'");
	} else if (make_pipe(&p->in_fd, &in, 1, err) == -1 ||
		   make_pipe(&p->out[0].fd, &out, 0, err) == -1 ||
		   make_pipe(&p->out[1].fd, &err_out, 0, err) == -1) {
		return -1;
	}
	p->pid = fork();
	if (p->pid == -1)
		return err_errno(err, "cannot start '%s'", p->name);
	if (p->pid == 0)
		become(spec, (const int[3]){ in, out, err_out }, parent);
	/* Here as well, so that the group is there before anybody kills it. */
	if (!spec->detached)
		(void)setpgid(p->pid, p->pid);
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd == -1) {
		(void)err_errno(err, "cannot watch '%s'", p->name);
		(void)kill(p->pid, SIGKILL);
		(void)waitpid(p->pid, &p->status, 0);
		p->pid = -1;
		return -1;
	}
	return 0;
}

struct process *
process_start(struct loop *loop, const struct process_spec *spec,
	      process_done_fn *done, void *arg)
{
	struct process *p = xmalloc0(sizeof(*p));
	size_t max = spec->output_max == 0 ? PROCESS_OUTPUT_MAX_DEFAULT
					   : spec->output_max;

	p->loop = loop;
	p->done = done;
	p->arg = arg;
	p->name = xstrdup(spec->argv[0]);
	p->pid = -1;
	p->pidfd = p->in_fd = -1;
	p->status = -1;
	p->timeout_ms = spec->detached ? 0 : spec->timeout_ms;
	p->detached = spec->detached;
	for (size_t i = 0; i < 2; i++)
		p->out[i] = (struct output){ .process = p,
					     .fd = -1,
					     .buf = BUF_INIT(max) };
	p->deadline = loop_timer_new(loop, on_deadline, p);
	if (launch(p, spec, &p->err) == -1) {
		p->failed = true;
		loop_timer_start(p->deadline, 0);
		return p;
	}
	watch(p, spec);
	return p;
}

pid_t
process_pid(const struct process *process)
{
	return process->pid;
}

void
process_cancel(struct process *process)
{
	if (process == NULL)
		return;
	if (!process->ended && process->pid > 0 && !process->detached) {
		kill_group(process);
		(void)waitpid(process->pid, NULL, 0);
	}
	process_free(process);
}
