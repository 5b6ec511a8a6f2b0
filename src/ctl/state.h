/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_STATE_H
#define CTL_STATE_H

/*
 * state - what is known of a cluster on this machine between two commands.
 *
 *	{"version": 1, "name": NAME, "nodes": N, "block": B,
 *	 "programs": [{"name", "node", "pid", "started", "argv": [...]}]}
 *
 * Written whole or not at all, each time before it is relied upon. The block
 * is there once it was chosen. A pid is known again by the time its process was
 * started, so that nobody else's process is taken for it.
 *
 * Threading: one thread, one command at a time: the directory is locked.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/js.h"
#include "ctl/layout.h"

struct err;

struct state {
	struct layout layout;
	json_t *json;
	int lock_fd;
};

#define STATE_NONE ((struct state){ .lock_fd = -1 })

/* Makes the directory and a new state; ERR_EXISTS when it has one. */
int state_create(struct state *state, const struct layout *layout,
		 struct err *err);
/* ERR_NOT_FOUND when there is none in dir. */
int state_open(struct state *state, const char *dir, struct err *err);
int state_save(const struct state *state, struct err *err);
/* Removes the directory with all that is in it, the state last: who is killed
 * meanwhile can begin again. */
int state_remove(struct state *state, struct err *err);
/* Removes a directory that has no state and nothing else either, as those
 * leave it who are killed first thing or last thing; whether it did. */
bool state_remove_empty(const char *path);
/* Closes; what is on disk stays. */
void state_done(struct state *state);

/* Whether layout.block was chosen; before, it is what the name suggests. */
bool state_has_block(const struct state *state);
/* layout.block was chosen: saves it. */
int state_keep_block(struct state *state, struct err *err);

/* A program by its name and node (0: of no node); NULL. Borrowed. */
json_t *state_program(const struct state *state, const char *name,
		      unsigned node);
/* Notes that it runs; argv is taken. */
void state_set_program(struct state *state, const char *name, unsigned node,
		       pid_t pid, json_t *argv);
/* Its pid if it still runs, else -1. */
pid_t state_running(const json_t *program);

/* When a process was started, in ticks since boot; 0: there is none. */
uint64_t state_started(pid_t pid);

#endif
