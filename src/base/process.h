/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

/*
 * process - other programs, run from the loop without waiting for them.
 *
 * A process is started, fed its input, and watched by its descriptor; what it
 * writes is kept up to a limit, beyond which it is read and dropped. done is
 * called once, from the loop, when it has ended and its output is complete, or
 * when its time is up: it and its process group are killed then, so that
 * nothing it started goes on. It inherits no descriptors but its three, and is
 * killed when the thread that started it ends.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct loop;
struct process;

#define PROCESS_OUTPUT_MAX_DEFAULT (1024UL * 1024)

/* All is used up before process_start() returns. */
struct process_spec {
	const char *const *argv; /* argv[0] is looked for in PATH */
	const char *const *env;  /* ended by NULL; NULL: this process's own */
	const char *cwd;         /* NULL: this process's own */
	const void *input;       /* its standard input */
	size_t input_len;
	size_t output_max;   /* bytes of each output; 0: the default */
	unsigned timeout_ms; /* 0: none, for what is meant to stay */
	/*
	 * Leads a session of its own and may outlive this process: it has no
	 * input, its output goes where this process's goes, its time is not
	 * limited and process_cancel() only forgets it.
	 */
	bool detached;
};

struct process_result {
	/* Why it could not be run, was killed for being late, or what it said
	 * before it failed; NULL when it ended with 0. */
	const struct err *err;
	int status;      /* as of waitpid(2); -1 when it never ran */
	const char *out; /* NUL-terminated */
	size_t out_len;
	const char *err_out;
	size_t err_len;
	bool cut; /* an output was longer than output_max */
};

typedef void process_done_fn(const struct process_result *result, void *arg);

/* A failure to start is told by done as well, from the loop. */
struct process *process_start(struct loop *loop,
			      const struct process_spec *spec,
			      process_done_fn *done, void *arg);
pid_t process_pid(const struct process *process); /* -1 when it never ran */
/* Kills its group and forgets it; done is not called. Not once done was
 * called. NULL is fine. */
void process_cancel(struct process *process);

/* "exit status 3" or "killed by signal 9" into buf; returns buf. */
const char *process_status_text(int status, char *buf, size_t size);

#endif
