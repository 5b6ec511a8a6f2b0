/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DAEMON_H
#define BASE_DAEMON_H

/*
 * daemon - a program that serves until it is told to stop.
 *
 * SIGTERM or SIGINT asks it to end in order: stop is called, which finishes
 * what is under way and then calls done. A second signal, or the deadline, ends
 * it at once.
 *
 * Threading: only from the loop's thread; one at a time in a process.
 */

#include <stdint.h>

struct loop;

struct daemon_config {
	struct loop *loop;
	/* Called when signals are heard: whoever is told that the program is
	 * ready may tell it to stop. May be NULL. */
	void (*ready)(void *arg);
	/* done may be called before it returns, later, or never. */
	void (*stop)(void *arg, void (*done)(void *done_arg), void *done_arg);
	void *arg;
	uint64_t deadline_us; /* for stop */
};

/* Runs the loop; returns when the program is to end. What stop began may still
 * be under way: done must not be called any more then. */
void daemon_run(const struct daemon_config *config);

#endif
